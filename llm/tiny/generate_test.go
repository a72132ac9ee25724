package tiny

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestAssemblerGivesTheTextBeforeTheFirstStop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SampledFrom([]byte{'a', 'b', 'c', 0xc3, 0xb6, 0xe2, 0x82, 0xac, 0xff})
		raw := rapid.SliceOfN(letters, 0, 40).Draw(t, "bytes")
		stops := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "ab", "bca", "ö", "aab", "€c"}), 0, 3).Draw(t, "stops")

		want, stopped := raw, false // the stop that ends first; of those, the one named first
		for n := 1; n <= len(raw) && !stopped; n++ {
			for _, s := range stops {
				if bytes.HasSuffix(raw[:n], []byte(s)) {
					want, stopped = raw[:n-len(s)], true
					break
				}
			}
		}
		a := assembler{stops: stops}
		var got string
		var ended bool
		for _, b := range raw {
			var text string
			if text, ended = a.add(b); !utf8.ValidString(text) {
				t.Fatalf("piece %q is not UTF-8", text)
			}
			if got += text; ended {
				break
			}
		}
		if !ended {
			got += a.rest()
		}
		if got != valid(want) || ended != stopped {
			t.Fatalf("got %q (ended %v), want %q (%v)", got, ended, valid(want), stopped)
		}
	})
}

func TestSamplerNarrows(t *testing.T) {
	logits := []float32{0, 3, 1, 2} // likeliest first: 1, 3, 2, 0
	for _, tc := range []struct {
		topP float64
		topK int
		want []int
	}{{1, 0, []int{0, 1, 2, 3}}, {1, 2, []int{1, 3}}, {0.5, 0, []int{1}}, {0.7, 0, []int{1, 3}}, {0.7, 1, []int{1}}, {1e-9, 4, []int{1}}} {
		seen := map[int]bool{}
		for seed := range uint64(400) {
			seen[newSampler(1, tc.topP, tc.topK, seed).pick(logits)] = true
		}
		for i := range logits {
			want := false
			for _, w := range tc.want {
				want = want || w == i
			}
			if seen[i] != want {
				t.Errorf("top_p %v, top_k %d: token %d seen %v, want %v", tc.topP, tc.topK, i, seen[i], want)
			}
		}
	}
}
