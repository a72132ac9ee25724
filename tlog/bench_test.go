package tlog_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"assay/tlog"
)

// written is a log of 512-byte leaves on disk.
func written(b *testing.B, size int) string {
	b.Helper()
	dir := b.TempDir()
	row := bytes.Repeat([]byte{'x'}, 512)
	files := build(func(i int) []byte {
		out := bytes.Clone(row)
		binary.BigEndian.PutUint64(out, uint64(i))
		return out
	}, size)
	for name, f := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// BenchmarkCheck reads and recomputes whole logs of 512-byte leaves.
func BenchmarkCheck(b *testing.B) {
	const size = 200_000
	dir := written(b, size)
	var n int64
	for b.Loop() {
		n = 0
		if _, err := tlog.Check(os.DirFS(dir), pinned, tlog.CheckOptions{Each: func(int64, []byte) error { n++; return nil }}); err != nil {
			b.Fatal(err)
		}
	}
	if n != size {
		b.Fatalf("%d entries", n)
	}
	b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds(), "leaves/s")
}

// BenchmarkProof reads one entry and its proof from a log of 200,000.
func BenchmarkProof(b *testing.B) {
	const size = 200_000
	dir := written(b, size)
	for i := int64(0); b.Loop(); i++ {
		r, err := tlog.OpenReader(os.DirFS(dir), pinned, tlog.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := r.Proof(i * 7919 % size); err != nil {
			b.Fatal(err)
		}
	}
}
