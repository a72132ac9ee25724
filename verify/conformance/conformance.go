// Package conformance runs the public vectors against the rules, in the compat profile.
//
// Invariants:
//   - A line passes only when the rule itself gave the wanted value or refused for the wanted reason.
//   - Floats agree within 1e-12·max(1, |want|); strings, integers, orders, booleans and reasons exactly.
//   - A line that follows a rule instead of the reference says so in its own members; nothing is skipped.
package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor/profile"
	"assay/core/canon"
	"assay/core/fault"
)

// Runner answers one line of a group by the rules of p: the value for op on in, or a refusal.
type Runner func(p profile.Profile, op string, in jsontext.Value) (any, error)

// Groups returns the groups that are known here, by name.
func Groups() map[string]Runner {
	return map[string]Runner{
		"parse": runParse, "tracker": runTracker, "parse_tool": runParseTool,
		"render": runRender, "catalog_snapshot": runCatalog, "freeze_digest": runFreeze,
		"canonical_json": runCanonical, "task_order": runTaskOrder, "draw": runDraw,
		"worker_request": runWorkerRequest, "completion": runCompletion,
		"episode": runEpisode, "window_run": runWindow,
		"score_arm": runScoreArm, "exchange": runExchange, "exclude": runExclude, "bootstrap_rng": runBootstrap,
		"duel": runDuel, "adjudicate": runAdjudicate, "emissions": runEmissions,
		"graders": runGraders, "admission": runAdmission,
		"canonical_p": runFormP, "canonical_r": runFormR, "float_repr": runFloat,
	}
}

// Group is the outcome of one vector file.
type Group struct {
	Name   string
	Known  bool
	Lines  int
	Passed int
	Failed []Failure // in file order
}

// Failure is one line that did not pass.
type Failure struct{ ID, Why string }

// Run runs every *.jsonl file below the root of vectors, in path order.
func Run(vectors fs.FS, progress func(Group)) ([]Group, error) {
	return runAll(profile.Compat, vectors, progress)
}

func runAll(p profile.Profile, vectors fs.FS, progress func(Group)) ([]Group, error) {
	var files []string
	err := fs.WalkDir(vectors, ".", func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(file, ".jsonl") {
			files = append(files, file)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing the vectors: %w", err)
	}
	if len(files) == 0 {
		return nil, errors.New("no vector file (*.jsonl) below this folder")
	}
	known := Groups()
	var out []Group
	for _, f := range files {
		text, err := fs.ReadFile(vectors, f)
		if err != nil {
			return nil, fmt.Errorf("reading the vectors: %w", err)
		}
		name := strings.TrimSuffix(path.Base(f), ".jsonl")
		g := runGroup(p, name, known[name], text)
		if progress != nil {
			progress(g)
		}
		out = append(out, g)
	}
	return out, nil
}

func runGroup(p profile.Profile, name string, run Runner, text []byte) Group {
	g := Group{Name: name, Known: run != nil}
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		g.Lines++
		if run == nil {
			continue
		}
		if f := runLine(p, run, line); f.Why != "" {
			g.Failed = append(g.Failed, f)
		} else {
			g.Passed++
		}
	}
	return g
}

// vector is one line.
type vector struct {
	ID        string         `json:"id"`
	Op        string         `json:"op"`
	In        jsontext.Value `json:"in"`
	Want      jsontext.Value `json:"want"`
	WantError jsontext.Value `json:"want_error"` // a word, or {status, kind} in the Proof groups
}

func runLine(p profile.Profile, run Runner, line []byte) (f Failure) {
	var v vector
	if err := canon.Lenient(line, &v); err != nil {
		return Failure{"?", "unreadable line: " + err.Error()}
	}
	f.ID = v.ID
	defer func() {
		if r := recover(); r != nil {
			f.Why = fmt.Sprintf("panic: %v", r)
		}
	}()
	got, err := run(p, v.Op, v.In)
	f.Why = v.judge(got, err)
	return f
}

func (v vector) judge(got any, err error) string {
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

func (v vector) judgeRefusal(got any, err error) string {
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
	var turn rejected
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

// rejected is the word for what a rule could not read. To the rule that is a value; here it stands where refusals do.
type rejected string

func (r rejected) Error() string { return "rejected as " + string(r) }

// unlessNull is a value that a line wants either exactly or, by null, not at all: there a tie hangs on rounding.
type unlessNull struct{ value any }

// differ returns where got differs from want, "" if nowhere.
func differ(at string, got, want any) string {
	if u, ok := got.(unlessNull); ok {
		if want == nil {
			return ""
		}
		got = u.value
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

// dollars is an amount that vectors write with or without a point.
type dollars float64

// sameNumber compares whole numbers exactly and others within the tolerance. 1 and 1.0 are two values.
func sameNumber(got, want any) bool {
	if d, ok := got.(dollars); ok {
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

// errUnknownOp is the refusal of a line whose op is not known in its group.
func errUnknownOp(op string) error { return fmt.Errorf("unknown op %q", op) }

// read decodes a line's input.
func read[T any](in jsontext.Value) (T, error) {
	var v T
	err := canon.Lenient(in, &v)
	return v, err
}
