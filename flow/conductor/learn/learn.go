// Package learn turns published traces into what a miner learns from: rows of training data, and how one's own Conductor would
// have answered the same prompts.
//
// Invariants:
//   - A prompt is rendered again and must have the published digest; otherwise nothing is written.
//   - The best action in hindsight is a function of what the arms of the window observed; nothing is guessed.
//   - The same files give the same rows, byte for byte.
//
// Specification: docs/spec/training-data.md.
package learn

import (
	"fmt"
	"io/fs"
	"path"

	"assay/conductor/action"
	"assay/conductor/catalog"
	"assay/conductor/episode"
	"assay/conductor/profile"
	"assay/conductor/publication"
	"assay/conductor/score"
	"assay/conductor/state"
	"assay/conductor/task"
	"assay/conductor/trace"
	"assay/core/fault"
	"assay/core/money"
)

// The refusals of this room.
var (
	BadSource  = fault.NewCode("learn.bad_source", fault.Invalid, "not a publication's folder, nor a trace file of the dev kit")
	NoWorld    = fault.NewCode("learn.no_world", fault.Invalid, "a trace file holds no statements: name the world that it was played on")
	OtherWorld = fault.NewCode("learn.other_world", fault.Invalid, "the world holds another statement than the trace was played on")
	BadPrompt  = fault.NewCode("learn.bad_prompt", fault.NotAllowed, "a prompt is not the one whose digest is in the trace")
)

// Set is what episodes of one window, or of one dev kit run, were played under.
type Set struct {
	Window   int64 // 0 for a dev kit's run
	Nonce    string
	Profile  profile.Profile
	Snapshot *catalog.Snapshot
	Renderer *state.Renderer
	Rates    score.Exchange // nil for a dev kit's run: quality decides, then cost
	Arms     []string
	tasks    map[string]task.Pinned
	draws    map[string]map[string]draw // by task and model: what asking once gave
	each     func(arm string, do func(place int, e trace.Episode) error) error
}

// draw is what a model's first answer to a task gave.
type draw struct {
	score float64
	cost  money.Pico
}

// Row is one step with what was shown, said and gained.
type Row struct {
	Window       int64   `json:"window" parquet:"window"`
	Arm          string  `json:"arm" parquet:"arm,dict"`
	Episode      int64   `json:"episode" parquet:"episode"`
	Step         int64   `json:"step" parquet:"step"` // from 1
	Task         string  `json:"task_id" parquet:"task_id,dict"`
	Benchmark    string  `json:"benchmark" parquet:"benchmark,dict"`
	Prompt       string  `json:"prompt" parquet:"prompt,zstd"`
	Turn         string  `json:"turn" parquet:"turn,zstd"` // what was said
	Action       string  `json:"action" parquet:"action,dict"`
	Model        string  `json:"model_id" parquet:"model_id,dict"`
	ParseFailure string  `json:"parse_failure" parquet:"parse_failure,dict"` // "" for a readable turn
	Success      bool    `json:"success" parquet:"success"`
	Score        float64 `json:"score" parquet:"score"`
	Cost         float64 `json:"cost_usd" parquet:"cost_usd"`
	Before       float64 `json:"spent_before_usd" parquet:"spent_before_usd"`
	Failure      string  `json:"failure" parquet:"failure,dict"`
	Ending       string  `json:"ending" parquet:"ending,dict"` // of the episode
	Best         string  `json:"best_action" parquet:"best_action,dict"`
	Gain         float64 `json:"best_gain" parquet:"best_gain"` // what it is worth, in final
	Regret       float64 `json:"regret" parquet:"regret"`       // that, less what was gained
}

// Rows gives every step of an arm to each, with the prompt that was shown.
func (s *Set) Rows(arm string, each func(Row, state.Prompt) error) error {
	return s.each(arm, func(place int, e trace.Episode) error {
		t, ok := s.tasks[e.TaskID]
		if !ok || t.Digest() != e.TaskDigest {
			return OtherWorld.With(fault.Str("task_id", e.TaskID))
		}
		view := s.Renderer.Episode(t)
		best, spent := 0.0, money.Pico(0)
		for i := range e.Steps {
			st := &e.Steps[i]
			prompt := view.Prompt()
			if prompt.Digest() != st.Prompt {
				return BadPrompt.With(fault.Str("arm", arm), fault.Int("episode", int64(place)), fault.Int("step", int64(i+1)))
			}
			r := Row{
				Window: s.Window, Arm: arm, Episode: int64(place), Step: int64(i + 1), Task: e.TaskID, Benchmark: e.Benchmark, Prompt: prompt.String(), Turn: st.Raw,
				Action: st.Kind.String(), Model: st.Model, Success: st.Success, Score: st.Score, Cost: st.Cost.Dollars(), Before: spent.Dollars(),
				Failure: st.Failure, Ending: string(e.Ending),
			}
			model, gain := s.Hindsight(e.TaskID, e.Benchmark, best)
			if r.Best, r.Gain = "STOP", gain; model != "" {
				r.Best = "DELEGATE " + model
			}
			r.Regret = gain - s.gained(e.Benchmark, best, st)
			if st.Kind == action.None {
				r.Action, r.ParseFailure = "refused", st.ParseFailure.String()
				view.Refused()
			} else if st.Model != "" {
				view.Delegated(st.Kind, st.Model, st.Success, st.Cost)
			}
			best, spent = max(best, st.Score), spent.Plus(st.Cost)
			if err := each(r, prompt); err != nil {
				return err
			}
		}
		return nil
	})
}

