package tokens

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor"
	"assay/core/canon"
	"assay/core/fault"
)

// The bounds of a tokenizer file.
const (
	MaxFile  = 64 << 20 // bytes of tokenizer.json
	maxStage = 16       // pre-tokenizers and normalizers in a sequence
	maxAdded = 1 << 16  // added tokens
	maxID    = 1<<31 - 2
)

// file is a tokenizer.json. The parts without a type here do not change what a text's tokens are: they cut, pad or
// frame the list of tokens, or turn it back into text.
type file struct {
	Version       string         `json:"version"`
	Truncation    jsontext.Value `json:"truncation"`
	Padding       jsontext.Value `json:"padding"`
	Added         []addedToken   `json:"added_tokens"`
	Normalizer    jsontext.Value `json:"normalizer"`
	PreTokenizer  jsontext.Value `json:"pre_tokenizer"`
	PostProcessor jsontext.Value `json:"post_processor"`
	Decoder       jsontext.Value `json:"decoder"`
	Model         jsontext.Value `json:"model"`
}

type addedToken struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// Load reads a tokenizer.json of the byte-level pair-encoding family. A part that would change counts and is not read
// here is refused as Unsupported with its name.
func Load(tokenizerJSON []byte) (*Tokenizer, error) {
	if len(tokenizerJSON) > MaxFile {
		return nil, FileTooLong.With(fault.Int("max_bytes", MaxFile))
	}
	var f file
	if err := strict(tokenizerJSON, &f, "the file"); err != nil {
		return nil, err
	}
	t := &Tokenizer{}
	var err error
	if t.normalize, err = readNormalizer(f.Normalizer, 0); err != nil {
		return nil, err
	}
	if t.stages, err = readPreTokenizer(f.PreTokenizer); err != nil {
		return nil, err
	}
	if t.model, err = readModel(f.Model); err != nil {
		return nil, err
	}
	return t, t.readAdded(f.Added)
}

func unsupported(part, why string) error {
	return Unsupported.With(fault.Str("part", part), fault.Str("why", why))
}

// strict reads a part into v. A member that v does not have is a part that is not read here.
func strict(text jsontext.Value, v any, part string) error {
	err := canon.Strict(text, v)
	switch fault.Of(err) {
	case fault.Code{}:
		return nil
	case canon.UnknownMember:
		return Unsupported.Because(err).With(fault.Str("part", part), fault.Str("why", "an unknown member"))
	}
	return conductor.TokenizerBroken.Because(fmt.Errorf("reading %s: %w", part, err))
}

func broken(format string, args ...any) error {
	return conductor.TokenizerBroken.Because(fmt.Errorf(format, args...))
}

// none reports whether a part is absent or null.
func none(v jsontext.Value) bool { return len(v) == 0 || v.Kind() == 'n' }

// kind returns a part's "type" member.
func kind(v jsontext.Value, part string) (string, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := canon.Lenient(v, &head); err != nil {
		return "", broken("reading the type of %s: %w", part, err)
	}
	return head.Type, nil
}

func readNormalizer(v jsontext.Value, depth int) ([]form, error) {
	if none(v) {
		return nil, nil
	}
	name, err := kind(v, "normalizer")
	if err != nil {
		return nil, err
	}
	if f, ok := forms[name]; ok {
		var only struct {
			Type string `json:"type"`
		}
		return []form{f}, strict(v, &only, "normalizer."+name)
	}
	if name != "Sequence" || depth > 0 {
		return nil, unsupported("normalizer", name)
	}
	var seq struct {
		Type string           `json:"type"`
		List []jsontext.Value `json:"normalizers"`
	}
	if err := strict(v, &seq, "normalizer.Sequence"); err != nil {
		return nil, err
	}
	if len(seq.List) > maxStage {
		return nil, unsupported("normalizer.Sequence", "too long")
	}
	var out []form
	for _, e := range seq.List {
		f, err := readNormalizer(e, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, f...)
	}
	return out, nil
}

