package round

import (
	"fmt"
	"slices"

	"assay/conductor"
	"assay/conductor/duel"
	"assay/conductor/publication"
	"assay/conductor/reign"
	"assay/conductor/score"
	"assay/conductor/submission"
	"assay/core/fault"
	"assay/core/step"
)

// stage is how far the window has come.
type stage uint8

const (
	atGate stage = iota
	atAdmission
	atKing
	atChallengers
	atRetest
	atPromotion
	atLook
	atPersist
	atWeights
	atPublication
)

// Start asks for the power gate's first arm, or for nothing to duel at all.
func (m *Machine) Start() step.Ready[Effect] {
	if !slices.ContainsFunc(m.places, func(s seat) bool { return s.Status == submission.Queued }) {
		m.stage = atLook // nobody waits: nothing is bought
	}
	return m.ask()
}

// Step takes the answer to the one effect that was asked for. An event of another kind is conductor.BadEvent.
func (m *Machine) Step(e Event) (step.Ready[Effect], error) {
	if m.done {
		return step.Ready[Effect]{Done: true}, nil
	}
	if m.waiting == 0 || m.waiting != answers(e.Told) {
		return step.Ready[Effect]{}, conductor.BadEvent.With(fault.Int("told", int64(e.Told)), fault.Int("waiting", int64(m.waiting)))
	}
	asked := m.do[0]
	m.waiting = 0
	if err := m.take(asked, e); err != nil {
		return step.Ready[Effect]{}, err
	}
	if m.done {
		return step.Ready[Effect]{Done: true}, nil
	}
	return m.ask(), nil
}

// answers returns the effect that an event belongs to, 0 for none.
func answers(t Told) Do {
	effects := [...]Do{0, Admit, Admit, Admit, Admit, Play, Play, Retest, Promote, Promote, Look, Persist, Weigh, Publish}
	if int(t) >= len(effects) {
		return 0
	}
	return effects[t]
}

func (m *Machine) want(e Effect) step.Ready[Effect] {
	m.do[0], m.waiting = e, e.Do
	return step.Ready[Effect]{Do: m.do[:]}
}

// ask returns the next effect. Stages that have nothing to ask for are passed over.
func (m *Machine) ask() step.Ready[Effect] {
	switch m.stage {
	case atGate:
		name, policy := "gate-"+m.set.Rules.KingZero, m.set.Rules.KingZero
		if m.next == 1 {
			name, policy = "gate-"+m.set.Rules.Contrast, m.set.Rules.Contrast
		}
		return m.play(Arm{Name: name, Kind: publication.Gate, Policy: policy})
	case atAdmission:
		return m.want(Effect{Do: Admit, Hotkey: m.places[m.next].Hotkey})
	case atKing:
		a := Arm{Name: "king", Kind: publication.King, Hotkey: m.king, Payer: m.king, Excluded: m.failed()}
		if m.king == "" {
			a.Policy = m.set.Rules.KingZero
		}
		return m.play(a)
	case atChallengers:
		s := m.places[m.next]
		return m.play(Arm{
			Name: s.Hotkey, Kind: publication.Challenger, Hotkey: s.Hotkey, Payer: s.Hotkey, Excluded: m.failed(), Beat: m.kingFinal,
		})
	case atRetest:
		return m.want(Effect{Do: Retest})
	case atPromotion:
		return m.want(Effect{Do: Promote, Hotkey: m.crowned})
	case atLook:
		return m.want(Effect{Do: Look})
	case atPersist:
		return m.want(Effect{Do: Persist})
	case atWeights:
		return m.want(Effect{Do: Weigh, Payout: m.payout})
	}
	m.reveal = m.makeReveal()
	return m.want(Effect{Do: Publish, Reveal: m.reveal})
}

func (m *Machine) play(a Arm) step.Ready[Effect] {
	return m.want(Effect{Do: Play, Arm: a})
}

// take takes one event and moves to the next thing to ask for.
func (m *Machine) take(asked Effect, e Event) error {
	switch m.stage {
	case atGate:
		return m.gateArm(asked.Arm, e)
	case atAdmission:
		m.admitted(e)
	case atKing:
		return m.kingArm(asked.Arm, e)
	case atChallengers:
		m.challengerArm(asked.Arm, e)
	case atRetest:
		m.table, m.retests = e.Table, e.Retests
		return m.judge()
	case atPromotion:
		if m.stage = atLook; e.Told == Promoted {
			m.model = e.Detail
		} else {
			m.forfeit = e.Detail
		}
	case atLook:
		m.looked(e.Live)
	case atPersist:
		m.stage = atWeights
	case atWeights:
		m.stage = atPublication
	case atPublication:
		m.done = true
	}
	return nil
}

