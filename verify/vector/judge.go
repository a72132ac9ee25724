package vector

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/core/canon"
	"assay/core/fault"
)

func (v line) judge(got any, err error) string {
	if v.WantError != nil {
		return v.judgeRefusal(got, err)
	}
	if err != nil {
		return "refused: " + err.Error()
	}
	want, derr := canon.Decode(v.Want)
	if derr != nil {
		return "unreadable want: " + derr.Error()
	}
	return strings.TrimPrefix(differ("", got, want), ": ")
}

func (v line) judgeRefusal(got any, err error) string {
	if err == nil {
		return fmt.Sprintf("accepted with %v, wanted a refusal %s", got, v.WantError)
	}
	var word string
	if canon.Strict(v.WantError, &word) != nil {
		var labelled struct {
			Kind string `json:"kind"`
		}
		if derr := canon.Lenient(v.WantError, &labelled); derr != nil {
			return "unreadable want_error: " + derr.Error()
		}
		word = labelled.Kind
	}
	var turn Rejected
	if errors.As(err, &turn) {
		if string(turn) != word {
			return fmt.Sprintf("%v, wanted %s", err, word)
		}
		return ""
	}
	code := fault.Of(err)
	if code == fault.Unknown {
		return "failed instead of refusing: " + err.Error()
	}
	if code.Word() != word {
		return fmt.Sprintf("refused as %s, wanted %s", code.Name(), word)
	}
	return ""
}

// Rejected is the word for what a rule could not read. To the rule that is a value; here it stands where refusals do.
type Rejected string

func (r Rejected) Error() string { return "rejected as " + string(r) }

// UnlessNull is a value that a line wants either exactly or, by null, not at all: there a tie hangs on rounding.
type UnlessNull struct{ Value any }

// differ returns where got differs from want, "" if nowhere.
func differ(at string, got, want any) string {
	if u, ok := got.(UnlessNull); ok {
		if want == nil {
			return ""
		}
		got = u.Value
	}
	switch w := want.(type) {
	case canon.Object:
		g, ok := got.(canon.Object)
		if !ok {
			return fmt.Sprintf("%s: got %v, want an object", at, got)
		}
		return differObject(at, g, w)
	case []any:
		g, ok := list(got)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s: got %v, want %v", at, got, want)
		}
		for i := range w {
			if d := differ(at+"["+strconv.Itoa(i)+"]", g[i], w[i]); d != "" {
				return d
			}
		}
		return ""
	case canon.Int, float64:
		if !sameNumber(got, w) {
			return fmt.Sprintf("%s: got %v, want %v", at, got, want)
		}
		return ""
	}
	if got != want {
		return fmt.Sprintf("%s: got %#v, want %#v", at, got, want)
	}
	return ""
}

func differObject(at string, got, want canon.Object) string {
	for k := range got {
		if _, ok := want[k]; !ok {
			return fmt.Sprintf("%s.%s: not wanted", at, k)
		}
	}
	keys := make([]string, 0, len(want))
	for k := range want {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if _, ok := got[k]; !ok {
			return fmt.Sprintf("%s.%s: missing", at, k)
		}
		if d := differ(at+"."+k, got[k], want[k]); d != "" {
			return d
		}
	}
	return ""
}

func list(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case []string:
		out := make([]any, len(v))
		for i, s := range v {
			out[i] = s
		}
		return out, true
	}
	return nil, false
}

// Dollars is an amount that vectors write with or without a point.
type Dollars float64

// sameNumber compares whole numbers exactly and others within the tolerance. 1 and 1.0 are two values.
func sameNumber(got, want any) bool {
	if d, ok := got.(Dollars); ok {
		w, _, ok := toNumber(want)
		return ok && near(float64(d), w)
	}
	g, gi, ok1 := toNumber(got)
	w, wi, ok2 := toNumber(want)
	if !ok1 || !ok2 {
		return false
	}
	if gi != "" || wi != "" {
		return gi == wi
	}
	return near(g, w)
}

// near is the tolerance of floats.
func near(got, want float64) bool { return math.Abs(got-want) <= 1e-12*max(1, math.Abs(want)) }

func toNumber(v any) (f float64, whole string, ok bool) {
	switch v := v.(type) {
	case canon.Int:
		f, err := strconv.ParseFloat(string(v), 64)
		return f, string(v), err == nil
	case int:
		return float64(v), strconv.Itoa(v), true
	case int64:
		return float64(v), strconv.FormatInt(v, 10), true
	case uint64:
		return float64(v), strconv.FormatUint(v, 10), true
	case float64:
		return v, "", true
	}
	return 0, "", false
}
