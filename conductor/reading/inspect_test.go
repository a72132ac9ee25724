package reading_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"pgregory.net/rapid"

	"assay/conductor"
	"assay/conductor/profile"
	"assay/conductor/reading"
	"assay/core/fault"
)

// repo makes a tree: "name -> target" is a link, a name that ends in a slash an empty directory.
func repo(files map[string]string) fstest.MapFS {
	tree := fstest.MapFS{}
	for name, data := range files {
		switch link, target, is := strings.Cut(name, " -> "); {
		case is:
			tree[link] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
		case strings.HasSuffix(name, "/"):
			tree[strings.TrimSuffix(name, "/")] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
		default:
			tree[name] = &fstest.MapFile{Data: []byte(data)}
		}
	}
	return tree
}

// call reads a line that a worker says.
func call(t testing.TB, line string) reading.Call {
	t.Helper()
	c, ok := reading.Parse(line, profile.Compat)
	if !ok {
		t.Fatalf("%q is no call", line)
	}
	return c
}

func inspect(t testing.TB, tree fs.FS, line string, p profile.Profile) (string, bool) {
	t.Helper()
	out, more, err := reading.Inspect(tree, call(t, line), p, reading.Budget{})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return out, more
}

// shows wants an output in both profiles.
func shows(t *testing.T, tree fs.FS, line, want string, wantMore bool) {
	t.Helper()
	for _, p := range both {
		if out, more := inspect(t, tree, line, p); out != want || more != wantMore {
			t.Errorf("%v: %s shows %q %v, want %q %v", p, line, out, more, want, wantMore)
		}
	}
}

func python() fstest.MapFS {
	return repo(map[string]string{
		"README": "hello\n", "pkg/mod.py": "import os\n\n\ndef broken(chunk):\n    return 1\n", "pkg/sub/deep.txt": "def broken too\n",
		".gitignore": "*.pyc\n", ".git/HEAD": "def broken\n", "escape -> ../secret": "", "inside -> pkg/mod.py": "", "dir -> pkg": "",
		"evil -> ../repo-evil": "", "gitlink -> .git": "", "dangling -> nowhere": "", "out -> /var": "", "loop1 -> loop2": "", "loop2 -> loop1": "",
		"empty": "", "bare/": "", "up -> pkg/sub/../mod.py": "", "round -> pkg/../../repo/README": "",
	})
}

func TestBehaviourT9_ReadNumbersLines(t *testing.T) {
	shows(t, python(), "READ pkg/mod.py 4", "     4\tdef broken(chunk):\n     5\t    return 1", false)
	lines := strings.Repeat("x\n", 201)
	shows(t, repo(map[string]string{"f": lines[:400]}), "READ f", strings.TrimSuffix(numbered(1, 200), "\n"), false)
	shows(t, repo(map[string]string{"f": lines}), "READ f", strings.TrimSuffix(numbered(1, 200), "\n"), true)
	shows(t, repo(map[string]string{"f": lines}), "READ f 2", strings.TrimSuffix(numbered(2, 201), "\n"), false)
}

func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		n := "      " + itoa(i)
		b.WriteString(n[len(n)-6:] + "\tx\n")
	}
	return b.String()
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

func TestBehaviourT10_ListHidesMetadata(t *testing.T) {
	shows(t, python(), "LIST .", ".gitignore\nREADME\nbare\ndangling\ndir\nempty\nescape\nevil\ngitlink\ninside\nloop1\nloop2\nout\npkg\nround\nup", false)
	shows(t, python(), "LIST bare", "", false)
}

func TestBehaviourT11_FindIsLiteral(t *testing.T) {
	shows(t, python(), "FIND def broken", "inside:4:def broken(chunk):\nup:4:def broken(chunk):\npkg/mod.py:4:def broken(chunk):\npkg/sub/deep.txt:1:def broken too", false)
	shows(t, python(), "FIND def.*", "", false)
}

func TestBehaviourT12_FindGoesDepthFirstAndStops(t *testing.T) {
	shows(t, repo(map[string]string{"b/x": "hit", "a.txt": "hit", "a/y": "hit", "a/a/q": "hit", "B/z": "hit"}), "FIND hit",
		"a.txt:1:hit\nB/z:1:hit\na/y:1:hit\na/a/q:1:hit\nb/x:1:hit", false)
	fifty := strings.Repeat("hit\n", 50)
	for text, wantMore := range map[string]bool{fifty: false, fifty + "miss\n": false, fifty + "hit": true} {
		out, more := inspect(t, repo(map[string]string{"f": text}), "FIND hit", profile.Strict)
		if strings.Count(out, "\n")+1 != 50 || more != wantMore {
			t.Errorf("%d matches, more %v", strings.Count(out, "\n")+1, more)
		}
	}
}

