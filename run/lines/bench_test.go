package lines_test

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"assay/run/lines"
)

// payload has the length of a usual row.
var payload = bytes.Repeat([]byte(`{"a":1},`), 700/8)

// BenchmarkRead reads a file of 200,000 lines of 700 bytes.
func BenchmarkRead(b *testing.B) {
	path, _ := write(b)
	f, _ := open(b, path)
	for range 200_000 {
		if _, err := f.Append(payload); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(200_000 * int64(len(payload)+10))
	for b.Loop() {
		n := 0
		if err := lines.ReadFile(path, format, func(int64, []byte) error { n++; return nil }); err != nil || n != 200_000 {
			b.Fatal(n, err)
		}
	}
}

// BenchmarkWrite brings lines to disk, with 1 and 16 writers at a time.
func BenchmarkWrite(b *testing.B) {
	for _, writers := range []int{1, 16} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			path, _ := write(b)
			f, _ := open(b, path)
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			for range writers {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						if err := f.Write(payload); err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(f.Syncs())/float64(b.N), "fsyncs/op")
		})
	}
}
