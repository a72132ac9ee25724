package receipt_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/conductor/receipt"
	"assay/core/canon"
	"assay/core/money"
	"assay/core/sign"
)

// arm is what the king's arm was charged: a delegate with a read, another one, and a replay.
func arm(tb testing.TB) []receipt.Receipt {
	replay := call("w7-king-1/1/0/0", 40)
	replay.Replayed, replay.Row = true, receipt.TextHash("row")
	return []receipt.Receipt{
		signed(tb, call("w7-king-1/0/0/0", 1)), signed(tb, call("w7-king-1/0/0/1", 2)), signed(tb, call("w7-king-1/0/1/0", 4)), signed(tb, replay),
	}
}

func account(recorded money.Pico) receipt.Account {
	return receipt.Account{Duel: "w7-king-1", Hotkey: "5Fking", Key: gateway.Public(), Recorded: recorded}
}

func TestBehaviourG9_ReceiptsThatDoNotHold(t *testing.T) {
	sums := receipt.Sums{Metered: 47, Provider: 7, Calls: 3, Hits: 1, Fills: 2}
	good := receipt.Audit(account(47), arm(t))
	if d := cmp.Diff(receipt.Audited{Sums: sums, At: -1, Recorded: 47}, good); d != "" || !good.OK() {
		t.Fatal(d)
	}
	if ok, reason := good.Scoreable(); !ok || reason != receipt.Sound {
		t.Errorf("%v, %q", ok, reason)
	}
	other := func(change func(*receipt.Receipt)) []receipt.Receipt {
		rs := arm(t)
		change(&rs[1])
		rs[1] = signed(t, rs[1])
		return rs
	}
	forged := arm(t)
	forged[2].Cost++
	for _, c := range []struct {
		name     string
		receipts []receipt.Receipt
		account  receipt.Account
		want     receipt.Reason
		at       int
	}{
		{"a changed cost", forged, account(48), receipt.BadSignature, 2},
		{"another gateway", arm(t), receipt.Account{Duel: "w7-king-1", Hotkey: "5Fking", Key: sign.NewEd25519([32]byte{2}).Public(), Recorded: 47}, receipt.BadSignature, 0},
		{"no pinned key", arm(t), receipt.Account{Duel: "w7-king-1", Hotkey: "5Fking", Recorded: 47}, receipt.BadSignature, 0},
		{"another duel", other(func(r *receipt.Receipt) { r.Duel = "w7-king-2" }), account(47), receipt.OtherDuel, 1},
		{"another duel's call", other(func(r *receipt.Receipt) { r.CallID = "w6-king-1/0/0/1" }), account(47), receipt.OtherDuel, 1},
		{"another hotkey", other(func(r *receipt.Receipt) { r.Hotkey = "5Fother" }), account(47), receipt.OtherHotkey, 1},
		{"the duel before the hotkey", other(func(r *receipt.Receipt) { r.Hotkey, r.Duel = "5Fother", "w7-king-2" }), account(47), receipt.OtherDuel, 1},
		{"a call twice", append(arm(t), arm(t)[0]), account(48), receipt.Doubled, 4},
		{"a pico-dollar too much recorded", arm(t), account(48), receipt.NotMetered, -1},
		{"a pico-dollar too little recorded", arm(t), account(46), receipt.NotMetered, -1},
		{"a lost receipt", arm(t)[:3], account(47), receipt.NotMetered, -1},
	} {
		got := receipt.Audit(c.account, c.receipts)
		if ok, reason := got.Scoreable(); got.Reason != c.want || got.At != c.at || ok || reason != c.want || got.OK() {
			t.Errorf("%s: %q at %d, want %q at %d", c.name, got.Reason, got.At, c.want, c.at)
		}
	}
}

func TestBehaviourX10_MeteredAndRecordedSpendDiffer(t *testing.T) {
	if got := receipt.Audit(account(47+1), arm(t)); got.Reason != receipt.NotMetered || got.Metered != 47 || got.Recorded != 48 {
		t.Errorf("%+v", got)
	}
}

