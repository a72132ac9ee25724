package exec

import "syscall"

// attributes puts a process at the head of a group of its own, and has the kernel kill it when we are killed and can do
// nothing any more: a Conductor that does not read would never notice.
//
// To the kernel the parent is the thread that started the process. The Go runtime ends a thread only where a goroutine that
// is locked to it returns, which nothing in this program does. What the process itself started is not reached; it sees its
// pipes end.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
