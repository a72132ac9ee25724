package audit

import (
	"path"
	"sync"

	"assay/conductor"
	"assay/conductor/ending"
	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/policy"
	"assay/conductor/publication"
	"assay/conductor/receipt"
	"assay/conductor/round"
	"assay/conductor/task"
	"assay/conductor/trace"
	"assay/conductor/worker"
	"assay/core/canon"
	"assay/core/fault"
	"assay/core/money"
)

// armAudit is one arm of a window.
type armAudit struct {
	*auditor
	w        *opened
	arm      round.Arm
	duel     string
	slots    []task.Pinned
	excluded map[string]bool
	policy   *policy.Policy // nil for a submission: what a policy says follows from the prompt
	tasks    int            // lines of traces
	aborted  bool
	dir      string
	receipts string // folder
}

// chunkResult is what one file of traces came to.
type chunkResult struct {
	episodes []trace.Episode
	sums     receipt.Sums
	receipts int
	requests int64
	beyond   []pair // of an arm that was given up: what episodes bought that never ended
	err      error
}

// pair is a task and a model that was asked.
type pair struct{ task, model string }

// played recomputes an arm and returns what the window's machine is told of it.
func (a *auditor) played(w *opened, arm round.Arm, ownKey bool) (round.Event, error) {
	p := &armAudit{
		auditor: a, w: w, arm: arm, duel: receipt.Duel{Window: w.number, Arm: arm.Name, Attempt: 1}.String(), slots: w.slice, excluded: map[string]bool{},
		dir: path.Join(w.dir, publication.ArmsDir, arm.Name), receipts: path.Join(w.dir, publication.ReceiptsDir, arm.Name),
	}
	if arm.Kind == publication.Gate {
		p.slots = w.gate
	}
	for _, id := range arm.Excluded {
		p.excluded[id] = true
	}
	who, err := p.who()
	if err != nil {
		return round.Event{}, err
	}
	if arm.Policy != "" {
		if p.policy, err = policy.New(arm.Policy, w.record.Nonce, w.renderer.Snapshot()); err != nil {
			return round.Event{}, find(path.Join(w.dir, publication.RulesFile), 1, err)
		}
	}
	p.tasks, p.aborted = who.Tasks, who.Aborted != ""
	t := round.Tally{Arm: arm.Name}
	var all receipt.Sums
	err = p.chunks(func(first int, c chunkResult) error {
		for i, e := range c.episodes {
			file, number := publication.Numbered(p.dir, first+i), (first+i)%publication.Chunk+1
			if err := t.Add(e, p.slots[first+i].Group()); err != nil {
				return find(file, number, err)
			}
			if err := p.draws(first+i, e); err != nil {
				return find(file, number, err)
			}
			a.report.Steps += int64(len(e.Steps))
		}
		all = plus(all, c.sums)
		for _, b := range c.beyond {
			w.beyond[b] = true
		}
		a.report.Episodes += int64(len(c.episodes))
		a.report.Receipts += int64(c.receipts)
		a.report.Requests += c.requests
		if a.Progress != nil {
			a.Progress(a.report.Counts)
		}
		return nil
	})
	if err != nil {
		return round.Event{}, err
	}
	if err := p.tail(&t); err != nil {
		return round.Event{}, err
	}
	w.draws = w.draws.Add(t.Table)
	for _, k := range t.Hits {
		w.hits[k] = true
	}
	a.report.Arms++
	return t.Played(arm, p.duel, ownKey, audited(t.Spent, all), who.Aborted), nil
}

// audited says what an audit of the receipts finds. Every one of them was held against its call before, so only their sum can
// still be wrong.
func audited(recorded money.Pico, s receipt.Sums) receipt.Audited {
	out := receipt.Audited{Sums: s, At: -1, Recorded: recorded}
	if s.Metered != recorded {
		out.Reason = receipt.NotMetered
	}
	return out
}

// plus adds the sums of two files of receipts, which share no delegate.
func plus(a, b receipt.Sums) receipt.Sums {
	return receipt.Sums{
		Metered: a.Metered.Plus(b.Metered), Provider: a.Provider.Plus(b.Provider), Calls: a.Calls + b.Calls, Hits: a.Hits + b.Hits, Fills: a.Fills + b.Fills,
	}
}

