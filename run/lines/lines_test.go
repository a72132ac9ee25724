package lines_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay/core/fault"
	"assay/run"
	"assay/run/lines"
)

const format = "assay/example/1"

// open opens a file for the length of the test and returns what it held.
func open(t testing.TB, path string) (*lines.File, []string) {
	t.Helper()
	var held []string
	f, err := lines.Open(path, format, func(line int64, payload []byte) error {
		if line != int64(len(held))+2 {
			t.Errorf("payload %d is said to stand in line %d", len(held)+1, line)
		}
		held = append(held, string(payload))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f, held
}

// write makes a file of payloads and returns its path and text.
func write(t testing.TB, payloads ...string) (path string, text []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "file")
	f, _ := open(t, path)
	for i, p := range payloads {
		pos, err := f.Append([]byte(p))
		if err != nil || pos != int64(i)+2 {
			t.Fatalf("payload %d has position %d: %v", i+1, pos, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, text
}

var some = []string{`{"n":1}`, "", `{"text":"größe` + "\x00\r" + `"}`, "\x00\x00", `{"n":5}`}

func TestWhatWasSyncedIsReadAgain(t *testing.T) {
	path, _ := write(t, some...)
	f, held := open(t, path)
	if d := cmp.Diff(some, held); d != "" {
		t.Error(d)
	}
	if err := f.Write([]byte("more")); err != nil {
		t.Fatal(err)
	}
	var read []string
	each := func(_ int64, p []byte) error { read = append(read, string(p)); return nil }
	if err := lines.ReadFile(path, format, each); err != nil { // while it is held
		t.Fatal(err)
	}
	if d := cmp.Diff(append(append([]string{}, some...), "more"), read); d != "" {
		t.Error(d)
	}
	if _, err := lines.Open(path, format, nil); fault.Of(err) != run.Locked {
		t.Errorf("a second holder: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v (%v)", info.Mode(), err)
	}
}

func TestProperty_payloads_come_back_as_they_were(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprint(n))
		var want []string
		for range rapid.IntRange(1, 3).Draw(rt, "openings") {
			f, held := open(t, path)
			if d := cmp.Diff(want, held); d != "" {
				rt.Fatal(d)
			}
			for _, p := range rapid.SliceOfN(rapid.SliceOf(rapid.Byte()), 0, 8).Draw(rt, "payloads") {
				p = bytes.ReplaceAll(p, []byte("\n"), nil)
				if _, err := f.Append(p); err != nil {
					rt.Fatal(err)
				}
				want = append(want, string(p))
			}
			if err := f.Close(); err != nil {
				rt.Fatal(err)
			}
		}
		if _, held := open(t, path); cmp.Diff(want, held) != "" {
			rt.Fatal(cmp.Diff(want, held))
		}
	})
}

// Wherever a write is cut off, opening drops the cut line and keeps every whole one.
func TestTornTailIsDropped(t *testing.T) {
	_, text := write(t, some...)
	path := filepath.Join(t.TempDir(), "file")
	for _, zeros := range []int{0, 5} {
		for cut := range len(text) {
			if zeros > 0 && cut > 0 && (text[cut] == '\n' || text[cut] == 0) {
				continue // a whole line with zeros in place of its line end is damage, see the flipped bits
			}
			if err := os.WriteFile(path, append(bytes.Clone(text[:cut]), make([]byte, zeros)...), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := lines.Open(path, format, nil)
			if err != nil {
				t.Fatalf("cut at byte %d with %d zeros: %v", cut, zeros, err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			whole := max(bytes.LastIndexByte(text[:cut], '\n'), bytes.IndexByte(text, '\n'))
			if text[cut] == '\n' {
				whole = cut // it lacked its line end only
			}
			if !bytes.Equal(got, text[:whole+1]) {
				t.Fatalf("cut at byte %d with %d zeros: kept %d bytes, want %d", cut, zeros, len(got), whole+1)
			}
		}
	}
}

// No flipped bit is read past: whatever it hits, the file is refused with its line and stays as it is.
func TestFlippedBitIsRefused(t *testing.T) {
	_, text := write(t, some...)
	path := filepath.Join(t.TempDir(), "file")
	for at := range text {
		line := int64(bytes.Count(text[:at], []byte("\n")) + 1)
		for bit := range 8 {
			bad := bytes.Clone(text)
			bad[at] ^= 1 << bit
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := lines.Open(path, format, nil)
			if line == 1 && fault.Of(err) != lines.OtherFormat {
				t.Fatalf("bit %d of byte %d: %v", bit, at, err)
			}
			if want := fmt.Sprintf("line %d", line); line > 1 && (fault.Of(err) != lines.Damaged || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path)) {
				t.Fatalf("bit %d of byte %d: %v, want damage in %s", bit, at, err, want)
			}
			if err := lines.ReadFile(path, format, nil); err == nil {
				t.Fatalf("bit %d of byte %d: ReadFile reads past it", bit, at)
			}
			if got, _ := os.ReadFile(path); !bytes.Equal(got, bad) {
				t.Fatalf("byte %d: the refused file was changed", at)
			}
		}
	}
}

func TestMovedLinesAreRefused(t *testing.T) {
	_, text := write(t, some...)
	l := bytes.SplitAfter(text, []byte("\n"))
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	_, other := write(t, "another first payload", some[1])
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"a line is gone":          {join(l[0], l[1], l[3], l[4], l[5]), "line 3"},
		"the empty line is gone":  {join(l[0], l[1], l[3], l[4]), "line 3"},
		"two lines changed":       {join(l[0], l[2], l[1], l[3], l[4], l[5]), "line 2"},
		"a line stands twice":     {join(l[0], l[1], l[1], l[2]), "line 3"},
		"an empty line inside":    {join(l[0], l[1], []byte("\n"), l[2]), "line 3"},
		"a line of another file":  {join(l[0], l[1], bytes.SplitAfter(other, []byte("\n"))[2]), "line 3"},
		"an edited line":          {join(l[0], bytes.Replace(l[1], []byte("1}"), []byte("2}"), 1), l[2]), "line 2"},
		"text behind the end":     {join(text, []byte("hello")), "line 7"},
		"zeros behind a whole":    {join(l[0], l[1], l[2][:len(l[2])-1], []byte("\x00")), "line 3"},
		"a line end moved inside": {join(l[0], l[1][:12], []byte("\n"), l[1][12:]), "line 2"},
	} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, c.text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := lines.Open(path, format, nil); fault.Of(err) != lines.Damaged || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want damage in %s", name, err, c.want)
		}
		if got, _ := os.ReadFile(path); !bytes.Equal(got, c.text) {
			t.Errorf("%s: the refused file was changed", name)
		}
	}
}

