package window_test

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/conductor/profile"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/core/canon"
)

// FuzzParseRecord reads any text; what is read is written again as it was, and verifying it never panics.
func FuzzParseRecord(f *testing.F) {
	for _, p := range both {
		r, _ := build(f, basis(f, p))
		f.Add(text(f, r.Object()))
	}
	f.Add([]byte(`{"v":1,"schedule":{"epoch":7}}`))
	b := basis(f, profile.Strict)
	m := manifest(f, b.Entry)
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := window.ParseRecord(in)
		if err != nil {
			return
		}
		o, err := canon.DecodeObject(in)
		if err != nil {
			t.Fatal(err)
		}
		if again := text(t, r.Object()); string(again) != string(text(t, o)) {
			t.Fatalf("%s\nis written as\n%s", text(t, o), again)
		}
		_, _ = window.Verify(r, 7, m, window.Pool{Specs: b.Pool})
	})
}

func FuzzParsePoolLine(f *testing.F) {
	f.Add([]byte(window.LineOf(task.Spec{ID: "a", Benchmark: "b", Tools: []string{"READ"}, Group: "g"}).String()))
	f.Add([]byte(`["","","",[],null]`))
	f.Fuzz(func(t *testing.T, in []byte) {
		if l, err := window.ParsePoolLine(in); err == nil && l.String() != string(in) {
			t.Fatalf("%q is written as %q", in, l)
		}
	})
}

// large is a pool of n tasks in two benchmarks with statements of 200 bytes.
func large(n int) []task.Spec {
	specs := make([]task.Spec, n)
	statement := strings.Repeat("x", 190)
	for i := range specs {
		id := strconv.Itoa(i)
		specs[i] = task.Spec{ID: id, Benchmark: "b" + id[len(id)-1:], Prompt: statement + id}
	}
	return specs
}

// BenchmarkDraw compares the draw with one that makes both keys again in every comparison.
func BenchmarkDraw(b *testing.B) {
	specs := large(200_000)
	var once time.Duration
	b.Run("once", func(b *testing.B) {
		for b.Loop() {
			if _, err := window.Draw(specs, "n", "7", 125, 20); err != nil {
				b.Fatal(err)
			}
		}
		once = b.Elapsed() / time.Duration(b.N)
	})
	b.Run("every comparison", func(b *testing.B) {
		for b.Loop() {
			slices.SortFunc(slices.Clone(specs), func(x, y task.Spec) int {
				return cmp.Compare(window.DrawKey("n", "7", x.Benchmark, x.ID), window.DrawKey("n", "7", y.Benchmark, y.ID))
			})
		}
		b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(max(once, 1)), "x-of-once")
	})
}

func BenchmarkWindow(b *testing.B) {
	for _, p := range both {
		w := basis(b, p)
		w.Pool = large(200_000)
		commit(b, &w)
		r, _ := build(b, w)
		m := manifest(b, w.Entry)
		b.Run("build/"+p.String(), func(b *testing.B) {
			for b.Loop() {
				build(b, w)
			}
		})
		b.Run("verify/"+p.String(), func(b *testing.B) {
			for b.Loop() {
				if _, err := window.Verify(r, 7, m, window.Pool{Specs: w.Pool}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
