package posix

// FailAt lets steps of writing fail, as a disk does. It is set before the first append.
func (l *Log) FailAt(fail func(step string) error) { l.fail = fail }
