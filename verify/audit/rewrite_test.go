package audit_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"

	"assay/conductor/publication"
	"assay/tlog"
)

// rewritten returns the publication with its lines changed and logged anew: what a lying owner can do.
func rewritten(t testing.TB, files fstest.MapFS, order []string, change func(file string, line []byte) []byte) fstest.MapFS {
	p := &publisher{t: t, files: fstest.MapFS{}}
	latest := int64(0)
	for _, name := range order {
		var lines [][]byte
		for line := range bytes.SplitSeq(bytes.TrimSuffix(files[name].Data, []byte{'\n'}), []byte{'\n'}) {
			if line = change(name, bytes.Clone(line)); line != nil {
				lines = append(lines, line)
			}
		}
		if len(lines) == 0 {
			continue
		}
		if strings.HasSuffix(name, publication.RevealFile) {
			latest++
		}
		p.file(name, lines...)
	}
	return p.log(latest)
}

// orderOf lists the files as the log names them.
func orderOf(t testing.TB, files fstest.MapFS) (order []string) {
	sub, err := files.Sub(publication.LogDir)
	must(t, err)
	_, err = tlog.Check(sub, verifier(t), tlog.CheckOptions{Each: func(_ int64, leaf []byte) error {
		if name, _, _ := strings.Cut(string(leaf), " "); len(order) == 0 || order[len(order)-1] != name {
			order = append(order, name)
		}
		return nil
	}})
	must(t, err)
	return order
}