// keep notes what an arm left besides its rows.
func (m *Machine) keep(a Arm, e Event) {
	m.metering = append(m.metering, e.Metering)
	m.traces = append(m.traces, a.Name)
	for _, v := range e.Voids {
		if !slices.ContainsFunc(m.voids, func(o Void) bool { return o.Task == v.Task }) {
			m.voids = append(m.voids, v)
		}
	}
}

// failed lists the void tasks so far, by id.
func (m *Machine) failed() []string {
	out := make([]string, len(m.voids))
	for i, v := range m.voids {
		out[i] = v.Task
	}
	slices.Sort(out)
	return out
}

// deferAll ends the duels of this window before they are held. Nobody's shot is spent.
func (m *Machine) deferAll(why string) {
	m.deferral = why
	for i := range m.places {
		if p := &m.places[i]; p.Status == submission.Queued {
			p.Status, p.Detail = submission.Deferred, why
		}
	}
	m.crowned = ""
	if m.stage = atLook; len(m.traces) > 0 {
		m.stage = atRetest
	}
}

func (m *Machine) gateArm(a Arm, e Event) error {
	m.keep(a, e)
	switch {
	case reign.TooVoid(len(e.Voids), len(m.set.Gate)):
		m.deferAll(tooVoid(e, len(m.set.Gate)))
		return nil
	case e.Told == Aborted:
		m.deferAll("a reference arm could not be played: " + e.Detail)
		return nil
	case !e.Metering.Scoreable:
		m.deferAll("a reference arm's metering does not add up: " + e.Metering.Reason)
		return nil
	case reign.KingUnfunded(e.Rows):
		m.deferAll("the owner's account is at zero")
		return nil
	}
	m.gate[m.next] = e.Rows
	if m.next++; m.next < 2 {
		return nil
	}
	gate, err := reign.PowerGate(reign.Reference{Policy: m.set.Rules.KingZero, Rows: m.gate[0]},
		reign.Reference{Policy: m.set.Rules.Contrast, Rows: m.gate[1]}, m.failed(), m.set.Nonce)
	if err != nil {
		if fault.Of(err) == conductor.Breadth || fault.Of(err) == conductor.EmptyBenchmark || fault.Of(err) == conductor.NoEpisodes {
			m.deferAll("void tasks left fewer than two benchmarks to compare")
			return nil
		}
		return err
	}
	m.gated = &gate
	if !gate.Separates {
		m.deferAll("the slice cannot tell a good arm from a poor one")
		return nil
	}
	m.stage, m.next = atAdmission, -1
	m.nextQueued()
	return nil
}

// nextQueued moves to the next submission that may still be admitted.
func (m *Machine) nextQueued() {
	admitted := 0
	for i := range m.places {
		if m.places[i].admitted {
			admitted++
		}
	}
	wait := 0
	for i := m.next + 1; i < len(m.places); i++ {
		p := &m.places[i]
		switch {
		case p.Status != submission.Queued || p.admitted:
		case admitted < m.set.Rules.Duels:
			m.next = i
			return
		default:
			p.Status = submission.Deferred
			p.Detail = fmt.Sprintf("waits %d more window(s): %d duels are held in one", wait/m.set.Rules.Duels+1, m.set.Rules.Duels)
			wait++
		}
	}
	if admitted == 0 {
		m.deferAll("nobody was admitted")
		return
	}
	m.stage, m.next = atKing, 0
}

func (m *Machine) admitted(e Event) {
	p := &m.places[m.next]
	switch e.Told {
	case Admitted:
		p.admitted = true
	case Refused:
		p.Status, p.Detail, p.spent = submission.Refused, e.Detail, true
	case Skipped:
		p.Status, p.Detail = submission.Skipped, e.Detail
	case Unready:
		p.Status, p.Detail = submission.Deferred, e.Detail
	}
	m.nextQueued()
}

func (m *Machine) kingArm(a Arm, e Event) error {
	m.keep(a, e)
	m.kingRows = e.Rows
	switch {
	case reign.TooVoid(len(e.Voids), len(m.set.Tasks)):
		m.deferAll(tooVoid(e, len(m.set.Tasks)))
		return nil
	case e.Told == Aborted:
		m.deferAll("the king's arm could not be played: " + e.Detail)
		return nil
	case !e.Metering.Scoreable:
		m.deferAll("the king's metering does not add up: " + e.Metering.Reason)
		return nil
	case reign.KingTooThin(e.Rows):
		m.deferAll(fmt.Sprintf("the king answered %d of %d", reached(e.Rows), len(e.Rows)))
		return nil
	case reign.KingUnfunded(e.Rows) && m.king == "":
		m.deferAll("the owner's account is at zero")
		return nil
	case reign.KingUnfunded(e.Rows):
		m.ended = EndedUnfunded
	}
	card, err := score.Of(reign.Published(e.Rows, m.failed()), m.exchange)
	if err != nil {
		if fault.Of(err) == conductor.NoEpisodes || fault.Of(err) == conductor.AllExcluded {
			m.deferAll("void tasks left nothing of the king's arm")
			return nil
		}
		return err
	}
	m.kingFinal = &card.Final
	m.stage, m.next = atChallengers, -1
	m.nextChallenger()
	return nil
}

