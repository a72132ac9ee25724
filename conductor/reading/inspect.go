package reading

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"assay/conductor"
	"assay/conductor/profile"
	"assay/core/fault"
)

// Hidden is the one name that no inspection shows or enters.
const Hidden = ".git"

// Cut marks an output that strict has cut.
const Cut = " [cut]"

// Budget bounds what one inspection may look at. A field that is 0 has the bound of DefaultBudget.
type Budget struct {
	Files int   // entries of directories
	Bytes int64 // of files
}

// DefaultBudget is far beyond what an honest repository needs.
var DefaultBudget = Budget{Files: 500_000, Bytes: 2 << 30}

// Inspect runs a call on a repository whose root is fsys, and returns what the worker is shown and whether more was there.
// Whatever the call names and may not see is a refusal that the worker reads ("error: …"). An error is ours: the tree could not be
// read (conductor.InspectionFailed), or was larger than the budget (conductor.InspectionTooLarge); then nothing is observed.
//
// Links are resolved here, component by component, and never beyond the root; fsys must implement fs.ReadLinkFS to have any.
func Inspect(fsys fs.FS, c Call, p profile.Profile, b Budget) (output string, truncated bool, err error) {
	if b.Files <= 0 {
		b.Files = DefaultBudget.Files
	}
	if b.Bytes <= 0 {
		b.Bytes = DefaultBudget.Bytes
	}
	x := &inspector{tree: tree{fsys: fsys, left: b}, p: p}
	switch c.Name {
	case Read:
		err = x.read(c)
	case List:
		err = x.list(c.Arg)
	case Find:
		err = x.find(c.Arg)
	default:
		err = fmt.Errorf("no such verb: %q", c.Name)
	}
	var said refusal
	switch {
	case errors.As(err, &said):
		return string(said), false, nil
	case err != nil:
		return "", false, failed(err)
	}
	out, cut := x.clip(strings.Trim(strings.Join(x.rows, "\n"), "\n"))
	return out, x.more || cut, nil
}

// failed gives an error of the tree its code.
func failed(err error) error {
	var own *fault.Error
	if errors.As(err, &own) {
		return err
	}
	return conductor.InspectionFailed.Because(err)
}

// refusal is what a worker is told instead of what it asked for.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(arg, why string) error { return refusal("error: " + arg + " " + why) }

// inspector is one inspection.
type inspector struct {
	tree
	p    profile.Profile
	rows []string
	used int  // size of the rows with a line end each
	more bool // something was left out
}

// full reports whether another row has no room, and notes that there would have been one.
func (x *inspector) full(rows int) bool {
	if len(x.rows) < rows && x.used < MaxOutput {
		return false
	}
	x.more = true
	return true
}

func (x *inspector) add(row string) {
	x.rows = append(x.rows, row)
	x.used += x.size(row) + 1
}

// size is bytes under strict and characters under compat.
func (x *inspector) size(s string) int {
	if x.p.Strict() {
		return len(s)
	}
	return utf8.RuneCountInString(s)
}

// clip cuts the output to MaxOutput: under compat after so many characters, under strict on a character's border with a mark.
func (x *inspector) clip(out string) (string, bool) {
	if x.size(out) <= MaxOutput {
		return out, false
	}
	if x.p.Strict() {
		end := MaxOutput - len(Cut)
		for !utf8.RuneStart(out[end]) {
			end--
		}
		return out[:end] + Cut, true
	}
	n := 0
	for i := range out {
		if n == MaxOutput {
			return out[:i], true
		}
		n++
	}
	return out, false
}

// place resolves the argument of READ and LIST and refuses what may not be seen.
func (x *inspector) place(arg string) (place, error) {
	if strings.HasPrefix(arg, "/") || slices.Contains(strings.Split(arg, "/"), "..") {
		return place{}, refuse(arg, "is outside the repository root; paths are relative to it and may not contain `..`")
	}
	at, err := x.resolve(arg)
	switch {
	case err != nil:
		return place{}, err
	case at.outside:
		return place{}, refuse(arg, "is outside the repository root")
	case at.hidden():
		return place{}, refuse(arg, "is repository metadata, not source")
	}
	return at, nil
}

