package window

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"assay/conductor"
	"assay/conductor/internal/pin"
	"assay/conductor/profile"
	"assay/conductor/task"
	"assay/core/canon"
	"assay/core/digest"
	"assay/core/fault"
)

// PoolLine names one task of a pool without its statement, so that the pool can be published while what was not drawn stays unseen.
type PoolLine struct {
	Benchmark, ID string
	PromptDigest  string   // hexadecimal SHA-256 of the statement's bytes
	Tools         []string // in declared order
	Group         string   // "" for none
}

// LineOf returns the task's line.
func LineOf(s task.Spec) PoolLine {
	return PoolLine{Benchmark: s.Benchmark, ID: s.ID, PromptDigest: digest.HexOfBytes([]byte(s.Prompt)), Tools: s.Tools, Group: s.Group}
}

// Append appends the line in ASCII canonical JSON, without a line end.
//
//	["r2e-gym","t-1","9f86d081…",["READ"],null]
func (l PoolLine) Append(dst []byte) []byte {
	return appendPool(dst, l.Benchmark, l.ID, l.PromptDigest, l.Tools, l.Group)
}

// String returns the line as it is published.
func (l PoolLine) String() string { return string(l.Append(nil)) }

// ParsePoolLine reads what Append wrote. Any other text is conductor.BadPoolLine.
func ParsePoolLine(text []byte) (PoolLine, error) {
	v, err := canon.Decode(text)
	if err != nil {
		return PoolLine{}, conductor.BadPoolLine.Because(err)
	}
	list, _ := v.([]any)
	if len(list) != 5 {
		return PoolLine{}, conductor.BadPoolLine.With(fault.Int("members", int64(len(list))))
	}
	tools, ok := texts(list[3])
	l := PoolLine{Tools: tools}
	for i, to := range []*string{&l.Benchmark, &l.ID, &l.PromptDigest} {
		s, is := list[i].(string)
		*to, ok = s, ok && is && s != ""
	}
	if list[4] != nil {
		l.Group, _ = list[4].(string)
		ok = ok && l.Group != ""
	}
	if _, err := digest.Parse[task.Spec](l.PromptDigest); err != nil || !ok {
		return PoolLine{}, conductor.BadPoolLine.Because(err)
	}
	if l.String() != string(text) {
		return PoolLine{}, conductor.BadPoolLine.Because(canon.Spelling.With())
	}
	return l, nil
}

// PoolDigest returns the digest of a task pool, the input's order being irrelevant. A compat pool is digested over the
// statements, a strict one over their digests (see PoolDigestOf).
func PoolDigest(specs []task.Spec, p profile.Profile) (string, error) {
	for _, s := range specs {
		if err := pin.Check(s); err != nil {
			return "", err
		}
	}
	if p.Strict() {
		return PoolDigestOf(linesOf(specs)), nil
	}
	sorted := slices.SortedFunc(slices.Values(specs), compare)
	return digestOfList(len(sorted), func(dst []byte, i int) []byte {
		s := sorted[i]
		return appendPool(dst, s.Benchmark, s.ID, s.Prompt, s.Tools, s.Group)
	}), nil
}

// PoolDigestOf returns the strict digest of a pool: the SHA-256 of the canonical list of its lines, sorted by their members.
func PoolDigestOf(lines []PoolLine) string {
	sorted := SortPool(lines)
	return digestOfList(len(sorted), func(dst []byte, i int) []byte { return sorted[i].Append(dst) })
}

// SortPool returns the lines in the order in which they are digested and published.
func SortPool(lines []PoolLine) []PoolLine {
	return slices.SortedFunc(slices.Values(lines), func(a, b PoolLine) int {
		return cmp.Or(cmp.Compare(a.Benchmark, b.Benchmark), cmp.Compare(a.ID, b.ID), cmp.Compare(a.PromptDigest, b.PromptDigest),
			slices.Compare(a.Tools, b.Tools), cmp.Compare(a.Group, b.Group))
	})
}

func linesOf(specs []task.Spec) []PoolLine {
	lines := make([]PoolLine, len(specs))
	for i, s := range specs {
		lines[i] = LineOf(s)
	}
	return lines
}

// digestOfList hashes a canonical list of n members without holding it.
func digestOfList(n int, member func(dst []byte, i int) []byte) string {
	h := sha256.New()
	b := []byte{'['}
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = member(b, i)
		h.Write(b)
		b = b[:0]
	}
	h.Write(append(b, ']'))
	return hex.EncodeToString(h.Sum(nil))
}

func appendPool(dst []byte, benchmark, id, statement string, tools []string, group string) []byte {
	dst = append(dst, '[')
	for _, s := range [...]string{benchmark, id, statement} {
		dst = append(canon.AppendStringASCII(dst, s), ',')
	}
	dst = append(dst, '[')
	for i, t := range tools {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = canon.AppendStringASCII(dst, t)
	}
	dst = append(dst, "],"...)
	if group == "" {
		return append(dst, "null]"...)
	}
	return append(canon.AppendStringASCII(dst, group), ']')
}

// compare orders tasks by all that the pool's digest covers, so that the input's order never shows.
func compare(a, b task.Spec) int {
	return cmp.Or(cmp.Compare(a.Benchmark, b.Benchmark), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Prompt, b.Prompt),
		slices.Compare(a.Tools, b.Tools), cmp.Compare(a.Group, b.Group))
}
