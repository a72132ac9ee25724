package tlog_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"assay/core/fault"
	"assay/tlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// place is where a damage was found.
type place struct {
	file          string
	entry, offset int64
}

func checked(files fstest.MapFS) (place, error) {
	_, err := tlog.Check(files, pinned, tlog.CheckOptions{Workers: 2})
	var d *tlog.Damage
	if errors.As(err, &d) {
		return place{d.File, d.Entry, d.Offset}, err
	}
	return place{}, err
}

// culprit says where a change of one byte must be found.
func culprit(name string, data []byte, at int) place {
	if name == tlog.CheckpointPath {
		return place{name, -1, -1}
	}
	t, err := tlog.ParseTilePath(name)
	if err != nil {
		panic(err)
	}
	if t.Level != tlog.Entries {
		return place{name, (t.N*256 + int64(at/32)) << (8 * t.Level), int64(at)}
	}
	entries, err := tlog.ParseBundle(data, t.Width)
	if err != nil {
		panic(err)
	}
	begin := 0
	for i, e := range entries {
		if at < begin+2+len(e) {
			return place{name, t.N*256 + int64(i), int64(begin)}
		}
		begin += 2 + len(e)
	}
	panic("beyond the bundle")
}

// flip changes a bit, checks the log and changes it back. old names partial tiles that were replaced: their changes are found at the byte.
func flip(t *testing.T, files fstest.MapFS, name string, at, bit int, old bool) {
	t.Helper()
	data := files[name].Data
	want := culprit(name, data, at)
	if old {
		want.offset = int64(at)
	}
	data[at] ^= 1 << bit
	got, err := checked(files)
	data[at] ^= 1 << bit
	if got != want {
		t.Errorf("bit %d of byte %d of %s: found %+v, want %+v: %v", bit, at, name, got, want, err)
	}
}

func TestEveryFlippedBitIsFoundWhereItIs(t *testing.T) {
	files := build(leaf, 2, 5)
	if _, err := checked(files); err != nil {
		t.Fatal(err)
	}
	if len(files) != 5 {
		t.Fatalf("%d files", len(files))
	}
	for name, f := range files {
		for at := range f.Data {
			for bit := range 8 {
				flip(t, files, name, at, bit, strings.HasSuffix(name, ".p/2"))
			}
		}
	}
}

// A log with full and partial tiles on three levels, one bit in each part of each kind of file.
func TestFlippedBitsOfALargeLogAreFoundWhereTheyAre(t *testing.T) {
	const size = 65536 + 256 + 3
	files := build(leaf, 255, size)
	seed := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{
		"checkpoint", "tile/entries/000", "tile/entries/000.p/255", "tile/entries/200", "tile/entries/256", "tile/entries/257.p/3",
		"tile/0/000", "tile/0/000.p/255", "tile/0/255", "tile/0/256", "tile/0/257.p/3", "tile/1/000", "tile/1/001.p/1", "tile/2/000.p/1",
	} {
		f := files[name]
		if f == nil {
			t.Fatalf("%s is missing", name)
		}
		for _, at := range []int{0, seed.IntN(len(f.Data)), len(f.Data) - 1} {
			flip(t, files, name, at, seed.IntN(8), strings.HasSuffix(name, ".p/255"))
		}
	}
}

