package audit_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"assay/conductor/publication"
	"assay/conductor/receipt"
	"assay/core/canon"
	"assay/core/sign"
	"assay/verify/audit"
)

var duel = []miner{{"m1", "DELEGATE s/s"}, {"m2", "DELEGATE c/c"}}

// Honest publications of every kind hold, whatever their workers did.
func TestHonestPublicationsHold(t *testing.T) {
	for name, c := range map[string]struct {
		world
		shows string // text of a file that shows the case
	}{
		"nobody waits":          {world{tasks: 1}, `"traces":[]`},
		"a crown in one window": {world{tasks: 1, miners: duel}, `"crowned":"m1"`},
		"two windows":           {world{tasks: 2, miners: duel, windows: 2}, `"window":2`},
		"reads":                 {world{tasks: 1, miners: duel, inspects: true}, `"observations"`},
		"a model under an alias": {world{tasks: 1, miners: duel, served: func(_, model string) string {
			return map[string]string{"s/s": "s-2026", "c/c": "c/c"}[model]
		}}, `"served_model":"s-2026"`},
		"another model answers": {world{tasks: 5, miners: duel, served: func(task, model string) string {
			if task == "t3" {
				return "x/x"
			}
			return model
		}}, `"stopped_reason":"excluded"`},
		"workers fail":              {world{tasks: 3, miners: duel, broken: func(task, model string) bool { return task == "t1" }}, `"failure":"timeout"`},
		"an arm that is given up":   {world{tasks: 8, gate: 8, miners: []miner{{"m1", "DELEGATE s/s"}, {"m2", "DELEGATE s/s"}}, limit: 12}, `"aborted":"the Conductor`},
		"nothing that can be read":  {world{tasks: 2, miners: []miner{{"m1", "well"}, {"m2", "DELEGATE s/s"}}}, `"parse_failure":"not_action"`},
		"an arm that gives no hope": {world{tasks: 6, miners: []miner{{"m1", "DELEGATE s/s"}, {"m2", "STOP"}}, windows: 2}, `"m2"`},
	} {
		t.Run(name, func(t *testing.T) {
			w, files := c.world, publish(t, c.world)
			shown := false
			for _, f := range files {
				shown = shown || bytes.Contains(f.Data, []byte(c.shows))
			}
			if !shown {
				t.Errorf("nothing says %s", c.shows)
			}
			r, err := audit.Audit(files, verifier(t), audit.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Windows) != max(w.windows, 1) || !r.Windows[0].Revealed || r.Windows[0].Tasks != 2*w.tasks {
				t.Errorf("%+v", r)
			}
		})
	}
}

// resign changes a receipt and has the gateway sign it again.
func resign(change func(*receipt.Receipt)) func(*testing.T, []byte) []byte {
	return func(t *testing.T, line []byte) []byte {
		r, err := receipt.Parse(line)
		must(t, err)
		change(&r)
		r.Sig = ""
		r, err = r.Sign(gateway)
		must(t, err)
		line, err = r.Append(nil)
		must(t, err)
		return line[:len(line)-1]
	}
}

// reseal changes a record and has the owner sign it again.
func reseal(change func(canon.Object)) func(*testing.T, []byte) []byte {
	return func(t *testing.T, line []byte) []byte {
		o, err := sign.Open(line, owner.Public())
		must(t, err)
		change(o)
		line, err = sign.Seal(o, owner)
		must(t, err)
		return line
	}
}

func swap(from, to string) func(*testing.T, []byte) []byte {
	return func(_ *testing.T, line []byte) []byte { return bytes.Replace(line, []byte(from), []byte(to), 1) }
}

// lie is one thing that an owner says otherwise in the first line of a file that holds the text.
type lie struct {
	file, holds string
	change      func(*testing.T, []byte) []byte
	found       string // file of the finding
	says        string // and a word of it
}

// check tells one lie and looks where it is found.
func (l lie) check(t *testing.T, files fstest.MapFS) {
	done := false
	lied := rewritten(t, files, orderOf(t, files), func(file string, line []byte) []byte {
		if done || !strings.Contains(file, l.file) || !bytes.Contains(line, []byte(l.holds)) {
			return line
		}
		again := l.change(t, bytes.Clone(line))
		done = !bytes.Equal(again, line)
		return again
	})
	if !done {
		t.Fatal("nothing was changed")
	}
	_, err := audit.Audit(lied, verifier(t), audit.Options{})
	var f *audit.Finding
	if !errors.As(err, &f) || !strings.Contains(f.File, l.found) || !strings.Contains(f.Error(), l.says) {
		t.Errorf("%v", err)
	}
}

