package window

import (
	"fmt"
	"slices"

	"assay/chain"
	"assay/conductor"
	"assay/conductor/catalog"
	"assay/conductor/policy"
	"assay/conductor/profile"
	"assay/conductor/publication"
	"assay/conductor/score"
	"assay/conductor/state"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/conductor/world"
	"assay/core/fault"
	"assay/core/money"
)

// Who pays a submission's arm.
const (
	OwnerPays   = "owner"   // the owner, up to the allowance
	AccountPays = "account" // the miner's account with the owner, up to the allowance
	KeyPays     = "key"     // the miner's own sealed provider key, up to its cap and the allowance
)

// Season is what stays the same from window to window. All of it that decides results is published.
type Season struct {
	V            int                         `json:"v"`
	Origin       string                      `json:"origin"` // name of the log, such as example.com/conductor
	Profile      string                      `json:"profile"`
	Netuid       int                         `json:"netuid"`
	Genesis      int64                       `json:"genesis"`
	WindowBlocks int64                       `json:"window_blocks"`
	Windows      int64                       `json:"windows"` // scheduled, from 1
	PerBenchmark int64                       `json:"per_benchmark"`
	Minimum      int64                       `json:"minimum"`
	KingZero     string                      `json:"king_zero"`
	Contrast     string                      `json:"contrast"`
	Exchange     map[string]publication.Rate `json:"exchange"`
	GateTasks    int                         `json:"gate_tasks"`
	Duels        int                         `json:"duels"`
	Concurrency  int                         `json:"concurrency"`
	Allowance    string                      `json:"allowance_usd"`    // of every submission's arm; "" is no bound
	OwnerBudget  string                      `json:"owner_budget_usd"` // of the owner's arms in one window; "" is no bound
	Funding      string                      `json:"funding"`
	BurnUID      int                         `json:"burn_uid"`
	KingZeroUID  *int                        `json:"king_zero_uid"`
	Aliases      map[string][]string         `json:"aliases"`
}

// Check refuses a season that no window can be played under.
func (s Season) Check() error {
	bad := func(member, why string) error {
		return conductor.BadSeason.With(fault.Str("member", member), fault.Str("why", why))
	}
	if _, err := profile.Parse(s.Profile); err != nil {
		return bad("profile", "strict or compat")
	}
	if _, _, err := bound(s.Allowance); err != nil {
		return bad("allowance_usd", "an amount of dollars, or empty")
	}
	if b, limited, err := bound(s.OwnerBudget); err != nil || limited && b <= 0 {
		return bad("owner_budget_usd", "the owner's account is at zero, or it is no amount of dollars")
	}
	switch {
	case s.V != 1:
		return bad("v", "1")
	case s.Origin == "":
		return bad("origin", "the name of the log, such as example.com/conductor")
	case s.Genesis < 0 || s.WindowBlocks < 1 || s.Windows < 1:
		return bad("window_blocks", "genesis, window_blocks and windows are whole numbers from 0, 1 and 1")
	case s.Minimum < 1 || s.PerBenchmark < s.Minimum:
		return bad("per_benchmark", "at least the minimum, which is at least 1")
	case s.GateTasks < 1 || s.Duels < 1 || s.Concurrency < 1:
		return bad("gate_tasks", "gate_tasks, duels and concurrency are at least 1")
	case s.KingZero == "" || s.Contrast == "" || s.KingZero == s.Contrast:
		return bad("contrast", "king_zero and contrast are two reference policies")
	case !slices.Contains([]string{OwnerPays, AccountPays, KeyPays}, s.Funding):
		return bad("funding", "owner, account or key")
	case s.Exchange == nil || s.Aliases == nil:
		return bad("exchange", "exchange and aliases are there, if only empty")
	}
	return nil
}

// bound reads an amount, "" meaning none.
func bound(s string) (money.Pico, bool, error) {
	if s == "" {
		return 0, false, nil
	}
	p, err := money.Parse(s)
	if err == nil && p < 0 {
		err = money.BadAmount.With()
	}
	return p, true, err
}

