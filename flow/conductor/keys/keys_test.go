package keys_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"filippo.io/age"

	"assay/conductor"
	"assay/conductor/funding"
	"assay/core/fault"
	"assay/core/money"
	"assay/core/secret"
	"assay/core/sign"
	"assay/core/ss58"
	"assay/flow/conductor/keys"
)

const key = "sk-or-v1-planted/0123+4567"

var (
	miner = sign.NewEd25519([32]byte{3})
	want  = funding.Expected{Hotkey: ss58.Encode(miner.Public()), Registration: strings.Repeat("ab", 32)}
	offer = keys.Funding{Registration: want.Registration, Cap: 5 * money.Dollar, Key: secret.New(key)}
)

// owner returns an identity and its file.
func owner(t *testing.T) (*keys.Identity, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "owner.age")
	id, err := keys.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	return id, path
}

func sealed(t *testing.T, id *keys.Identity) []byte {
	t.Helper()
	line, err := keys.Seal(id.Recipient(), offer, miner)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func checked(t *testing.T, line []byte) funding.Verified {
	t.Helper()
	v, err := funding.Check(line, want)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestBehaviourK1_SealAndOpen(t *testing.T) {
	id, path := owner(t)
	line := sealed(t, id)
	for _, form := range []string{key, key[:5], base64.StdEncoding.EncodeToString([]byte(key))[:8], hex.EncodeToString([]byte(key))[:10]} {
		if bytes.Contains(line, []byte(form)) {
			t.Errorf("the record shows %q", form)
		}
	}
	again, err := keys.Load(path)
	if err != nil || again.Recipient() != id.Recipient() {
		t.Fatal(again, err)
	}
	got, err := again.Open(checked(t, line))
	if err != nil || got.Reveal() != key {
		t.Fatalf("%v, %v", got, err)
	}
	t.Run("another recipient", func(t *testing.T) {
		other, _ := owner(t)
		if got, err := other.Open(checked(t, line)); fault.Of(err) != keys.CannotOpen || !got.IsZero() {
			t.Errorf("%v, %v", got, err)
		}
	})
	t.Run("any altered byte of the ciphertext", func(t *testing.T) {
		r := checked(t, line).Record()
		for i := range r.Ciphertext {
			bad := r
			bad.Ciphertext = bytes.Clone(r.Ciphertext)
			bad.Ciphertext[i] ^= 1
			bad, err := bad.Sign(miner) // by the hotkey, so that nothing but the ciphertext is wrong
			if err != nil {
				t.Fatal(err)
			}
			text, err := bad.Line()
			if err != nil {
				t.Fatal(err)
			}
			if got, err := id.Open(checked(t, text)); fault.Of(err) != keys.CannotOpen || !got.IsZero() {
				t.Fatalf("byte %d: %v, %v", i, got, err)
			}
		}
	})
	t.Run("moved to another miner's record", func(t *testing.T) {
		thief := sign.NewEd25519([32]byte{4})
		whose := funding.Expected{Hotkey: ss58.Encode(thief.Public()), Registration: want.Registration}
		r, err := funding.Record{Hotkey: whose.Hotkey, Registration: whose.Registration, Cap: 1, Ciphertext: checked(t, line).Record().Ciphertext}.Sign(thief)
		if err != nil {
			t.Fatal(err)
		}
		moved, err := r.Line()
		if err != nil {
			t.Fatal(err)
		}
		v, err := funding.Check(moved, whose)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := id.Open(v); fault.Of(err) != conductor.FundingForeign || !got.IsZero() {
			t.Errorf("%v, %v", got, err)
		}
	})
}

func TestBehaviourK2_NothingIsUnsealedBeforeTheSignatureIsChecked(t *testing.T) {
	id, _ := owner(t)
	line := sealed(t, id)
	bad := strings.Replace(string(line), `"cap_usd":5.0`, `"cap_usd":6.0`, 1)
	v, err := funding.Check([]byte(bad), want)
	if fault.Of(err) != conductor.FundingForged {
		t.Fatal(err)
	}
	if got, err := id.Open(v); err == nil || !got.IsZero() { // the only thing that Open takes
		t.Errorf("a record that was not checked was opened: %v, %v", got, err)
	}
}

func TestBehaviourK5_TheRecordOfAnotherRegistration(t *testing.T) {
	id, _ := owner(t)
	later := want
	later.Registration = strings.Repeat("cd", 32) // the same hotkey, registered again
	if _, err := funding.Check(sealed(t, id), later); fault.Of(err) != conductor.FundingForeign {
		t.Error(err)
	}
}

func TestWhatIsSealedIsRefusedBeforeItLeaves(t *testing.T) {
	id, _ := owner(t)
	for name, c := range map[string]struct {
		recipient string
		offer     keys.Funding
		want      fault.Code
	}{
		"no recipient":     {"age1", offer, keys.BadRecipient},
		"an identity":      {"AGE-SECRET-KEY-1", offer, keys.BadRecipient},
		"blanks":           {id.Recipient(), keys.Funding{Registration: offer.Registration, Cap: 1, Key: secret.New(" " + key)}, conductor.FundingKey},
		"no cap":           {id.Recipient(), keys.Funding{Registration: offer.Registration, Key: offer.Key}, conductor.FundingCap},
		"no registration":  {id.Recipient(), keys.Funding{Cap: 1, Key: offer.Key}, conductor.BadFunding},
		"an empty funding": {id.Recipient(), keys.Funding{}, conductor.BadFunding},
	} {
		line, err := keys.Seal(c.recipient, c.offer, miner)
		if fault.Of(err) != c.want || line != nil {
			t.Errorf("%s: %s, %v", name, line, err)
		}
		if err != nil && strings.Contains(err.Error(), key) {
			t.Errorf("%s: the refusal quotes the key", name)
		}
	}
}

func TestAnIdentityFileKeepsOthersOut(t *testing.T) {
	_, path := owner(t)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info.Mode(), err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Create(path); fault.Of(err) != keys.Exists {
		t.Errorf("a file that exists: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("it was changed, %v", err)
	}
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o620, 0o666, 0o700 | 0o011} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := keys.Load(path); fault.Of(err) != keys.OpenIdentity {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Load(path); err != nil {
		t.Errorf("a file that its owner may read only: %v", err)
	}
	if _, err := keys.Load(filepath.Dir(path)); fault.Of(err) != keys.OpenIdentity {
		t.Errorf("a directory: %v", err)
	}
	pipe := path + ".pipe"
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("this file system has no pipes:", err)
	}
	if _, err := keys.Load(pipe); fault.Of(err) != keys.OpenIdentity {
		t.Errorf("a pipe: %v", err)
	}
	if _, err := keys.Load(path + ".none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := keys.Create(filepath.Join(path, "below")); err == nil {
		t.Error("a file below a file was created")
	}
}

func TestAnIdentityFileHoldsOneIdentity(t *testing.T) {
	x, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	hybrid, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"empty": "", "a comment": "# age\n", "two": x.String() + "\n" + x.String() + "\n", "half": x.String()[:40], "another kind": hybrid.String() + "\n",
		"lower case": strings.ToLower(x.String()), "too long": x.String() + "\n" + strings.Repeat("#\n", 4<<10),
	} {
		path := filepath.Join(t.TempDir(), "owner.age")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := keys.Load(path)
		if fault.Of(err) != keys.BadIdentity {
			t.Errorf("%s: %v", name, err)
		}
		if len(text) > 20 && strings.Contains(fmt.Sprint(err), text[15:20]) {
			t.Errorf("%s: the refusal quotes the file: %v", name, err)
		}
	}
}

func TestAnIdentityIsNeverPrinted(t *testing.T) {
	id, path := owner(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(text, []byte("AGE-SECRET-KEY-1"))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, x := range []any{id, *id, struct{ id *keys.Identity }{id}} {
			if got := fmt.Sprintf(verb, x); strings.Contains(strings.ToUpper(got), string(text[at+16:at+30])) || strings.Contains(got, "SECRET") {
				t.Errorf("%s prints %s", verb, got)
			}
		}
	}
}
