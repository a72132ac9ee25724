package audit

import (
	"encoding/base64"
	"io/fs"
	"path"
	"strings"

	"assay/conductor"
	"assay/conductor/outcome"
	"assay/conductor/policy"
	"assay/conductor/publication"
	"assay/conductor/receipt"
	"assay/conductor/round"
	"assay/conductor/state"
	"assay/conductor/task"
	"assay/conductor/trace"
	"assay/conductor/window"
	"assay/core/canon"
	"assay/core/fault"
	"assay/core/sign"
	"assay/tlog"
)

// BadProof refuses a proof that does not hold.
var BadProof = fault.NewCode("audit.bad_proof", fault.Unauthenticated, "the proof does not show an episode of the log")

// Proof is one episode with all that is needed to check it away from the publication: its lines, each with its place in the
// log, under one signed checkpoint. Its text is one line of canonical JSON.
type Proof struct {
	V          int         `json:"v"`
	Window     int64       `json:"window"`
	Arm        string      `json:"arm"`
	Episode    int         `json:"episode"`
	Checkpoint string      `json:"checkpoint"`
	Lines      []ProofLine `json:"lines"` // record, rules, task, arm, episode, then receipts and outcome rows
}

// ProofLine is a published line and its place in the log.
type ProofLine struct {
	File   string   `json:"file"`
	Number int      `json:"number"`
	Text   string   `json:"text"`
	Index  int64    `json:"index"`
	Hashes []string `json:"hashes"` // base64, from the leaf upward
}

