package tokens_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"assay/conductor/tokens"
)

// pool holds what pre-tokenizers stumble over.
var pool = []string{
	"a", "Z", "é", "ß", "ſ", "K", "0", "9", "٣", "½", "Ⅷ", "\t", "\n", "\r", " ", "  ", "\u00a0", "\u2003", "\u3000", "\u0085", "'", "\"", "’", ".", ",", "!",
	"_", "$", "/", "<", ">", "|", "(", "]", "中", "の", "한", "ש", "ह", "\u0301", "\u0323", "\u0344", "🙂", "🏽", "\u200d", "\ufeff", "\u034f",
	" the", "'s", "'ſ", "'LL", "ing", "because", "<think>", "</think>", "<|end|>", "\x00", "ΐ", "Å", "가", "\u1161", "\U0010ffff",
}

// texts draws texts from the pool and from all characters.
func texts() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.Map(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat(rapid.SampledFrom(pool).Draw(t, "part"), rapid.IntRange(1, 4).Draw(t, "times"))
		}), 0, 30), func(p []string) string { return strings.Join(p, "") }),
		rapid.String(),
	)
}

func TestProperty_decoding_gives_back_the_normalized_text(t *testing.T) {
	tok := load(t, small(t))
	rapid.Check(t, func(t *rapid.T) {
		text := texts().Draw(t, "text")
		ids, err := tok.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := tok.Decode(ids), norm.NFC.String(text); got != want && !strings.ContainsAny(text, "\u034f") && !addedInside(text) {
			t.Fatalf("%q comes back as %q, want %q", text, got, want)
		}
		if n := tok.Count(text); n != len(ids) {
			t.Fatalf("%q counts %d and has %d ids", text, n, len(ids))
		}
	})
}

// addedInside reports whether text holds an added token, across whose borders nothing is normalized.
func addedInside(text string) bool {
	return strings.Contains(text, "<think>") || strings.Contains(text, "</think>") || strings.Contains(text, "<|end|>")
}

// families are the patterns that are scanned by hand.
var families = map[string]string{
	"gpt2":   `'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+`,
	"llama3": strings.Replace(qwen2, `|\\p{N}|`, `|\\p{N}{1,3}|`, 1),
	"qwen2":  qwen2,
	"qwen35": `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`,
}

func TestProperty_scanners_cut_as_their_patterns_do(t *testing.T) {
	for name, pattern := range families {
		t.Run(name, func(t *testing.T) {
			hand := load(t, edit(t, small(t), qwen2, pattern))
			engine := load(t, edit(t, small(t), qwen2, `(?:`+pattern+`)`))
			rapid.Check(t, func(t *rapid.T) {
				text := texts().Draw(t, "text")
				a, err := tokens.Pieces(hand, strings.ToValidUTF8(text, "?"))
				if err != nil {
					t.Fatal(err)
				}
				b, err := tokens.Pieces(engine, strings.ToValidUTF8(text, "?"))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(b, a); diff != "" {
					t.Fatalf("%q (-pattern +scanner):\n%s", text, diff)
				}
			})
		})
	}
}

// naive merges by the definition: look at all pairs, join the leftmost of the lowest rank, begin again.
type naive struct {
	vocab map[string]int
	ranks map[string]int
}

func newNaive(t testing.TB, text string) naive {
	t.Helper()
	var doc struct {
		Model struct {
			Vocab  map[string]int
			Merges []string
		}
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	n := naive{doc.Model.Vocab, map[string]int{}}
	for i, m := range doc.Model.Merges {
		n.ranks[m] = i
	}
	return n
}

func (n naive) encode(word string) []int {
	parts := strings.Split(word, "")
	for {
		best, at := -1, -1
		for i := 0; i+1 < len(parts); i++ {
			if r, ok := n.ranks[parts[i]+" "+parts[i+1]]; ok && (best < 0 || r < best) {
				best, at = r, i
			}
		}
		if at < 0 {
			break
		}
		parts[at] += parts[at+1]
		parts = append(parts[:at+1], parts[at+2:]...)
	}
	var ids []int
	for _, p := range parts {
		ids = append(ids, n.vocab[p])
	}
	return ids
}

func TestProperty_merging_is_that_of_the_definition(t *testing.T) {
	// A pair of equal letters tells the leftmost pair from the others.
	text := edit(t, edit(t, strings.ReplaceAll(small(t), "\n", ""), `"!":0`, `"!":0,"qq":990`), `"merges":["`, `"merges":["q q","`)
	twin := newNaive(t, text)
	tok := load(t, text)
	rapid.Check(t, func(t *rapid.T) {
		// Letters only, so that the text is one piece; both algorithms are reached by its length.
		word := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"q", "qqq", "t", "h", "e", "r", "in", "because", "s", "o", "n", "g", "model"}), 0, 60).Draw(t, "word"), "")
		got, err := tok.Encode(word)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(twin.encode(word), got); diff != "" {
			t.Fatalf("%q (-definition +got):\n%s", word, diff)
		}
	})
}

func TestProperty_long_runs_of_marks_normalize_as_short_ones(t *testing.T) {
	forms := map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			tok := load(t, edit(t, small(t), `"NFC"`, `"`+name+`"`))
			marks := rapid.SampledFrom([]string{"\u0301", "\u0323", "\u0327", "\u0302", "\u0308", "\u0344", "\u0307", "é", "ṩ", "ﬁ", "ệ", "가", "\u0345", "\u1161", "\u093c", "क"})
			rapid.Check(t, func(t *rapid.T) {
				// Eight are enough for the slow way; four marks of one character each stay below the library's thirty.
				text := "o" + strings.Join(rapid.SliceOfN(marks, 8, 14).Draw(t, "marks"), "")
				ids, err := tok.Encode(text)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := tok.Decode(ids), form.String(text); got != want {
					t.Fatalf("%+q becomes %+q, want %+q", text, got, want)
				}
			})
		})
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(small(f)), "the reasoning")
	f.Add([]byte(strings.ReplaceAll(small(f), "\n", "")), "a <think> 12\n")
	f.Add([]byte(`{"version":"1.0","model":{"type":"BPE","vocab":{},"merges":[]}}`), "")
	f.Add([]byte(`{"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split"}]}}`), "")
	f.Fuzz(func(t *testing.T, file []byte, text string) {
		tok, err := tokens.Load(file)
		if err != nil || len(text) > 1000 {
			return
		}
		tok.Count(text)
	})
}

func FuzzCount(f *testing.F) {
	for _, e := range pinned(f) {
		f.Add(e.Text)
	}
	f.Add("\xff\xc0")
	tok := load(f, small(f))
	f.Fuzz(func(t *testing.T, text string) {
		ids, err := tok.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		if n := tok.Count(text); n != len(ids) {
			t.Fatalf("counts %d, has %d ids", n, len(ids))
		}
		back := tok.Decode(ids)
		again, err := tok.Encode(back)
		if err != nil || !utf8.ValidString(back) {
			t.Fatalf("%q decodes to %q: %v", text, back, err)
		}
		if tok.Decode(again) != back && !addedInside(back) {
			t.Fatalf("%q is not stable: %q", back, tok.Decode(again))
		}
	})
}
