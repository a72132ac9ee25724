package lines_test

import (
	"os"
	"path/filepath"
	"testing"

	"assay/run/lines"
)

// Where a payload stands follows from the lengths of those before it, so that one can be read without the others.
func TestAPayloadIsFoundByTheLengthsBeforeIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f, err := lines.Open(path, format, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"one", "", "three"}
	for _, p := range want {
		if err := f.Write([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := lines.Start(format)
	for _, p := range want {
		if got := string(text[at+lines.Lead : at+lines.Lead+int64(len(p))]); got != p {
			t.Errorf("%q stands where %q should", got, p)
		}
		at += lines.Lead + int64(len(p)) + lines.Trail
	}
	if at != int64(len(text)) {
		t.Errorf("the file has %d bytes, not %d", len(text), at)
	}
}
