package file_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assay/core/fault"
	"assay/core/sign"
	"assay/sign/file"
)

const digits = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"

// write puts text into a file of the given mode.
func write(t testing.TB, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // WriteFile's mode passes through the umask
		t.Fatal(err)
	}
	return path
}

func TestOpenReadsASeed(t *testing.T) {
	for _, text := range []string{digits, digits + "\n"} {
		for _, mode := range []os.FileMode{0o600, 0o400} {
			s, err := file.Open(write(t, text, mode))
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Public().String(); got != "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a" {
				t.Errorf("public key %s", got)
			}
		}
	}
}

func TestOpenRefusesWhatOthersMayRead(t *testing.T) {
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660, 0o644, 0o620, 0o601, 0o777} {
		if s, err := file.Open(write(t, digits, mode)); s != nil || fault.Of(err) != file.Exposed {
			t.Errorf("mode %o: %v, %v", mode, s, err)
		}
	}
}

func TestOpenRefusesWhatIsNoRegularFile(t *testing.T) {
	dir := t.TempDir()
	link, pipe := filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.Symlink(write(t, digits, 0o600), link), syscall.Mkfifo(pipe, 0o600), os.Chmod(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"a link": link, "a pipe": pipe, "a directory": dir, "a device": os.DevNull} {
		if s, err := file.Open(path); s != nil || fault.Of(err) != file.NotFile {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	if s, err := file.Open(filepath.Join(dir, "none")); s != nil || fault.Of(err) != file.Missing {
		t.Errorf("no file: %v, %v", s, err)
	}
}

func TestBehaviourK8_WalletsAreNamed(t *testing.T) {
	phrase := `"secretPhrase":"bottom drive obey lake curtain smoke basket hold race lonely fit walk","ss58Address":"5DfhGyQdFobKM8NsWvEeAKk5EQQgYe9AydgJ7rMB6E1EqRzV"`
	for name, c := range map[string]struct {
		text string
		want fault.Code
	}{
		"a wallet's key file":       {`{"accountId":"0x46","publicKey":"0x46",` + phrase + `,"secretSeed":"0x` + digits + `"}`, file.Sr25519},
		"one that says sr25519":     {`{` + phrase + `,"cryptoType":1}`, file.Sr25519},
		"only the address":          {`{"ss58Address":"5DfhGyQdFobKM8NsWvEeAKk5EQQgYe9AydgJ7rMB6E1EqRzV"}` + "\n", file.Sr25519},
		"one of an ed25519 key":     {`{` + phrase + `,"cryptoType":0}`, file.Wallet},
		"one that says ed25519":     {`{` + phrase + `,"cryptoType":"ed25519"}`, file.Wallet},
		"an encrypted key file":     {"$NACL\x00\x01\xff" + digits, file.Encrypted},
		"an older encrypted one":    {"gAAAAABk" + digits, file.Encrypted},
		"an encrypted vault":        {"$ANSIBLE_VAULT;1.1;AES256\n3361\n", file.Encrypted},
		"a browser wallet's export": {`{"encoded":"AbCd","encoding":{"content":["pkcs8","sr25519"]},"address":"5Dfh"}`, file.Encrypted},
		"another JSON":              {`{"a":1}`, file.NotSeed},
		"a list":                    {`[]`, file.NotSeed},
		"nothing":                   {"", file.NotSeed},
		"a line end":                {"\n", file.NotSeed},
		"upper case":                {strings.ToUpper(digits), file.NotSeed},
		"0x before it":              {"0x" + digits, file.NotSeed},
		"63 digits":                 {digits[1:], file.NotSeed},
		"66 digits":                 {digits + "00", file.NotSeed},
		"two lines":                 {digits + "\n" + digits + "\n", file.NotSeed},
		"blanks":                    {" " + digits, file.NotSeed},
		"a carriage return":         {digits + "\r\n", file.NotSeed},
		"raw bytes":                 {string(make([]byte, 32)), file.NotSeed},
		"a megabyte":                {strings.Repeat(digits, 1<<14), file.NotSeed},
	} {
		s, err := file.Open(write(t, c.text, 0o600))
		if s != nil || fault.Of(err) != c.want {
			t.Errorf("%s: %v, %v", name, s, err)
			continue
		}
		if said := err.Error(); strings.Contains(said, digits[:8]) || strings.Contains(said, "bottom drive") {
			t.Errorf("%s: the refusal shows the secret: %s", name, said)
		}
	}
}

func TestSeedIsNotPrinted(t *testing.T) {
	s, err := file.Open(write(t, digits, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if shown := fmt.Sprintf("%v %+v %#v %x", s, s, s, s); strings.Contains(shown, digits[:8]) || strings.Contains(shown, "0x9d, 0x61") {
		t.Errorf("shown: %s", shown)
	}
}

func TestCreateThenOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	made, err := file.Create(path, bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != strings.Repeat("07", 32)+"\n" {
		t.Errorf("%q, %v", text, err)
	}
	read, err := file.Open(path)
	if err != nil || read.Public() != made.Public() || made.Public() != sign.NewEd25519([32]byte(bytes.Repeat([]byte{7}, 32))).Public() {
		t.Errorf("%v, %v", read, err)
	}
}

func TestCreateReplacesNothing(t *testing.T) {
	path := write(t, "mine", 0o600)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(t.TempDir(), "elsewhere"), link); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, link} {
		if s, err := file.Create(p, bytes.NewReader(make([]byte, 32))); s != nil || fault.Of(err) != file.Exists {
			t.Errorf("%v, %v", s, err)
		}
	}
	if text, err := os.ReadFile(path); string(text) != "mine" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func TestCreateWithoutRandomnessLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if s, err := file.Create(path, io.LimitReader(bytes.NewReader(make([]byte, 64)), 31)); s != nil || err == nil {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was left: %v", err)
	}
}