// Prove writes the proof of an episode. It checks the whole log on the way.
func Prove(fsys fs.FS, key tlog.VerifierKey, number int64, arm string, place int) ([]byte, error) {
	a := &auditor{fsys: fsys, key: key, report: &Report{}}
	p := Proof{V: 1, Window: number, Arm: arm, Episode: place}
	lines, err := a.needed(number, arm, place)
	if err != nil {
		return nil, err
	}
	want := map[string]*ProofLine{}
	for i := range lines {
		want[string(publication.Leaf(nil, lines[i].File, lines[i].Number, []byte(lines[i].Text)))] = &lines[i]
	}
	sub, err := fs.Sub(fsys, publication.LogDir)
	if err != nil {
		return nil, err
	}
	found := 0
	signed, err := tlog.Check(sub, key, tlog.CheckOptions{Each: func(index int64, leaf []byte) error {
		if l := want[string(leaf)]; l != nil {
			l.Index = index
			found++
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	if found != len(lines) {
		return nil, Changed.With(fault.Str("why", "the log does not hold every line of the episode"))
	}
	reader, err := tlog.ReaderAt(sub, signed)
	if err != nil {
		return nil, err
	}
	for i := range lines {
		proof, err := reader.Proof(lines[i].Index)
		if err != nil {
			return nil, err
		}
		lines[i].Hashes = []string{}
		for _, h := range proof.Hashes {
			lines[i].Hashes = append(lines[i].Hashes, base64.StdEncoding.EncodeToString(h[:]))
		}
	}
	p.Checkpoint, p.Lines = string(signed.Note()), lines
	text, err := canon.Marshal(p)
	return append(text, '\n'), err
}

// needed gathers the lines that an episode rests on.
func (a *auditor) needed(number int64, arm string, place int) ([]ProofLine, error) {
	dir := publication.WindowDir(number)
	armDir := path.Join(dir, publication.ArmsDir, arm)
	var out []ProofLine
	for _, file := range []string{path.Join(dir, publication.RecordFile), path.Join(dir, publication.RulesFile)} {
		line, err := a.only(file)
		if err != nil {
			return nil, err
		}
		out = append(out, ProofLine{File: file, Number: 1, Text: string(line)})
	}
	file, at := publication.Numbered(armDir, place), place%publication.Chunk
	line, err := a.line(file, at)
	if err != nil {
		return nil, err
	}
	e, err := trace.Parse(line)
	if err != nil {
		return nil, find(file, at+1, err)
	}
	statement, err := a.taskLine(dir, e.TaskID)
	if err != nil {
		return nil, err
	}
	who, err := a.only(path.Join(armDir, publication.ArmFile))
	if err != nil {
		return nil, err
	}
	out = append(out, statement, ProofLine{File: path.Join(armDir, publication.ArmFile), Number: 1, Text: string(who)},
		ProofLine{File: file, Number: at + 1, Text: string(line)})
	receipts, rows, err := a.receiptLines(dir, arm, place)
	if err != nil {
		return nil, err
	}
	out = append(out, receipts...)
	if len(rows) == 0 {
		return out, nil
	}
	err = a.numbered(path.Join(dir, publication.OutcomesDir), 0, func(file string, number int, line []byte) error {
		var o publication.Outcome
		if err := publication.Parse(file, number, line, &o); err != nil {
			return err
		}
		if rows[o.Row] && o.Task == e.TaskID {
			out = append(out, ProofLine{File: file, Number: number, Text: string(line)})
		}
		return nil
	})
	return out, err
}

// taskLine finds the line of a task in the slice.
func (a *auditor) taskLine(dir, id string) (ProofLine, error) {
	var out ProofLine
	err := a.numbered(path.Join(dir, publication.TasksDir), 0, func(file string, number int, line []byte) error {
		if _, err := pinned(line, id); err == nil {
			out = ProofLine{File: file, Number: number, Text: string(line)}
		}
		return nil
	})
	if err == nil && out.File == "" {
		err = find(path.Join(dir, publication.TasksDir), 0, NotFound.With(fault.Str("task_id", id)))
	}
	return out, err
}

// receiptLines finds the receipts of an episode, and the digests of the rows that it was served.
func (a *auditor) receiptLines(dir, arm string, place int) (out []ProofLine, rows map[string]bool, err error) {
	file := publication.Numbered(path.Join(dir, publication.ReceiptsDir, arm), place)
	lines, err := a.chunk(file)
	rows = map[string]bool{}
	for i, line := range lines {
		r, err := receipt.Parse(line)
		if err != nil {
			return nil, nil, find(file, i+1, err)
		}
		at, err := receipt.ParsePlace(r.CallID)
		if err != nil {
			return nil, nil, find(file, i+1, err)
		}
		if at.Episode == place {
			out = append(out, ProofLine{File: file, Number: i + 1, Text: string(line)})
			if r.Replayed {
				rows[r.Row] = true
			}
		}
	}
	return out, rows, err
}

// CheckProof checks a proof under the pinned key, without the publication: every line's place in the log, and that prompts,
// actions, requests, receipts and scores of the episode follow from the rules.
func CheckProof(text []byte, key tlog.VerifierKey) ([]Step, error) {
	var p Proof
	body, whole := strings.CutSuffix(string(text), "\n")
	if !whole {
		return nil, BadProof.With(fault.Str("why", "the line has no end"))
	}
	if err := canon.Unmarshal([]byte(body), &p); err != nil {
		return nil, BadProof.Because(err)
	}
	signed, err := tlog.Open([]byte(p.Checkpoint), key, tlog.Limits{})
	if err != nil {
		return nil, err
	}
	if p.V != 1 || len(p.Lines) < 5 || p.Episode < 0 || p.Arm != path.Base(p.Arm) {
		return nil, BadProof.With(fault.Str("why", "lines are missing"))
	}
	for _, l := range p.Lines {
		if err := l.check(signed); err != nil {
			return nil, find(l.File, l.Number, err)
		}
	}
	return p.episode(key)
}

// check checks a line's place in the log.
func (l ProofLine) check(s tlog.Signed) error {
	hashes := make([]tlog.Hash, len(l.Hashes))
	for i, h := range l.Hashes {
		b, err := base64.StdEncoding.Strict().DecodeString(h)
		if err != nil || len(b) != tlog.HashSize {
			return BadProof.With(fault.Str("why", "a hash is none"))
		}
		copy(hashes[i][:], b)
	}
	return tlog.CheckInclusion(s, l.Index, publication.Leaf(nil, l.File, l.Number, []byte(l.Text)), hashes)
}

// place checks that a line is the one that its position in the proof asks for.
func (p *Proof) place(i int, file string, number int) ([]byte, error) {
	l := p.Lines[i]
	if l.File != file || l.Number != number {
		return nil, BadProof.With(fault.Str("why", "a line stands for another"), fault.Str("file", l.File))
	}
	return []byte(l.Text), nil
}

// episode recomputes the episode from the proof's lines.
func (p *Proof) episode(key tlog.VerifierKey) ([]Step, error) {
	w, err := p.window(key)
	if err != nil {
		return nil, err
	}
	arm, t, e, err := p.played(w)
	if err != nil {
		return nil, err
	}
	at := p.Episode%publication.Chunk + 1
	b := &book{file: "receipts"}
	for _, l := range p.Lines[5:] {
		switch {
		case strings.HasPrefix(l.File, path.Join(w.dir, publication.ReceiptsDir, p.Arm)+"/"):
			b.lines = append(b.lines, []byte(l.Text))
		case strings.HasPrefix(l.File, path.Join(w.dir, publication.OutcomesDir)+"/"):
			var o publication.Outcome
			if err := publication.Parse(l.File, l.Number, []byte(l.Text), &o); err != nil {
				return nil, err
			}
			w.digests[outcome.Key{Task: o.Task, Model: o.Model, Attempt: o.Attempt}] = o.Row
		default:
			return nil, BadProof.With(fault.Str("why", "a line belongs to nothing"), fault.Str("file", l.File))
		}
	}
	a := &armAudit{auditor: &auditor{}, w: w, arm: round.Arm{Name: arm.Name, Kind: arm.Kind, Hotkey: arm.Hotkey}, duel: arm.Duel}
	paid, _, err := a.paid(p.Episode, t, e, b)
	if err != nil {
		return nil, err
	}
	if _, err := b.rest(); err != nil {
		return nil, err
	}
	r := replay{w: w, task: t, trace: e, receipts: paid}
	if arm.Policy != "" {
		if r.policy, err = policy.New(arm.Policy, w.record.Nonce, w.renderer.Snapshot()); err != nil {
			return nil, find(p.Lines[3].File, 1, err)
		}
	}
	again, err := r.again(nil)
	if err != nil {
		return nil, find(p.Lines[4].File, at, err)
	}
	if err := compare(p.Lines[4].File, at, again, []byte(p.Lines[4].Text), "the episode"); err != nil {
		return nil, err
	}
	return steps(w, t, e, p.Arm, p.Episode)
}

// window reads record and rules.
func (p *Proof) window(key tlog.VerifierKey) (*opened, error) {
	w := &opened{number: p.Window, dir: publication.WindowDir(p.Window), digests: map[outcome.Key]string{}}
	line, err := p.place(0, path.Join(w.dir, publication.RecordFile), 1)
	if err != nil {
		return nil, err
	}
	object, err := sign.Open(line, key.Key())
	if err != nil {
		return nil, find(p.Lines[0].File, 1, err)
	}
	text, err := canon.ASCII(object)
	if err != nil {
		return nil, err
	}
	if w.record, err = window.ParseRecord(text); err != nil {
		return nil, find(p.Lines[0].File, 1, err)
	}
	if w.entry, err = w.record.Entry(); err != nil {
		return nil, find(p.Lines[0].File, 1, err)
	}
	w.profile = w.entry.Profile
	if line, err = p.place(1, path.Join(w.dir, publication.RulesFile), 1); err != nil {
		return nil, err
	}
	if err := publication.Parse(p.Lines[1].File, 1, line, &w.rules); err != nil {
		return nil, find(p.Lines[1].File, 1, err)
	}
	digest, err := w.rules.Digest()
	if err == nil && w.profile.Strict() && state.InstructionsDigest(w.rules.Instructions) != w.entry.InstructionsDigest {
		err = conductor.NotPinned.With()
	}
	if err != nil || w.profile.Strict() && (digest != w.record.RulesDigest || digest != w.entry.RulesDigest) || w.record.Epoch != p.Window {
		return nil, find(p.Lines[1].File, 1, conductor.NoRules.Because(err))
	}
	if w.gateway, err = sign.ParseKey(w.rules.Gateway); err != nil {
		return nil, find(p.Lines[1].File, 1, err)
	}
	s, err := thaw(w)
	if err != nil {
		return nil, find(p.Lines[0].File, 1, err)
	}
	w.renderer, err = state.NewRenderer(w.rules.Instructions, s, w.profile)
	return w, err
}

// played reads task, arm and episode.
func (p *Proof) played(w *opened) (arm publication.Arm, t task.Pinned, e trace.Episode, err error) {
	armDir := path.Join(w.dir, publication.ArmsDir, p.Arm)
	line, err := p.place(3, path.Join(armDir, publication.ArmFile), 1)
	if err != nil {
		return arm, t, e, err
	}
	if err := publication.Parse(p.Lines[3].File, 1, line, &arm); err != nil {
		return arm, t, e, err
	}
	if arm.Name != p.Arm || arm.Duel != (receipt.Duel{Window: p.Window, Arm: p.Arm, Attempt: 1}).String() || p.Episode >= arm.Tasks {
		return arm, t, e, find(p.Lines[3].File, 1, Differs.With(fault.Str("record", "who played the arm")))
	}
	line, err = p.place(4, publication.Numbered(armDir, p.Episode), p.Episode%publication.Chunk+1)
	if err != nil {
		return arm, t, e, err
	}
	if e, err = trace.Parse(line); err != nil {
		return arm, t, e, find(p.Lines[4].File, p.Lines[4].Number, err)
	}
	if !strings.HasPrefix(p.Lines[2].File, path.Join(w.dir, publication.TasksDir)+"/") {
		return arm, t, e, BadProof.With(fault.Str("why", "the task's line is missing"))
	}
	if arm.Kind != publication.Gate && (p.Episode >= len(w.record.TaskIDs) || w.record.TaskIDs[p.Episode] != e.TaskID) {
		return arm, t, e, BadProof.With(fault.Str("why", "the episode is of another task"))
	}
	t, err = pinned([]byte(p.Lines[2].Text), e.TaskID)
	return arm, t, e, err
}