func TestALieAboutACallIsFound(t *testing.T) {
	files := publish(t, world{tasks: 5, miners: duel, broken: func(task, _ string) bool { return task == "t1" }, served: func(task, model string) string {
		if task == "t3" && model == "s/s" {
			return "x/x"
		}
		return model
	}})
	for name, l := range map[string]lie{
		"what a policy says":      {"arms/gate-always-cheapest/0", "DELEGATE", swap("DELEGATE c/c", "REASON x\\nDELEGATE c/c"), "arms/gate-always-cheapest/0", "policy"},
		"a model that was served": {"receipts/gate-always-strongest", "x/x", resign(func(r *receipt.Receipt) { r.ServedModel = "s/s" }), "arms/gate-always-strongest", "byte"},
		"a task that is not void": {"arms/gate-always-strongest/0", `"void"`, swap(`,"void":"served_model"`, ""), "arms/gate-always-strongest", "byte"},
		"a replay's tokens":       {"receipts/king", `"replayed":true`, resign(func(r *receipt.Receipt) { r.TokensIn++ }), "receipts/king", "what a draw gave"},
		"a replay's cost":         {"receipts/king", `"replayed":true`, resign(func(r *receipt.Receipt) { r.Cost++ }), "receipts/king", "what a draw cost"},
		"a replay's row":          {"receipts/king", `"replayed":true`, resign(func(r *receipt.Receipt) { r.Row = strings.Repeat("0", 64) }), "receipts/king", "outcome row"},
		"a failure's digest":      {"receipts/gate-always-cheapest", `"failed":true`, resign(func(r *receipt.Receipt) { r.ResponseHash = strings.Repeat("0", 64) }), "receipts/gate-always-cheapest", "failure's digest"},
		"a failed row's digest": {"outcomes/", `"t1"`, func(_ *testing.T, line []byte) []byte {
			head, _, _ := bytes.Cut(line, []byte(`"row_sha256":"`))
			return append(bytes.Clone(head), `"row_sha256":"`+strings.Repeat("0", 64)+`","task_id":"t1"}`...)
		}, "arms/gate-always-cheapest", "failed delegate's row"},
		"a failure that is none":       {"receipts/gate-always-cheapest", `"failed":true`, resign(func(r *receipt.Receipt) { r.Failed = false }), "receipts/gate-always-cheapest", "whether a call failed"},
		"whose receipt it is":          {"receipts/m1", "", resign(func(r *receipt.Receipt) { r.Hotkey = "m2" }), "receipts/m1", "whose receipt"},
		"the step that a call was for": {"receipts/m1", "/0/0/0", resign(func(r *receipt.Receipt) { r.CallID = strings.Replace(r.CallID, "/0/0/0", "/0/1/0", 1) }), "receipts/m1", "another call"},
		"a receipt left out":           {"receipts/m1", "", func(*testing.T, []byte) []byte { return nil }, "receipts/m1", "record"},
	} {
		t.Run(name, func(t *testing.T) { l.check(t, files) })
	}
}

func TestALieAboutAnEpisodeIsFound(t *testing.T) {
	void := func(task, model string) string {
		if task == "t3" && model == "s/s" {
			return "x/x"
		}
		return model
	}
	files := publish(t, world{tasks: 6, miners: []miner{{"m1", "STOP"}, {"m2", "DELEGATE s/s"}}, served: void})
	for name, l := range map[string]lie{
		"the excluded list":     {"arms/king/0", `"excluded"`, swap(`"stopped_reason":"excluded"`, `"stopped_reason":"futile"`), "arms/king", "void before the arm"},
		"a futile tail":         {"arms/m2/0", `"stop"`, func(t *testing.T, line []byte) []byte { return zeroed(line, "futile") }, "m2", ""},
		"a clock before a turn": {"arms/m2/0", `"stop"`, func(t *testing.T, line []byte) []byte { return zeroed(line, "wall_clock") }, "m2", ""},
		"an episode's score":    {"arms/m2/0", `"graded_score":1.0`, swap(`"graded_score":1.0`, `"graded_score":0.5`), "arms/m2", "byte"},
		"an attempt":            {"arms/m2/0", `"attempt":1`, swap(`"attempt":1`, `"attempt":2`), "m2", ""},
		"an action":             {"arms/m2/0", `"kind":"delegate"`, swap(`"kind":"delegate"`, `"kind":"retry"`), "arms/m2", "byte"},
		"a replayed score":      {"arms/m2/0", `"replayed":true`, swap(`"success":true,"score":1.0`, `"success":false,"score":0.5`), "arms/m2", ""},
	} {
		t.Run(name, func(t *testing.T) { l.check(t, files) })
	}
}

