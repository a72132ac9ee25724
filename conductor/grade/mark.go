package grade

import (
	"strconv"
	"strings"

	"assay/conductor/profile"
	"assay/core/text"
)

// Metrics that are recomputed here.
const (
	MCQ         = "mcq_accuracy" // one option letter; the reference is a letter in any case or an index from 0
	FinalNumber = "final_number" // the last number, compared as text without commas and $, so 20.00 is not 20
	Number      = "number"       // the same number, compared by value, so 20.00 is 20
	ExactMatch  = "exact_match"  // the boxed text, without regard to case and with "_" read as a blank
)

// Known reports whether Mark recomputes the metric.
func Known(metric string) bool {
	switch metric {
	case MCQ, FinalNumber, Number, ExactMatch:
		return true
	}
	return false
}

// Mark scores an answer against a reference: 0 or 1.
// ok is false where the metric is not Known or the reference does not fit it; then the recorded score is the truth.
func Mark(metric, reference, answer string) (score float64, ok bool) {
	var hit bool
	switch metric {
	case MCQ:
		want := optionOf(reference)
		if want == 0 {
			return 0, false
		}
		hit = pickOption(answer) == want
	case FinalNumber:
		want := text.Trim(bare(reference))
		if want == "" {
			return 0, false
		}
		hit = bare(pickNumber(answer)) == want
	case Number:
		want, valid := decimal(text.Trim(reference))
		if !valid {
			return 0, false
		}
		got := pickNumber(answer)
		if inner, boxed := lastBoxed(answer); boxed {
			got = firstNumber(inner)
		}
		value, valid := decimal(got)
		hit = valid && value == want
	case ExactMatch:
		want := folded(reference)
		if want == "" {
			return 0, false
		}
		hit = folded(pickText(answer)) == want
	default:
		return 0, false
	}
	if hit {
		return 1, true
	}
	return 0, true
}

// optionOf reads a reference: "c", "C", "2" and "2.0" are all 'C'. It returns 0 for anything else.
func optionOf(reference string) byte {
	r := text.Trim(reference)
	if len(r) == 1 && isLetter(r[0]) {
		return r[0] &^ 0x20
	}
	f, err := strconv.ParseFloat(r, 64)
	if err != nil || f != float64(int(f)) || f < 0 || f >= 26 {
		return 0
	}
	return 'A' + byte(f)
}

// pickOption returns the upper-case option letter that an answer settles on, or 0: the head of its last box, else the
// letter on its last line that speaks of an answer, else the letter that is its last line.
func pickOption(answer string) byte {
	if inner, boxed := lastBoxed(answer); boxed {
		inner = strings.TrimPrefix(inner, "(")
		if inner == "" || !isLetter(inner[0]) || len(inner) > 1 && (isLetter(inner[1]) || isDigit(inner[1])) {
			return 0
		}
		return inner[0] &^ 0x20
	}
	lines := text.Lines(answer)
	for i := len(lines) - 1; i >= 0; i-- {
		at := lastFold(lines[i], answerWord)
		if at < 0 {
			continue
		}
		if o := letterOf(afterAnswer(lines[i][at+len(answerWord):])); o != "" {
			return o[0] &^ 0x20
		}
	}
	if o := Option(profile.Strict, answer); o != "" {
		return o[0] &^ 0x20
	}
	return 0
}

// afterAnswer drops what may stand between the word "answer" and the option: blanks, a colon, "is", marks.
func afterAnswer(s string) string {
	s = strings.TrimLeft(s, " \t:*_`\"'")
	if rest, ok := strings.CutPrefix(s, "is"); ok {
		s = strings.TrimLeft(rest, " \t:")
	}
	// A mark right behind the letter ("**C**. Because") hides its full stop.
	s = strings.TrimLeft(s, "*_`\"'")
	if len(s) > 1 && isLetter(s[0]) && strings.ContainsRune("*_`\"'", rune(s[1])) {
		return s[:1]
	}
	return s
}

// lastBoxed returns what the last \boxed{…} of s holds, without doubled braces, a \text wrapper and blanks around.
// A box that is never closed reaches to the end of its line.
func lastBoxed(s string) (string, bool) {
	at := strings.LastIndex(s, `\boxed{`)
	if at < 0 {
		return "", false
	}
	s, _, _ = text.CutLine(s[at+len(`\boxed{`):])
	depth := 1
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 {
			s = s[:i]
			break
		}
	}
	for {
		t := text.Trim(s)
		t = strings.TrimPrefix(t, `\text`)
		if len(t) >= 2 && t[0] == '{' && t[len(t)-1] == '}' {
			s = t[1 : len(t)-1]
			continue
		}
		return text.Trim(s), true
	}
}

// pickText returns an answer's text: its last box, else the first non-blank line behind its last "answer:".
func pickText(answer string) string {
	if inner, boxed := lastBoxed(answer); boxed {
		return inner
	}
	if at := lastFold(answer, answerMarker); at >= 0 {
		return firstLine(answer[at+len(answerMarker):])
	}
	return ""
}

// folded is a text as exact_match compares it.
func folded(s string) string {
	return strings.Join(text.Fields(strings.ToLower(strings.ReplaceAll(s, "_", " "))), " ")
}