// who checks who is said to have played the arm.
func (p *armAudit) who() (publication.Arm, error) {
	file := path.Join(p.dir, publication.ArmFile)
	line, err := p.only(file)
	if err != nil {
		return publication.Arm{}, err
	}
	var got publication.Arm
	if err := publication.Parse(file, 1, line, &got); err != nil {
		return got, find(file, 1, err)
	}
	want := publication.Arm{
		V: publication.Version, Name: p.arm.Name, Kind: p.arm.Kind, Duel: p.duel, Hotkey: p.arm.Hotkey, Policy: p.arm.Policy, Payer: p.arm.Payer,
		Tasks: len(p.slots), Aborted: got.Aborted,
	}
	if got.Aborted != "" {
		want.Tasks = min(got.Tasks, len(p.slots))
	}
	text, err := canon.Marshal(want)
	if err != nil {
		return got, err
	}
	return got, compare(file, 1, text, line, "who played the arm")
}

// chunks recomputes the files of traces, as many at a time as there are workers, and hands them over in order.
func (p *armAudit) chunks(each func(first int, c chunkResult) error) error {
	files := (p.tasks + publication.Chunk - 1) / publication.Chunk
	if err := p.holds(p.dir, files+1); err != nil {
		return err
	}
	if p.aborted { // receipts of episodes that never ended may stand behind the last trace
		files = (len(p.slots) + publication.Chunk - 1) / publication.Chunk
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	results := make([]chan chunkResult, files)
	slots := make(chan struct{}, p.Workers)
	stop := make(chan struct{})
	defer close(stop)
	for i := range results {
		results[i] = make(chan chunkResult, 1)
	}
	wg.Go(func() {
		for i := range results {
			select {
			case slots <- struct{}{}:
			case <-stop:
				return
			}
			wg.Go(func() { results[i] <- p.chunkOf(i * publication.Chunk) })
		}
	})
	found := 0
	for i := range results {
		c := <-results[i]
		<-slots
		if c.err != nil {
			return c.err
		}
		if c.receipts > 0 {
			found++
		}
		if err := each(i*publication.Chunk, c); err != nil {
			return err
		}
	}
	return p.holds(p.receipts, found)
}

// chunkOf recomputes the episodes from first on that stand in one file.
func (p *armAudit) chunkOf(first int) chunkResult {
	var c chunkResult
	end := max(first, min(p.tasks, first+publication.Chunk))
	file := publication.Numbered(p.dir, first)
	lines, err := p.chunk(file)
	if err != nil {
		return chunkResult{err: err}
	}
	if len(lines) != end-first {
		return chunkResult{err: find(file, min(len(lines), end-first)+1, Missing.With(fault.Int("lines", int64(len(lines))), fault.Int("expected", int64(end-first))))}
	}
	book, err := p.book(publication.Numbered(p.receipts, first))
	if err != nil {
		return chunkResult{err: err}
	}
	var buf []byte
	for i, line := range lines {
		e, err := trace.Parse(line)
		if err != nil {
			return chunkResult{err: find(file, i+1, err)}
		}
		n, err := p.episode(first+i, e, book, &buf, line)
		if err != nil {
			return chunkResult{err: find(file, i+1, err)}
		}
		c.requests += n
		c.episodes = append(c.episodes, e)
	}
	if p.aborted {
		if c.beyond, err = book.beyond(p); err != nil {
			return chunkResult{err: err}
		}
	}
	taken, err := book.rest()
	c.sums, c.receipts, c.err = receipt.Sum(taken), len(taken), err
	return c
}

// episode recomputes one episode and returns how many requests it made.
func (p *armAudit) episode(i int, e trace.Episode, book *book, buf *[]byte, line []byte) (int64, error) {
	t := p.slots[i]
	if e.TaskID != t.ID() {
		return 0, Differs.With(fault.Str("record", "the task"), fault.Str("task_id", e.TaskID))
	}
	if p.excluded[t.ID()] != (e.Ending == ending.Excluded) {
		return 0, Differs.With(fault.Str("record", "which tasks are void before the arm"))
	}
	paid, requests, err := p.paid(i, t, e, book)
	if err != nil {
		return 0, err
	}
	if err := p.observed(t, e); err != nil {
		return 0, err
	}
	r := replay{w: p.w, task: t, trace: e, receipts: paid, policy: p.policy}
	if *buf, err = r.again((*buf)[:0]); err != nil {
		return 0, err
	}
	return requests, compare(publication.Numbered(p.dir, i), i%publication.Chunk+1, *buf, line, "the episode")
}

// paid takes the episode's receipts from the book, step by step, and holds each against its call.
func (p *armAudit) paid(i int, t task.Pinned, e trace.Episode, book *book) ([][]receipt.Receipt, int64, error) {
	if len(e.Steps) == 0 {
		return nil, 0, nil
	}
	out := make([][]receipt.Receipt, len(e.Steps))
	requests := int64(0)
	for k := range e.Steps {
		s := &e.Steps[k]
		if s.Model == "" {
			continue
		}
		model, ok := p.w.renderer.Snapshot().Lookup(s.Model)
		if !ok {
			return nil, 0, conductor.UnknownModel.With(fault.Str("model", s.Model))
		}
		req := worker.NewRequest(t, model)
		calls := len(s.Observations) + 1
		if s.Refused || s.Lost {
			calls--
		}
		requests += int64(calls)
		observe := func(r worker.Request, k int) worker.Request { return r.Observe(s.Observations[k]) }
		if err := p.tell(i, k, calls, req, observe); err != nil {
			return nil, 0, err
		}
		if s.Replayed {
			r, err := book.take(receipt.Place{Duel: p.duel, Episode: i, Step: k}, p, req, s)
			if err != nil {
				return nil, 0, err
			}
			out[k] = []receipt.Receipt{r}
			continue
		}
		for c := range calls {
			if c > 0 {
				req = req.Observe(s.Observations[c-1])
			}
			r, err := book.take(receipt.Place{Duel: p.duel, Episode: i, Step: k, Call: c}, p, req, s)
			if err != nil {
				return nil, 0, err
			}
			out[k] = append(out[k], r)
		}
	}
	return out, requests, nil
}

// draws holds an episode's delegates against the window's draws: the first buyer fills one, all others are served the same.
func (p *armAudit) draws(place int, e trace.Episode) error {
	for i := range e.Steps {
		s := &e.Steps[i]
		if s.Model == "" || s.Refused || s.Lost {
			continue
		}
		k := outcome.Key{Task: e.TaskID, Model: s.Model, Attempt: s.Attempt}
		f, there := p.w.fills[k]
		switch {
		case s.Replayed && !there && p.w.beyond[pair{k.Task, k.Model}]: // its buyer's episode never ended
			p.w.fills[k] = fillOf("an arm that was given up", s)
		case s.Replayed != there:
			return Differs.With(fault.Str("record", "who bought a draw"), fault.Str("model", s.Model))
		case there && !f.same(s):
			return Differs.With(fault.Str("record", "a draw that was served again"), fault.Str("model", s.Model), fault.Str("bought_by", f.arm))
		case !there:
			if p.w.digests[k] == "" {
				return Missing.With(fault.Str("record", "the digest of an outcome row"), fault.Str("model", s.Model))
			}
			if err := p.failedRow(k, receipt.Place{Duel: p.duel, Episode: place, Step: i}, s); err != nil {
				return err
			}
			p.w.fills[k] = fillOf(p.arm.Name, s)
		}
	}
	return nil
}

// failedRow makes the row of a failed delegate again, which has no answer and so is published whole.
func (p *armAudit) failedRow(k outcome.Key, at receipt.Place, s *episode.Step) error {
	if !s.Failed {
		return nil
	}
	row := *rowOf(s)
	for at.Call = range len(s.Observations) + 1 {
		row.ReceiptIDs = append(row.ReceiptIDs, at.String())
	}
	again, err := outcome.Digest(k, row)
	if err == nil && again != p.w.digests[k] {
		err = Differs.With(fault.Str("record", "the digest of a failed delegate's row"), fault.Str("follows", again), fault.Str("published", p.w.digests[k]))
	}
	return err
}

// tail checks that what was cut off is a tail of one kind, and that an arm was given up as futile only when it was.
func (p *armAudit) tail(t *round.Tally) error {
	cut := -1
	var how ending.Ending
	for i, r := range t.Rows {
		file, number := publication.Numbered(p.dir, i), i%publication.Chunk+1
		zeroed := r.Ending == ending.DuelWallClock || r.Ending == ending.Futile || r.Ending == ending.BudgetExhausted && r.Spend == 0 && r.Score == 0
		switch {
		case p.excluded[r.TaskID]:
		case cut < 0 && zeroed:
			cut, how = i, r.Ending
		case cut >= 0 && r.Ending != how:
			return find(file, number, Differs.With(fault.Str("record", "the tail that was cut off")))
		}
	}
	if cut < 0 || how != ending.Futile {
		return nil
	}
	file, number := publication.Numbered(p.dir, cut), cut%publication.Chunk+1
	if p.arm.Beat == nil {
		return find(file, number, Differs.With(fault.Str("record", "an arm that cannot be futile")))
	}
	futile, err := round.Futile(t.Rows[:cut], p.w.tasks, p.w.exchange, p.arm.Excluded, *p.arm.Beat)
	if err == nil && !futile {
		err = Differs.With(fault.Str("record", "an arm that could still win"))
	}
	return find(file, number, err)
}
