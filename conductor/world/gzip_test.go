package world_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"assay/conductor/world"
)

func TestBrokenGzipIsCalledWhatItIs(t *testing.T) {
	whole := pack(outcomes)
	const lines = 4
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                    {"", ": an empty file is no gzip"},
		"one byte of a header":       {whole[:1], ": the first bytes are not those of gzip"},
		"a cut header":               {whole[:5], ": the compressed data ends in the middle"},
		"cut data":                   {whole[:60], ":1: the compressed data ends in the middle"},
		"a cut checksum":             {whole[:len(whole)-3], ":5: the compressed data ends in the middle"},
		"plain text":                 {outcomes, ": the first bytes are not those of gzip"},
		"another method":             {whole[:2] + "\x07" + whole[3:], ": the compressed data is damaged: header"},
		"a wrong checksum":           {damage(whole), ":5: the compressed data is damaged: checksum"},
		"a flipped byte":             {whole[:30] + string(whole[30]^0xff) + whole[31:], ":1: the compressed data is damaged"},
		"one byte behind it":         {whole + "x", ":5: something that is not gzip stands behind the compressed data"},
		"a short text behind it":     {whole + "garbage", ":5: something that is not gzip stands behind the compressed data"},
		"a long text behind it":      {whole + outcomes, ":5: something that is not gzip stands behind the compressed data"},
		"padding behind it":          {whole + strings.Repeat("\x00", 512), ":5: something that is not gzip stands behind the compressed data"},
		"a cut header behind it":     {whole + whole[:5], ":5: the compressed data ends in the middle"},
		"a cut member behind it":     {pack(outcomes[:20]) + pack(outcomes[20:])[:30], ":1: the compressed data ends in the middle"},
		"a damaged header behind it": {whole + whole[:2] + "\x07" + whole[3:], ":5: the compressed data is damaged: header"},
	} {
		fsys := files("outcomes.jsonl", "")
		fsys["outcomes.jsonl.gz"] = &fstest.MapFile{Data: []byte(c.text)}
		_, defects := world.Read(fsys)
		if len(defects) != 1 || defects[0].String() != "outcomes.jsonl.gz"+c.want || defects[0].Line > lines+1 {
			t.Errorf("%s: %q, want %q", name, defects, c.want)
		}
	}
}

// What the standard reader takes is taken, with the same bytes, however the members lie; what it refuses is refused.
func FuzzGzip(f *testing.F) {
	whole := pack("ab\n")
	for _, s := range []string{"", "ab", whole, whole + whole, whole + "x", whole + whole[:4], whole[:len(whole)-2], pack("") + whole} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want []byte
		z, err := gzip.NewReader(bytes.NewReader(text))
		if err == nil {
			want, err = io.ReadAll(io.LimitReader(z, 1<<20))
		}
		if len(want) == 1<<20 {
			t.Skip("the standard reader is not run on what unpacks to over a mebibyte: such inputs only cost the fuzzer its time")
		}
		var b world.Builder
		got, _, ok := b.Document(fstest.MapFS{"x.gz": {Data: text}}, "x")
		if ok != (err == nil) || ok && !bytes.Equal(got, bytes.TrimPrefix(want, []byte("\ufeff"))) {
			t.Fatalf("%v with %d bytes and %v; the standard reader has %d bytes and %v", ok, len(got), b.Defects(), len(want), err)
		}
	})
}
