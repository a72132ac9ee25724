package run_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"assay/run"
)

// BenchmarkFsync is the yardstick of the others: one small write and one fsync, as the disk of this run does it.
func BenchmarkFsync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "f"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	line := make([]byte, 200)
	for b.Loop() {
		if _, err := f.Write(line); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppend is one record brought to disk, with 1 and 16 appenders at a time.
func BenchmarkAppend(b *testing.B) {
	for _, appenders := range []int{1, 16} {
		b.Run(fmt.Sprintf("appenders=%d", appenders), func(b *testing.B) {
			j := open(b, filepath.Join(b.TempDir(), "journal"))
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			for i := range appenders {
				wg.Go(func() { appendUntil(b, j, fmt.Sprint("run", i), &left) })
			}
			wg.Wait()
			b.ReportMetric(float64(j.Syncs())/float64(b.N), "fsyncs/op")
		})
	}
}

// appendUntil brings records of one run to disk, one at a time, until none are left to do.
func appendUntil(b *testing.B, j *run.FileJournal, id string, left *atomic.Int64) {
	if _, err := j.Enter(id); err != nil {
		b.Error(err)
		return
	}
	r := run.Record{Run: id, Kind: run.Begin, Key: "key"}
	for left.Add(-1) >= 0 {
		pos, err := j.Append(r)
		if err == nil {
			err = j.Sync(pos)
		}
		if err != nil {
			b.Error(err)
			return
		}
		r.Kind, r.Event = run.Result, []byte(`{"model":"acme/large","cost":31000000,"text":"an answer of some length"}`)
	}
}

// BenchmarkOpen reads a journal of 100,000 records.
func BenchmarkOpen(b *testing.B) {
	records := []run.Record{{Run: "a", Kind: run.Begin}}
	for range 99_999 {
		records = append(records, run.Record{Run: "a", Kind: run.Result, Key: "key",
			Event: []byte(`{"model":"acme/large","cost":31000000,"text":"an answer of some length"}`)})
	}
	path := filepath.Join(b.TempDir(), "journal")
	text := run.AppendRecords(nil, records)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := open(b, path).Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDurableRun(b *testing.B) {
	j := open(b, filepath.Join(b.TempDir(), "journal"))
	run.SetFsync(j, func(*os.File) error { return nil }) // the loop's own cost, without the disk
	l := run.Loop[int, int]{Act: act, Durable: durable(j)}
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		if err := l.Run(b.Context(), fmt.Sprint(n), "", &counter{n: 8}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpenForgotten opens the journal of an arm that has finished and forgotten 199,000 episodes, at its worst: as many
// forgotten bytes are carried along as may be.
func BenchmarkOpenForgotten(b *testing.B) {
	path := filepath.Join(b.TempDir(), "journal")
	j := open(b, path)
	run.SetFsync(j, func(*os.File) error { return nil })
	l := run.Loop[int, int]{Act: act, Durable: durable(j)}
	var largest int64
	for i := range 199_000 {
		id := fmt.Sprint("arm/", i)
		if err := l.Run(b.Context(), id, "", &counter{n: 4}); err != nil {
			b.Fatal(err)
		}
		if err := j.Forget(id); err != nil {
			b.Fatal(err)
		}
		if i%1000 == 0 {
			largest = max(largest, size(b, path))
		}
	}
	b.ResetTimer()
	for b.Loop() {
		if err := j.Close(); err != nil {
			b.Fatal(err)
		}
		j = open(b, path)
		for i := range 199_000 {
			if err := j.Forget(fmt.Sprint("arm/", i)); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(largest)/(1<<20), "MiB-largest")
}