// What an owner does while an arm is played, and writes down truthfully.
func TestAnUnfairWindowIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		world
		found, says string
	}{
		"an arm cut off that could win":        {world{tasks: 3, miners: duel, unfair: 3}, "arms/m1/", "could still win"},
		"receipts of another gateway":          {world{tasks: 1, miners: duel, signer: owner}, "receipts/gate-always-cheapest/", "gateway's signature"},
		"a draw that another is better served": {world{tasks: 1, miners: duel, better: true}, "arms/m1/", "served again"},
		"draws that are not shared":            {world{tasks: 1, miners: duel, alone: true}, "arms/king/", "who bought a draw"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := audit.Audit(publish(t, c.world), verifier(t), audit.Options{})
			var f *audit.Finding
			if !errors.As(err, &f) || !strings.Contains(f.File, c.found) || !strings.Contains(f.Error(), c.says) {
				t.Errorf("%v", err)
			}
		})
	}
}

// zeroed returns an episode that was never begun.
func zeroed(line []byte, how string) []byte {
	head, _, _ := bytes.Cut(line, []byte(`,"graded_score"`))
	return append(bytes.Clone(head), `,"graded_score":0.0,"spend_usd":0.0,"stopped_reason":"`+how+`","steps":[]}`...)
}

func TestALieAboutAWindowIsFound(t *testing.T) {
	files := publish(t, world{tasks: 2, miners: duel, windows: 2})
	for name, l := range map[string]lie{
		"who reigned":                      {"window/2/reveal", "", reseal(func(o canon.Object) { o["king_hotkey"] = "m2" }), "window/2/reveal.json", "byte"},
		"a coronation":                     {"window/1/reveal", "", reseal(func(o canon.Object) { o["coronations"] = []any{} }), "window/1/reveal.json", "byte"},
		"seen before":                      {"window/2/record", "", reseal(func(o canon.Object) { o["seen"] = []any{} }), "window/2/record.json", ""},
		"a draw that was not bought again": {"window/1/reveal", "", reseal(func(o canon.Object) { o["retest"] = o["retest"].([]any)[1:] }), "window/1/reveal.json", "bought again"},
		"a hidden reveal":                  {"window/1/reveal", "", func(*testing.T, []byte) []byte { return nil }, "window/1/reveal.json", "later window"},
		"a share of the weight":            {"window/2/reveal", "", reseal(func(o canon.Object) { o["weights"].([]any)[0].(canon.Object)["share"] = 0.5 }), "window/2/reveal.json", "byte"},
	} {
		t.Run(name, func(t *testing.T) { l.check(t, files) })
	}
	t.Run("the order of files", func(t *testing.T) {
		order := orderOf(t, files)
		at := slices.Index(order, "window/1/"+publication.RecordFile)
		order = append(slices.Delete(order, at, at+1), "window/1/"+publication.RecordFile) // drawn when all was known
		_, err := audit.Audit(rewritten(t, files, order, func(_ string, l []byte) []byte { return l }), verifier(t), audit.Options{})
		var f *audit.Finding
		if !errors.As(err, &f) || !strings.Contains(f.Error(), "the order in which files are published") {
			t.Errorf("%v", err)
		}
	})
	t.Run("a window that is not there", func(t *testing.T) {
		if _, err := audit.Audit(files, verifier(t), audit.Options{Only: 7}); !errors.Is(err, audit.NotFound.With()) {
			t.Errorf("%v", err)
		}
	})
}
