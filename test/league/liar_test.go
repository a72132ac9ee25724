package league_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"assay/conductor/publication"
	"assay/conductor/receipt"
	"assay/core/canon"
	"assay/core/sign"
	"assay/tlog"
	"assay/tlog/posix"
	"assay/verify/audit"
)

var owner, gateway = sign.NewEd25519([32]byte{1}), sign.NewEd25519([32]byte{2})

// republish writes a publication again with changed lines, under the owner's own key and with a log that agrees: what a lying
// owner would do.
func republish(t testing.TB, files fstest.MapFS, change func(file string, line []byte) []byte) fstest.MapFS {
	t.Helper()
	sub, err := files.Sub(publication.LogDir)
	must(t, err)
	var order []string // of files, as the log names them
	_, err = tlog.Check(sub, pinned(t), tlog.CheckOptions{Each: func(_ int64, leaf []byte) error {
		if name, _, _ := bytes.Cut(leaf, []byte{' '}); len(order) == 0 || order[len(order)-1] != string(name) {
			order = append(order, string(name))
		}
		return nil
	}})
	must(t, err)
	out := fstest.MapFS{publication.KeyFile: files[publication.KeyFile], publication.LatestFile: files[publication.LatestFile]}
	var leaves [][]byte
	for _, name := range order {
		var text []byte
		for i, line := range bytes.Split(bytes.TrimSuffix(files[name].Data, []byte{'\n'}), []byte{'\n'}) {
			line = change(name, bytes.Clone(line))
			leaves = append(leaves, publication.Leaf(nil, name, i+1, line))
			text = append(append(text, line...), '\n')
		}
		out[name] = &fstest.MapFile{Data: text}
	}
	dir := filepath.Join(t.TempDir(), "log")
	log, err := posix.Open(dir, owner, "league.test/conductor", posix.Options{})
	must(t, err)
	_, err = log.AppendAll(context.Background(), leaves)
	must(t, errors.Join(err, log.Close()))
	logged := os.DirFS(dir)
	for _, name := range walk(t, dir) {
		text, err := logged.(interface {
			ReadFile(string) ([]byte, error)
		}).ReadFile(name)
		must(t, err)
		out[publication.LogDir+"/"+name] = &fstest.MapFile{Data: text}
	}
	return out
}

func walk(t testing.TB, dir string) (names []string) {
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		names = append(names, filepath.ToSlash(name))
		return err
	}))
	return names
}

// resealed changes the record in an envelope of the owner's and signs it again.
func resealed(t testing.TB, line []byte, change func(canon.Object)) []byte {
	record, err := sign.Open(line, owner.Public())
	must(t, err)
	change(record)
	line, err = sign.Seal(record, owner)
	must(t, err)
	return line
}

// swap changes the first place where a text stands in a line of a file.
func swap(file, from, to string) func(testing.TB, string, []byte) []byte {
	done := false
	return func(t testing.TB, name string, line []byte) []byte {
		if done || !strings.Contains(name, file) || !bytes.Contains(line, []byte(from)) {
			return line
		}
		done = true
		return bytes.Replace(line, []byte(from), []byte(to), 1)
	}
}

