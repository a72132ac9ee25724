package lines_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"assay/run/lines"
)

// Five thousand episodes of three steps, sixteen at a time, each step a line that is waited for: nobody is turned away, and they
// share what the disk has to do.
func TestFault28_ManyEpisodesShareAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	f, _ := open(t, path)
	lines.SetFsync(f, func(*os.File) error { return nil }) // how long a disk takes is another matter: see the benchmarks
	const episodes, steps, players = 5000, 3, 16
	var wg sync.WaitGroup
	for p := range players {
		wg.Go(func() {
			for e := p; e < episodes; e += players {
				for s := range steps {
					if err := f.Write(fmt.Appendf(nil, `{"episode":%d,"step":%d}`, e, s)); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	next := make([]int, episodes)
	_, held := open(t, path)
	for _, text := range held {
		var e, s int
		if _, err := fmt.Sscanf(text, `{"episode":%d,"step":%d}`, &e, &s); err != nil || next[e] != s {
			t.Fatalf("%s does not follow step %d (%v)", text, next[e], err)
		}
		next[e]++
	}
	if len(held) != episodes*steps {
		t.Errorf("%d lines, want %d", len(held), episodes*steps)
	}
}

// A checkpoint of 200,000 episodes that was cut off in number 199,000 gives all before it, in one pass.
func TestFault29_ALongCheckpointIsResumed(t *testing.T) {
	path, _ := write(t)
	f, _ := open(t, path)
	for i := range 200_000 {
		if _, err := f.Append(fmt.Appendf(nil, `{"episode":%d}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(bytes.Index(text, []byte(`{"episode":199000}`))+3)); err != nil {
		t.Fatal(err)
	}
	_, held := open(t, path)
	if n := len(held); n != 199_000 || held[n-1] != `{"episode":198999}` {
		t.Errorf("%d episodes, the last %s", n, held[n-1])
	}
}
