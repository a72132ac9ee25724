package receipt_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay/conductor"
	"assay/conductor/receipt"
	"assay/core/fault"
	"assay/core/money"
	"assay/core/sign"
)

var gateway = sign.NewEd25519([32]byte{1})

// call is a receipt of a live call, not signed yet.
func call(id string, cost money.Pico) receipt.Receipt {
	return receipt.Receipt{
		CallID: id, Duel: "w7-king-1", Hotkey: "5Fking", Model: "acme/flash-2", PromptHash: receipt.BodyHash([]byte("{}")),
		ResponseHash: receipt.TextHash("abc"), TokensIn: 100, TokensOut: 7, Cost: cost, ServedModel: "flash-2", Provider: "P",
	}
}

func signed(tb testing.TB, r receipt.Receipt) receipt.Receipt {
	tb.Helper()
	r, err := r.Sign(gateway)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func line(tb testing.TB, r receipt.Receipt) string {
	tb.Helper()
	b, err := r.Append(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

func TestALineIsWhatThePageSays(t *testing.T) {
	r := signed(t, call("w7-king-1/0/2/0", 18_800_000_000))
	want := `{"call_id":"w7-king-1/0/2/0","cost_usd":0.0188,"duel":"w7-king-1","failed":false,"gw_sig":"` + r.Sig +
		`","hotkey":"5Fking","model":"acme/flash-2","prompt_hash":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",` +
		`"provider":"P","replayed":false,"response_hash":"6cc43f858fbb763301637b5af970e2a46b46f461f27e5a0f41e009c59b827b25",` +
		`"served_model":"flash-2","tokens_in":100,"tokens_out":7,"v":1}` + "\n"
	if d := cmp.Diff(want, line(t, r)); d != "" {
		t.Error(d)
	}
	payload, err := r.Payload()
	if err != nil || string(payload) != strings.Replace(strings.TrimSuffix(want, "\n"), `"gw_sig":"`+r.Sig+`",`, "", 1) {
		t.Errorf("signed are %s, %v", payload, err)
	}
}

func TestAReceiptIsReadAsItWasWritten(t *testing.T) {
	text := rapid.StringMatching(`[ -~äß€😀"\\<&]{0,20}`)
	rapid.Check(t, func(t *rapid.T) {
		r := call("w7-king-1/3/0/1", money.Pico(rapid.Int64Min(0).Draw(t, "cost")))
		r.Model, r.ServedModel, r.Provider = "m"+text.Draw(t, "model"), text.Draw(t, "served"), text.Draw(t, "provider")
		r.TokensIn, r.TokensOut = rapid.Int64Min(0).Draw(t, "in"), rapid.Int64Min(0).Draw(t, "out")
		r.Failed = rapid.Bool().Draw(t, "failed")
		if rapid.Bool().Draw(t, "replayed") {
			r.Replayed, r.Row = true, receipt.BodyHash([]byte("row"))
		}
		r, err := r.Sign(gateway)
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := receipt.Parse(b)
		if err != nil || got != r || !got.Signed(gateway.Public()) {
			t.Fatalf("%s\nread as %+v, %v", b, got, err)
		}
	})
}

func TestALineThatWouldNotBeWrittenIsRefused(t *testing.T) {
	good := strings.TrimSuffix(line(t, signed(t, call("w7-king-1/0/2/0", 18_800_000_000))), "\n")
	if _, err := receipt.Parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"a blank":              {`"v":1`, `"v": 1`},
		"another version":      {`"v":1`, `"v":2`},
		"an unknown member":    {`"v":1`, `"v":1,"x":0`},
		"a doubled member":     {`"v":1`, `"v":1,"v":1`},
		"a longer number":      {`0.0188`, `0.01880`},
		"an exponent":          {`0.0188`, `188e-4`},
		"a negative cost":      {`0.0188`, `-0.0188`},
		"a cost as text":       {`0.0188`, `"0.0188"`},
		"a cost of 13 places":  {`0.0188`, `0.0188000000001`},
		"negative tokens":      {`"tokens_in":100`, `"tokens_in":-1`},
		"a row without replay": {`"served_model"`, `"row":"` + receipt.TextHash("") + `","served_model"`},
		"a replay without row": {`"replayed":false`, `"replayed":true`},
		"upper-case digits":    {`"prompt_hash":"44136fa3`, `"prompt_hash":"44136FA3`},
		"a short digest":       {`"response_hash":"6c`, `"response_hash":"`},
		"a short signature":    {`"gw_sig":"`, `"gw_sig":"0`},
		"no model":             {`"model":"acme/flash-2"`, `"model":""`},
		"a blank in a hotkey":  {`5Fking`, `5F king`},
		"a place too few":      {`/0/2/0`, `/2/0`},
		"an odd duel":          {`"duel":"w7-king-1"`, `"duel":"king"`},
		"text beyond ASCII":    {`"provider":"P"`, `"provider":"ß"`},
		"a second line":        {`"v":1}`, `"v":1}` + "\n\n"},
		"half a line":          {`"v":1}`, ``},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		if bad == good {
			t.Fatalf("%s changes nothing", name)
		}
		if _, err := receipt.Parse([]byte(bad)); fault.Of(err) != conductor.BadReceipt {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := receipt.Parse(bytes.Repeat([]byte(" "), receipt.MaxLine)); fault.Of(err) != conductor.BadReceipt {
		t.Errorf("a line beyond the bound: %v", err)
	}
	long := call("w7-king-1/0/2/0", 1)
	long.Provider = strings.Repeat("x", receipt.MaxLine)
	if _, err := signed(t, long).Append(nil); fault.Of(err) != conductor.BadReceipt {
		t.Errorf("a line beyond the bound was written: %v", err)
	}
	if _, err := call("w7-king-1/0/2/0", 1).Append(nil); fault.Of(err) != conductor.BadReceipt {
		t.Errorf("a receipt without a signature was written: %v", err)
	}
	if _, err := (receipt.Receipt{}).Sign(gateway); fault.Of(err) != conductor.BadReceipt {
		t.Errorf("the zero receipt was signed: %v", err)
	}
}

// broken signs nothing that holds.
type broken struct {
	sign.Signer
	err error
}

func (b broken) Sign([]byte) ([]byte, error) { return make([]byte, 64), b.err }

func TestASignatureThatDoesNotHoldIsNotHandedOn(t *testing.T) {
	for _, b := range []broken{{gateway, errors.New("the token is locked")}, {gateway, nil}} {
		if _, err := call("w7-king-1/0/2/0", 1).Sign(b); fault.Of(err) != sign.SignerFailed {
			t.Errorf("%v", err)
		}
	}
}

func TestEveryMemberIsSigned(t *testing.T) {
	good := signed(t, call("w7-king-1/0/2/0", 5))
	changes := map[string]func(*receipt.Receipt){
		"call_id": func(r *receipt.Receipt) { r.CallID = "w7-king-1/0/2/1" }, "duel": func(r *receipt.Receipt) { r.Duel = "w7-king-2" },
		"hotkey": func(r *receipt.Receipt) { r.Hotkey = "5Fother" }, "model": func(r *receipt.Receipt) { r.Model = "acme/flash-3" },
		"prompt": func(r *receipt.Receipt) { r.PromptHash = receipt.BodyHash(nil) }, "response": func(r *receipt.Receipt) { r.ResponseHash = receipt.TextHash("") },
		"in": func(r *receipt.Receipt) { r.TokensIn++ }, "out": func(r *receipt.Receipt) { r.TokensOut++ }, "cost": func(r *receipt.Receipt) { r.Cost++ },
		"served": func(r *receipt.Receipt) { r.ServedModel = "" }, "provider": func(r *receipt.Receipt) { r.Provider = "Q" },
		"failed":   func(r *receipt.Receipt) { r.Failed = true },
		"replayed": func(r *receipt.Receipt) { r.Replayed, r.Row = true, receipt.TextHash("") },
		"sig":      func(r *receipt.Receipt) { r.Sig = strings.Repeat("0", 128) }, "no sig": func(r *receipt.Receipt) { r.Sig = "" },
		"upper-case sig": func(r *receipt.Receipt) { r.Sig = strings.ToUpper(r.Sig) },
	}
	for name, change := range changes {
		r := good
		change(&r)
		if r.Signed(gateway.Public()) {
			t.Errorf("%s is not covered by the signature", name)
		}
	}
	if !good.Signed(gateway.Public()) || good.Signed(sign.NewEd25519([32]byte{2}).Public()) || good.Signed(sign.Key{}) {
		t.Error("the signature holds for the gateway's key and for no other")
	}
}

func TestIDsHaveOneSpelling(t *testing.T) {
	for _, id := range []string{"w0-king-1", "w7-king-12", "w12-ref:always-cheapest-1", "w7-5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty-1", "w7-a-b-c-3"} {
		d, err := receipt.ParseDuel(id)
		if err != nil || d.String() != id {
			t.Errorf("%s is read as %+v, %v", id, d, err)
		}
		place := receipt.Place{Duel: id, Episode: 10, Step: 11, Call: 3}
		if p, err := receipt.ParsePlace(place.String()); err != nil || p != place {
			t.Errorf("%s is read as %+v, %v", place, p, err)
		}
	}
	for _, id := range []string{"", "w", "w7", "w7-king", "7-king-1", "w7--1", "w07-king-1", "w+7-king-1", "w-7-king-1", "w7-king-0", "w7-king-01", "w7-ki/ng-1",
		"w7-ki ng-1", "w7-köng-1", "w7-king-1-", "w1000000000-king-1", "w7-" + strings.Repeat("a", 129) + "-1"} {
		if _, err := receipt.ParseDuel(id); fault.Of(err) != conductor.BadCallID {
			t.Errorf("duel %q: %v", id, err)
		}
	}
	for _, id := range []string{"", "w7-king-1", "w7-king-1/0/0", "w7-king-1/0/0/0/0", "w7-king-1/00/0/0", "w7-king-1/0/-1/0", "w7-king-1/0/0/", "king/0/0/0", "w7-king-1/0/0/x"} {
		if _, err := receipt.ParsePlace(id); fault.Of(err) != conductor.BadCallID {
			t.Errorf("call %q: %v", id, err)
		}
	}
	place := func(s string) receipt.Place {
		p, err := receipt.ParsePlace(s)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if place("w7-a-1/9/0/0").Compare(place("w7-a-1/10/0/0")) >= 0 || place("w7-a-1/1/2/1").Compare(place("w7-a-1/1/2/0")) <= 0 {
		t.Error("places are ordered by number")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(line(f, signed(f, call("w7-king-1/0/2/0", 18_800_000_000)))))
	replay := call("w7-king-1/0/2/0", 0)
	replay.Replayed, replay.Row, replay.Failed = true, receipt.TextHash("row"), true
	f.Add([]byte(line(f, signed(f, replay))))
	f.Add([]byte(`{"v":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := receipt.Parse(text)
		if err != nil {
			return
		}
		again, err := r.Append(nil)
		if err != nil || !bytes.Equal(bytes.TrimSuffix(again, []byte("\n")), bytes.TrimSuffix(text, []byte("\n"))) {
			t.Errorf("%q is written again as %q, %v", text, again, err)
		}
		r.Signed(gateway.Public())
	})
}
