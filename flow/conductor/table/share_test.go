package table_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay/conductor/outcome"
	"assay/flow/conductor/table"
)

// Sixty-four players want a few draws at once. Each draw is bought by one at a time, and once for good; everybody is served
// the row that the first buyer filled; some buyers give up.
func TestProperty_a_draw_has_one_buyer(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		keys := rapid.IntRange(1, 6).Draw(rt, "keys")
		refusals := rapid.IntRange(0, 5).Draw(rt, "refusals of ten")
		seed := rapid.Uint64().Draw(rt, "seed")
		n++
		path := filepath.Join(dir, fmt.Sprint(n))
		tb := table.New()
		if rapid.Bool().Draw(rt, "disk") {
			tb = open(t, path)
		}
		buyers, fills := make([]atomic.Int32, keys+1), make([]atomic.Int32, keys+1)
		served := make([]atomic.Pointer[string], keys+1)
		var wg sync.WaitGroup
		for p := range 64 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(p)))
				for range 5 {
					i := 1 + r.IntN(keys)
					got, err := tb.Claim(context.Background(), key(i))
					if err != nil {
						t.Error(err)
						return
					}
					if got == nil {
						if buyers[i].Add(1) != 1 {
							t.Errorf("two buy draw %d", i)
						}
						refused := r.IntN(10) < refusals
						buyers[i].Add(-1)
						if refused {
							tb.Release(key(i))
							continue
						}
						text := fmt.Sprint(p, " bought ", i)
						if err := tb.Fill(key(i), outcome.Row{Text: text, Cost: 1}); err != nil {
							t.Error(err)
						}
						fills[i].Add(1)
						got = &outcome.Row{Text: text}
					}
					tb.Hit(key(i))
					if first := served[i].Swap(&got.Text); first != nil && *first != got.Text {
						t.Errorf("draw %d gave %q and %q", i, *first, got.Text)
					}
				}
			})
		}
		wg.Wait()
		for i := range fills {
			if fills[i].Load() > 1 {
				rt.Fatalf("draw %d was filled %d times", i, fills[i].Load())
			}
		}
		before := rows(tb)
		if err := tb.Close(); err != nil {
			rt.Fatal(err)
		}
		if _, err := os.Stat(path); err == nil {
			again := open(t, path)
			if d := cmp.Diff(before, rows(again)); d != "" {
				rt.Fatal(d)
			}
			if err := again.Close(); err != nil {
				rt.Fatal(err)
			}
		}
	})
}
