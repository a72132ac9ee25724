package admission

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"assay/core/text"
)

// file is one file of the tree that may be opened.
type file struct{ path, name string }

// entry is what the walk saw under one path, directories left out.
type entry struct {
	file
	mode fs.FileMode
}

// forbidden are the suffixes that no file may have, in any case.
var forbidden = []struct {
	kind     Kind
	suffixes []string
	text     string
}{
	{PickleArchive, []string{".bin", ".pt", ".pth"}, "pickle archive refused: "},
	{BundledCode, []string{".py", ".pyc", ".so", ".pyd"}, "bundled code refused: "},
}

// names walks the tree and judges paths before anything is opened.
func (s *survey) names() error {
	var seen []entry
	if err := s.walk(".", 0, &seen); err != nil {
		return err
	}
	for _, rule := range forbidden {
		for _, f := range s.files {
			if slices.Contains(rule.suffixes, lower(suffix(f.name))) {
				if err := s.refuse(rule.kind, f.path, rule.text+show(f.path)); err != nil {
					return err
				}
			}
		}
	}
	if s.strict() {
		return s.strictNames(seen)
	}
	return nil
}

// walk lists dir depth first with its entries in byte order, which is the component-wise order of paths.
func (s *survey) walk(dir string, depth int, seen *[]entry) error {
	list, err := s.list(dir)
	if err != nil {
		return err
	}
	for _, d := range list {
		p := path.Join(dir, d.Name())
		if !fs.ValidPath(p) || !utf8.ValidString(p) {
			if err := s.refuse(BadName, p, "a name that is no path: "+show(p)); err != nil {
				return err
			}
			continue
		}
		if d.IsDir() {
			if depth+1 >= s.bounds.depth {
				return s.enough(BadName, p, "directories are nested too deep: "+show(p))
			}
			if err := s.walk(p, depth+1, seen); err != nil {
				return err
			}
			continue
		}
		e := entry{file{p, d.Name()}, d.Type()}
		*seen = append(*seen, e)
		regular, err := s.regular(e)
		if err != nil {
			return err
		}
		if regular {
			s.files = append(s.files, e.file)
		}
	}
	return nil
}

// list reads one directory without taking more entries than are left.
func (s *survey) list(dir string) ([]fs.DirEntry, error) {
	f, err := s.tree.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: dir, Err: errors.New("the file system does not list this folder")}
	}
	var list []fs.DirEntry
	for { // a short answer is not yet the end
		some, err := d.ReadDir(s.bounds.entries + 1)
		list = append(list, some...)
		if s.bounds.entries -= len(some); s.bounds.entries < 0 {
			return nil, s.enough(TooManyFiles, "", "the tree holds more files and directories than are looked at")
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// enough refuses the tree and ends the pass, because what lies behind cannot be looked at.
func (s *survey) enough(k Kind, subject, text string) error {
	if err := s.refuse(k, subject, text); err != nil {
		return err
	}
	return errEnough
}

// regular reports whether e may be opened as a file. Compat follows links to files, as the reference does; Strict
// opens none.
func (s *survey) regular(e entry) (bool, error) {
	if e.mode&fs.ModeSymlink == 0 || s.strict() {
		return e.mode.IsRegular(), nil
	}
	info, err := fs.Stat(s.tree, e.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // a link to nothing is no file
	}
	if err != nil {
		return false, err
	}
	return info.Mode().IsRegular(), nil
}

// The names that Strict knows. A weight file's or a manifest's suffix is matched in lower case only.
var (
	knownSuffixes = []string{".safetensors", ".json", ".jinja", ".txt", ".md"}
	knownNames    = []string{"LICENSE", "NOTICE", "README", ".gitattributes", ".gitignore"}
)

func (s *survey) strictNames(seen []entry) error {
	for _, e := range seen {
		if kind, text := strictName(e); kind != "" {
			if err := s.refuse(kind, e.path, text+": "+show(e.path)); err != nil {
				return err
			}
		}
	}
	return nil
}

// strictName returns why Strict refuses a name that the reference's rules let pass, and "" when it does not.
func strictName(e entry) (Kind, string) {
	switch {
	case e.mode&fs.ModeSymlink != 0:
		return Link, "link refused"
	case !e.mode.IsRegular():
		return SpecialFile, "not a regular file"
	case strings.IndexFunc(e.path, unprintable) >= 0 || strings.Contains(e.path, `\`):
		return BadName, "unprintable character or backslash in a name"
	}
	for _, rule := range forbidden {
		if slices.Contains(rule.suffixes, lower(suffix(e.name))) {
			return "", "" // refused already
		}
		if slices.Contains(rule.suffixes, lower(e.name)) {
			return rule.kind, strings.TrimSuffix(rule.text, ": ")
		}
	}
	if !slices.Contains(knownSuffixes, suffix(e.name)) && !slices.Contains(knownNames, e.name) {
		return UnknownFileType, "unknown kind of file"
	}
	return "", ""
}

// suffix returns the part of name from its last dot; none when that dot is the first or the last character.
func suffix(name string) string {
	if i := strings.LastIndexByte(name, '.'); i > 0 && i < len(name)-1 {
		return name[i:]
	}
	return ""
}

// lower lowers ASCII letters only, so that no other letter can turn into one of a suffix.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// show returns foreign text fit for a terminal: as it stands when printable, else quoted; clipped to 200 bytes.
func show(s string) string {
	const most = 200
	if !utf8.ValidString(s) || strings.IndexFunc(s, unprintable) >= 0 {
		return text.Quote(s, most)
	}
	return text.Clip(s, most)
}
