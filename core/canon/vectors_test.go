package canon_test

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"assay/core/canon"
	"assay/core/digest"
	"assay/core/fault"
)

// line is one conformance vector of any of the groups below.
type line struct {
	ID string
	In struct {
		JSON, Text, Bits string
		Tree             json.RawMessage
	}
	Want  json.RawMessage
	Error struct{ Kind string } `json:"want_error"`
}

// vectors returns the lines of a group from the shared folder that lies beside the repository, or skips.
func vectors(t *testing.T, group string) []line {
	t.Helper()
	path := filepath.Join("shared", "vectors", group)
	for range 8 {
		if path = filepath.Join("..", path); exists(path) {
			return readLines(t, path)
		}
	}
	t.Skip("the shared vectors are not beside this checkout: the group " + group + " is not compared")
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func readLines(t *testing.T, path string) (lines []line) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		var l line
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	if err := s.Err(); err != nil || len(lines) == 0 {
		t.Fatalf("%s: %d lines, %v", path, len(lines), err)
	}
	return lines
}

func TestVectorsOfTheRecords(t *testing.T) {
	for _, l := range vectors(t, "conductor/canonical_json.jsonl") {
		var want struct{ Canonical, Sha256 string }
		if err := json.Unmarshal(l.Want, &want); err != nil {
			t.Fatal(err)
		}
		v, err := canon.DecodeLast([]byte(l.In.JSON))
		if err != nil {
			t.Errorf("%s: %v", l.ID, err)
			continue
		}
		got, err := canon.ASCII(v)
		if err != nil || string(got) != want.Canonical || digest.HexOfBytes(got) != want.Sha256 {
			t.Errorf("%s: %s, %v, want %s", l.ID, got, err, want.Canonical)
		}
	}
}

func TestVectorsOfTheForms(t *testing.T) {
	for name, c := range map[string]struct {
		group string
		write func(any) ([]byte, error)
	}{
		"UTF8":  {"proof/canonical_p.jsonl", canon.UTF8},
		"ASCII": {"proof/canonical_r.jsonl", canon.ASCII},
	} {
		t.Run(name, func(t *testing.T) {
			for _, l := range vectors(t, c.group) {
				checkForm(t, l, c.write)
			}
		})
	}
}

func checkForm(t *testing.T, l line, write func(any) ([]byte, error)) {
	t.Helper()
	var v any
	var err error
	if l.In.Tree != nil {
		v = grow(t, l.In.Tree)
	} else {
		v, err = canon.Decode([]byte(l.In.Text))
	}
	var got []byte
	if err == nil {
		got, err = write(v)
	}
	if l.Error.Kind != "" {
		if word := fault.Of(err).Word(); err == nil || word != l.Error.Kind {
			t.Errorf("%s: %q gave %s, %v, want the refusal %s", l.ID, l.In.Text, got, err, l.Error.Kind)
		}
		return
	}
	var want struct{ Bytes, Digest string }
	if err := json.Unmarshal(l.Want, &want); err != nil {
		t.Fatal(err)
	}
	if err != nil || hex.EncodeToString(got) != want.Bytes || digest.HexOfBytes(got) != want.Digest {
		t.Errorf("%s: %s, %v, want the bytes %s", l.ID, got, err, want.Bytes)
	}
}

// grow makes the value that a tagged tree of the vectors stands for.
func grow(t *testing.T, node json.RawMessage) any {
	t.Helper()
	var parts []json.RawMessage
	var tag string
	read(t, node, &parts)
	read(t, parts[0], &tag)
	switch tag {
	case "n":
		return nil
	case "b":
		var b bool
		read(t, parts[1], &b)
		return b
	case "a", "o":
		var below []json.RawMessage
		read(t, parts[1], &below)
		return branch(t, tag, below)
	}
	var s string
	read(t, parts[1], &s)
	switch tag {
	case "i":
		return canon.Int(s)
	case "f":
		return float(t, s)
	case "s":
		return unhex(t, s)
	}
	t.Fatalf("unknown tag %q", tag)
	return nil
}

func branch(t *testing.T, tag string, below []json.RawMessage) any {
	t.Helper()
	list, object := []any{}, canon.Object{}
	for _, b := range below {
		if tag == "a" {
			list = append(list, grow(t, b))
			continue
		}
		var pair []json.RawMessage
		var key string
		read(t, b, &pair)
		read(t, pair[0], &key)
		object[unhex(t, key)] = grow(t, pair[1])
	}
	if tag == "a" {
		return list
	}
	return object
}

func read(t *testing.T, text []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
}

func unhex(t *testing.T, s string) string {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func float(t *testing.T, bits string) float64 {
	t.Helper()
	u, err := strconv.ParseUint(bits, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return math.Float64frombits(u)
}

func TestVectorsOfFloats(t *testing.T) {
	for _, l := range vectors(t, "proof/float_repr.jsonl") {
		got, err := canon.UTF8(float(t, l.In.Bits))
		if l.Error.Kind != "" {
			if fault.Of(err) != canon.NotFinite {
				t.Errorf("%s: %s gave %s, %v", l.ID, l.In.Bits, got, err)
			}
			continue
		}
		if want, _ := strconv.Unquote(string(l.Want)); err != nil || string(got) != want {
			t.Errorf("%s: %s gave %s, %v, want %s", l.ID, l.In.Bits, got, err, want)
		}
	}
}
