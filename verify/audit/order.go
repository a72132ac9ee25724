package audit

import (
	"path"
	"strings"

	"assay/conductor/publication"
	"assay/core/fault"
)

// inOrder checks that the log names the files in the order in which they are published: a window's opening before its arms, the
// arms before its reveal, and all of that before the next window.
func (a *auditor) inOrder(windows []revealedWindow) error {
	o := &ordered{rest: a.order}
	if len(windows) > 0 {
		o.file(publication.ScheduleFile)
	}
	for _, w := range windows {
		for _, name := range []string{publication.RecordFile, publication.RulesFile, publication.CatalogFile} {
			o.file(path.Join(w.dir, name))
		}
		o.numbered(path.Join(w.dir, publication.PoolDir))
		o.numbered(path.Join(w.dir, publication.TasksDir))
		if w.reveal == nil {
			continue
		}
		for _, arm := range w.reveal.Traces {
			o.file(path.Join(w.dir, publication.ArmsDir, arm, publication.ArmFile))
			o.numbered(path.Join(w.dir, publication.ArmsDir, arm))
			o.numbered(path.Join(w.dir, publication.ReceiptsDir, arm))
		}
		o.numbered(path.Join(w.dir, publication.OutcomesDir))
		o.file(path.Join(w.dir, publication.RevealFile))
	}
	if o.wrong == "" && len(o.rest) > 0 {
		o.wrong = o.rest[0]
	}
	if o.wrong != "" {
		return find(o.wrong, 0, Differs.With(fault.Str("record", "the order in which files are published")))
	}
	return nil
}

// ordered is a list of files under comparison.
type ordered struct {
	rest  []string
	wrong string // the first file that stands in the wrong place
}

// file takes one file.
func (o *ordered) file(name string) {
	switch {
	case o.wrong != "":
	case len(o.rest) == 0 || o.rest[0] != name:
		o.wrong = name
	default:
		o.rest = o.rest[1:]
	}
}

// numbered takes the numbered files of a folder, by rising number. How many there are is checked elsewhere.
func (o *ordered) numbered(dir string) {
	before := ""
	for o.wrong == "" && len(o.rest) > 0 && strings.HasPrefix(o.rest[0], dir+"/") && strings.HasSuffix(o.rest[0], ".jsonl") {
		if o.rest[0] <= before {
			o.wrong = o.rest[0]
			return
		}
		before, o.rest = o.rest[0], o.rest[1:]
	}
}