// A lying owner signs anew what it changed, and the log agrees. What follows from the rules is found all the same.
func TestALyingOwnerIsFound(t *testing.T) {
	s := tiny(t, "constant s/s", "constant c/c")
	files := publicationOf(t, s.dir)
	if _, err := audit.Audit(republish(t, files, func(_ string, l []byte) []byte { return l }), pinned(t), audit.Options{}); err != nil {
		t.Fatal("an honest copy:", err)
	}
	reveal := func(change func(canon.Object)) func(testing.TB, string, []byte) []byte {
		return func(t testing.TB, name string, line []byte) []byte {
			if strings.HasSuffix(name, publication.RevealFile) {
				return resealed(t, line, change)
			}
			return line
		}
	}
	record := func(change func(canon.Object)) func(testing.TB, string, []byte) []byte {
		return func(t testing.TB, name string, line []byte) []byte {
			if strings.HasSuffix(name, publication.RecordFile) {
				return resealed(t, line, change)
			}
			return line
		}
	}
	outcome := func(o canon.Object, i int) canon.Object { return o["outcomes"].([]any)[i].(canon.Object) }
	for name, c := range map[string]struct {
		change func(testing.TB, string, []byte) []byte
		in     string // where it is found
	}{
		"a weight": {reveal(func(o canon.Object) {
			o["weights"].([]any)[0].(canon.Object)["share"] = 0.25
		}), "reveal.json"},
		"who is crowned":        {reveal(func(o canon.Object) { o["crowned"] = "" }), "reveal.json"},
		"a verdict's delta":     {reveal(func(o canon.Object) { outcome(o, 0)["verdict"].(canon.Object)["delta"] = 0.5 }), "reveal.json"},
		"a shot that was spent": {reveal(func(o canon.Object) { outcome(o, 1)["shot_spent"] = false }), "reveal.json"},
		"why one was deferred":  {reveal(func(o canon.Object) { outcome(o, 1)["status"] = "deferred" }), "reveal.json"},
		"what an arm spent":     {reveal(func(o canon.Object) { o["metering"].([]any)[0].(canon.Object)["metered_usd"] = 1.5 }), "reveal.json"},
		"a void task":           {reveal(func(o canon.Object) { o["graders_failed"] = []any{"a"} }), "reveal.json"},
		"an arm's name":         {reveal(func(o canon.Object) { o["traces"] = o["traces"].([]any)[1:] }), "reveal.json"},
		"the slice's order": {record(func(o canon.Object) {
			ids := o["task_ids"].([]any)
			ids[0], ids[1] = ids[1], ids[0]
		}), "tasks/"},
		"the nonce":         {record(func(o canon.Object) { o["nonce"] = "0x00" }), "reveal.json"},
		"freshness":         {record(func(o canon.Object) { o["seen"] = []any{"a"} }), "record.json"},
		"the schedule":      {record(func(o canon.Object) { o["schedule"].(canon.Object)["minimum"] = 2 }), "record.json"},
		"a statement":       {swap("tasks/", "1+1?", "1+2?"), "record.json"},
		"the exchange":      {swap("rules.json", `"lam":0.5`, `"lam":0.4`), "rules.json"},
		"an alias":          {swap("rules.json", `"aliases":{}`, `"aliases":{"c/c":["s/s"]}`), "rules.json"},
		"a dropped row":     {swap("catalog.jsonl", `"dropped":0`, `"dropped":1`), "catalog.jsonl"},
		"who played":        {swap("arms/king/arm.json", `"policy":"always-cheapest"`, `"policy":"always-strongest"`), "arm.json"},
		"a grade":           {swap("arms/king/0", `"graded_score":0.0`, `"graded_score":1.0`), "arms/king/0"},
		"a step's score":    {swap("arms/king/0", `"success":false,"score":0.0`, `"success":true,"score":1.0`), "arms/king/0"},
		"a turn":            {swap("arms/king/0", "DELEGATE c/c", "DELEGATE s/s"), "arms/king/0"},
		"a prompt's digest": {swap("arms/king/0", `"rendered_state_digest":"`, `"rendered_state_digest":"0`), "arms/king/0"},
		"an ending":         {swap("arms/king/0", `"stopped_reason":"stop"`, `"stopped_reason":"max_steps"`), "arms/king/0"},
		"a cost":            {swap("arms/king/0", `"spend_usd":0.001`, `"spend_usd":0.002`), "arms/king/0"},
		"an outcome row":    {swap("outcomes/", `"row_sha256":"`, `"row_sha256":"0`), "receipts/"},
		"a receipt's cost": {func(t testing.TB, name string, line []byte) []byte {
			if !strings.Contains(name, "receipts/gate-always-strongest") {
				return line
			}
			r, err := receipt.Parse(line)
			must(t, err)
			r.Cost, r.Sig = r.Cost*2, ""
			r, err = r.Sign(gateway)
			must(t, err)
			line, err = r.Append(nil)
			must(t, err)
			return bytes.TrimSuffix(line, []byte{'\n'})
		}, "arms/gate-always-strongest"},
		"a request's digest": {func(t testing.TB, name string, line []byte) []byte {
			if !strings.Contains(name, "receipts/king") {
				return line
			}
			r, err := receipt.Parse(line)
			must(t, err)
			r.PromptHash, r.Sig = strings.Repeat("ab", 32), ""
			r, err = r.Sign(gateway)
			must(t, err)
			line, err = r.Append(nil)
			must(t, err)
			return bytes.TrimSuffix(line, []byte{'\n'})
		}, "receipts/king"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := false
			lied := republish(t, files, func(file string, line []byte) []byte {
				out := c.change(t, file, bytes.Clone(line))
				changed = changed || !bytes.Equal(out, line)
				return out
			})
			if !changed {
				t.Fatal("nothing was changed")
			}
			_, err := audit.Audit(lied, pinned(t), audit.Options{})
			var f *audit.Finding
			if !errors.As(err, &f) || !strings.Contains(f.File, c.in) {
				t.Errorf("%v", err)
			}
		})
	}
}

