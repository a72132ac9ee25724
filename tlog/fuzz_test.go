package tlog_test

import (
	"bytes"
	"testing"

	"assay/tlog"
)

// What a parser accepts it would write itself, byte for byte.

func FuzzOpen(f *testing.F) {
	body, own := split(note(three, signer))
	f.Add([]byte(body + own))
	f.Add([]byte(body + line("witness.example/a", 1, "first") + own))
	f.Add(signText(origin + "\n03\n" + three.Root.String() + "\n"))
	f.Add([]byte("a\n0\n\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := tlog.Open(text, pinned, tlog.Limits{})
		if err != nil {
			return
		}
		if got := s.Checkpoint(); got != three || !bytes.HasPrefix(text, []byte(three.Text()+"\n")) {
			t.Fatalf("nobody signed %q", text)
		}
	})
}

// FuzzText signs whatever comes, so that the three lines are reached.
func FuzzText(f *testing.F) {
	f.Add(three.Text())
	f.Add(origin + "\n0\n" + tlog.EmptyRoot().String() + "\n")
	f.Add("x\n-1\nAAAA\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := tlog.Open(signText(text), pinned, tlog.Limits{}); err == nil && s.Checkpoint().Text() != text {
			t.Fatalf("a second spelling: %q", text)
		}
	})
}

func FuzzParseBundle(f *testing.F) {
	two, _ := tlog.AppendEntry(nil, []byte("one"))
	two, _ = tlog.AppendEntry(two, nil)
	f.Add(two, 2)
	f.Add([]byte{0, 5, 1}, 1)
	f.Fuzz(func(t *testing.T, data []byte, width int) {
		entries, err := tlog.ParseBundle(data, width)
		if err != nil {
			return
		}
		var again []byte
		for _, e := range entries {
			if again, err = tlog.AppendEntry(again, e); err != nil {
				t.Fatal(err)
			}
		}
		if len(entries) != width || !bytes.Equal(again, data) {
			t.Fatalf("%d entries of %q give %q", len(entries), data, again)
		}
	})
}

func FuzzParseProof(f *testing.F) {
	r, err := tlog.OpenReader(build(leaf, 7), pinned, tlog.Limits{})
	if err != nil {
		f.Fatal(err)
	}
	for i := range int64(7) {
		p, err := r.Proof(i)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p.Marshal())
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := tlog.ParseProof(text)
		if err != nil {
			return
		}
		if !bytes.Equal(p.Marshal(), text) {
			t.Fatalf("a second spelling: %q", text)
		}
		if _, err := p.Check(pinned, tlog.Limits{}); err == nil && !bytes.Equal(p.Leaf, leaf(int(p.Index))) {
			t.Fatalf("proven: %+v", p)
		}
	})
}

func FuzzParseGrowth(f *testing.F) {
	f.Add(tlog.Growth{Older: 3, Newer: 7, Hashes: hashes(0, 3)}.Marshal())
	f.Add([]byte("assay/tlog-growth@v1\nolder 0\nnewer 0\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if g, err := tlog.ParseGrowth(text); err == nil && !bytes.Equal(g.Marshal(), text) {
			t.Fatalf("a second spelling: %q", text)
		}
	})
}

func FuzzParseVerifierKey(f *testing.F) {
	f.Add(pinned.String())
	f.Add("a+00000000+AQ==")
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := tlog.ParseVerifierKey(text); err == nil && v.String() != text {
			t.Fatalf("a second spelling: %q", text)
		}
	})
}

func FuzzParseTilePath(f *testing.F) {
	for _, s := range []string{"tile/0/000", "tile/entries/x001/x234/067", "tile/7/000.p/1", "tile/1/x000/000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if tile, err := tlog.ParseTilePath(path); err == nil && tile.Path() != path {
			t.Fatalf("a second spelling: %q", path)
		}
	})
}
