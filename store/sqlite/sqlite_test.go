package sqlite_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"assay/core/fault"
	"assay/store"
	"assay/store/sqlite"
	"assay/store/storetest"
)

// open opens the test's own database, and makes it where it is not there yet.
func open(t testing.TB, path string) *sqlite.DB {
	t.Helper()
	ctx := t.Context()
	db, err := sqlite.Create(ctx, path)
	if fault.Of(err) == store.Conflict {
		db, err = sqlite.Open(ctx, path)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestStore(t *testing.T) {
	var mu sync.Mutex
	paths := map[string]string{}
	storetest.Run(t, func(t *testing.T) store.Store {
		mu.Lock()
		defer mu.Unlock()
		if paths[t.Name()] == "" {
			paths[t.Name()] = filepath.Join(t.TempDir(), "a b?c%41#.db") // a name that a careless address would cut off
		}
		return open(t, paths[t.Name()])
	})
}

func TestFileIsWhereItWasAskedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a?b#%41.db")
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() == 0 {
		t.Errorf("%v, %v", info, err)
	}
	if left, _ := filepath.Glob(filepath.Dir(path) + "/*"); len(left) != 1 {
		t.Errorf("a closed database leaves %v", left)
	}
}

// TestFault50_ConcurrentWriters reads and then writes from two goroutines, on one store and on two of the same file.
func TestFault50_ConcurrentWriters(t *testing.T) {
	each := int64(turns)
	if testing.Short() {
		each = 500
	}
	for name, stores := range map[string]int{"one store": 1, "two stores": 2} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db")
			each := each
			if stores == 2 {
				each = min(each, 500) // every turn is an fsync of its own
			}
			var dbs []*sqlite.DB
			for range stores {
				dbs = append(dbs, open(t, path))
			}
			var wait sync.WaitGroup
			for g := range int64(2) {
				wait.Go(func() {
					for i := range each {
						err := dbs[int(g)%stores].Update(t.Context(), func(tx store.Tx) error {
							if _, err := tx.Conductor.Shots.Spent("somebody"); err != nil {
								return err
							}
							return tx.Conductor.Submissions.Put(storetest.Commitment(fmt.Sprintf("%d/%d", g, i), i))
						})
						if err != nil {
							t.Errorf("goroutine %d, turn %d: %v", g, i, err)
							return
						}
					}
				})
			}
			wait.Wait()
			err := dbs[0].View(t.Context(), func(tx store.Tx) error {
				all, err := tx.Conductor.Submissions.List()
				if int64(len(all)) != 2*each {
					t.Errorf("%d of %d records", len(all), 2*each)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// child makes a test binary write to a database instead of testing.
const child = "ASSAY_TEST_STORE_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(child); path != "" {
		if err := writeAsChild(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const perChild = 100

func writeAsChild(arg string) error {
	name, path, _ := strings.Cut(arg, ":")
	ctx := context.Background()
	db, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	for i := int64(0); i < perChild || name == "endless"; i++ {
		if err := db.Update(ctx, func(tx store.Tx) error {
			return tx.Conductor.Submissions.Put(storetest.Commitment(fmt.Sprintf("%s/%d", name, i), i))
		}); err != nil {
			return err
		}
		if name == "endless" {
			fmt.Println(i)
		}
	}
	return db.Close()
}

func TestBehaviourK7_TwoProcessesKeepEachOthersRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil { // empty: both processes make the schema
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for _, name := range []string{"one", "two"} {
		wait.Go(func() {
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), child+"="+name+":"+path)
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		})
	}
	wait.Wait()
	err := open(t, path).View(t.Context(), func(tx store.Tx) error {
		all, err := tx.Conductor.Submissions.List()
		if len(all) != 2*perChild {
			t.Errorf("%d of %d records", len(all), 2*perChild)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestKilledWriterLosesNothingItWasToldIsKept kills a process in the middle of its writing.
func TestKilledWriterLosesNothingItWasToldIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), child+"=endless:"+path)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	kept := int64(0)
	for lines := bufio.NewScanner(out); kept < 50 && lines.Scan(); kept++ {
	}
	if err := errors.Join(c.Process.Kill(), c.Wait()); err == nil || kept != 50 {
		t.Fatalf("%v after %d records", err, kept)
	}
	err = open(t, path).View(t.Context(), func(tx store.Tx) error {
		for i := range kept {
			if _, err := tx.Conductor.Submissions.Get(fmt.Sprintf("endless/%d", i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	script := func(path, text string) {
		t.Helper()
		db, err := sql.Open("sqlite", path)
		if err == nil {
			_, err = db.Exec(text)
		}
		if err = errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	newer, foreign, junk := filepath.Join(dir, "newer.db"), filepath.Join(dir, "foreign.db"), filepath.Join(dir, "junk.db")
	if err := open(t, newer).Close(); err != nil {
		t.Fatal(err)
	}
	script(newer, "PRAGMA user_version = 1000")
	script(foreign, "CREATE TABLE theirs (x)")
	if err := os.WriteFile(junk, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fault.Code{
		newer: store.Newer, foreign: store.NotOurs, junk: store.NotOurs, dir: store.NotOurs, filepath.Join(dir, "nothing.db"): store.Missing,
	} {
		before, _ := os.ReadFile(path)
		if db, err := sqlite.Open(t.Context(), path); fault.Of(err) != want || db != nil {
			t.Errorf("%s: %v", path, err)
		}
		if after, _ := os.ReadFile(path); string(after) != string(before) {
			t.Errorf("%s was changed", path)
		}
	}
	if _, err := sqlite.Create(t.Context(), newer); fault.Of(err) != store.Conflict {
		t.Errorf("over another: %v", err)
	}
	if _, err := sqlite.Create(t.Context(), filepath.Join(dir, "no", "folder.db")); fault.Of(err) != store.Failed {
		t.Errorf("without a folder: %v", err)
	}
}

// BenchmarkUpdate prints transactions per second of one caller and of 64.
func BenchmarkUpdate(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			db := open(b, filepath.Join(b.TempDir(), "x.db"))
			var mu sync.Mutex
			next := int64(0)
			var wait sync.WaitGroup
			for range callers {
				wait.Go(func() {
					for {
						mu.Lock()
						i := next
						next++
						mu.Unlock()
						if i >= int64(b.N) {
							return
						}
						if err := db.Update(b.Context(), func(tx store.Tx) error {
							return tx.Conductor.Submissions.Put(storetest.Commitment(fmt.Sprint(i), i))
						}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wait.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tx/s")
		})
	}
}