// readPreTokenizer reads the splits in front of one ByteLevel, which must be there and last: without it the words
// would not be spelled in bytes.
func readPreTokenizer(v jsontext.Value) ([]stage, error) {
	list := []jsontext.Value{v}
	if none(v) {
		return nil, unsupported("pre_tokenizer", "none")
	}
	name, err := kind(v, "pre_tokenizer")
	if err != nil {
		return nil, err
	}
	if name == "Sequence" {
		var seq struct {
			Type string           `json:"type"`
			List []jsontext.Value `json:"pretokenizers"`
		}
		if err := strict(v, &seq, "pre_tokenizer.Sequence"); err != nil {
			return nil, err
		}
		list = seq.List
	}
	if len(list) > maxStage {
		return nil, unsupported("pre_tokenizer.Sequence", "too long")
	}
	var out []stage
	for i, e := range list {
		name, err := kind(e, "pre_tokenizer")
		if err != nil {
			return nil, err
		}
		last := i == len(list)-1
		switch {
		case name == "Split" && !last:
			s, err := readSplit(e)
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		case name == "ByteLevel" && last:
			return readByteLevel(e, out)
		default:
			return nil, unsupported("pre_tokenizer", name+" at this place")
		}
	}
	return nil, unsupported("pre_tokenizer", "no ByteLevel")
}

func readByteLevel(v jsontext.Value, stages []stage) ([]stage, error) {
	var b struct {
		Type   string `json:"type"`
		Prefix bool   `json:"add_prefix_space"`
		Trim   bool   `json:"trim_offsets"`
		Regex  bool   `json:"use_regex"`
	}
	b.Prefix, b.Regex = true, true // what the format means by leaving them out
	if err := strict(v, &b, "pre_tokenizer.ByteLevel"); err != nil {
		return nil, err
	}
	if b.Prefix {
		return nil, unsupported("pre_tokenizer.ByteLevel.add_prefix_space", "true")
	}
	if b.Regex {
		stages = append(stages, stage{by: families[gpt2Pattern]})
	}
	return stages, nil
}

func readSplit(v jsontext.Value) (stage, error) {
	var s struct {
		Type    string `json:"type"`
		Pattern struct {
			Regex  *string `json:"Regex"`
			String *string `json:"String"`
		} `json:"pattern"`
		Behavior string `json:"behavior"`
		Invert   bool   `json:"invert"`
	}
	if err := strict(v, &s, "pre_tokenizer.Split"); err != nil {
		return stage{}, err
	}
	out := stage{invert: s.Invert, remove: s.Behavior == "Removed"}
	if s.Behavior != "Isolated" && s.Behavior != "Removed" {
		return stage{}, unsupported("pre_tokenizer.Split.behavior", s.Behavior)
	}
	switch p := s.Pattern; {
	case p.Regex != nil && p.String == nil && *p.Regex != "":
		by, err := newPattern(*p.Regex)
		if err != nil {
			return stage{}, Unsupported.Because(err).With(fault.Str("part", "pre_tokenizer.Split.pattern"), fault.Str("why", err.Error()))
		}
		out.by = by
	case p.String != nil && p.Regex == nil && *p.String != "":
		out.by = literal(*p.String)
	default:
		return stage{}, broken("a split needs one pattern")
	}
	return out, nil
}

// merge is a pair of words, spelled "a b" or ["a","b"].
type merge struct{ left, right string }

// UnmarshalJSONFrom reads either spelling.
func (m *merge) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '"' {
		tok, err := d.ReadToken()
		if err != nil {
			return err
		}
		left, right, ok := strings.Cut(tok.String(), " ")
		if !ok || strings.Contains(right, " ") {
			return fmt.Errorf("a merge is two words with one blank between them, not %q", tok.String())
		}
		*m = merge{left, right}
		return nil
	}
	var two []string
	if err := json.UnmarshalDecode(d, &two); err != nil {
		return err
	}
	if len(two) != 2 {
		return fmt.Errorf("a merge of %d words", len(two))
	}
	*m = merge{two[0], two[1]}
	return nil
}

