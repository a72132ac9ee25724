package run_test

import (
	"bytes"
	"testing"

	"assay/run"
)

// Whatever the reader accepts has one spelling: written again, it gives the same bytes.
func FuzzReadJournal(f *testing.F) {
	good := run.AppendRecords(nil, []run.Record{
		{Run: "a", Kind: run.Begin, Key: "about"},
		{Run: "a", Kind: run.Intent, Key: "1"},
		{Run: "b\"\n", Kind: run.Begin},
		{Run: "a", Kind: run.Result, Key: "1", Event: []byte(`{"cost":31,"text":"größe","chain":"x"}`)},
		{Run: "a", Kind: run.End},
	})
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add(good[:len(good)/2])
	f.Add(append(bytes.Clone(good[:len(good)/2]), 0, 0, 0))
	f.Add([]byte(`{"journal":"assay/1"`))
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var got []run.Record
		_, err := run.ReadAll(bytes.NewReader(text), func(r run.Record) {
			r.Event = bytes.Clone(r.Event)
			got = append(got, r)
		})
		text = bytes.TrimRight(text, "\x00") // what a cut-off write may leave
		if again := run.AppendRecords(nil, got); err == nil && !isPrefixOf(again, text) && !isPrefixOf(text, again) {
			t.Errorf("accepted %q, which is written %q", text, again)
		}
	})
}

func isPrefixOf(a, b []byte) bool { return bytes.HasPrefix(b, a) }

// The checksum keeps random bytes out of the record reader, so that it is fuzzed by itself: a body is chained properly
// and then read.
func FuzzReadRecord(f *testing.F) {
	f.Add([]byte(`{"seq":1,"run":"a","kind":"begin","key":"k"`))
	f.Add([]byte(`{"seq":1,"run":"a","kind":"result","key":"k","event":{"a":[1,2.5,null]}`))
	f.Add([]byte(`{"seq":1,"run":"\u00e9","kind":"intent","key":""`))
	f.Add([]byte(`{"seq":1, "run":"a","kind":"end","key":""`))
	f.Fuzz(func(t *testing.T, body []byte) {
		text := run.ChainBody(body)
		var got []run.Record
		_, err := run.ReadAll(bytes.NewReader(text), func(r run.Record) { got = append(got, r) })
		if err != nil || len(got) != 1 {
			return
		}
		if again := run.AppendRecords(nil, got); !bytes.Equal(again, text) {
			t.Errorf("accepted %q, which is written %q", text, again)
		}
	})
}
