package audit_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"assay/conductor/publication"
	"assay/verify/audit"
)

// Audits a window of 4,000 tasks with prompts of some 2 KiB and four arms, one receipt for each step that calls a worker.
func BenchmarkAudit(b *testing.B) {
	files := publish(b, world{tasks: 2000, miners: duel, long: strings.Repeat(" and so on", 200)})
	dir := written(b, files)
	for b.Loop() {
		began := time.Now()
		r, err := audit.Audit(os.DirFS(dir), verifier(b), audit.Options{})
		must(b, err)
		took := time.Since(began).Seconds()
		b.ReportMetric(float64(r.Steps)/took, "steps/s")
		b.ReportMetric(float64(r.Receipts)/took, "receipts/s")
		b.ReportMetric(float64(r.Steps), "steps")
	}
}

// Opens episode 123,456 of an arm with 200,000 episodes.
func BenchmarkStepsOfALargeArm(b *testing.B) {
	files := publish(b, world{tasks: 100, miners: duel, long: strings.Repeat(" and so on", 200)})
	dir := written(b, files)
	grow(b, dir, "window/1/arms/king", files, 200_000)
	grow(b, dir, "window/1/tasks", files, 200_000)
	b.ReportAllocs()
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.ReadMemStats(&before)
		began := time.Now()
		steps, err := audit.Steps(os.DirFS(dir), 1, "king", 123_456)
		must(b, err)
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		if len(steps) == 0 || steps[0].Requests[0] == "" {
			b.Fatalf("%+v", steps)
		}
		b.ReportMetric(float64(took.Milliseconds()), "ms")
		b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/(1<<20), "MiB")
	}
}

// written writes a publication to a disk.
func written(b *testing.B, files fstest.MapFS) string {
	dir := b.TempDir()
	must(b, os.CopyFS(dir, files))
	return dir
}

// grow repeats the lines of a numbered folder up to n lines, in place of what it holds.
func grow(b *testing.B, dir, name string, files fs.FS, n int) {
	text, err := fs.ReadFile(files, publication.Numbered(name, 0))
	must(b, err)
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	lines[len(lines)-1] += "\n"
	for at := 0; at < n; at += publication.Chunk {
		var chunk strings.Builder
		for i := range publication.Chunk {
			chunk.WriteString(lines[(at+i)%len(lines)])
		}
		must(b, os.WriteFile(filepath.Join(dir, publication.Numbered(name, at)), []byte(chunk.String()), 0o644))
	}
}
