package reign_test

import (
	"fmt"
	"slices"
	"testing"

	"assay/conductor/reign"
	"assay/conductor/score"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func live(hotkeys ...string) map[int]string {
	m := map[int]string{}
	for uid, h := range hotkeys {
		m[uid] = h
	}
	return m
}

func TestBehaviourE1toE11_Emissions(t *testing.T) {
	everybody := live("owner", "a", "b", "c", "d", "e", "f", "g")
	without := func(uids ...int) map[int]string {
		m := live("owner", "a", "b", "c", "d", "e", "f", "g")
		for _, uid := range uids {
			delete(m, uid)
		}
		return m
	}
	nine := 9
	for _, tt := range []struct {
		name       string
		court      reign.Court
		want       map[int]float64
		pensioners []string
	}{
		{"E1 no king", reign.Court{Live: everybody}, map[int]float64{0: 1}, nil},
		{"E2 first king", reign.Court{Coronations: []string{"a"}, King: "a", Live: everybody}, map[int]float64{0: 0.15, 1: 0.85}, nil},
		{"E3 second king", reign.Court{Coronations: []string{"a", "b"}, King: "b", Live: everybody},
			map[int]float64{0: 0.1, 1: 0.05, 2: 0.85}, []string{"a"}},
		{"E4 six coronations", reign.Court{Coronations: []string{"a", "b", "c", "d", "e", "f"}, King: "f", Live: everybody},
			map[int]float64{0: 0, 6: 0.85, 5: 0.05, 4: 0.04, 3: 0.03, 2: 0.02, 1: 0.01}, []string{"e", "d", "c", "b", "a"}},
		{"E5 a slot of nobody burns", reign.Court{Coronations: []string{"a", "b", "c"}, King: "c", Live: without(2)},
			map[int]float64{0: 0.11, 1: 0.04, 3: 0.85}, []string{"b", "a"}},
		{"E6 deregistered king", reign.Court{Coronations: []string{"a", "b"}, King: "b", Live: without(2)},
			map[int]float64{0: 0.95, 1: 0.05}, []string{"a"}},
		{"E7 crowned twice", reign.Court{Coronations: []string{"a", "b", "a", "c", "d", "c"}, King: "c", Live: everybody},
			map[int]float64{0: 0.03, 3: 0.85, 4: 0.05, 1: 0.04, 2: 0.03}, []string{"d", "a", "b"}},
		{"E8 a recycled uid is not paid", reign.Court{Coronations: []string{"a", "b"}, King: "b", Live: live("owner", "stranger", "b")},
			map[int]float64{0: 0.15, 2: 0.85}, []string{"a"}},
		{"E9 the first policy's own uid", reign.Court{KingZeroUID: &nine, Live: everybody}, map[int]float64{0: 0.15, 9: 0.85}, nil},
		{"E9 not while somebody reigns", reign.Court{Coronations: []string{"a"}, King: "a", KingZeroUID: &nine, Live: everybody},
			map[int]float64{0: 0.15, 1: 0.85}, nil},
		{"E11 the burn uid is the king's", reign.Court{Coronations: []string{"a", "b"}, King: "b", BurnUID: 2, Live: everybody},
			map[int]float64{1: 0.05, 2: 0.95}, []string{"a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := reign.Emissions(tt.court)
			if diff := cmp.Diff(tt.pensioners, got.Pensioners); diff != "" {
				t.Error(diff)
			}
			if len(got.Weights) != len(tt.want) {
				t.Errorf("weights %v, want %v", got.Weights, tt.want)
			}
			for _, w := range got.Weights {
				if share, ok := tt.want[w.UID]; !ok || !near(w.Share, share) {
					t.Errorf("uid %d gets %v, want %v", w.UID, w.Share, share)
				}
			}
		})
	}
}

func TestBehaviourE10_SumIsExactlyOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hotkey := rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("h%d", rapid.IntRange(0, 9).Draw(t, "h")) })
		c := reign.Court{
			Coronations: rapid.SliceOfN(hotkey, 0, 12).Draw(t, "coronations"),
			Live:        rapid.MapOfN(rapid.IntRange(0, 15), hotkey, 0, 10).Draw(t, "live"),
			BurnUID:     rapid.IntRange(0, 15).Draw(t, "burn"),
		}
		if n := len(c.Coronations); n > 0 && rapid.Bool().Draw(t, "reigns") {
			c.King = c.Coronations[n-1]
		}
		if rapid.Bool().Draw(t, "first policy paid") {
			uid := rapid.IntRange(0, 15).Draw(t, "uid")
			c.KingZeroUID = &uid
		}
		p := reign.Emissions(c)
		var shares []float64
		for _, w := range p.Weights {
			if w.Share < 0 {
				t.Fatalf("negative share: %+v", p)
			}
			shares = append(shares, w.Share)
		}
		if sum := score.Sum(shares); sum != 1 {
			t.Fatalf("sum %v of %+v", sum, p)
		}
		if !slices.IsSortedFunc(p.Weights, func(a, b reign.Weight) int { return a.UID - b.UID }) || slices.Contains(p.Pensioners, c.King) && c.King != "" {
			t.Fatalf("%+v", p)
		}
		if !slices.ContainsFunc(p.Weights, func(w reign.Weight) bool { return w.UID == c.BurnUID }) {
			t.Fatalf("no burn uid in %+v", p)
		}
	})
}
