package grade

import (
	"strings"
)

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// pickNumber returns an answer's number as it is written: the first behind the last "####" on that line, else the
// last of all. "" where there is none.
func pickNumber(answer string) string {
	if at := strings.LastIndex(answer, "####"); at >= 0 {
		if n := firstNumber(firstLine(answer[at+4:])); n != "" {
			return n
		}
	}
	last := ""
	for answer != "" {
		n, rest := cutNumber(answer)
		if n != "" {
			last = n
		}
		answer = rest
	}
	return last
}

func firstNumber(s string) string {
	n, _ := cutNumber(s)
	return n
}

// cutNumber returns the first number in s and what follows it. A number is digits with commas and points between
// them; a minus sign directly before it, or before its dollar sign, belongs to it unless a letter or digit precedes.
func cutNumber(s string) (number, rest string) {
	i := strings.IndexAny(s, "0123456789")
	if i < 0 {
		return "", ""
	}
	end := i + 1
	for end < len(s) && (isDigit(s[end]) || (s[end] == ',' || s[end] == '.') && end+1 < len(s) && isDigit(s[end+1])) {
		end++
	}
	start := i
	if start > 0 && s[start-1] == '.' {
		start--
	}
	sign := start
	if sign > 0 && s[sign-1] == '$' {
		sign--
	}
	if sign > 0 && s[sign-1] == '-' && (sign == 1 || !isDigit(s[sign-2]) && !isLetter(s[sign-2]) && s[sign-2] != ')') {
		return "-" + s[start:end], s[end:]
	}
	return s[start:end], s[end:]
}

// bare removes commas and dollar signs.
func bare(s string) string {
	if !strings.ContainsAny(s, ",$") {
		return s
	}
	return strings.NewReplacer(",", "", "$", "").Replace(s)
}

// decimal returns the one spelling of a decimal number's value: "-0.50" is "-.5", "020.00" is "20", "-0" is "0".
func decimal(s string) (string, bool) {
	s = bare(s)
	negative := strings.HasPrefix(s, "-")
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	if whole+fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return "", false
	}
	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	out := whole
	if fraction != "" {
		out += "." + fraction
	}
	switch {
	case out == "":
		return "0", true
	case negative:
		return "-" + out, true
	}
	return out, true
}
