package meter_test

import (
	"bytes"
	"os"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/conductor"
	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/reading"
	"assay/conductor/receipt"
	"assay/conductor/worker"
	"assay/core/fault"
	"assay/core/money"
	"assay/core/sign"
	"assay/flow/conductor/meter"
	"assay/run/lines"
)

func TestBehaviourG1_OnDiskBeforeTheAnswerIsHandedOn(t *testing.T) {
	d := open(t)
	a := d.bind(limited("w7-a-1", 10*cent))
	e := d.call(a, "0/0/0", "acme/flash-2", answered("Answer: ß😀\u2028\x00", 3*cent))
	file, err := os.ReadFile(d.path)
	if err != nil || !bytes.Contains(file, []byte(`"call_id":"w7-a-1/0/0/0"`)) {
		t.Fatalf("the answer was handed on before it was on disk: %s, %v", file, err)
	}
	d.call(a, "0/1/0", "acme/flash-2", episode.Event{Told: episode.Failed, Text: "generation failed", Cost: cent})
	d.call(a, "0/2/0", "acme/flash-2", episode.Event{Told: episode.Failed, Text: "503"})
	if refused, err := a.Replay(t.Context(), "1/0/0", request(t, "acme/flash-2"), outcome.Key{Task: "t-1", Model: "acme/flash-2", Attempt: 1}, outcome.Row{Text: "x", Cost: 2 * cent}); err != nil || refused != "" {
		t.Fatal(refused, err)
	}
	d.left(a, 4*cent)
	before := d.receipts(a)
	d.again()
	a = d.bind(limited("w7-a-1", 10*cent))
	d.left(a, 4*cent)
	if d := cmp.Diff(before, d.receipts(a)); d != "" || len(before) != 4 || a.Metered() != 6*cent {
		t.Errorf("metered %s: %s", a.Metered(), d)
	}
	found, ok := a.Find("0/0/0")
	if d := cmp.Diff(e, found); d != "" || !ok {
		t.Error(d)
	}
	if found, ok := a.Find("0/1/0"); !ok || found.Told != episode.Failed || found.Text != "generation failed" || found.Cost != cent {
		t.Errorf("%+v, %v", found, ok)
	}
	sent := d.sent
	if again := d.call(a, "0/0/0", "acme/flash-2", answered("another", 9*cent)); again.Text != e.Text || d.sent != sent {
		t.Errorf("a call on record was made again: %+v", again)
	}
	if refused, err := a.Replay(t.Context(), "1/0/0", request(t, "acme/flash-2"), outcome.Key{Task: "t-1", Model: "acme/flash-2", Attempt: 1}, outcome.Row{Text: "x", Cost: 2 * cent}); err != nil || refused != "" {
		t.Error(refused, err)
	}
	d.left(a, 4*cent)
}

