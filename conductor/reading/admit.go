package reading

import (
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf8"

	"assay/conductor"
	"assay/core/fault"
)

// history holds names, in lower case, that only version control makes.
var history = map[string]bool{
	".git": true, ".hg": true, ".svn": true, ".bzr": true, ".jj": true, "_darcs": true, ".fslckout": true, "_fossil_": true, ".sl": true,
	"packed-refs": true, "orig_head": true, "fetch_head": true, "merge_head": true, "cherry_pick_head": true, "revert_head": true,
}

// Admit refuses a tree that no task may be read from: one with version control data, whose history may hold the answer
// (conductor.VCSData), or with a name that would forge a line of a listing (conductor.BadTree). The whole tree is looked at, links
// are not followed.
func Admit(fsys fs.FS, b Budget) error {
	if b.Files <= 0 {
		b.Files = DefaultBudget.Files
	}
	t := &tree{fsys: fsys, left: b}
	return t.admit("", 0)
}

func (t *tree) admit(dir string, depth int) error {
	if depth > maxDepth {
		return conductor.InspectionTooLarge.With(fault.Int("depth", maxDepth))
	}
	entries, err := t.readDir(dir)
	if err != nil {
		return failed(err)
	}
	if entries == nil {
		return conductor.BadTree.With(fault.Str("path", dir), fault.Str("why", "the directory may not be read"))
	}
	bare := 0 // names of a bare repository
	for _, e := range entries {
		name := join(dir, e.Name())
		if history[strings.ToLower(e.Name())] {
			return conductor.VCSData.With(fault.Str("path", name))
		}
		if !plainName(e.Name()) {
			return conductor.BadTree.With(fault.Str("path", name), fault.Str("why", "the name holds a control character, a line end, or bytes that are not UTF-8"))
		}
		switch e.Name() {
		case "HEAD", "objects", "refs":
			bare++
		}
	}
	if bare == 3 {
		return conductor.VCSData.With(fault.Str("path", join(dir, "objects")))
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := t.admit(join(dir, e.Name()), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func plainName(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
	})
}