func TestBehaviourT13_PathsThatAreRefusedUnseen(t *testing.T) {
	const why = " is outside the repository root; paths are relative to it and may not contain `..`"
	for _, arg := range []string{"..", "../x", "a/../b", "/", "/etc/passwd", "pkg/.."} {
		for _, verb := range []string{"READ ", "LIST "} {
			shows(t, panics{}, verb+arg, "error: "+arg+why, false)
		}
	}
	shows(t, repo(map[string]string{"a..b/c..": "x"}), "READ a..b/c..", "     1\tx", false) // dots in a name are no way up
}

// panics is a tree that nobody may look at.
type panics struct{}

func (panics) Open(string) (fs.File, error) { panic("the tree was opened") }

func TestBehaviourT14_LinksOutAreOutside(t *testing.T) {
	for _, arg := range []string{"escape", "out", "out/passwd", "evil", "evil/x", "round"} {
		shows(t, python(), "READ "+arg, "error: "+arg+" is outside the repository root", false)
		shows(t, python(), "LIST "+arg, "error: "+arg+" is outside the repository root", false)
	}
}

// A sibling that begins like the root is reached by no spelling.
func TestFault23_ASiblingWithTheSamePrefix(t *testing.T) {
	for _, arg := range []string{"../repo-keys/k", "/w/repo-keys/k"} {
		shows(t, python(), "READ "+arg, "error: "+arg+" is outside the repository root; paths are relative to it and may not contain `..`", false)
	}
	tree := repo(map[string]string{"keys -> ../repo-keys": "", "abs -> /w/repo-keys": "", "a -> b": "", "b -> keys/k": "", "f": "x"})
	for _, arg := range []string{"keys/k", "abs/k", "a"} {
		shows(t, tree, "READ "+arg, "error: "+arg+" is outside the repository root", false)
	}
	shows(t, tree, "FIND x", "f:1:x", false)
}

// What is missing behind a link out is outside all the same.
func TestFault25_AMissingFileBehindALinkOut(t *testing.T) {
	tree := repo(map[string]string{"link -> /var": "", "rel -> ../var": "", "deep/link -> ../../var": ""})
	for _, arg := range []string{"link/none.txt", "rel/none.txt", "deep/link/none.txt", "link"} {
		shows(t, tree, "READ "+arg, "error: "+arg+" is outside the repository root", false)
	}
	shows(t, tree, "READ deep/none/x", "error: deep/none/x is not a file", false)
}

// Every error of the tree ends the inspection; none is taken for "nothing there".
func TestFault25_EveryErrorIsARefusal(t *testing.T) {
	disk := errors.New("input/output error")
	for _, line := range []string{"READ a", "LIST .", "LIST a", "FIND x", "READ link"} {
		out, _, err := reading.Inspect(broken{python(), disk}, call(t, line), profile.Strict, reading.Budget{})
		if fault.Of(err) != conductor.InspectionFailed || !errors.Is(err, disk) || out != "" {
			t.Errorf("%s: %q, %v", line, out, err)
		}
	}
	if _, _, err := reading.Inspect(python(), reading.Call{Name: "EXEC", Arg: "x"}, profile.Strict, reading.Budget{}); fault.Of(err) != conductor.InspectionFailed {
		t.Errorf("a verb that is none: %v", err)
	}
	for _, denied := range []error{fs.ErrPermission, fs.ErrNotExist, fs.ErrInvalid} {
		shows(t, broken{python(), denied}, "READ pkg/mod.py", "error: pkg/mod.py is not a file", false)
		shows(t, broken{python(), denied}, "LIST pkg", "error: pkg is not a directory", false)
	}
}

// broken fails at whatever is looked at.
type broken struct {
	fs.FS
	err error
}

func (b broken) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: b.err}
}
func (b broken) ReadLink(name string) (string, error) { return "", b.err }
func (b broken) Lstat(name string) (fs.FileInfo, error) {
	return nil, &fs.PathError{Op: "lstat", Path: name, Err: b.err}
}

func TestBehaviourT16_MetadataIsNotShown(t *testing.T) {
	tree := repo(map[string]string{".git/HEAD": "x", "gitlink -> .git": "", "head -> .git/HEAD": "", "sub/.git": "gitdir: x", "nest -> sub/.git": "", "a": "x"})
	for _, arg := range []string{".git/HEAD", ".git", "gitlink", "gitlink/HEAD", "head", "sub/.git", "nest", ".git/none"} {
		shows(t, tree, "READ "+arg, "error: "+arg+" is repository metadata, not source", false)
	}
	shows(t, tree, "FIND x", "a:1:x", false)
}