func TestFilesThatAreCutLongerMissingOrForeign(t *testing.T) {
	base := build(leaf, 2, 300)
	for name, f := range base {
		for what, data := range map[string][]byte{"cut": f.Data[:len(f.Data)-1], "empty": {}, "longer": append(slices.Clone(f.Data), 0), "missing": nil} {
			files := fstest.MapFS{}
			for k, v := range base {
				files[k] = v
			}
			if files[name] = (&fstest.MapFile{Data: data}); data == nil {
				delete(files, name)
			}
			got, err := checked(files)
			if what == "missing" && strings.HasSuffix(name, ".p/2") {
				if err != nil { // a partial tile that a wider one has replaced need not be there
					t.Errorf("%s missing: %v", name, err)
				}
			} else if got.file != name {
				t.Errorf("%s %s: found %+v: %v", name, what, got, err)
			}
		}
	}
	for _, name := range []string{
		"notes.txt", ".tmp-1", "tile/0/002", "tile/0/001.p/45", "tile/3/000.p/1", "tile/0/000.p/256", "tile/0/000.p/0", "tile/00/000", "tile/entries/1",
		"tile/8/000", "tile/0/x000/000", "tile/0/000.p/01", "tile/data/000", "checkpoint.old", "tile/-1/000", "tile/1/001",
	} {
		files := build(leaf, 300)
		files[name] = &fstest.MapFile{Data: []byte("x")}
		got, err := checked(files)
		if fault.Of(err) != tlog.Foreign || got.file != name {
			t.Errorf("%s: found %+v: %v", name, got, err)
		}
	}
	if _, err := checked(fstest.MapFS{}); fault.Of(err) != tlog.NoCheckpoint {
		t.Errorf("no log at all: %v", err)
	}
	link := build(leaf, 3)
	link["tile/0/000.p/3"].Mode = 0o777 | 1<<27 // a symbolic link
	if _, err := checked(link); fault.Of(err) != tlog.Foreign {
		t.Errorf("a link: %v", err)
	}
}

// Who rewrites an entry and all that hangs on it, up to some level, is stopped at the next.
func TestARewrittenEntryIsFoundHoweverMuchIsRewrittenWithIt(t *testing.T) {
	forged := func(i int) []byte {
		if i == 5 {
			return []byte("forged")
		}
		return leaf(i)
	}
	const size = 600
	theirs := build(forged, size)
	for _, c := range []struct {
		files []string
		want  string
	}{
		{[]string{"tile/entries/000"}, "tile/entries/000"},
		{[]string{"tile/0/000"}, "tile/0/000"},
		{[]string{"tile/entries/000", "tile/0/000"}, "tile/entries/000"},
		{[]string{"tile/0/000", "tile/1/000.p/2"}, "tile/1/000.p/2"},
		{[]string{"tile/entries/000", "tile/0/000", "tile/1/000.p/2"}, "checkpoint"},
	} {
		files := build(leaf, size)
		for _, name := range c.files {
			files[name] = theirs[name]
		}
		var told int
		_, err := tlog.Check(files, pinned, tlog.CheckOptions{Each: func(int64, []byte) error { told++; return nil }})
		var d *tlog.Damage
		if !errors.As(err, &d) || d.File != c.want || fault.Of(err) != tlog.Damaged {
			t.Errorf("%v: %v, want %s", c.files, err, c.want)
		}
		if told > 0 {
			t.Errorf("%v: %d entries were handed out", c.files, told)
		}
	}
}

func TestTwoWrongFilesAreStillRefused(t *testing.T) {
	for _, c := range [][]string{
		{"tile/0/002.p/88", "tile/entries/002.p/88"}, {"tile/0/000", "tile/entries/000"}, {"tile/1/000.p/2", "tile/entries/001"},
		{"tile/1/000.p/2", "tile/0/000"}, {"tile/1/000.p/2", "tile/0/002.p/88"},
	} {
		files := build(leaf, 600)
		for _, name := range c {
			files[name].Data[3] ^= 4
		}
		if got, err := checked(files); fault.Of(err) != tlog.Damaged || got.file == "" {
			t.Errorf("%v: %+v, %v", c, got, err)
		}
	}
}

func TestEntriesAreHandedOutInOrder(t *testing.T) {
	files := build(leaf, 100, 3000)
	for _, workers := range []int{0, 1, 5} {
		next := int64(0)
		_, err := tlog.Check(files, pinned, tlog.CheckOptions{Workers: workers, Each: func(i int64, data []byte) error {
			if i != next || string(data) != string(leaf(int(i))) {
				return fmt.Errorf("entry %d is %q", i, data)
			}
			next++
			return nil
		}})
		if err != nil || next != 3000 {
			t.Errorf("%d workers: %d entries, %v", workers, next, err)
		}
	}
	stop := errors.New("seen enough")
	if _, err := tlog.Check(files, pinned, tlog.CheckOptions{Each: func(i int64, _ []byte) error {
		if i == 700 {
			return stop
		}
		return nil
	}}); !errors.Is(err, stop) {
		t.Errorf("the callback's error: %v", err)
	}
}