func TestForeignFileIsLeftAlone(t *testing.T) {
	_, ours := write(t, "a")
	for name, text := range map[string]string{
		"JSON": `{"a":1}` + "\n", "text": "hello", "an empty line": "\n", "zeros before text": "\x00\x00x",
		"ours of another name": string(ours), "ours of another name, cut": string(ours[:len(ours)-20]),
	} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := lines.Open(path, "assay/other/1", nil); fault.Of(err) != lines.OtherFormat {
			t.Errorf("%s: %v", name, err)
		}
		if got, _ := os.ReadFile(path); string(got) != text {
			t.Errorf("%s: the file became %q", name, got)
		}
	}
	path, _ := write(t, "a")
	if _, err := lines.Open(path, "assay/other/1", nil); err == nil || !strings.Contains(err.Error(), format) {
		t.Errorf("%v does not say what the file is", err)
	}
}

func TestWhatCannotBeReadBackIsRefused(t *testing.T) {
	path, _ := write(t)
	f, _ := open(t, path)
	if _, err := f.Append([]byte("a\nb")); fault.Of(err) != lines.BadPayload {
		t.Errorf("a line end: %v", err)
	}
	big := bytes.Repeat([]byte("x"), lines.MaxPayload+1)
	if _, err := f.Append(big); fault.Of(err) != lines.TooLarge {
		t.Errorf("a payload over the limit: %v", err)
	}
	if err := f.Write(big[1:]); err != nil {
		t.Errorf("a payload at the limit: %v", err)
	}
	if err := f.Sync(99); err == nil {
		t.Error("a line that was never written is waited for")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, held := open(t, path); len(held) != 1 || len(held[0]) != lines.MaxPayload {
		t.Errorf("%d payloads after refusals, want 1", len(held))
	}
	for _, name := range []string{"", "a\nb", "\xff", strings.Repeat("x", 513)} {
		if _, err := lines.Open(filepath.Join(t.TempDir(), "f"), name, nil); fault.Of(err) != lines.BadPayload {
			t.Errorf("format %.9q: %v", name, err)
		}
		if err := lines.ReadAll(strings.NewReader(""), name, nil); fault.Of(err) != lines.BadPayload {
			t.Errorf("format %.9q: %v", name, err)
		}
	}
	if err := lines.ReadAll(bytes.NewReader(bytes.Repeat([]byte("0"), lines.MaxPayload+20)), format, nil); fault.Of(err) != lines.TooLarge {
		t.Errorf("a line over the limit is read: %v", err)
	}
}

func TestWhatIsNoRegularFileIsNotOpened(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, filepath.Dir(pipe), os.DevNull} {
		if _, err := lines.Open(path, format, nil); fault.Of(err) != lines.OtherFormat {
			t.Errorf("%s: %v", path, err)
		}
		if err := lines.ReadFile(path, format, nil); fault.Of(err) != lines.OtherFormat {
			t.Errorf("reading %s: %v", path, err)
		}
	}
	if err := lines.ReadFile(filepath.Join(t.TempDir(), "none"), format, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestReadersErrorEndsTheOpening(t *testing.T) {
	path, text := write(t, some...)
	no := errors.New("no")
	_, err := lines.Open(path, format, func(line int64, _ []byte) error {
		if line == 3 {
			return no
		}
		return nil
	})
	if !errors.Is(err, no) || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("Open = %v", err)
	}
	if got, _ := os.ReadFile(path); !bytes.Equal(got, text) {
		t.Error("the file was changed")
	}
	open(t, path) // and nobody holds it
}

func TestFailedDiskStopsTheFile(t *testing.T) {
	for _, c := range []struct {
		err  error
		want fault.Code
	}{{syscall.EIO, lines.Broken}, {syscall.ENOSPC, lines.Full}} {
		path := filepath.Join(t.TempDir(), "file")
		f, _ := open(t, path)
		lines.SetFsync(f, func(*os.File) error { return c.err })
		if err := f.Write([]byte("a")); fault.Of(err) != c.want || !errors.Is(err, c.err) {
			t.Errorf("%v: Write = %v", c.err, err)
		}
		lines.SetFsync(f, (*os.File).Sync)
		if _, err := f.Append([]byte("b")); fault.Of(err) != c.want {
			t.Errorf("%v: Append afterwards = %v", c.err, err)
		}
		if err := f.Close(); fault.Of(err) != c.want {
			t.Errorf("%v: Close = %v", c.err, err)
		}
		open(t, path)
	}
	f, _ := open(t, filepath.Join(t.TempDir(), "file"))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Write([]byte("a")); fault.Of(err) != lines.Broken || !errors.Is(err, os.ErrClosed) {
		t.Errorf("a write to a closed file: %v", err)
	}
}

// A real disk that is full leaves a file that opens again with every line that was synced.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("needs the right to mount a small file system: run as root")
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	path := filepath.Join(dir, "file")
	f, _ := open(t, path)
	payload := bytes.Repeat([]byte("x"), 1000)
	kept, err := 0, error(nil)
	for ; kept < 100; kept++ {
		if err = f.Write(payload); err != nil {
			break
		}
	}
	if fault.Of(err) != lines.Full || kept < 30 {
		t.Fatalf("after %d lines: %v", kept, err)
	}
	if err := f.Close(); fault.Of(err) != lines.Full {
		t.Errorf("Close = %v", err)
	}
	again, held := open(t, path)
	if len(held) != kept {
		t.Errorf("%d lines were synced and %d are there", kept, len(held))
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestManyWritersShareTheDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	f, _ := open(t, path)
	entered, release := make(chan bool), make(chan bool)
	var once sync.Once
	lines.SetFsync(f, func(file *os.File) error {
		once.Do(func() { close(entered); <-release })
		return file.Sync()
	})
	var wg sync.WaitGroup
	add := func(i int) {
		pos, err := f.Append(fmt.Append(nil, i))
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if err := f.Sync(pos); err != nil {
				t.Error(err)
			}
		})
	}
	add(0)
	<-entered
	for i := range 40 {
		add(i + 1)
	}
	close(release)
	wg.Wait()
	if got := f.Syncs(); got != 2 {
		t.Errorf("41 writers needed %d fsyncs, want 2", got)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, held := open(t, path); len(held) != 41 || held[40] != "40" {
		t.Errorf("held %v", held)
	}
}

// The specification's example is a file: whoever writes another reader starts from it.
func TestExampleOfTheSpecificationIsAFile(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "spec", "lines.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```\n")
	example, _, _ = strings.Cut(example, "```")
	if _, text := write(t, `{"n":1}`, `{"n":2}`); string(text) != example {
		t.Errorf("the example is %q, and we write %q", example, text)
	}
}
