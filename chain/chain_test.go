package chain_test

import (
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/chain"
	"assay/core/fault"
)

func TestBehaviourK13_ReadySignal(t *testing.T) {
	var r chain.Ready
	for i := range 32 {
		r.Registration[i], r.Manifest[i] = byte(63-i), byte(31-i)
	}
	// Python: base64.urlsafe_b64encode(bytes(range(64))[::-1])
	const good = "r2ready:v1:Pz49PDs6OTg3NjU0MzIxMC8uLSwrKikoJyYlJCMiISAfHh0cGxoZGBcWFRQTEhEQDw4NDAsKCQgHBgUEAwIBAA"
	if got := chain.ReadySignal(r); got != good || len(got) != len("r2ready:v1:")+86 {
		t.Errorf("%s, %d characters", got, len(got))
	}
	if got, err := chain.ParseReady(good); err != nil || got != r {
		t.Errorf("%v, %v", got, err)
	}
	for name, bad := range map[string]string{
		"nothing": "", "only the head": "r2ready:v1:", "85 characters": good[:len(good)-1], "87 characters": good + "A", "padded": good + "==",
		"version 2": strings.Replace(good, "v1", "v2", 1), "upper case": strings.Replace(good, "r2ready", "R2READY", 1), "a blank before": " " + good, "a line end": good + "\n",
		"a line end inside": good[:20] + "\n" + good[20:], "the other alphabet": good[:20] + "+" + good[21:], "bits behind the end": good[:len(good)-1] + "B",
		"a schedule": "schedule:v1:" + strings.Repeat("0", 64), "hexadecimal": "r2ready:v1:" + strings.Repeat("0", 128), "beyond ASCII": good[:20] + "é" + good[22:],
	} {
		if got, err := chain.ParseReady(bad); fault.Of(err) != chain.BadSignal || got != (chain.Ready{}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestBehaviourK13_ScheduleSignal(t *testing.T) {
	root := chain.Digest{0xab, 31: 1}
	good := "schedule:v1:ab" + strings.Repeat("0", 60) + "01"
	if got := chain.ScheduleSignal(root); got != good {
		t.Errorf("%s", got)
	}
	if got, err := chain.ParseSchedule(good); err != nil || got != root {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", good[1:], good[:len(good)-1], good + "0", strings.ToUpper(good), strings.Replace(good, "ab", "AB", 1), strings.Replace(good, "ab", "xy", 1), good + "\n", "schedule:v2:" + good[12:]} {
		if got, err := chain.ParseSchedule(bad); fault.Of(err) != chain.BadSignal || got != (chain.Digest{}) {
			t.Errorf("%q: %v, %v", bad, got, err)
		}
	}
}

func TestSignalsFitTheChain(t *testing.T) {
	for _, s := range []string{chain.ReadySignal(chain.Ready{}), chain.ScheduleSignal(chain.Digest{})} {
		if err := chain.CheckSignal(s); err != nil {
			t.Error(err)
		}
	}
}

func TestRegistrationID(t *testing.T) {
	n := chain.Neuron{UID: 42, Hotkey: "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY", Registered: 123456}
	got, err := chain.RegistrationID(7, n)
	// Python: hashlib.sha256(b'v3-registration-v1\0{"hotkey":"5Grw…","netuid":7,"registration_block":123456,"uid":42}')
	if want := "5d2c57443d924842d661c27776604f5f5e1865146f597ff4807e22ce6cdad08b"; err != nil || hex.EncodeToString(got[:]) != want {
		t.Errorf("%x, %v", got, err)
	}
	for name, bad := range map[string]chain.Neuron{
		"no block": {UID: 42, Hotkey: n.Hotkey}, "a negative block": {UID: 42, Hotkey: n.Hotkey, Registered: -1}, "no hotkey": {UID: 42, Registered: 1},
		"a hotkey of another form": {UID: 42, Hotkey: "alice", Registered: 1}, "uid -1": {UID: -1, Hotkey: n.Hotkey, Registered: 1}, "uid 65536": {UID: 65536, Hotkey: n.Hotkey, Registered: 1},
	} {
		if id, err := chain.RegistrationID(7, bad); fault.Of(err) != chain.BadIdentity || id != (chain.Digest{}) {
			t.Errorf("%s: %x, %v", name, id, err)
		}
	}
	for _, netuid := range []int{-1, 65536} {
		if _, err := chain.RegistrationID(netuid, n); fault.Of(err) != chain.BadIdentity {
			t.Errorf("netuid %d: %v", netuid, err)
		}
	}
}

func TestCalendar(t *testing.T) {
	c := chain.Calendar{Genesis: 1000, Blocks: 300}
	for _, row := range []struct{ block, window, opens int64 }{{1000, 1, 1000}, {1299, 1, 1000}, {1300, 2, 1300}, {1599, 2, 1300}, {1_000_000, 3331, 1_000_000}} {
		window, err := c.Window(row.block)
		if err != nil || window != row.window {
			t.Errorf("block %d lies in window %d, %v", row.block, window, err)
		}
		if opens, err := c.Opens(window); err != nil || opens != row.opens {
			t.Errorf("window %d opens at %d, %v", window, opens, err)
		}
	}
	for _, block := range []int64{999, 0, -1, math.MinInt64} {
		if _, err := c.Window(block); fault.Of(err) != chain.BadCalendar {
			t.Errorf("block %d: %v", block, err)
		}
	}
	for _, window := range []int64{0, -1, math.MinInt64, math.MaxInt64} {
		if _, err := c.Opens(window); fault.Of(err) != chain.BadCalendar {
			t.Errorf("window %d: %v", window, err)
		}
	}
	for _, bad := range []chain.Calendar{{}, {Genesis: 5}, {Genesis: 5, Blocks: -1}, {Genesis: -5, Blocks: 1}} {
		_, e1 := bad.Window(100)
		_, e2 := bad.Opens(1)
		if fault.Of(e1) != chain.BadCalendar || fault.Of(e2) != chain.BadCalendar {
			t.Errorf("%+v: %v, %v", bad, e1, e2)
		}
	}
}

func TestEveryBlockLiesInTheWindowThatOpenedLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := chain.Calendar{Genesis: rapid.Int64Range(0, 1<<40).Draw(t, "genesis"), Blocks: rapid.Int64Range(1, 1<<30).Draw(t, "blocks")}
		block := c.Genesis + rapid.Int64Range(0, 1<<50).Draw(t, "since")
		window, err := c.Window(block)
		if err != nil {
			t.Fatal(err)
		}
		opens, err := c.Opens(window)
		next, err2 := c.Opens(window + 1)
		if err != nil || err2 != nil || block < opens || block >= next {
			t.Fatalf("%d lies not in %d to %d, %v %v", block, opens, next, err, err2)
		}
	})
}