// TestBehaviourG3 cuts the file at every byte: whatever a crash leaves is read, and never gives money back that was spent.
func TestBehaviourG3_ATornTailIsToleratedAndDamageIsNot(t *testing.T) {
	d := open(t)
	a := d.bind(limited("w7-a-1", 10*cent))
	d.call(a, "0/0/0", "m/a", answered("one", cent))
	d.call(a, "0/1/0", "m/a", answered("two", 2*cent))
	d.close()
	whole, err := os.ReadFile(d.path)
	if err != nil {
		t.Fatal(err)
	}
	spent := money.Pico(0)
	for n := range len(whole) + 1 {
		if err := os.WriteFile(d.path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		d.again()
		a = d.bind(limited("w7-a-1", 10*cent))
		left, _ := a.Left()
		held := money.Pico(0)
		if a.Sent("0/1/0") && a.Metered() == cent {
			held = cent // the highest price that is known of the model
		}
		if got := 10*cent - left; got != a.Metered()+held || a.Metered() < spent {
			t.Fatalf("cut at %d: %s are gone, %s metered, %s before", n, got, a.Metered(), spent)
		}
		spent = a.Metered()
	}
	if spent != 3*cent {
		t.Errorf("%s are spent", spent)
	}
	d.close()
	for n, b := range whole {
		if b != '\n' || n == len(whole)-1 {
			continue
		}
		bad := bytes.Clone(whole)
		bad[n-1] ^= 1
		if err := os.WriteFile(d.path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := meter.Open(d.path, d.set)
		if code := fault.Of(err); code != lines.Damaged && code != lines.OtherFormat {
			t.Errorf("damage at %d: %v", n, err)
		}
		if after, err := os.ReadFile(d.path); err != nil || !bytes.Equal(after, bad) {
			t.Errorf("the damaged file was changed, %v", err)
		}
	}
	if err := os.WriteFile(d.path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	d.again()
}

func TestBehaviourG5_BindingAgainLeavesWhatIsLeft(t *testing.T) {
	d := open(t)
	a := d.bind(limited("w7-a-1", 10*cent))
	d.call(a, "0/0/0", "m/a", answered("one", 4*cent))
	for _, b := range []meter.Binding{limited("w7-a-1", 10*cent), limited("w7-a-1", 90*cent), limited("w7-a-2", 10*cent), limited("w7-a-3", 90*cent)} {
		a := d.bind(b)
		d.left(a, 6*cent) // another attempt of the arm, or another amount, gives no fresh money
		if a.Limit != 10*cent {
			t.Errorf("%s says that it is bound to %s", b.Duel, a.Limit)
		}
	}
	d.again()
	d.left(d.bind(limited("w7-a-2", 10*cent)), 6*cent)
	own := limited("w7-a-4", 10*cent)
	own.OwnKey = true
	d.left(d.bind(own), 10*cent) // another key, another account
	d.call(d.w.Arm("w7-a-4"), "0/0/0", "m/a", answered("one", cent))
	if diff := cmp.Diff(map[string]money.Pico{"5Fminer": 4 * cent}, d.w.Owed()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"w7-a-1", "w7-a-2", "w7-a-3", "w7-a-4"}, d.w.Duels()); diff != "" {
		t.Error(diff)
	}
}

func TestABindingThatDoesNotFitIsRefused(t *testing.T) {
	d := open(t)
	d.bind(limited("w7-a-1", cent))
	for name, c := range map[string]struct {
		b    meter.Binding
		want fault.Code
	}{
		"another hotkey":   {meter.Binding{Duel: "w7-a-1", Hotkey: "5Fother", Payer: "5Fminer"}, meter.BoundElse},
		"another payer":    {meter.Binding{Duel: "w7-a-1", Hotkey: "5Fminer"}, meter.BoundElse},
		"another key":      {meter.Binding{Duel: "w7-a-1", Hotkey: "5Fminer", Payer: "5Fminer", OwnKey: true}, meter.BoundElse},
		"another window":   {limited("w8-a-1", cent), meter.OtherWindow},
		"no duel":          {limited("a", cent), conductor.BadCallID},
		"a slash":          {limited("w7-a/b-1", cent), conductor.BadCallID},
		"a negative limit": {limited("w7-b-1", -1), meter.BadAmount},
		"a blank payer":    {meter.Binding{Duel: "w7-b-1", Payer: "a b"}, meter.BadName},
		"a blank hotkey":   {meter.Binding{Duel: "w7-b-1", Hotkey: "a b"}, meter.BadName},
	} {
		before, err := os.ReadFile(d.path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.w.Bind(c.b, nil); fault.Of(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.ReadFile(d.path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s left something behind", name)
		}
	}
	d.close()
	other := d.set
	other.Window = 8
	if _, err := meter.Open(d.path, other); fault.Of(err) != meter.OtherWindow {
		t.Errorf("the file of another window: %v", err)
	}
	other = d.set
	other.Signer = sign.NewEd25519([32]byte{2})
	if _, err := meter.Open(d.path, other); fault.Of(err) != meter.OtherWindow {
		t.Errorf("the file of another gateway: %v", err)
	}
}

func TestBehaviourG6_AnUnfundedKeyIsNoOutcome(t *testing.T) {
	d := open(t)
	a := d.bind(limited("w7-a-1", 10*cent))
	e := d.call(a, "0/0/0", "m/a", episode.Event{Told: episode.Refused, Text: "unfunded: status 402"})
	if e.Told != episode.Refused || len(d.receipts(a)) != 0 {
		t.Errorf("%+v", e)
	}
	d.left(a, 10*cent)
	d.call(a, "1/0/0", "m/b", answered("x", cent))
	d.call(a, "1/1/0", "m/b", episode.Event{Told: episode.Refused, Text: "unfunded: status 401"})
	if e = d.call(a, "0/1/0", "m/a", episode.Event{Told: episode.Failed, Text: "rejected: status 403"}); e.Told != episode.Failed {
		t.Errorf("%+v", e)
	}
	if rs := d.receipts(a); len(rs) != 2 || !rs[0].Failed || rs[0].Cost != 0 || rs[0].ResponseHash != receipt.TextHash("rejected: status 403") {
		t.Errorf("%+v", rs)
	}
	d.again()
	a = d.bind(limited("w7-a-1", 10*cent))
	d.left(a, 9*cent) // what was refused holds nothing
	s, err := a.Summary(cent)
	if err != nil || s.Unfunded != 2 || s.Exhausted || s.Calls != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	if e, ok := a.Find("0/0/0"); !ok || e.Told != episode.Refused || e.Text != "unfunded: status 402" {
		t.Errorf("%+v", e)
	}
}

func TestBehaviourG7_NothingButThePinnedBodyIsReceipted(t *testing.T) {
	d := open(t)
	a := d.bind(meter.Binding{Duel: "w7-king0-1"})
	r := request(t, "m/a")
	seen := r.Observe(reading.Observation{Call: reading.Call{Name: "READ", Arg: "a", Start: "1"}, Output: "     1\tx"})
	for i, r := range []worker.Request{r, seen} {
		if _, err := a.Call(t.Context(), "0/0/"+strconv.Itoa(i), r, d.send(answered("x", 1), nil)); err != nil {
			t.Fatal(err)
		}
	}
	for i, rc := range d.receipts(a) {
		want := []string{r.Text(), seen.Text()}[i]
		if rc.PromptHash != receipt.BodyHash(worker.ChatBody("m/a", want, nil)) {
			t.Errorf("call %d is receipted for another body", i)
		}
	}
}

func TestBehaviourG8_AClosedArmMakesNoCalls(t *testing.T) {
	d := open(t)
	a := d.bind(limited("w7-a-1", 10*cent))
	d.call(a, "0/0/0", "m/a", answered("one", cent))
	for range 2 {
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if _, err := a.Call(t.Context(), "0/1/0", request(t, "m/a"), d.send(answered("two", cent), nil)); fault.Of(err) != meter.Closed || d.sent != 1 {
			t.Errorf("%v, %d sent", err, d.sent)
		}
		if _, err := a.Replay(t.Context(), "0/1/0", request(t, "m/a"), outcome.Key{Model: "m/a"}, outcome.Row{}); fault.Of(err) != meter.Closed {
			t.Error(err)
		}
		if s, err := a.Summary(cent); err != nil || !s.OK() || s.Calls != 1 {
			t.Errorf("%+v, %v", s, err)
		}
		d.again()
		a = d.bind(limited("w7-a-1", 10*cent))
		d.left(a, 9*cent)
	}
}

func TestBehaviourO7_AReplayThatIsRefusedIsNoHit(t *testing.T) {
	d := open(t)
	a := d.bind(limited("w7-a-1", cent))
	d.call(a, "0/0/0", "m/a", answered("one", cent))
	for range 2 {
		refused, err := a.Replay(t.Context(), "0/1/0", request(t, "m/b"), outcome.Key{Task: "t-1", Model: "m/b", Attempt: 1}, outcome.Row{Text: "x", Cost: cent})
		if err != nil || refused != meter.NoAllowance {
			t.Fatal(refused, err)
		}
		s, err := a.Summary(cent)
		if err != nil || s.Hits != 0 || s.Metered != cent || s.Unfunded != 1 || !s.Exhausted || !s.OK() {
			t.Errorf("%+v, %v", s, err)
		}
		d.again()
		a = d.bind(limited("w7-a-1", cent))
	}
}

func TestBehaviourO10_AReplayIsChargedAndNobodyIsPaid(t *testing.T) {
	d := open(t)
	king, challenger := d.bind(limited("w7-king-1", money.Dollar)), d.bind(meter.Binding{Duel: "w7-c-1", Hotkey: "5Fc", Payer: "5Fc", Limit: money.Dollar, Limited: true})
	var rows []outcome.Row
	for i := range 3 {
		e := d.call(king, strconv.Itoa(i)+"/0/0", "m/a", answered("a"+strconv.Itoa(i), 32*cent))
		rows = append(rows, outcome.Row{Text: e.Text, Cost: e.Cost, TokensIn: e.TokensIn, TokensOut: e.TokensOut, ServedModel: e.Served})
	}
	rows[2] = outcome.Row{Failed: true, Failure: "generation failed", Cost: 32 * cent, TokensIn: -1}
	for i, row := range rows {
		k := outcome.Key{Task: "t-" + strconv.Itoa(i), Model: "m/a", Attempt: 1}
		if refused, err := challenger.Replay(t.Context(), strconv.Itoa(i)+"/0/0", request(t, "m/a"), k, row); refused != "" || err != nil {
			t.Fatal(refused, err)
		}
	}
	s, err := challenger.Summary(96 * cent)
	if err != nil || s.Metered != 96*cent || s.Provider != 0 || s.Hits != 3 || s.Calls != 0 || s.Fills != 0 || !s.OK() {
		t.Errorf("%+v, %v", s, err)
	}
	d.left(challenger, 4*cent)
	if d.sent != 3 {
		t.Errorf("%d calls were sent", d.sent)
	}
	for i, rc := range d.receipts(challenger) {
		want, _ := rowDigest(outcome.Key{Task: "t-" + strconv.Itoa(i), Model: "m/a", Attempt: 1}, rows[i])
		if text := rows[i].Text + rows[i].Failure; !rc.Replayed || rc.Row != want || rc.ResponseHash != receipt.TextHash(text) || rc.Failed != (i == 2) {
			t.Errorf("%+v", rc)
		}
	}
	if diff := cmp.Diff(map[string]money.Pico{"5Fminer": 96 * cent, "5Fc": 96 * cent}, d.w.Owed()); diff != "" {
		t.Error(diff)
	}
}

func TestBehaviourO14_AnEmptyAccountIsRefusedSixTimes(t *testing.T) {
	d := open(t)
	a := d.bind(limited("w7-a-1", 0))
	for i := range 6 {
		if e := d.call(a, "0/"+strconv.Itoa(i)+"/0", "m/a", answered("x", cent)); e.Told != episode.Refused || e.Text != meter.NoAllowance {
			t.Errorf("%+v", e)
		}
	}
	s, err := a.Summary(0)
	if err != nil || s.Unfunded != 6 || d.sent != 0 || len(d.receipts(a)) != 0 || !s.Exhausted {
		t.Errorf("%+v, %v, %d sent", s, err, d.sent)
	}
	if ok, reason := s.Scoreable(); ok || reason != receipt.NoSpend {
		t.Errorf("%v, %q", ok, reason)
	}
}
