package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"assay/core/canon"
	"assay/core/secret"
)

const key = `sk-"A/b+C?d\e&<` + "\nünd"

func TestSecretIsNeverPrinted(t *testing.T) {
	v := secret.New(key)
	if v.Reveal() != key || v.IsZero() || !(secret.Value{}).IsZero() {
		t.Fatal("a secret does not hold its text")
	}
	type open struct{ Key secret.Value }
	type closed struct{ key secret.Value }
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%p"} {
		for _, x := range []any{v, &v, open{v}, &open{v}, closed{v}, []secret.Value{v}, map[string]secret.Value{"k": v}} {
			fmt.Fprintf(&out, verb+"\n", x)
		}
	}
	fmt.Fprintln(&out, v, closed{v})
	text, err := json.Marshal(open{v})
	if err != nil {
		t.Fatal(err)
	}
	out.Write(text)
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("m", "key", v, "in", open{v})
	slog.New(slog.NewTextHandler(&logged, nil)).Info("m", "key", v, "in", open{v})
	out.Write(logged.Bytes())
	for _, form := range []string{"sk-", hex.EncodeToString([]byte("sk-")), strings.ToUpper(hex.EncodeToString([]byte("sk-"))), base64.StdEncoding.EncodeToString([]byte("sk-"))} {
		if strings.Contains(out.String(), form) {
			t.Errorf("a secret was printed as %q:\n%s", form, out.String())
		}
	}
	if !strings.Contains(logged.String(), "[secret]") || string(text) != `{"Key":"[secret]"}` {
		t.Errorf("hidden as %s and %s", text, logged.String())
	}
}

func TestRedactorHidesBasicCredentials(t *testing.T) {
	r := secret.NewRedactor(secret.New(key))
	for _, user := range []string{"", "u", "us", "use", "user"} {
		got := r.Redact("Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+key+" "))) // a blank may follow
		head, tail, found := strings.Cut(strings.TrimPrefix(got, "Basic "), "[secret]")
		if !found || len(tail) > 4 || len(head) > len(base64.StdEncoding.EncodeToString([]byte(user+":")))+1 {
			t.Errorf("of user %q: %s", user, got)
		}
	}
}

func TestRedactorHidesEveryForm(t *testing.T) {
	r := secret.NewRedactor(secret.New(key), secret.New("longer-"+key), secret.New("abc"), secret.Value{})
	quoted, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	ascii := canon.AppendStringASCII(nil, key)
	for name, form := range map[string]string{
		"raw": key, "base64": base64.StdEncoding.EncodeToString([]byte(key)), "raw base64": base64.RawStdEncoding.EncodeToString([]byte(key)),
		"URL base64": base64.URLEncoding.EncodeToString([]byte(key)), "hex": hex.EncodeToString([]byte(key)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(key))),
		"query": url.QueryEscape(key), "path": url.PathEscape(key), "JSON": strings.TrimSuffix(strings.TrimPrefix(string(quoted), `"`), `"`), "ASCII JSON": string(ascii[1 : len(ascii)-1]),
		"JSON with slashes": strings.ReplaceAll(string(ascii[1:len(ascii)-1]), "/", `\/`), "inside another": "longer-" + key,
	} {
		if got := r.Redact("<" + form + "> and <" + form + ">"); got != "<[secret]> and <[secret]>" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := r.Redact("the abc of it"); got != "the abc of it" {
		t.Errorf("a secret of three bytes destroyed a text: %q", got)
	}
}