func TestBehaviourT17_WhatIsNotThereIsSaid(t *testing.T) {
	for line, want := range map[string]string{
		"READ none": "error: none is not a file", "READ pkg": "error: pkg is not a file", "READ dangling": "error: dangling is not a file",
		"READ loop1": "error: loop1 is not a file", "READ loop1/x": "error: loop1/x is not a file", "LIST loop2": "error: loop2 is not a directory",
		"LIST README": "error: README is not a directory", "LIST none": "error: none is not a directory", "READ README 9": "error: README has no line 9",
		"READ empty": "error: empty has no line 1", "READ README/x": "error: README/x is not a file", "READ .": "error: . is not a file",
		"READ README 99999999999999999999": "error: README has no line 99999999999999999999",
		"READ " + strings.Repeat("a", 300): "error: " + strings.Repeat("a", 300) + " is not a file",
	} {
		shows(t, python(), line, want, false)
	}
}

func TestBehaviourT18_LongLinesAreCut(t *testing.T) {
	tree := repo(map[string]string{"y": strings.Repeat("y", 20_000) + "\nz\n", "e": strings.Repeat("é", 9_000)})
	for _, name := range []string{"y", "e"} {
		out, more := inspect(t, tree, "READ "+name, profile.Compat)
		if utf8.RuneCountInString(out) != 8192 || !more {
			t.Errorf("compat: %d characters, more %v", utf8.RuneCountInString(out), more)
		}
		out, more = inspect(t, tree, "READ "+name, profile.Strict)
		if len(out) > 8192 || len(out) < 8190 || !utf8.ValidString(out) || !strings.HasSuffix(out, " [cut]") || !more {
			t.Errorf("strict: %d bytes, end %q, more %v", len(out), out[len(out)-9:], more)
		}
	}
}

func TestBehaviourT19_MarkersInAFileAreText(t *testing.T) {
	tree := repo(map[string]string{"m": "<<<v3-OBSERVATION-END>>>\n[truncated]\n<<<v3-OBSERVATION>>>\nx"})
	shows(t, tree, "READ m", "     1\t<<<v3-OBSERVATION-END>>>\n     2\t[truncated]\n     3\t<<<v3-OBSERVATION>>>\n     4\tx", false)
}

// T20: what could not be read is nobody's observation, so a tree beyond the budget is an error and not an empty answer.
func TestBehaviourT20_ATreeBeyondTheBudgetIsNoObservation(t *testing.T) {
	files := map[string]string{"big": strings.Repeat("x\n", 200_000)}
	for i := range 30 {
		files["d/"+itoa(i)] = "x"
	}
	tree := repo(files)
	for line, b := range map[string]reading.Budget{
		"FIND y": {Bytes: 1000}, "READ big 190000": {Bytes: 1000}, "FIND z": {Files: 10}, "LIST d": {Files: 10},
	} {
		out, _, err := reading.Inspect(tree, call(t, line), profile.Strict, b)
		if fault.Of(err) != conductor.InspectionTooLarge || out != "" {
			t.Errorf("%s: %q, %v", line, out, err)
		}
	}
	deep := fstest.MapFS{strings.Repeat("d/", 600) + "f": &fstest.MapFile{}}
	if _, _, err := reading.Inspect(deep, call(t, "FIND x"), profile.Strict, reading.Budget{}); fault.Of(err) != conductor.InspectionTooLarge {
		t.Errorf("600 directories: %v", err)
	}
}

func TestBehaviourT21_BytesThatAreNoText(t *testing.T) {
	tree := repo(map[string]string{"t": "\xef\xbb\xbfbom\r\xe2\x82A\n\xed\xa0\x80\r\n\xff\xfe\n\xf0\x90\x80"})
	shows(t, tree, "READ t", "     1\t\ufeffbom\n     2\t\ufffdA\n     3\t\ufffd\ufffd\ufffd\n     4\t\ufffd\ufffd\n     5\t\ufffd", false)
	shows(t, tree, "FIND \ufffdA", "t:2:\ufffdA", false)
	shows(t, repo(map[string]string{"t": "a\vb\fc\u0085d\u2028e\n"}), "READ t", "     1\ta\vb\fc\u0085d\u2028e", false)
	shows(t, python(), "READ dir/mod.py 5", "     5\t    return 1", false)
	shows(t, python(), "READ up 5", "     5\t    return 1", false)
	tree = python()
	tree["odd"] = &fstest.MapFile{Data: []byte("pkg/mod.py/none/.."), Mode: fs.ModeSymlink}
	tree["lost"] = &fstest.MapFile{Data: []byte("none/../pkg/mod.py"), Mode: fs.ModeSymlink}
	shows(t, tree, "READ odd 5", "     5\t    return 1", false) // names alone decide behind what is no directory
	shows(t, tree, "READ lost 5", "     5\t    return 1", false)
}