// gained is what a step was worth.
func (s *Set) gained(benchmark string, best float64, st *episode.Step) float64 {
	if st.Model == "" {
		return 0
	}
	return s.worth(benchmark, best, draw{st.Score, st.Cost})
}

// worth is what a draw adds to the final of its benchmark, for one task whose best score so far is best.
func (s *Set) worth(benchmark string, best float64, d draw) float64 {
	gain := max(best, d.score) - best
	rate, ok := s.Rates[benchmark]
	if !ok || rate.Excluded() || rate.C == 0 {
		return gain
	}
	return rate.Final(gain, d.cost.Dollars())
}

// Hindsight returns the model that is worth most on a task whose best score so far is best, among all that any arm of the
// window asked, and what it adds to the final. "" is STOP: nothing that was observed is worth its cost. Ties go to the smaller cost,
// then to the id that sorts first.
func (s *Set) Hindsight(id, benchmark string, best float64) (model string, gain float64) {
	var cost money.Pico
	for m, d := range s.draws[id] {
		w := s.worth(benchmark, best, d)
		if w <= 0 || w < gain {
			continue
		}
		if w > gain || d.cost < cost || d.cost == cost && m < model {
			model, gain, cost = m, w, d.cost
		}
	}
	return model, gain
}

// Worth is what asking a model once is worth on a task whose best score so far is best; ok is false when no arm asked it.
func (s *Set) Worth(id, benchmark, model string, best float64) (worth float64, ok bool) {
	d, ok := s.draws[id][model]
	return s.worth(benchmark, best, d), ok
}

// gather notes what the arms of a window observed: of every model its first answer to a task.
func (s *Set) gather() error {
	s.draws = map[string]map[string]draw{}
	for _, arm := range s.Arms {
		err := s.each(arm, func(_ int, e trace.Episode) error {
			for i := range e.Steps {
				st := &e.Steps[i]
				if st.Model == "" || st.Attempt != 1 || st.Refused || st.Lost {
					continue
				}
				if s.draws[e.TaskID] == nil {
					s.draws[e.TaskID] = map[string]draw{}
				}
				s.draws[e.TaskID][st.Model] = draw{st.Score, st.Cost}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// window opens one window of a publication.
func openWindow(fsys fs.FS, n int64) (*Set, error) {
	dir := publication.WindowDir(n)
	head, err := readHead(fsys, path.Join(dir, publication.RecordFile))
	if err != nil {
		return nil, err
	}
	var rules publication.Rules
	if err := readLine(fsys, path.Join(dir, publication.RulesFile), &rules); err != nil {
		return nil, err
	}
	s := &Set{Window: n, Nonce: head.Nonce, Profile: head.Profile, Rates: rules.Rates(), tasks: map[string]task.Pinned{}}
	if s.Snapshot, err = catalog.Thaw(head.Catalog, head.Profile); err != nil {
		return nil, fmt.Errorf("reading the catalog of window %d: %w", n, err)
	}
	if s.Renderer, err = state.NewRenderer(rules.Instructions, s.Snapshot, head.Profile); err != nil {
		return nil, err
	}
	if err := s.readTasks(fsys, path.Join(dir, publication.TasksDir)); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(fsys, path.Join(dir, publication.ArmsDir))
	if err != nil {
		return nil, fmt.Errorf("window %d has no arms yet: %w", n, err)
	}
	for _, e := range entries {
		s.Arms = append(s.Arms, e.Name())
	}
	s.each = func(arm string, do func(int, trace.Episode) error) error {
		return eachEpisode(fsys, path.Join(dir, publication.ArmsDir, arm), do)
	}
	return s, s.gather()
}
