package grade

import (
	"slices"
	"strings"
	"unicode/utf8"

	"assay/conductor/profile"
	"assay/core/text"
)

// The words that an answer is found by, in upper case.
const (
	answerMarker = "ANSWER:"
	answerWord   = "ANSWER"
)

// Option returns the option letter, in lower case, that a submission settles on, or "" where it settles on none.
// It reads the first non-blank line behind the last "answer:", or the last non-blank line where there is no marker.
//
// Compat shifts the cut behind the marker by one character for every U+0130 before it, as a lower-casing that
// lengthens the text does; Strict cuts where the marker ends.
func Option(p profile.Profile, submission string) string {
	at := lastFold(submission, answerMarker)
	if at < 0 {
		return letterOf(text.LastLine(submission))
	}
	rest := submission[at+len(answerMarker):]
	if !p.Strict() {
		// Python's lower-casing makes two characters of this one and of no other.
		rest = skipRunes(rest, strings.Count(submission[:at], "\u0130"))
	}
	return letterOf(firstLine(rest))
}

// HLE returns 1 where submission and gold settle on the same option letter, else 0.
func HLE(p profile.Profile, submission, gold string) int {
	if o := Option(p, submission); o != "" && o == Option(p, gold) {
		return 1
	}
	return 0
}

// lastFold returns the index of the last word in s in any case, or -1. word is in ASCII upper case;
// no character beyond ASCII lower-cases to a letter of the words used here.
func lastFold(s, word string) int {
	for i := len(s) - len(word); i >= 0; i-- {
		if s[i]|0x20 == word[0]|0x20 && text.EqualUpperASCII(s[i:i+len(word)], word) {
			return i
		}
	}
	return -1
}

func skipRunes(s string, n int) string {
	for ; n > 0 && s != ""; n-- {
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
	}
	return s
}

// firstLine returns the first non-blank line of s, trimmed, or "".
func firstLine(s string) string {
	for s != "" {
		var line string
		line, s, _ = text.CutLine(s)
		if line = text.Trim(line); line != "" {
			return line
		}
	}
	return ""
}

// letterOf reads "(C)", "C. Paris", "**c**" and the like as "c", anything else as "".
func letterOf(line string) string {
	line = strings.TrimFunc(line, func(r rune) bool { return strings.ContainsRune("*_`\"'", r) || text.IsSpace(r) })
	line = strings.TrimPrefix(line, "(")
	if line == "" || !isLetter(line[0]) {
		return ""
	}
	rest := line[1:]
	if !strings.HasPrefix(rest, ")") { // a closing bracket ends the option by itself
		rest = strings.TrimLeftFunc(rest, text.IsSpace)
	}
	if rest != "" && !strings.ContainsRune(".):,;-", rune(rest[0])) {
		return ""
	}
	return strings.ToLower(line[:1])
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// HLERow is one row of the public question set.
type HLERow struct {
	ID         string
	AnswerType string // "multipleChoice" is gradeable here
	Answer     string // the gold; "" where the row has none
	Image      string // blank where the question is text only
}

// AdmitHLE returns the sorted task ids ("hle-" and the row's id) of the rows that are text-only multiple choice
// with exactly one letter as gold.
func AdmitHLE(rows []HLERow) []string {
	ids := []string{}
	for _, r := range rows {
		if r.AnswerType == "multipleChoice" && text.Trim(r.Image) == "" && isGold(r.Answer) {
			ids = append(ids, "hle-"+r.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// isGold reports whether s is one letter, perhaps in brackets and with a full stop.
func isGold(s string) bool {
	s = strings.TrimPrefix(text.Trim(s), "(")
	if s == "" || !isLetter(s[0]) {
		return false
	}
	return slices.Contains([]string{"", ")", ".", ")."}, s[1:])
}