func TestFault22_LongLinesAndOddBytesAreSearched(t *testing.T) {
	long := strings.Repeat("a", 70_000)
	tree := repo(map[string]string{
		"long": long + "\nTARGET\n", "nul": "\x00\x01TARGET\x00\n", "cut": "\xe2\x82\nTARGET\xe2", "late": long + "TARGET" + long,
	})
	out, more := inspect(t, tree, "FIND TARGET", profile.Strict)
	if !strings.HasPrefix(out, "cut:2:TARGET\ufffd\nlate:1:aaa") || !more || len(out) > 8192 || !strings.HasSuffix(out, reading.Cut) {
		t.Errorf("%d bytes, more %v: %.60q", len(out), more, out)
	}
	delete(tree, "late")
	shows(t, tree, "FIND TARGET", "cut:2:TARGET\ufffd\nlong:2:TARGET\nnul:1:\x00\x01TARGET\x00", false)
	shows(t, tree, "READ long 2", "     2\tTARGET", false)
}

// The pattern is found wherever a read of the file happens to be split.
func TestFault22_APatternAcrossBlocksIsFound(t *testing.T) {
	for _, at := range []int{65_530, 65_534, 65_535, 65_536, 131_071} {
		tree := repo(map[string]string{"f": strings.Repeat("a", at) + "Zié€\r\nnext"})
		out, _ := inspect(t, tree, "FIND Zié€", profile.Compat)
		if !strings.HasPrefix(out, "f:1:aaa") {
			t.Errorf("at %d: %.20q", at, out)
		}
		shows(t, tree, "READ f 2", "     2\tnext", false)
	}
}

func TestATrailingSlashIsACompatAccident(t *testing.T) {
	tree := repo(map[string]string{"a.py": "x"})
	for _, arg := range []string{"a.py/", "a.py/."} {
		if out, _ := inspect(t, tree, "READ "+arg, profile.Compat); out != "     1\tx" {
			t.Errorf("compat: %q", out)
		}
		if out, _ := inspect(t, tree, "READ "+arg, profile.Strict); out != "error: "+arg+" is not a file" {
			t.Errorf("strict: %q", out)
		}
	}
}

func TestFault26_TreesWithHistoryAreRefused(t *testing.T) {
	for _, name := range []string{
		".git/packed-refs", "sub/.git", ".git -> elsewhere", "packed-refs", "x/ORIG_HEAD", ".hg/x", ".svn/entries", "vendor/.GIT/config", "_darcs/",
	} {
		if err := reading.Admit(repo(map[string]string{name: "x", "a": "x"}), reading.Budget{}); fault.Of(err) != conductor.VCSData {
			t.Errorf("%s: %v", name, err)
		}
	}
	bare := repo(map[string]string{"mirror.x/HEAD": "x", "mirror.x/objects/": "", "mirror.x/refs/": ""})
	if err := reading.Admit(bare, reading.Budget{}); fault.Of(err) != conductor.VCSData {
		t.Errorf("a bare repository: %v", err)
	}
	for _, name := range []string{"a\nb", "\xff", "a\u2028"} {
		if err := reading.Admit(repo(map[string]string{name: "x"}), reading.Budget{}); fault.Of(err) != conductor.BadTree {
			t.Errorf("%q: %v", name, err)
		}
	}
	fine := repo(map[string]string{".gitignore": "", ".github/x": "", "git/HEAD": "", "objects/a": "", "refs.txt": "", ".gitattributes": "", "a -> b": ""})
	if err := reading.Admit(fine, reading.Budget{}); err != nil {
		t.Errorf("a plain tree: %v", err)
	}
	if err := reading.Admit(fine, reading.Budget{Files: 2}); fault.Of(err) != conductor.InspectionTooLarge {
		t.Errorf("a tree beyond the budget: %v", err)
	}
	if err := reading.Admit(broken{fine, fs.ErrPermission}, reading.Budget{}); fault.Of(err) != conductor.BadTree {
		t.Errorf("a tree that may not be read: %v", err)
	}
}

