package tokens_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/conductor"
	"assay/conductor/tokens"
	"assay/core/fault"
)

func small(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile("testdata/small.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func load(t testing.TB, text string) *tokens.Tokenizer {
	t.Helper()
	tok, err := tokens.Load([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// edit replaces old, which must be there, once.
func edit(t testing.TB, text, old, new string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("the small tokenizer holds no %q", old)
	}
	return strings.Replace(text, old, new, 1)
}

type expected struct {
	Text string
	IDs  []int
}

// pinned returns the texts whose ids an independent implementation computed.
func pinned(t testing.TB) []expected {
	t.Helper()
	b, err := os.ReadFile("testdata/expected.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out []expected
	sc := bufio.NewScanner(bytes.NewReader(b))
	for sc.Scan() {
		var e expected
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	if len(out) < 20 {
		t.Fatalf("only %d pinned texts", len(out))
	}
	return out
}

// pairMerges spells the merges as pairs.
func pairMerges(t testing.TB, text string) string {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	model := doc["model"].(map[string]any)
	var pairs []any
	for _, m := range model["merges"].([]any) {
		left, right, _ := strings.Cut(m.(string), " ")
		pairs = append(pairs, []any{left, right})
	}
	model["merges"] = pairs
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestEncodeAgreesWithAnIndependentImplementation(t *testing.T) {
	for name, text := range map[string]string{
		"merges as texts":            small(t),
		"merges as pairs":            pairMerges(t, small(t)),
		"pattern not known by heart": wrapped(t, small(t)),
	} {
		t.Run(name, func(t *testing.T) {
			tok := load(t, text)
			for range 2 { // the second time from the cache
				for _, e := range pinned(t) {
					got, err := tok.Encode(e.Text)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(e.IDs, append([]int{}, got...)); diff != "" {
						t.Errorf("%q (-want +got):\n%s", e.Text, diff)
					}
					if n := tok.Count(e.Text); n != len(e.IDs) {
						t.Errorf("%q counts %d, want %d", e.Text, n, len(e.IDs))
					}
				}
			}
		})
	}
}

const qwen2 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`

// wrapped puts the pattern into a group, so that the general engine matches it.
func wrapped(t testing.TB, text string) string { return edit(t, text, qwen2, `(?:`+qwen2+`)`) }

func TestBadUTF8CountsAsReplacements(t *testing.T) {
	tok := load(t, small(t))
	if got, want := tok.Count("a\xff\xfe"), tok.Count("a\ufffd\ufffd"); got != want || got < 3 {
		t.Errorf("%d, want %d", got, want)
	}
}

func TestLoadNamesWhatItDoesNotRead(t *testing.T) {
	base := small(t)
	for _, row := range []struct{ part, old, new string }{
		{"model.byte_fallback", `"byte_fallback":false`, `"byte_fallback":true`},
		{"model.dropout", `"dropout":null`, `"dropout":0.1`},
		{"model.continuing_subword_prefix", `"continuing_subword_prefix":""`, `"continuing_subword_prefix":"##"`},
		{"model.end_of_word_suffix", `"end_of_word_suffix":""`, `"end_of_word_suffix":"</w>"`},
		{"model.type", `"type":"BPE"`, `"type":"Unigram"`},
		{"model", `"fuse_unk":false`, `"fuse_unk":false,"new":1`},
		{"model.vocab", `"!":0`, `"!?":0`},
		{"normalizer", `{"type":"NFC"}`, `{"type":"Lowercase"}`},
		{"normalizer", `{"type":"NFC"}`, `{"type":"Sequence","normalizers":[{"type":"Sequence","normalizers":[]}]}`},
		{"normalizer.NFC", `{"type":"NFC"}`, `{"type":"NFC","x":1}`},
		{"pre_tokenizer.ByteLevel.add_prefix_space", `"add_prefix_space":false`, `"add_prefix_space":true`},
		{"pre_tokenizer.ByteLevel.add_prefix_space", `"add_prefix_space":false,`, ``},
		{"pre_tokenizer.Split.behavior", `"Isolated"`, `"MergedWithNext"`},
		{"pre_tokenizer", `"type":"Split"`, `"type":"Digits"`},
		{"pre_tokenizer.Split.pattern", `"Regex":"`, `"Regex":"(?i)`},
		{"pre_tokenizer.Split.pattern", `"Regex":"`, `"Regex":"\\p{L}++|`},
		{"pre_tokenizer.Split.pattern", `"Regex":"`, `"Regex":"\\w|`},
		{"pre_tokenizer.Split.pattern", `"Regex":"`, `"Regex":"^a|`},
		{"pre_tokenizer.Split.pattern", `"Regex":"`, `"Regex":"[a[b]]|`},
		{"pre_tokenizer.Split.pattern", `"Regex":"`, `"Regex":"(?i:.)|`},
		{"pre_tokenizer.Split.pattern", `"Regex":"`, `"Regex":"(a|`},
		{"added_tokens", `"lstrip":false`, `"lstrip":true`},
		{"added_tokens", `"rstrip":false`, `"rstrip":true`},
		{"added_tokens", `"single_word":false`, `"single_word":true`},
		{"the file", `"version"`, `"future":1,"version"`},
	} {
		base := strings.ReplaceAll(strings.ReplaceAll(base, "\n", ""), `"add_prefix_space":false,"trim_offsets":false,"use_regex":false},"decoder"`, `"trim_offsets":false},"decoder"`)
		_, err := tokens.Load([]byte(edit(t, base, row.old, row.new)))
		if fault.Of(err) != tokens.Unsupported || !strings.Contains(err.Error(), `"`+row.part+`"`) {
			t.Errorf("%s for %s: %v", row.new, row.old, err)
		}
	}
}

func TestLoadRefusesMalformedFiles(t *testing.T) {
	base := strings.ReplaceAll(small(t), "\n", "")
	for _, row := range [][2]string{
		{`{`, ``}, {`"version"`, `"version":"1.0","version"`}, {`"merges":["`, `"merges":["a b c","`}, {`"merges":["`, `"merges":[["a"],"`},
		{`"merges":["`, `"merges":["zz qq","`}, {`"!":0`, `"!":-1`}, {`"!":0`, `"!":1e99`}, {`"content":"<think>"`, `"content":""`},
		{`"pattern":{`, `"pattern":{"String":"x",`}, {`"model":{`, `"model":null,"padding":{`},
	} {
		_, err := tokens.Load([]byte(edit(t, base, row[0], row[1])))
		if c := fault.Of(err); c != conductor.TokenizerBroken && c != tokens.Unsupported {
			t.Errorf("%s: %v", row[1], err)
		}
	}
	if _, err := tokens.Load(make([]byte, tokens.MaxFile+1)); fault.Of(err) != tokens.FileTooLong {
		t.Errorf("a long file: %v", err)
	}
}

func TestAddedTokens(t *testing.T) {
	base := strings.ReplaceAll(small(t), "\n", "")
	tok := load(t, edit(t, base, `"added_tokens":[`, `"added_tokens":[
		{"id":900,"content":"<think>ing","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":false},
		{"id":901,"content":"é","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":false},
		{"id":902,"content":"e\u0300","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":false},`))
	for text, want := range map[string][]int{
		"<think>ing<think>": {900, 652}, "é": {901}, "e\u0301": {901}, "è": {902}, "<think": nil,
	} {
		got, err := tok.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			if len(got) < 2 {
				t.Errorf("%q became %v", text, got)
			}
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestSplitsThatRemove(t *testing.T) {
	base := strings.ReplaceAll(small(t), "\n", "")
	for name, row := range map[string]struct{ split, text, want string }{
		"matches":     {`{"type":"Split","pattern":{"String":" "},"behavior":"Removed","invert":false},`, "a b  c", "abc"},
		"the rest":    {`{"type":"Split","pattern":{"Regex":"\\p{L}+"},"behavior":"Removed","invert":true},`, "ab1c, d", "abcd"},
		"isolated":    {`{"type":"Split","pattern":{"String":"b"},"behavior":"Isolated","invert":true},`, "abc", "abc"},
		"empty match": {`{"type":"Split","pattern":{"Regex":"x*"},"behavior":"Removed","invert":false},`, "axxb", "ab"},
	} {
		tok := load(t, edit(t, base, `"pretokenizers":[`, `"pretokenizers":[`+row.split))
		ids, err := tok.Encode(row.text)
		if got := tok.Decode(ids); err != nil || got != row.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, row.want)
		}
	}
}

func TestIgnoreMergesTakesWholeWords(t *testing.T) {
	base := strings.ReplaceAll(small(t), "\n", "")
	base = edit(t, base, `"!":0`, `"!":0,"zqx":990`) // in the vocabulary, reached by no merge
	if n := load(t, base).Count("zqx"); n != 3 {
		t.Errorf("merged %d tokens, want 3", n)
	}
	if n := load(t, edit(t, base, `"ignore_merges":false`, `"ignore_merges":true`)).Count("zqx"); n != 1 {
		t.Errorf("whole word has %d tokens, want 1", n)
	}
}

func TestPatternThatRunsOutOfTimeNeverCountsTooLittle(t *testing.T) {
	tok := load(t, edit(t, small(t), qwen2, `(?:\\p{L}|\\p{L}\\p{L})+\\p{N}`))
	text := strings.Repeat("the", 30)
	if _, err := tok.Encode(text); fault.Of(err) != tokens.TooSlow {
		t.Fatalf("the pattern was fast: %v", err)
	}
	if n := tok.Count(text); n != len(text) {
		t.Errorf("count %d, want the bytes, %d", n, len(text))
	}
}

func TestLoadedErrorsKeepTheirCause(t *testing.T) {
	_, err := tokens.Load([]byte("x"))
	var f *fault.Error
	if !errors.As(err, &f) || f.Unwrap() == nil {
		t.Errorf("no cause in %v", err)
	}
}

func BenchmarkCount400TokenReason(b *testing.B) {
	tok := load(b, small(b))
	text := strings.Repeat("The worker failed the hidden test because it sorted strings instead of numbers, so the next step is a retry. ", 10)
	b.ReportMetric(float64(tok.Count(text)), "tokens")
	b.ReportAllocs()
	for b.Loop() {
		tok.Count(text)
	}
}

func BenchmarkCount400TokenReasonByTheGeneralEngine(b *testing.B) {
	tok := load(b, wrapped(b, small(b)))
	text := strings.Repeat("The worker failed the hidden test because it sorted strings instead of numbers, so the next step is a retry. ", 10)
	b.ReportAllocs()
	for b.Loop() {
		tok.Count(text)
	}
}

func BenchmarkCountLongWord(b *testing.B) {
	tok := load(b, small(b))
	text := strings.Repeat("because", 2000)
	for b.Loop() {
		tok.Count(text)
	}
}
