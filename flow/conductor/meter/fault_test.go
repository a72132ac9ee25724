package meter_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/conductor"
	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/profile"
	"assay/conductor/worker"
	"assay/core/fault"
	"assay/core/money"
	"assay/flow/conductor/meter"
)

// Fault 7 is about what is counted: the client charges reasoning tokens by its rule, and the meter counts what it charged.
func TestFault07_WhatTheClientChargedIsReceipted(t *testing.T) {
	d := open(t)
	a := d.bind(meter.Binding{Duel: "w7-king0-1"})
	for i, usage := range []string{
		`{"cost":0.01,"prompt_tokens":5,"completion_tokens":900,"completion_tokens_details":{"reasoning_tokens":850}}`,
		`{"cost":0.01,"prompt_tokens":5,"completion_tokens":50,"completion_tokens_details":{"reasoning_tokens":850}}`,
	} {
		said, err := worker.ReadReply([]byte(`{"choices":[{"message":{"content":"x"}}],"usage":`+usage+`}`), profile.Strict)
		if err != nil {
			t.Fatal(err)
		}
		d.call(a, "0/"+strconv.Itoa(i)+"/0", "m/a", episode.Event{Told: episode.Answered, Text: said.Text, Cost: said.Pico, TokensIn: said.TokensIn, TokensOut: said.ChargedOut})
	}
	if rs := d.receipts(a); rs[0].TokensOut != 900 || rs[1].TokensOut != 900 {
		t.Errorf("%d and %d tokens are receipted", rs[0].TokensOut, rs[1].TokensOut)
	}
}