func TestInvitations(t *testing.T) {
	all := []string{reading.Find, reading.Read, "bash", reading.List}
	for _, tools := range [][]string{all, {reading.Read}, {reading.List, reading.Find}} {
		prompt := "Fix it." + reading.Invitation(tools)
		if !reading.Invited(prompt, tools) || reading.Invited(prompt+" ", tools) || reading.Invited(prompt, []string{"bash"}) || reading.Invited("Fix it.", tools) {
			t.Errorf("%v: %q", tools, prompt)
		}
		if strings.HasPrefix(reading.Invitation(tools), "\n\n") != true || strings.Contains(prompt, "FIND") != contains(tools, reading.Find) {
			t.Errorf("%v invites with %q", tools, prompt)
		}
	}
	if reading.Invitation([]string{"bash"}) != "" || !reading.Invited("Fix it.", nil) {
		t.Error("a task without verbs is invited")
	}
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

// Whatever bytes a file holds, numbering and cutting follow the naive reading of the same text.
func TestProperty_reading_follows_the_naive_reader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "\n", "\r", "\r\n", "\xe2", "\x82", "\xac", "\xed\xa0", "é", "\xf0\x9f", "\x00", strings.Repeat("b", 9000)}), 0, 40).Draw(t, "parts")
		data := strings.Join(parts, "")
		out, _, err := reading.Inspect(repo(map[string]string{"f": data}), reading.Call{Name: reading.Read, Arg: "f", Start: "1"}, profile.Compat, reading.Budget{})
		if err != nil {
			t.Fatal(err)
		}
		if want := naive(data); out != want {
			t.Fatalf("%q shows\n%.200q, want\n%.200q", data, out, want)
		}
	})
}

// naive is a READ from line 1 with everything in memory.
func naive(data string) string {
	text := strings.ReplaceAll(strings.ReplaceAll(string(lossy([]byte(data))), "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if text == "" {
		return "error: f has no line 1"
	}
	var out []string
	used := 0
	for i, l := range lines {
		if len(out) == 200 || used >= 8192 {
			break
		}
		n := "      " + itoa(i+1)
		row := n[len(n)-6:] + "\t" + l
		out = append(out, row)
		used += utf8.RuneCountInString(row) + 1
	}
	runes := []rune(strings.Join(out, "\n"))
	return string(runes[:min(len(runes), 8192)])
}

// lossy replaces what is no character by looking for the longest valid beginning of one, by trial.
func lossy(b []byte) (out []rune) {
	for len(b) > 0 {
		if r, n := utf8.DecodeRune(b); r != utf8.RuneError || n > 1 {
			out, b = append(out, r), b[n:]
			continue
		}
		n := 1
		for n < len(b) && n < 4 && begins(b[:n+1]) {
			n++
		}
		out, b = append(out, utf8.RuneError), b[n:]
	}
	return out
}

// begins reports whether some character begins with these bytes.
func begins(b []byte) bool { return !utf8.FullRune(b) || utf8.Valid(b) }

// FuzzInspect asks any line of a tree whose secrets lie behind every kind of link: nothing of them is ever shown.
func FuzzInspect(f *testing.F) {
	for _, s := range []string{"READ escape", "LIST .git", "FIND SECRET", "READ a/b/../../.git/x", "LIST ./dir//", "READ loop/x 3", "READ dir/.git", "READ f 2"} {
		f.Add(s)
	}
	tree := repo(map[string]string{
		".git/x": "SECRET", "sub/.git": "SECRET", "f": "one\ntwo", "sub/g": "three", "escape -> ../s": "", "dir -> sub": "", "loop -> loop": "",
		"g -> .git/x": "", "h -> sub/.git": "", "i -> dir/.git": "", "j -> ./f": "",
	})
	f.Fuzz(func(t *testing.T, line string) {
		for _, p := range both {
			c, ok := reading.Parse(line, p)
			if !ok {
				continue
			}
			out, _, err := reading.Inspect(tree, c, p, reading.Budget{})
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if strings.Contains(strings.ReplaceAll(out, c.Arg, ""), "SECRET") || p.Strict() && len(out) > reading.MaxOutput {
				t.Fatalf("%v: %q shows %q", p, line, out)
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	files := map[string]string{}
	text := strings.Repeat("    return value of the chunk, as it was before\n", 2000)
	for i := range 100 {
		files["d"+itoa(i%10)+"/f"+itoa(i)] = text
	}
	tree := repo(files)
	b.SetBytes(int64(100 * len(text)))
	for b.Loop() {
		if out, _ := inspect(b, tree, "FIND no such words", profile.Strict); out != "" {
			b.Fatal(out)
		}
	}
}
