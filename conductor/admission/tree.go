package admission

import (
	"io"
	"io/fs"
	"slices"
)

// has reports whether path is a file that may be opened.
func (s *survey) has(path string) bool {
	return slices.ContainsFunc(s.files, func(f file) bool { return f.path == path })
}

// readFile returns a file of at most most bytes, and nil when it has more.
func (s *survey) readFile(path string, most int64) (text []byte, size int64, err error) {
	f, size, err := s.open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	if size > most {
		return nil, size, nil
	}
	if text, err = io.ReadAll(io.LimitReader(f, most+1)); err != nil || int64(len(text)) > most {
		return nil, int64(len(text)), err
	}
	return text, size, nil
}

// open opens a file that the walk saw as a regular one.
func (s *survey) open(path string) (fs.File, int64, error) {
	f, err := s.tree.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: fs.ErrInvalid}
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}