func TestFault08_ThePriceBelongsToTheAskedName(t *testing.T) {
	d := open(t)
	a := d.bind(limited("w7-a-1", 10*cent))
	d.call(a, "0/0/0", "acme/flash-2", answered("x", 3*cent)) // served as flash-2
	if rc := d.receipts(a)[0]; rc.Model != "acme/flash-2" || rc.ServedModel != "flash-2" || rc.Cost != 3*cent {
		t.Errorf("%+v", rc)
	}
	// The price that is known is the asked name's: a second call of it holds that and no more.
	_, err := a.Call(t.Context(), "0/1/0", request(t, "acme/flash-2"), func(context.Context) (episode.Event, error) {
		d.left(a, 4*cent)
		return answered("y", 3*cent), nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestACallWhoseResultIsNotKnownKeepsItsRoom(t *testing.T) {
	d := open(t)
	a := d.bind(limited("w7-a-1", 10*cent))
	d.call(a, "0/0/0", "m/a", answered("one", 3*cent))
	cut := errors.New("the process ends")
	for _, c := range []struct {
		id   string
		e    episode.Event
		err  error
		want error
	}{
		{"0/1/0", episode.Event{}, cut, cut},
		{"0/2/0", episode.Event{Told: episode.Answered, Cost: -1}, nil, conductor.BadCost.With()},
	} {
		if _, err := a.Call(t.Context(), c.id, request(t, "m/a"), d.send(c.e, c.err)); !errors.Is(err, c.want) {
			t.Errorf("%v", err)
		}
	}
	for range 2 {
		d.left(a, 1*cent)
		if !a.Sent("0/1/0") || a.Sent("0/3/0") {
			t.Error("what was sent is not known")
		}
		d.again()
		a = d.bind(limited("w7-a-1", 10*cent))
	}
	// The same id gets its own room back, and once.
	d.call(a, "0/1/0", "m/a", answered("two", 2*cent))
	d.left(a, 2*cent)
	file, err := os.ReadFile(d.path)
	if n := bytes.Count(file, []byte(`"op":"hold"`)); a.Metered() != 5*cent || n != 3 || err != nil {
		t.Errorf("%s metered, %d holds on disk, %v", a.Metered(), n, err)
	}
	// No price is known of m/b: its call held everything, and that must not end the arm.
	if _, err := a.Call(t.Context(), "0/4/0", request(t, "m/b"), d.send(episode.Event{}, cut)); !errors.Is(err, cut) {
		t.Error(err)
	}
	d.left(a, 2*cent)
	d.again()
	a = d.bind(limited("w7-a-1", 10*cent))
	d.left(a, 2*cent)
}

func TestIdempotentWorkersNeedNoHoldOnDisk(t *testing.T) {
	d := open(t)
	d.set.Idempotent = true
	d.again()
	a := d.bind(limited("w7-a-1", 10*cent))
	d.call(a, "0/0/0", "m/a", answered("one", 3*cent))
	cut := errors.New("the process ends")
	if _, err := a.Call(t.Context(), "0/1/0", request(t, "m/a"), d.send(episode.Event{}, cut)); !errors.Is(err, cut) {
		t.Error(err)
	}
	d.left(a, 4*cent) // while the process lives, it may be asked again
	d.again()
	a = d.bind(limited("w7-a-1", 10*cent))
	d.left(a, 7*cent)
	if file, err := os.ReadFile(d.path); err != nil || bytes.Contains(file, []byte(`"op":"hold"`)) {
		t.Errorf("a hold is on disk, %v", err)
	}
}

func TestAnIDIsACallOrAReplay(t *testing.T) {
	d := open(t)
	a := d.bind(limited("w7-a-1", money.Dollar))
	d.call(a, "0/0/0", "m/a", answered("one", cent))
	k := outcome.Key{Task: "t-1", Model: "m/a", Attempt: 1}
	if _, err := a.Replay(t.Context(), "0/0/0", request(t, "m/a"), k, outcome.Row{Text: "one", Cost: cent}); fault.Of(err) != meter.OtherKind {
		t.Errorf("a call is replayed under its own id: %v", err)
	}
	if _, err := a.Replay(t.Context(), "0/1/0", request(t, "m/a"), k, outcome.Row{Text: "one", Cost: cent}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Call(t.Context(), "0/1/0", request(t, "m/a"), d.send(answered("x", 1), nil)); fault.Of(err) != meter.OtherKind {
		t.Errorf("a replay is called: %v", err)
	}
	if _, err := a.Replay(t.Context(), "0/2/0", request(t, "m/a"), k, outcome.Row{Cost: -1}); fault.Of(err) != conductor.BadCost {
		t.Error(err)
	}
	if _, err := a.Call(t.Context(), "0/2", request(t, "m/a"), d.send(answered("x", 1), nil)); fault.Of(err) != conductor.BadCallID {
		t.Error(err)
	}
	if _, err := a.Call(t.Context(), "0/2/0", request(t, "m/"+strings.Repeat("a", 200)), d.send(episode.Event{Told: episode.Turn}, nil)); fault.Of(err) != conductor.BadEvent {
		t.Error(err)
	}
	d.left(a, money.Dollar-2*cent)
}

func TestWhatCannotBeWrittenIsMadeSo(t *testing.T) {
	d := open(t)
	a := d.bind(meter.Binding{Duel: "w7-king0-1"})
	e := d.call(a, "0/0/0", "m/a", episode.Event{
		Told: episode.Answered, Text: "a\xff", Served: strings.Repeat("s", 9999), Provider: "\xfe", TokensIn: -5, TokensOut: -1, Cost: 1,
	})
	if e.Text != "a\ufffd" || len(e.Served) > 300 || e.TokensIn != 0 || e.TokensOut != 0 {
		t.Errorf("%+v", e)
	}
	if e := d.call(a, "0/1/0", "m/a", answered(strings.Repeat("\x01", 3<<20), 2)); e.Told != episode.Failed || e.Cost != 2 || len(e.Text) > 100 {
		t.Errorf("%s %d bytes", e.Told, len(e.Text))
	}
	if e := d.call(a, "0/2/0", "m/a", answered(strings.Repeat("\x01", 2<<20), 2)); e.Told != episode.Answered || len(e.Text) != 2<<20 {
		t.Errorf("%s %d bytes", e.Told, len(e.Text))
	}
	d.again()
	if len(d.receipts(d.bind(meter.Binding{Duel: "w7-king0-1"}))) != 3 {
		t.Error("a receipt is lost")
	}
}

func TestAFailureThatCostsNothingTellsNoPrice(t *testing.T) {
	d := open(t)
	a := d.bind(limited("w7-a-1", 10*cent))
	d.call(a, "0/0/0", "m/a", episode.Event{Told: episode.Failed, Text: "503"})
	_, err := a.Call(t.Context(), "0/1/0", request(t, "m/a"), func(context.Context) (episode.Event, error) {
		d.left(a, 0)
		return answered("x", 0), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Call(t.Context(), "0/2/0", request(t, "m/a"), func(context.Context) (episode.Event, error) {
		d.left(a, 10*cent) // an answer that costs nothing does
		return answered("x", 0), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestReceiptsStandInTheSlicesOrder(t *testing.T) {
	d := open(t)
	a := d.bind(meter.Binding{Duel: "w7-king0-1"})
	for _, id := range []string{"10/0/0", "9/1/0", "9/0/1", "9/0/0"} {
		d.call(a, id, "m/a", answered("x", 1))
	}
	var got []string
	for _, r := range d.receipts(a) {
		got = append(got, strings.TrimPrefix(r.CallID, "w7-king0-1/"))
	}
	if diff := cmp.Diff([]string{"9/0/0", "9/0/1", "9/1/0", "10/0/0"}, got); diff != "" {
		t.Error(diff)
	}
}