// FitSeason fills in what the reference policies settle: who reigns at first, its contrast and the exchange.
func FitSeason(s Season, arms map[string][]score.Row) (Season, error) {
	pool, err := score.FitPool(arms)
	if err != nil {
		return s, fmt.Errorf("fitting the exchange: %w", err)
	}
	contrast, err := score.Contrast(arms, pool.KingZero)
	if err != nil {
		return s, fmt.Errorf("choosing the contrast: %w", err)
	}
	s.KingZero, s.Contrast, s.Exchange = pool.KingZero, contrast, publication.ExchangeOf(pool.Exchange)
	return s, nil
}

// stage is a season made ready: catalog, prompts, pool and schedule.
type stage struct {
	Season
	profile  profile.Profile
	world    *world.World
	snapshot *catalog.Snapshot
	renderer *state.Renderer
	pool     []task.Spec
	rules    publication.Rules
	digest   string // of the rules' line
	entries  []window.Entry
	manifest window.Manifest
}

func newStage(s Season, w *world.World, gateway string, reference string) (*stage, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	p, _ := profile.Parse(s.Profile)
	st := &stage{Season: s, profile: p, world: w}
	if err := st.freeze(); err != nil {
		return nil, err
	}
	for _, name := range []string{s.KingZero, s.Contrast} {
		if _, err := policy.New(name, "0", st.snapshot); err != nil {
			return nil, fmt.Errorf("the season's reference policies: %w", err)
		}
	}
	st.rules = publication.Rules{
		V: publication.Version, Instructions: state.Instructions(), Aliases: s.Aliases, Exchange: s.Exchange, KingZero: s.KingZero,
		Contrast: s.Contrast, GateTasks: s.GateTasks, Duels: s.Duels, Allowance: s.Allowance, Concurrency: s.Concurrency, Gateway: gateway,
		BurnUID: s.BurnUID, KingZeroUID: s.KingZeroUID, Reference: reference, Genesis: s.Genesis, WindowBlocks: s.WindowBlocks,
	}
	var err error
	if st.digest, err = st.rules.Digest(); err != nil {
		return nil, fmt.Errorf("writing the rules: %w", err)
	}
	return st, st.schedule()
}

// freeze makes the catalog, the prompts' head and the pool: the tasks of all benchmarks that the exchange names.
func (st *stage) freeze() (err error) {
	entries := make([]catalog.Entry, len(st.world.Models))
	for i, m := range st.world.Models {
		entries[i] = catalog.Entry{ID: m.ID, In: m.In, Out: m.Out, Context: m.Context}
	}
	if st.snapshot, err = catalog.New(entries, st.profile); err != nil {
		return fmt.Errorf("freezing the catalog: %w", err)
	}
	if st.renderer, err = state.NewRenderer(state.Instructions(), st.snapshot, st.profile); err != nil {
		return fmt.Errorf("freezing the catalog: %w", err)
	}
	for _, t := range st.world.Tasks {
		if _, priced := st.Exchange[t.Benchmark]; priced {
			st.pool = append(st.pool, t.Spec())
		}
	}
	return nil
}

// schedule makes the entries of all windows. They are committed before anybody submits.
func (st *stage) schedule() error {
	pool, err := window.PoolDigest(st.pool, st.profile)
	if err != nil {
		return fmt.Errorf("digesting the pool: %w", err)
	}
	for n := int64(1); n <= st.Windows; n++ {
		st.entries = append(st.entries, window.Entry{
			Epoch: n, PerBenchmark: st.PerBenchmark, Minimum: st.Minimum, PoolDigest: pool,
			Profile: st.profile, InstructionsDigest: state.InstructionsDigest(state.Instructions()), RulesDigest: st.digest,
		})
	}
	st.manifest, err = window.NewManifest(st.entries)
	return err
}

func (st *stage) calendar() chain.Calendar {
	return chain.Calendar{Genesis: st.Genesis, Blocks: st.WindowBlocks}
}

// labels returns the slice as scoring sees it.
func labels(slice []task.Pinned) []score.Task {
	out := make([]score.Task, len(slice))
	for i, t := range slice {
		out[i] = score.Task{ID: t.ID(), Benchmark: t.Benchmark(), Group: t.Group()}
	}
	return out
}

// Reading returns the season's profile: strict where the member says nothing that is known.
func (s Season) Reading() profile.Profile {
	p, _ := profile.Parse(s.Profile)
	return p
}
