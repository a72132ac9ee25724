package meter_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/conductor/episode"
	"assay/conductor/funding"
	"assay/core/canon"
	"assay/core/fault"
	"assay/core/money"
	"assay/core/secret"
	"assay/core/sign"
	"assay/core/ss58"
	"assay/flow/conductor/keys"
	"assay/flow/conductor/meter"
)

// planted has characters that every encoding spells differently.
const planted = `sk-or-v1-planted"/+&<key>\9876`

// forms are the spellings that are looked for.
func forms(s string) []string {
	b := []byte(s)
	out := []string{
		s, hex.EncodeToString(b), strings.ToUpper(hex.EncodeToString(b)), url.QueryEscape(s), url.PathEscape(s),
		strings.Trim(string(canon.AppendStringASCII(nil, s)), `"`), strings.Trim(string(canon.AppendStringUTF8(nil, s)), `"`),
	}
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for behind := range 3 { // what base64 of a longer text, such as a user's name and the key, holds of the key alone
			text := e.EncodeToString(append(make([]byte, behind), b...))
			out = append(out, text[(behind*8+5)/6:(behind+len(b))*8/6])
		}
	}
	return out
}

// TestAPlantedKeyIsInNothingThatIsWritten plays the arm of a miner's key whose provider quotes the key wherever it can.
func TestAPlantedKeyIsInNothingThatIsWritten(t *testing.T) {
	dir := t.TempDir()
	owner, err := keys.Create(filepath.Join(t.TempDir(), "owner.age"))
	must(t, err)
	miner := sign.NewEd25519([32]byte{3})
	want := funding.Expected{Hotkey: ss58.Encode(miner.Public()), Registration: strings.Repeat("ab", 32)}
	line, err := keys.Seal(owner.Recipient(), keys.Funding{Registration: want.Registration, Cap: money.Dollar, Key: secret.New(planted)}, miner)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "key.json"), line, 0o600))
	v, err := funding.Check(line, want)
	must(t, err)
	key, err := owner.Open(v)
	must(t, err)

	w, err := meter.Open(filepath.Join(dir, "meter"), settings())
	must(t, err)
	a, err := w.Bind(meter.Binding{Duel: "w7-c-1", Hotkey: want.Hotkey, Payer: want.Hotkey, Limit: v.Record().Cap, Limited: true, OwnKey: true}, secret.NewRedactor(key))
	must(t, err)
	said := "you sent " + strings.Join(forms(planted), " and ") + " and Basic " + base64.StdEncoding.EncodeToString([]byte(":"+planted))
	var seen strings.Builder
	for i, told := range []episode.Told{episode.Answered, episode.Failed, episode.Refused} {
		e, err := a.Call(t.Context(), fmt.Sprintf("%d/0/0", i), request(t, "m/a"), (&desk{}).send(episode.Event{
			Told: told, Text: said, Served: planted, Provider: said, Cost: 1,
		}, nil))
		fmt.Fprintln(&seen, e, err)
	}
	_, err = a.Call(t.Context(), "3/0/0", request(t, "m/a"), (&desk{}).send(episode.Event{Told: episode.Turn, Text: said}, nil))
	fmt.Fprintln(&seen, err)
	s, err := a.Summary(2)
	fmt.Fprintln(&seen, s, s.Object(), err)
	rs, err := a.Receipts()
	fmt.Fprintln(&seen, rs, err)
	fmt.Fprintf(&seen, "%v %+v %#v %v %+v\n", a, *a, w, key, struct{ k secret.Value }{key})
	must(t, w.Close())

	stranger, err := keys.Create(filepath.Join(t.TempDir(), "stranger.age"))
	must(t, err)
	_, err = stranger.Open(v)
	if fault.Of(err) != keys.CannotOpen {
		t.Error(err)
	}
	fmt.Fprintln(&seen, err)

	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&seen, "%s\n", text)
		return err
	}))
	for _, form := range forms(planted) {
		if strings.Contains(seen.String(), form) {
			t.Errorf("the key stands somewhere as %q", form)
		}
	}
	if !strings.Contains(seen.String(), "[secret]") || !strings.Contains(seen.String(), `"op":"call"`) {
		t.Error("nothing was looked through")
	}
}
