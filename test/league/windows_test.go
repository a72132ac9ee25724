package league_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/conductor/policy"
	"assay/conductor/round"
	"assay/core/sign"
)

const haiku, gemini = "anthropic/claude-3-haiku-20240307", "google/gemini-2.0-flash-001"

// cast are the four Conductors of the league, in the windows in which they are judged: a memoriser and a constant in the
// first, one that reads the outcome file and so can win in the second, and then an exact copy of the king that it became.
var cast = []miner{{30, "memoriser " + gemini}, {31, "constant " + haiku}, {110, "oracle"}, {160, "oracle"}}

// reveal reads what a window decided.
func (s *stage) reveal(n string) *round.Reveal {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "owner", "public", "window", n, "reveal.json"))
	must(s.t, err)
	record, err := sign.Open(text[:len(text)-1], sign.NewEd25519([32]byte{1}).Public())
	must(s.t, err)
	r, err := round.ParseReveal(record)
	must(s.t, err)
	return r
}

// Three windows on all benchmarks with at least ten tasks: only who can win wins, and its copy does not.
func TestThreeWindowsWithACrownChange(t *testing.T) {
	s := newStage(t, build(t, ""), form{perBenchmark: 12, minimum: 10, seed: "league", kingZero: policy.Cheapest})
	var hotkeys []string
	out := ""
	for n := range int64(3) {
		for i, m := range cast {
			if m.block < 100+50*n && m.block >= 100+50*(n-1) || n == 0 && m.block < 100 {
				hotkeys = append(hotkeys, s.submit(i, m))
			}
		}
		s.head(100 + 50*n)
		out += s.must("conductor", "window", "run", "owner")
	}
	first, second, third := s.reveal("1"), s.reveal("2"), s.reveal("3")
	for i, r := range []*round.Reveal{first, second, third} {
		if r.Deferral != "" {
			t.Errorf("window %d: %s", i+1, r.Deferral)
		}
	}
	if first.Crowned != "" || len(first.Outcomes) != 2 || first.Outcomes[0].Status != "duelled" || first.Outcomes[1].Status != "duelled" {
		t.Errorf("window 1 crowned %q: %+v", first.Crowned, first.Outcomes)
	}
	if second.Crowned != hotkeys[2] || second.Reigns != hotkeys[2] {
		t.Errorf("window 2 crowned %q: %+v", second.Crowned, second.Outcomes)
	}
	if third.Crowned != "" || third.KingHotkey != hotkeys[2] || len(third.Outcomes) != 1 || third.Outcomes[0].Status != "duelled" || third.Outcomes[0].Won {
		t.Errorf("window 3 crowned %q: %+v", third.Crowned, third.Outcomes)
	}
	billed, again := s.provider.paid()
	if s.provider.failures > 0 || s.provider.unnamed > 0 || again > 0 || billed == 0 {
		t.Errorf("%d calls billed, %d asked again, %d unnamed, %d refused", billed, again, s.provider.unnamed, s.provider.failures)
	}
	if t.Failed() {
		t.Log(out)
	}
	var status struct{ Published int64 }
	must(t, json.Unmarshal([]byte(s.must("conductor", "window", "status", "owner", "--json")), &status))
	if status.Published != 3 {
		t.Errorf("status says %d", status.Published)
	}
	s.auditLarge()
	if keep := os.Getenv("LEAGUE_KEEP"); keep != "" { // to look at the publication by hand
		must(t, os.CopyFS(keep, os.DirFS(filepath.Join(s.dir, "owner", "public"))))
	}
}

// auditLarge audits the three windows by the real command and by the bit: one bit of every byte of every line is held against the
// log, and whole audits meet a sample of flips in all files.
func (s *stage) auditLarge() {
	t := s.t.(*testing.T)
	out := s.must("conductor", "audit", "owner/public", "--key", pinned(t).String())
	if !strings.HasPrefix(out, "HOLDS under ") {
		t.Error(out)
	}
	files := publicationOf(t, s.dir)
	t.Logf("%d flips in lines of %d bytes are not what the log holds", everyByte(t, files), size(files))
	stride := size(files) / 60
	if testing.Short() {
		stride *= 10
	}
	t.Logf("%d whole audits refused a flip and named its file and record", everyBit(t, files, []uint{3}, stride))
}
