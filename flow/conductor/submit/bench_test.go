package submit_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"assay/flow/conductor/submit"
)

var counting sync.Mutex

func sum(s string) [32]byte { return sha256.Sum256([]byte(s)) }

// BenchmarkHashTree prints how a tree's hashing compares with hashing as many bytes of one buffer on all cores.
func BenchmarkHashTree(b *testing.B) {
	const files, size = 8, 32 << 20
	dir := b.TempDir()
	block := make([]byte, size)
	for i := range files {
		block[0] = byte(i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.safetensors", i)), block, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	tree := os.DirFS(dir)
	var ours, buffer time.Duration
	b.SetBytes(files * size)
	for b.Loop() { // in turns, so that a noisy moment meets both
		start := time.Now()
		if _, err := submit.HashTree(b.Context(), tree, nil); err != nil {
			b.Fatal(err)
		}
		ours += time.Since(start)
		start = time.Now()
		oneBuffer(files * size)
		buffer += time.Since(start)
	}
	b.ReportMetric(float64(ours)/float64(buffer), "tree/buffer")
	b.ReportMetric(float64(files*size)*float64(b.N)/ours.Seconds()/1e9, "GB/s")
}

// oneBuffer hashes n bytes of one buffer, shared among all cores.
func oneBuffer(n int) {
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			buf, h := make([]byte, 1<<20), sha256.New()
			for left := n / runtime.GOMAXPROCS(0); left > 0; left -= len(buf) {
				h.Write(buf)
			}
			h.Sum(nil)
		})
	}
	wait.Wait()
}
