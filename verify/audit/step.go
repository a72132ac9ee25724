package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"assay/conductor/action"
	"assay/conductor/catalog"
	"assay/conductor/ending"
	"assay/conductor/episode"
	"assay/conductor/publication"
	"assay/conductor/state"
	"assay/conductor/task"
	"assay/conductor/trace"
	"assay/conductor/window"
	"assay/conductor/worker"
	"assay/core/canon"
	"assay/core/fault"
)

// NotFound refuses a step that the publication does not hold.
var NotFound = fault.NewCode("audit.not_found", fault.NotFound, "the publication holds no such window, arm, episode or step")

// Step is one step of an episode with all that was shown and sent.
type Step struct {
	Window   int64         `json:"window"`
	Arm      string        `json:"arm"`
	Episode  int           `json:"episode"`
	Step     int           `json:"step"` // from 1
	Task     string        `json:"task_id"`
	Prompt   string        `json:"prompt"` // rendered again; its digest is the published one
	Turn     string        `json:"turn"`
	Action   string        `json:"action"`
	Model    string        `json:"model_id"`
	Success  bool          `json:"success"`
	Score    float64       `json:"score"`
	Cost     string        `json:"cost_usd"`
	Failure  string        `json:"failure"`
	Requests []string      `json:"requests"` // bodies that were sent to the worker
	Ending   ending.Ending `json:"ending"`   // of the episode
}

// Steps opens one episode of a publication and renders its prompts and requests again. It opens only the files that it needs and
// checks no signature: an audit does. A prompt that is not the one whose digest is published is a finding.
func Steps(fsys fs.FS, number int64, arm string, place int) ([]Step, error) {
	a := &auditor{fsys: fsys}
	dir := publication.WindowDir(number)
	w := &opened{number: number, dir: dir}
	head, err := a.head(path.Join(dir, publication.RecordFile))
	if err != nil {
		return nil, err
	}
	line, err := a.only(path.Join(dir, publication.RulesFile))
	if err != nil {
		return nil, err
	}
	if err := publication.Parse(path.Join(dir, publication.RulesFile), 1, line, &w.rules); err != nil {
		return nil, find(path.Join(dir, publication.RulesFile), 1, err)
	}
	snapshot, err := catalog.Thaw(head.Catalog, head.Profile)
	if err != nil {
		return nil, find(path.Join(dir, publication.RecordFile), 1, err)
	}
	w.profile = head.Profile
	if w.renderer, err = state.NewRenderer(w.rules.Instructions, snapshot, head.Profile); err != nil {
		return nil, err
	}
	file := publication.Numbered(path.Join(dir, publication.ArmsDir, arm), place)
	if line, err = a.line(file, place%publication.Chunk); err != nil {
		return nil, err
	}
	e, err := trace.Parse(line)
	if err != nil {
		return nil, find(file, place%publication.Chunk+1, err)
	}
	t, err := a.task(w, place, e.TaskID)
	if err != nil {
		return nil, err
	}
	return steps(w, t, e, arm, place)
}

// steps renders an episode again.
func steps(w *opened, t task.Pinned, e trace.Episode, arm string, place int) ([]Step, error) {
	view := w.renderer.Episode(t)
	out := make([]Step, len(e.Steps))
	for i := range e.Steps {
		s := &e.Steps[i]
		prompt := view.Prompt()
		if prompt.Digest() != s.Prompt {
			file := publication.Numbered(path.Join(w.dir, publication.ArmsDir, arm), place)
			return nil, find(file, place%publication.Chunk+1, Differs.With(fault.Str("record", fmt.Sprintf("the prompt of step %d", i+1))))
		}
		out[i] = Step{
			Window: w.number, Arm: arm, Episode: place, Step: i + 1, Task: e.TaskID, Prompt: prompt.String(), Turn: s.Raw, Action: s.Kind.String(), Model: s.Model,
			Success: s.Success, Score: s.Score, Cost: string(s.Cost.AppendDollars(nil)), Failure: s.Failure, Requests: []string{}, Ending: e.Ending,
		}
		switch {
		case s.Kind == action.None:
			out[i].Action, out[i].Failure = "refused", s.ParseFailure.String()
			view.Refused()
		case s.Model != "":
			out[i].Requests = requests(w, t, s)
			view.Delegated(s.Kind, s.Model, s.Success, s.Cost)
		}
	}
	return out, nil
}

// requests lists the bodies that a delegate's calls sent.
func requests(w *opened, t task.Pinned, s *episode.Step) []string {
	model, ok := w.renderer.Snapshot().Lookup(s.Model)
	if !ok {
		return nil
	}
	req := worker.NewRequest(t, model)
	out := []string{string(req.Body())}
	for _, o := range s.Observations {
		req = req.Observe(o)
		out = append(out, string(req.Body()))
	}
	return out
}

// line reads one line of a file; i counts from 0.
func (a *auditor) line(file string, i int) ([]byte, error) {
	lines, err := a.chunk(file)
	if err != nil {
		return nil, err
	}
	if i < 0 || i >= len(lines) {
		return nil, find(file, i+1, NotFound.With())
	}
	return lines[i], nil
}

// task finds a task of the slice: at the episode's own place, or, in an arm that plays only some, by its id.
func (a *auditor) task(w *opened, place int, id string) (task.Pinned, error) {
	dir := path.Join(w.dir, publication.TasksDir)
	if line, err := a.line(publication.Numbered(dir, place), place%publication.Chunk); err == nil {
		if t, err := pinned(line, id); err == nil {
			return t, nil
		}
	}
	for i := 0; ; i += publication.Chunk {
		lines, err := a.chunk(publication.Numbered(dir, i))
		if err != nil || lines == nil {
			return task.Pinned{}, errors.Join(err, find(dir, 0, NotFound.With(fault.Str("task_id", id))))
		}
		for _, line := range lines {
			if t, err := pinned(line, id); err == nil {
				return t, nil
			}
		}
	}
}

var errOtherTask = errors.New("another task")

// pinned reads a line of the slice if it is of the task.
func pinned(line []byte, id string) (task.Pinned, error) {
	var t publication.Task
	if err := canon.Unmarshal(line, &t); err != nil {
		return task.Pinned{}, err
	}
	if t.ID != id {
		return task.Pinned{}, errOtherTask
	}
	slice, err := window.Slice("", []task.Spec{t.Spec()})
	if err != nil {
		return task.Pinned{}, err
	}
	return slice[0], nil
}

// head reads the head of a window record.
func (a *auditor) head(file string) (publication.Head, error) {
	f, err := a.fsys.Open(file)
	if err != nil {
		return publication.Head{}, find(file, 0, NotFound.Because(err))
	}
	defer f.Close()
	h, err := publication.ReadHead(f)
	return h, find(file, 1, err)
}