// reached counts the rows that the arm's clock did not cut off.
func reached(rows []score.Row) int {
	n := 0
	for _, r := range rows {
		if r.Ending.Reached() {
			n++
		}
	}
	return n
}

func (m *Machine) nextChallenger() {
	for i := m.next + 1; i < len(m.places); i++ {
		if m.places[i].admitted {
			m.next = i
			return
		}
	}
	m.stage = atRetest
}

func (m *Machine) challengerArm(a Arm, e Event) {
	p := &m.places[m.next]
	p.rows, p.metering = e.Rows, e.Metering
	if reign.TooVoid(len(e.Voids), len(m.set.Tasks)) {
		p.Status, p.Detail, p.rows = submission.Deferred, tooVoid(e, len(m.set.Tasks)), nil
		e.Voids = nil // they say more about this arm than about the tasks
		m.keep(a, e)
		m.nextChallenger()
		return
	}
	m.keep(a, e)
	switch {
	case e.Told == Aborted:
		p.Status, p.Detail, p.rows = submission.Deferred, "the arm could not be played: "+e.Detail, nil
	case !e.Metering.Scoreable:
		p.Status, p.Detail, p.rows = submission.Deferred, "the metering does not add up: "+e.Metering.Reason, nil
	case score.TotalSpend(e.Rows) <= 0:
		p.Status, p.Detail, p.rows = submission.Deferred, "the arm reached no worker: it spent nothing", nil
	}
	m.nextChallenger()
}

func tooVoid(e Event, tasks int) string {
	return fmt.Sprintf("%d of the arm's %d tasks are void: too many to judge what is left", len(e.Voids), tasks)
}

// Futile reports whether an arm can no longer exceed the king's final by the margin, given the rows of the first tasks of
// the slice that have ended.
func Futile(ended []score.Row, tasks []score.Task, exchange score.Exchange, excluded []string, king float64) (bool, error) {
	c, err := score.Ceiling(ended, tasks, exchange, excluded)
	return err == nil && c <= king+duel.Eps, err
}

// judge settles the duels once all arms have run.
func (m *Machine) judge() error {
	m.stage = atLook
	if m.deferral != "" {
		return nil
	}
	w := reign.Window{Nonce: m.set.Nonce, Tasks: m.set.Tasks, Exchange: m.exchange, Failed: m.failed(), King: m.kingRows}
	var who []int
	for i, p := range m.places {
		if p.admitted && p.Status == submission.Queued {
			w.Challengers = append(w.Challengers, reign.Challenger{Hotkey: p.Hotkey, Block: p.Block, Rows: p.rows})
			who = append(who, i)
		}
	}
	out, err := reign.Adjudicate(w)
	if err != nil {
		if len(m.voids) > 0 && (fault.Of(err) == conductor.Breadth || fault.Of(err) == conductor.NoEpisodes || fault.Of(err) == conductor.AllExcluded) {
			m.deferAll("void tasks left fewer than two benchmarks to compare")
			m.stage = atLook
			return nil
		}
		return err
	}
	m.outcome = out
	for k, i := range who {
		p := &m.places[i]
		p.judgement = &m.outcome.Judgements[k]
		p.Status, p.Detail, p.spent = submission.Duelled, p.judgement.Detail(), true
	}
	if m.crowned = out.Crowned; m.crowned != "" {
		m.stage = atPromotion
	}
	return nil
}

// looked settles who reigns and who is paid.
func (m *Machine) looked(live map[int]string) {
	m.live, m.stage = live, atPersist
	m.reigns = m.king
	if m.ended != "" {
		m.reigns = ""
	}
	if m.crowned != "" && m.forfeit == "" && !holds(live, m.crowned) {
		m.forfeit = "the winner is no longer registered"
	}
	if m.crowned != "" && m.forfeit == "" {
		m.reigns = m.crowned
		m.coronations = append(slices.Clone(m.coronations), m.crowned)
	}
	m.payout = reign.Emissions(reign.Court{
		Coronations: m.coronations, King: m.reigns, Live: live, BurnUID: m.set.Rules.BurnUID, KingZeroUID: m.set.Rules.KingZeroUID,
	})
}

func holds(live map[int]string, hotkey string) bool {
	for _, h := range live {
		if h == hotkey {
			return true
		}
	}
	return false
}