func TestAReaderRefusesWhatItCannotProve(t *testing.T) {
	for _, name := range []string{"tile/entries/001", "tile/0/001", "tile/1/000.p/2", "tile/0/002.p/88"} {
		for _, spoil := range []func([]byte) []byte{
			func(b []byte) []byte { b = slices.Clone(b); b[40] ^= 1; return b },
			func(b []byte) []byte { return b[:30] },
			func([]byte) []byte { return nil },
		} {
			files := build(leaf, 600)
			if files[name].Data = spoil(files[name].Data); files[name].Data == nil {
				delete(files, name)
			}
			r, err := tlog.OpenReader(files, pinned, tlog.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			data, err := r.Entry(257)
			if name == "tile/entries/001" && err == nil && string(data) == string(leaf(257)) {
				continue // the entry stands before the damage
			}
			if c := fault.Of(err); c != tlog.Damaged && c != tlog.BadBundle && c != tlog.ProofFails {
				t.Errorf("%s: %q, %v", name, data, err)
			}
			if _, err := r.Growth(400); name != "tile/entries/001" && err == nil && name != "tile/0/001" {
				t.Errorf("%s: growth was proven", name)
			}
		}
	}
	if _, err := tlog.ReaderAt(fstest.MapFS{}, tlog.Signed{}); fault.Of(err) != tlog.NoCheckpoint {
		t.Errorf("a reader at the zero checkpoint: %v", err)
	}
}

// An auditor holds an old checkpoint; since then the partial tiles that it needs have been replaced by full ones.
func TestAnOldCheckpointIsReadFromAGrownLog(t *testing.T) {
	was := open(t, build(leaf, 300)["checkpoint"].Data)
	r, err := tlog.ReaderAt(build(leaf, 1000), was)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Proof(299); err == nil {
		t.Error("a proof without the partial tile of level 1") // 300 leaves had one hash on level 1, and the log has three now
	}
	r, err = tlog.ReaderAt(build(leaf, 300, 1000), was)
	if err != nil {
		t.Fatal(err)
	}
	for i := int64(0); i < 300; i += 23 {
		p, err := r.Proof(i)
		if err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
		if _, err := p.Check(pinned, tlog.Limits{}); err != nil {
			t.Errorf("entry %d: %v", i, err)
		}
	}
}

func TestTilesHaveOnePath(t *testing.T) {
	for path, want := range map[string]tlog.Tile{
		"tile/0/000":                 {Level: 0, N: 0, Width: 256},
		"tile/entries/x001/x234/067": {Level: tlog.Entries, N: 1234067, Width: 256},
		"tile/3/x001/000.p/7":        {Level: 3, N: 1000, Width: 7},
		"tile/7/000.p/1":             {Level: 7, N: 0, Width: 1},
		"tile/entries/999.p/255":     {Level: tlog.Entries, N: 999, Width: 255},
	} {
		got, err := tlog.ParseTilePath(path)
		if err != nil || got != want || want.Path() != path {
			t.Errorf("%s: %+v, %q, %v", path, got, want.Path(), err)
		}
	}
}

func TestBundlesHoldWhatTheirNameSays(t *testing.T) {
	bundle, err := tlog.AppendEntry(nil, []byte("one"))
	if err == nil {
		bundle, err = tlog.AppendEntry(bundle, nil)
	}
	if err == nil {
		bundle, err = tlog.AppendEntry(bundle, make([]byte, tlog.MaxLeaf))
	}
	if err != nil {
		t.Fatal(err)
	}
	entries, err := tlog.ParseBundle(bundle, 3)
	if err != nil || string(entries[0]) != "one" || len(entries[1]) != 0 || len(entries[2]) != tlog.MaxLeaf {
		t.Errorf("%d entries, %v", len(entries), err)
	}
	for name, bad := range map[string]struct {
		data  []byte
		width int
	}{"fewer": {bundle, 4}, "more": {bundle, 2}, "cut": {bundle[:len(bundle)-1], 3}, "none": {nil, 0}, "too wide": {bundle, 257}, "half a length": {bundle[:6], 2}} {
		if _, err := tlog.ParseBundle(bad.data, bad.width); fault.Of(err) != tlog.BadBundle {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := tlog.AppendEntry(nil, make([]byte, tlog.MaxLeaf+1)); fault.Of(err) != tlog.LeafTooLarge {
		t.Errorf("a leaf of 65536 bytes: %v", err)
	}
}
