package grade_test

import (
	"bufio"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"

	"assay/conductor/grade"
)

// lines calls f with every line of a gzip file.
func lines(t testing.TB, path string, f func([]byte)) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(z)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		f(sc.Bytes())
	}
	if sc.Err() != nil {
		t.Fatal(sc.Err())
	}
}

// TestRecordedScoresAreRecomputed regrades real models' recorded answers and compares with the recorded scores.
func TestRecordedScoresAreRecomputed(t *testing.T) {
	for _, folder := range []string{"routerarena", "gsm8k"} {
		dir := shared(t, filepath.Join("data", folder))
		type task struct {
			ID        string `json:"task_id"`
			Reference string `json:"reference"`
			Metric    string `json:"metric"`
		}
		tasks := map[string]task{}
		lines(t, filepath.Join(dir, "tasks.jsonl.gz"), func(b []byte) {
			var k task
			if err := json.Unmarshal(b, &k); err != nil {
				t.Fatal(err)
			}
			tasks[k.ID] = k
		})
		rows, same, unknown := map[string]int{}, map[string]int{}, map[string]int{}
		lines(t, filepath.Join(dir, "outcomes.jsonl.gz"), func(b []byte) {
			var o struct {
				ID     string  `json:"task_id"`
				Model  string  `json:"model"`
				Output string  `json:"output"`
				Score  float64 `json:"score"`
			}
			if err := json.Unmarshal(b, &o); err != nil {
				t.Fatal(err)
			}
			k := tasks[o.ID]
			score, ok := grade.Mark(k.Metric, k.Reference, o.Output)
			if ok != grade.Known(k.Metric) {
				t.Errorf("%s: reference %q does not fit its metric %s", o.ID, k.Reference, k.Metric)
			}
			switch {
			case !ok:
				unknown[k.Metric]++
				return
			case score == o.Score:
				same[k.Metric]++
			default:
				t.Logf("%s: %s by %s (reference %q): recorded %v, recomputed %v", k.Metric, o.ID, o.Model, k.Reference, o.Score, score)
			}
			rows[k.Metric]++
		})
		for metric, n := range rows {
			share := float64(same[metric]) / float64(n)
			t.Logf("%s: %s agrees on %d of %d rows (%.2f %%)", folder, metric, same[metric], n, 100*share)
			if share < 0.99 {
				t.Errorf("%s: %s agrees on less than 99 %% of the rows", folder, metric)
			}
		}
		t.Logf("%s: rows whose recorded score is the truth: %v", folder, unknown)
		if rows[map[string]string{"routerarena": grade.MCQ, "gsm8k": grade.FinalNumber}[folder]] < 1000 {
			t.Errorf("%s: fewer rows than the world holds: %v", folder, rows)
		}
	}
}

// shared returns the path of a file or folder beside the repository, or skips.
func shared(t testing.TB, rel string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if path := filepath.Join(dir, "shared", rel); exists(path) {
			return path
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Skipf("no folder shared beside the repository holds %s: put it there to run this test", rel)
		}
		dir = up
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
