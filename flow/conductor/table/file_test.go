package table_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/conductor"
	"assay/conductor/outcome"
	"assay/core/fault"
	"assay/flow/conductor/table"
	"assay/run"
	"assay/run/lines"
)

// Wherever the end of the process cuts the file, every row whose Fill had returned is there, and nothing is bought twice.
func TestBehaviourO9_ReopeningBuysNothingAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	tb := open(t, path)
	var ends []int
	for i := 1; i <= 3; i++ {
		fill(t, tb, key(i), row(i))
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, len(text))
	}
	whole := rows(tb)
	if err := tb.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(text) + 1 {
		torn := filepath.Join(t.TempDir(), "torn")
		if err := os.WriteFile(torn, text[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		tb := open(t, torn)
		want := 0
		for want < 3 && cut >= ends[want]-1 { // a line that lacks its line end only is whole
			want++
		}
		if d := cmp.Diff(whole[:want], rows(tb)); d != "" && want > 0 || len(rows(tb)) != want {
			t.Fatalf("cut at byte %d: %s", cut, d)
		}
		if err := tb.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRefusedFilesStayAsTheyAre(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "table")
	tb := open(t, path)
	fill(t, tb, key(1), row(1))
	if _, err := table.Open(path, seven, clock); fault.Of(err) != run.Locked {
		t.Errorf("a second holder: %v", err)
	}
	if err := tb.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	good, err := outcome.Entry{Key: key(1), Row: row(1), FilledAt: 1}.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	foreign := func(payloads ...[]byte) func(string) error {
		return func(path string) error {
			f, err := lines.Open(path, "assay/outcomes/1 window 7 nonce feed", nil)
			for _, p := range payloads {
				err = errors.Join(err, f.Write(p))
			}
			return errors.Join(err, f.Close())
		}
	}
	for name, c := range map[string]struct {
		write  func(path string) error
		window table.Window
		want   fault.Code
		says   string
	}{
		"another window": {func(p string) error { return os.WriteFile(p, text, 0o600) }, table.Window{Number: 8, Nonce: "feed"}, lines.OtherFormat, "window 7 nonce feed"},
		"another nonce":  {func(p string) error { return os.WriteFile(p, text, 0o600) }, table.Window{Number: 7, Nonce: "dead"}, lines.OtherFormat, "nonce feed"},
		"an edited row": {func(p string) error {
			return os.WriteFile(p, bytes.Replace(text, []byte(`"grade":1.0`), []byte(`"grade":0.0`), 1), 0o600)
		}, seven, lines.Damaged, "line 2"},
		"a doubled row": {foreign(good, good), seven, conductor.DuplicateRow, "line 3"},
		"not a row":     {foreign(good, []byte(`{"a":1}`)), seven, conductor.BadRow, "line 3"},
	} {
		path := filepath.Join(t.TempDir(), "table")
		if err := c.write(path); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := table.Open(path, c.window, clock); fault.Of(err) != c.want || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %s and %q", name, err, c.want.Name(), c.says)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("%s: the refused file was changed", name)
		}
	}
}

// A whole line that no table writes is found when its row is wanted: it is not served.
func TestARowOfAnotherSpellingIsNotServed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	good, err := outcome.Entry{Key: key(1), Row: row(1), FilledAt: 1}.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := lines.Open(path, "assay/outcomes/1 window 7 nonce feed", nil)
	if err = errors.Join(err, f.Write(append([]byte(" "), good...)), f.Close()); err != nil {
		t.Fatal(err)
	}
	tab, err := table.Open(path, seven, clock)
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()
	if row, err := tab.Claim(t.Context(), key(1)); fault.Of(err) != conductor.BadRow || row != nil {
		t.Errorf("%v, %v", row, err)
	}
}

// The specification's example is a table: whoever writes another reader starts from it.
func TestExampleOfTheSpecificationIsATable(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "spec", "outcome-table.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```\n")
	example, _, _ = strings.Cut(example, "```")
	path := filepath.Join(t.TempDir(), "table")
	if err := os.WriteFile(path, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	n := 0
	for e, sum := range open(t, path).Rows() {
		n++
		if e.Row.Text != "Answer: C" || !strings.Contains(string(page), "`"+sum+"`") {
			t.Errorf("the row is %+v, its digest %s", e, sum)
		}
	}
	if n != 1 {
		t.Errorf("%d rows", n)
	}
}
