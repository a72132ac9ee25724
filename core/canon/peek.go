package canon

import "bytes"

// Peek returns the value of a member as it stands in a canonical text, without reading the rest, and nil where there is no such
// member. It finds the first member of that name at any depth, so the name must be one that no member before it has; it is for texts
// that are known to be whole, such as checksummed lines of one's own, and finds nothing that is wrong with them.
func Peek(text []byte, member string) []byte {
	mark := append(append([]byte{'"'}, member...), `":`...)
	for from := 0; ; {
		i := bytes.Index(text[from:], mark)
		if i < 0 {
			return nil
		}
		at := from + i
		// Inside a string a quote has a backslash before it, so a mark behind a brace or a comma is a member's name.
		if at > 0 && (text[at-1] == '{' || text[at-1] == ',') {
			return value(text[at+len(mark):])
		}
		from = at + 1
	}
}

// value cuts the string, number or word at the head of a text; a list or an object is not cut.
func value(text []byte) []byte {
	if len(text) == 0 || text[0] != '"' {
		if end := bytes.IndexAny(text, ",}]"); end >= 0 {
			return text[:end]
		}
		return text
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[:i+1]
		}
	}
	return nil
}
