package publication

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor"
	"assay/conductor/profile"
	"assay/core/canon"
)

// Head is what stands at the head of a window record: enough to render prompts.
type Head struct {
	Catalog string // frozen
	Nonce   string
	Profile profile.Profile
}

// ReadHead reads the head of a window record's envelope without its long lists: members stand in the order of their names, and the
// tasks come last. It checks no signature.
func ReadHead(r io.Reader) (Head, error) {
	d := jsontext.NewDecoder(r)
	h := Head{Profile: profile.Compat}
	for range 3 { // {"record":{
		if _, err := d.ReadToken(); err != nil {
			return h, conductor.NotWindowRecord.Because(err)
		}
	}
	for {
		name, err := d.ReadToken()
		if err != nil || name.Kind() != '"' {
			return h, conductor.NotWindowRecord.Because(err)
		}
		member := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return h, conductor.NotWindowRecord.Because(err)
		}
		switch member {
		case "catalog":
			h.Catalog = canon.Text(value)
		case "nonce":
			h.Nonce = canon.Text(value)
		case "schedule":
			if bytes.Contains(value, []byte(`"profile":"strict"`)) {
				h.Profile = profile.Strict
			}
			return h, nil
		}
	}
}