func TestMayUpdate(t *testing.T) {
	for _, row := range []struct {
		last, now, limit int64
		want             fault.Code
	}{
		{0, 101, 100, fault.Code{}}, {0, 100, 100, chain.TooSoon}, {0, 99, 100, chain.TooSoon}, {7, 7, 0, chain.TooSoon}, {7, 8, 0, fault.Code{}}, {9, 8, 0, chain.TooSoon},
	} {
		if err := chain.MayUpdate(row.last, row.now, row.limit); fault.Of(err) != row.want {
			t.Errorf("%+v: %v", row, err)
		}
	}
}

func TestMetagraphFinds(t *testing.T) {
	m := chain.Metagraph{Neurons: []chain.Neuron{{UID: 0, Hotkey: "a"}, {UID: 5, Hotkey: "b", Registered: 9}}}
	if n, ok := m.Find("b"); !ok || n.UID != 5 {
		t.Errorf("%+v, %v", n, ok)
	}
	if n, ok := m.Find("c"); ok || n != (chain.Neuron{}) {
		t.Errorf("%+v, %v", n, ok)
	}
}

func FuzzSignals(f *testing.F) {
	f.Add(chain.ReadySignal(chain.Ready{Registration: chain.Digest{1}}))
	f.Add(chain.ScheduleSignal(chain.Digest{1}))
	f.Fuzz(func(t *testing.T, signal string) {
		if r, err := chain.ParseReady(signal); err == nil && chain.ReadySignal(r) != signal {
			t.Errorf("%q is a second spelling", signal)
		}
		if r, err := chain.ParseSchedule(signal); err == nil && chain.ScheduleSignal(r) != signal {
			t.Errorf("%q is a second spelling", signal)
		}
	})
}