func (x *inspector) read(c Call) error {
	at, err := x.place(c.Arg)
	if err != nil {
		return err
	}
	last := c.Arg[strings.LastIndexByte(c.Arg, '/')+1:]
	if at.kind != file || x.p.Strict() && (last == "" || last == ".") {
		return refuse(c.Arg, "is not a file")
	}
	lines, err := x.open(at.path)
	if err != nil {
		return err
	}
	if lines == nil {
		return refuse(c.Arg, "is not a file")
	}
	defer lines.close()
	start, err := strconv.ParseInt(c.Start, 10, 64)
	if err != nil {
		start = math.MaxInt64 // beyond every file
	}
	for n := int64(1); ; n++ {
		keep := 0
		if n >= start {
			keep = keepLine
		}
		l, err := lines.next(keep, nil)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if n < start {
			continue
		}
		if x.full(ReadLines) {
			break
		}
		x.add(fmt.Sprintf("%6d\t%s", n, l.text))
	}
	if len(x.rows) == 0 {
		return refuse(c.Arg, "has no line "+c.Start)
	}
	return nil
}

func (x *inspector) list(arg string) error {
	at, err := x.place(arg)
	if err != nil {
		return err
	}
	var entries []fs.DirEntry
	if at.kind == directory {
		if entries, err = x.readDir(at.path); err != nil {
			return err
		}
	}
	if entries == nil {
		return refuse(arg, "is not a directory")
	}
	for _, e := range entries {
		if e.Name() == Hidden {
			continue
		}
		if len(x.rows) == ListMax {
			x.more = true
			break
		}
		x.add(shown(e.Name()))
	}
	return nil
}

// shown is a name as text.
func shown(name string) string { return strings.ToValidUTF8(name, "\ufffd") }

func (x *inspector) find(pattern string) error {
	err := x.walk("", 0, []byte(pattern))
	if err == errEnough {
		return nil
	}
	return err
}

var errEnough = errors.New("no more matches are shown")

// walk looks through a directory's files by name, then through its directories by name. Links to files are looked through under
// their own names when they lead to a file inside; links to directories are not followed.
func (x *inspector) walk(dir string, depth int, pattern []byte) error {
	if depth > maxDepth {
		return conductor.InspectionTooLarge.With(fault.Int("depth", maxDepth))
	}
	entries, err := x.readDir(dir)
	if err != nil {
		return err
	}
	var below []string
	for _, e := range entries {
		name := join(dir, e.Name())
		if e.Name() == Hidden {
			continue
		}
		target := name
		switch e.Type() {
		case fs.ModeDir:
			below = append(below, name)
			continue
		case fs.ModeSymlink:
			at, err := x.resolve(name)
			if err != nil {
				return err
			}
			if at.outside || at.hidden() || at.kind != file {
				continue
			}
			target = at.path
		case 0:
		default:
			continue
		}
		if err := x.scan(name, target, pattern); err != nil {
			return err
		}
	}
	for _, name := range below {
		if err := x.walk(name, depth+1, pattern); err != nil {
			return err
		}
	}
	return nil
}

// scan adds the lines of a file that hold the pattern. A file that may not be read is passed over.
func (x *inspector) scan(name, target string, pattern []byte) error {
	lines, err := x.open(target)
	if err != nil || lines == nil {
		return err
	}
	defer lines.close()
	for n := 1; ; n++ {
		l, err := lines.next(keepLine, pattern)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if !l.found {
			continue
		}
		if x.full(FindMax) {
			return errEnough
		}
		x.add(shown(name) + ":" + strconv.Itoa(n) + ":" + string(l.text))
	}
}