// Lines and files that are missing, twice, or too many.
func TestBehaviourN15_APublicationHasNoHolesAndNoStrays(t *testing.T) {
	files := publicationOf(t, tiny(t, "constant s/s").dir)
	arm := "window/1/arms/king/000000.jsonl"
	for name, change := range map[string]func(fstest.MapFS){
		"N15 no record": func(m fstest.MapFS) { delete(m, "window/1/record.json") },
		"N15 junk":      func(m fstest.MapFS) { m["window/1/record.json"] = &fstest.MapFile{Data: []byte("{}\n")} },
		"N15 no signature": func(m fstest.MapFS) {
			m["window/1/record.json"] = &fstest.MapFile{Data: bytes.Replace(m["window/1/record.json"].Data, []byte(`"sig":"`), []byte(`"sig":"0`), 1)}
		},
		"a file too many":  func(m fstest.MapFS) { m["window/1/extra.json"] = &fstest.MapFile{Data: []byte("{}\n")} },
		"a window's file":  func(m fstest.MapFS) { m["window/x/record.json"] = &fstest.MapFile{Data: []byte("{}\n")} },
		"a file less":      func(m fstest.MapFS) { delete(m, arm) },
		"a line twice":     func(m fstest.MapFS) { d := m[arm].Data; m[arm] = &fstest.MapFile{Data: append(bytes.Clone(d), d...)} },
		"a line less":      func(m fstest.MapFS) { d := m[arm].Data; m[arm] = &fstest.MapFile{Data: d[bytes.IndexByte(d, '\n')+1:]} },
		"no last line end": func(m fstest.MapFS) { d := m[arm].Data; m[arm] = &fstest.MapFile{Data: d[:len(d)-1]} },
		"no pointer":       func(m fstest.MapFS) { delete(m, publication.LatestFile) },
		"no key":           func(m fstest.MapFS) { delete(m, publication.KeyFile) },
		"no checkpoint":    func(m fstest.MapFS) { delete(m, publication.LogDir+"/checkpoint") },
		"no log":           func(m fstest.MapFS) { deleteAll(m, publication.LogDir+"/") },
		"no reveal":        func(m fstest.MapFS) { delete(m, "window/1/reveal.json") },
	} {
		t.Run(name, func(t *testing.T) {
			m := fstest.MapFS{}
			for k, f := range files {
				m[k] = f
			}
			change(m)
			_, err := audit.Audit(m, pinned(t), audit.Options{})
			var f *audit.Finding
			if !errors.As(err, &f) {
				t.Errorf("%v", err)
			}
		})
	}
}

func deleteAll(m fstest.MapFS, prefix string) {
	for k := range m {
		if strings.HasPrefix(k, prefix) {
			delete(m, k)
		}
	}
}

// One episode is proven away from everything else, and no changed bit of the proof passes.
func TestAProofStandsAlone(t *testing.T) {
	s := tiny(t, "constant s/s")
	out := s.must("conductor", "audit", "owner/public", "--prove", "p.proof", "--window", "1", "--arm", "king", "--episode", "1")
	if !strings.Contains(out, "proves episode 1 of king") {
		t.Error(out)
	}
	if out := s.must("conductor", "audit", "--proof", "p.proof", "--key", pinned(t).String()); !strings.Contains(out, "DELEGATE c/c") {
		t.Error(out)
	}
	text, err := os.ReadFile(filepath.Join(s.dir, "p.proof"))
	must(t, err)
	for at := range text {
		for bit := range 8 {
			if testing.Short() && (at+bit)%17 != 0 {
				continue
			}
			text[at] ^= 1 << bit
			if _, err := audit.CheckProof(text, pinned(t)); err == nil {
				t.Fatalf("byte %d, bit %d: accepted", at, bit)
			}
			text[at] ^= 1 << bit
		}
	}
	other, err := tlog.NewVerifierKey("league.test/conductor", gateway.Public())
	must(t, err)
	if _, err := audit.CheckProof(text, other); err == nil {
		t.Error("another key: accepted")
	}
	if out := s.must("conductor", "audit", "owner/public", "--requests", "requests"); !strings.Contains(out, "requests below") {
		t.Error(out)
	}
	if got := walk(t, filepath.Join(s.dir, "requests", "1", "king")); len(got) != 2 || got[0] != "000000-00-0.json" {
		t.Errorf("%v", got)
	}
	if out := s.must("conductor", "show", "owner/public", "--arm", "king", "--episode", "1", "--step", "1"); !strings.Contains(out, "# CATALOG") || !strings.Contains(out, `"content":"1+1?"`) {
		t.Error(out)
	}
}