func TestBehaviourX11_AnArmThatReachedNoWorker(t *testing.T) {
	got := receipt.Audit(account(0), nil)
	if ok, reason := got.Scoreable(); ok || reason != receipt.NoSpend || !got.OK() {
		t.Errorf("%v, %q", ok, reason)
	}
}

func TestSumsSaturate(t *testing.T) {
	a, b := signed(t, call("w7-king-1/0/0/0", money.Max)), signed(t, call("w7-king-1/0/1/0", money.Max))
	if got := receipt.Audit(account(-2), []receipt.Receipt{a, b}); got.Reason != receipt.NotMetered || got.Metered != money.Max {
		t.Errorf("%+v", got)
	}
}

func TestASummaryNamesTheArm(t *testing.T) {
	s := receipt.Summary{Audited: receipt.Audit(account(47), arm(t)), Duel: "w7-king-1", Payer: "5Fking", Unfunded: 6, Exhausted: true, OwnKey: true}
	got, err := canon.ASCII(s.Object())
	want := `{"arm":"king","calls":3,"charged_usd":0.000000000047,"duel_id":"w7-king-1","exhausted":true,"fills":2,"hits":1,"metered_usd":0.000000000047,` +
		`"own_key":true,"payer":"5Fking","provider_usd":0.000000000007,"reason":"","recorded_usd":0.000000000047,"scoreable":true,"unfunded_calls":6}`
	if d := cmp.Diff(want, string(got)); d != "" || err != nil {
		t.Error(d, err)
	}
}

// used returns receipts of one model with the given input and output tokens for requests of the given bytes.
func used(model string, n int, row func(i int) (in, out int64, bytes int)) []receipt.Use {
	var out []receipt.Use
	for i := range n {
		u := receipt.Use{Receipt: call(fmt.Sprintf("w7-king-1/%d/0/0", i), 1)}
		u.Model, u.ResponseHash = model, receipt.TextHash(fmt.Sprint("answer ", i))
		u.TokensIn, u.TokensOut, u.RequestBytes = row(i)
		out = append(out, u)
	}
	return out
}

func TestFault10_AConstantColumnIsReported(t *testing.T) {
	honest := used("acme/honest", 40, func(i int) (int64, int64, int) { return int64(30 + 20*i), int64(5 + i%9), 300 + 90*i })
	madeUp := used("acme/made-up", 90, func(i int) (int64, int64, int) { return 40, int64(5 + i%9), 100 + 100*i })
	got := receipt.Implausibilities(append(honest, madeUp...))
	want := []receipt.Finding{
		{What: receipt.Constant, Model: "acme/made-up", Column: "tokens_in", CallID: "w7-king-1/0/0/0", Count: 90},
		{What: receipt.TooFew, Model: "acme/made-up", Column: "tokens_in", CallID: "w7-king-1/25/0/0", Count: 65},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for name, c := range map[string]struct {
		uses []receipt.Use
		want []receipt.Implausible
	}{
		"equal requests":         {used("m", 9, func(int) (int64, int64, int) { return 40, 5, 300 }), nil},
		"two receipts":           {used("m", 2, func(i int) (int64, int64, int) { return 40, 5, 300 + 900*i }), nil},
		"more tokens than bytes": {used("m", 1, func(int) (int64, int64, int) { return 9000, 5, 300 }), []receipt.Implausible{receipt.TooMany}},
		"no tokens":              {used("m", 1, func(int) (int64, int64, int) { return 0, 0, 300 }), []receipt.Implausible{receipt.TooFew}},
		"constant answers":       {used("m", 16, func(i int) (int64, int64, int) { return int64(100 + i), 5, 300 + i }), []receipt.Implausible{receipt.Constant}},
		"few constant answers":   {used("m", 15, func(i int) (int64, int64, int) { return int64(100 + i), 5, 300 + i }), nil},
	} {
		var kinds []receipt.Implausible
		for _, f := range receipt.Implausibilities(c.uses) {
			kinds = append(kinds, f.What)
		}
		if d := cmp.Diff(c.want, kinds); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	for i := range madeUp {
		madeUp[i].Failed, madeUp[i].Replayed = i%2 == 0, i%2 == 1
	}
	if got := receipt.Implausibilities(madeUp); got != nil {
		t.Errorf("failed calls and replays are looked at: %+v", got)
	}
}
