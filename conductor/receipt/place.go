package receipt

import (
	"cmp"
	"strconv"
	"strings"

	"assay/conductor"
	"assay/core/fault"
)

// Duel names one arm of one window: "w7-king-1" is the first attempt of window 7's arm "king".
type Duel struct {
	Window  int64  // from 0
	Arm     string // letters, digits and . _ : + -, 1 to 128 bytes
	Attempt int    // from 1
}

// maxArm is the longest name of an arm in bytes; maxPlace the largest number in a call's id.
const (
	maxArm   = 128
	maxPlace = 1_000_000_000
)

// String returns the id.
func (d Duel) String() string {
	return "w" + strconv.FormatInt(d.Window, 10) + "-" + d.Arm + "-" + strconv.Itoa(d.Attempt)
}

// ParseDuel reads what String writes, and nothing else.
func ParseDuel(s string) (Duel, error) {
	first, last := strings.IndexByte(s, '-'), strings.LastIndexByte(s, '-')
	if !strings.HasPrefix(s, "w") || last <= first {
		return Duel{}, badID(s)
	}
	window, okWindow := number(s[1:first])
	attempt, okAttempt := number(s[last+1:])
	d := Duel{int64(window), s[first+1 : last], attempt}
	if !okWindow || !okAttempt || attempt < 1 || !isArm(d.Arm) {
		return Duel{}, badID(s)
	}
	return d, nil
}

func isArm(s string) bool {
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("._:+-", c) >= 0:
		default:
			return false
		}
	}
	return s != "" && len(s) <= maxArm
}

// Place is where a call stands: its id is "<duel>/<episode>/<step>/<call>", all counted from 0.
type Place struct {
	Duel    string
	Episode int // the task's place in the slice
	Step    int
	Call    int // of the delegate's read loop
}

// String returns the call's id.
func (p Place) String() string {
	return p.Duel + "/" + strconv.Itoa(p.Episode) + "/" + strconv.Itoa(p.Step) + "/" + strconv.Itoa(p.Call)
}

// ParsePlace reads what String writes, and nothing else.
func ParsePlace(s string) (Place, error) {
	part := strings.Split(s, "/")
	if len(part) != 4 {
		return Place{}, badID(s)
	}
	if _, err := ParseDuel(part[0]); err != nil {
		return Place{}, err
	}
	var n [3]int
	for i := range n {
		var ok bool
		if n[i], ok = number(part[i+1]); !ok {
			return Place{}, badID(s)
		}
	}
	return Place{part[0], n[0], n[1], n[2]}, nil
}

// Compare orders places by duel, episode, step and call.
func (p Place) Compare(q Place) int {
	return cmp.Or(cmp.Compare(p.Duel, q.Duel), p.Episode-q.Episode, p.Step-q.Step, p.Call-q.Call)
}

// number reads a decimal below maxPlace that has one spelling.
func number(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && n < maxPlace && strconv.Itoa(n) == s
}

func badID(s string) error { return conductor.BadCallID.With(fault.Str("id", s)) }
