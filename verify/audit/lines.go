package audit

import (
	"bytes"
	"errors"
	"io/fs"

	"assay/conductor/publication"
	"assay/core/fault"
)

// chunk reads one numbered file whole: its lines without their ends. A file that is not there has none.
func (a *auditor) chunk(file string) ([][]byte, error) {
	text, err := fs.ReadFile(a.fsys, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(text) == 0 || text[len(text)-1] != '\n' {
		return nil, find(file, 0, BadFile.With())
	}
	return bytes.Split(text[:len(text)-1], []byte{'\n'}), nil
}

// numbered calls each with every line of the numbered files of a folder, in order. The folder holds these files and others
// further ones.
func (a *auditor) numbered(dir string, others int, each func(file string, number int, line []byte) error) error {
	for i := 0; ; i += publication.Chunk {
		file := publication.Numbered(dir, i)
		lines, err := a.chunk(file)
		if err != nil {
			return err
		}
		if lines == nil {
			return a.holds(dir, i/publication.Chunk+others)
		}
		for k, line := range lines {
			if err := each(file, k+1, line); err != nil {
				return find(file, k+1, err)
			}
		}
		if len(lines) < publication.Chunk {
			return a.holds(dir, i/publication.Chunk+1+others)
		}
		if len(lines) > publication.Chunk {
			return find(file, publication.Chunk+1, Stray.With())
		}
	}
}

// holds checks how many files a folder holds, so that none hides behind a gap in the numbers.
func (a *auditor) holds(dir string, n int) error {
	entries, err := fs.ReadDir(a.fsys, dir)
	if err != nil && !(errors.Is(err, fs.ErrNotExist) && n == 0) {
		return find(dir, 0, Missing.Because(err))
	}
	if len(entries) != n {
		return find(dir, 0, Stray.With(fault.Int("files", int64(len(entries))), fault.Int("expected", int64(n))))
	}
	return nil
}