type modelFile struct {
	Type         string           `json:"type"`
	Dropout      *float64         `json:"dropout"`
	Unknown      *string          `json:"unk_token"`
	Prefix       *string          `json:"continuing_subword_prefix"`
	Suffix       *string          `json:"end_of_word_suffix"`
	FuseUnknown  bool             `json:"fuse_unk"`
	ByteFallback bool             `json:"byte_fallback"`
	IgnoreMerges bool             `json:"ignore_merges"`
	Vocab        map[string]int32 `json:"vocab"`
	Merges       []merge          `json:"merges"`
}

func readModel(v jsontext.Value) (model, error) {
	if none(v) {
		return model{}, broken("there is no model")
	}
	name, err := kind(v, "model")
	if err != nil {
		return model{}, err
	}
	if name != "BPE" {
		return model{}, unsupported("model.type", name)
	}
	var f modelFile
	if err := strict(bytes.TrimSpace(v), &f, "model"); err != nil {
		return model{}, err
	}
	set := func(s *string) bool { return s != nil && *s != "" }
	switch {
	case f.Dropout != nil && *f.Dropout != 0:
		return model{}, unsupported("model.dropout", "not zero")
	case set(f.Prefix):
		return model{}, unsupported("model.continuing_subword_prefix", *f.Prefix)
	case set(f.Suffix):
		return model{}, unsupported("model.end_of_word_suffix", *f.Suffix)
	case f.ByteFallback:
		return model{}, unsupported("model.byte_fallback", "true")
	}
	return f.build()
}

func (f *modelFile) build() (model, error) {
	m := model{cache: newCache(), texts: make(map[int]string, len(f.Vocab)), merges: make(map[uint64]merged, len(f.Merges))}
	byText := make(map[string]int32, len(f.Vocab))
	for w, id := range f.Vocab {
		if id < 0 || id > maxID {
			return model{}, broken("the word %q has the id %d", w, id)
		}
		if text, ok := spelled(w); ok { // a word in other characters can never come of bytes
			byText[text] = id
			m.texts[int(id)] = text
		}
	}
	for b := range m.bytes {
		id, ok := byText[string([]byte{byte(b)})]
		if !ok && b != 0xc0 && b != 0xc1 && b < 0xf5 { // these never stand in UTF-8
			return model{}, unsupported("model.vocab", fmt.Sprintf("no word for the byte %#02x", b))
		}
		m.bytes[b] = id
	}
	for rank, p := range f.Merges {
		left, ok1 := f.Vocab[p.left]
		right, ok2 := f.Vocab[p.right]
		both, ok3 := f.Vocab[p.left+p.right]
		if !ok1 || !ok2 || !ok3 {
			return model{}, broken("the merge of %q and %q is not in the vocabulary", p.left, p.right)
		}
		m.merges[pair(left, right)] = merged{int32(rank), both} // of equal pairs the last counts
	}
	if f.IgnoreMerges {
		m.whole = byText
	}
	return m, nil
}

func (t *Tokenizer) readAdded(list []addedToken) error {
	if len(list) > maxAdded {
		return unsupported("added_tokens", "too many")
	}
	var raw, normal []added
	for _, a := range list {
		switch {
		case a.Content == "" || a.ID < 0 || a.ID > maxID:
			return broken("the added token %q has the id %d", a.Content, a.ID)
		case a.SingleWord, a.LStrip, a.RStrip:
			return unsupported("added_tokens", "single_word, lstrip or rstrip of "+a.Content)
		}
		t.model.texts[a.ID] = a.Content
		if !a.Normalized {
			raw = append(raw, added{a.Content, a.ID})
			continue
		}
		text := a.Content
		for _, f := range t.normalize {
			text = f.apply(text)
		}
		normal = append(normal, added{text, a.ID})
	}
	t.raw, t.normal = newMatcher(raw), newMatcher(normal)
	return nil
}
