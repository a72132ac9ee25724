package window

import (
	"strconv"

	"assay/conductor"
	"assay/conductor/profile"
	"assay/core/canon"
	"assay/core/digest"
	"assay/core/fault"
)

// Entry is one line of the schedule that is committed before anybody submits.
type Entry struct {
	Epoch        int64
	PerBenchmark int64
	Minimum      int64
	PoolDigest   string // hexadecimal SHA-256, see PoolDigest
	// Profile and InstructionsDigest are published for every profile, but only a strict entry signs them:
	// the reference's entries have no room for them, and a compatible entry must keep its digest.
	Profile            profile.Profile
	InstructionsDigest string
	// RulesDigest is the hexadecimal SHA-256 of the published line of rules, which so are fixed before anybody submits. Only a
	// strict entry has room for it, and a strict window needs it; "" where nothing is judged, as in the dev kit.
	RulesDigest string
}

// Object returns the entry as the record that is digested and signed.
func (e Entry) Object() canon.Object {
	o := canon.Object{
		"v": 1, "epoch": e.Epoch, "scaffold_version": ScaffoldVersion, "max_steps": MaxSteps, "temperature": Temperature,
		"max_conductor_tokens": MaxConductorTokens, "per_benchmark": e.PerBenchmark, "minimum": e.Minimum, "pool_digest": e.PoolDigest,
	}
	if e.Profile.Strict() {
		o["profile"] = e.Profile.String()
		o["instructions_sha256"] = e.InstructionsDigest
		if e.RulesDigest != "" {
			o["rules_sha256"] = e.RulesDigest
		}
	}
	return o
}

// Digest returns the hexadecimal SHA-256 of the entry's canonical JSON.
func (e Entry) Digest() string {
	d, err := digest.HexOf(e.Object())
	if err != nil {
		panic("window: an entry's texts are checked UTF-8: " + err.Error())
	}
	return d
}

// ParseEntry reads what Object wrote. A text of another shape is conductor.BadEntry; an entry of other constants than ours
// (scaffold, turns, temperature, tokens) conductor.ForeignEntry.
func ParseEntry(text []byte) (Entry, error) {
	o, err := canon.DecodeObject(text)
	if err != nil {
		return Entry{}, conductor.BadEntry.Because(err)
	}
	return entryOf(o)
}

func entryOf(o canon.Object) (Entry, error) {
	e := Entry{Profile: profile.Compat}
	if p, has := o["profile"]; has {
		if p != "strict" { // compat is said by silence
			return Entry{}, conductor.BadEntry.With(fault.Str("member", "profile"))
		}
		e.Profile = profile.Strict
	}
	for name, to := range map[string]*int64{"epoch": &e.Epoch, "per_benchmark": &e.PerBenchmark, "minimum": &e.Minimum} {
		n, ok := whole(o[name])
		if !ok {
			return Entry{}, conductor.BadEntry.With(fault.Str("member", name))
		}
		*to = n
	}
	digests := map[string]*string{"pool_digest": &e.PoolDigest}
	if e.Profile.Strict() {
		digests["instructions_sha256"] = &e.InstructionsDigest
		if _, has := o["rules_sha256"]; has {
			digests["rules_sha256"] = &e.RulesDigest
		}
	}
	for name, to := range digests {
		s, _ := o[name].(string)
		if _, err := digest.Parse[Entry](s); err != nil {
			return Entry{}, conductor.BadEntry.Because(err).With(fault.Str("member", name))
		}
		*to = s
	}
	return e, e.same(o)
}

// same refuses an object that is not the entry's own: a constant that differs, or a member too many.
func (e Entry) same(o canon.Object) error {
	own := e.Object()
	for _, name := range []string{"v", "scaffold_version", "max_steps", "temperature", "max_conductor_tokens"} {
		want, err := canon.ASCII(own[name])
		if err != nil {
			return err
		}
		got, err := canon.ASCII(o[name])
		if err != nil {
			return conductor.BadEntry.Because(err)
		}
		if string(got) != string(want) {
			return conductor.ForeignEntry.With(fault.Str("member", name), fault.Str("here", string(want)), fault.Str("there", string(got)))
		}
	}
	for name := range o {
		if _, ok := own[name]; !ok {
			return conductor.BadEntry.With(fault.Str("member", name))
		}
	}
	return nil
}

// whole reads an integer from 0.
func whole(v any) (int64, bool) {
	if n, ok := v.(int64); ok { // an entry that was just built
		return n, n >= 0
	}
	i, ok := v.(canon.Int)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(string(i), 10, 64)
	return n, err == nil && n >= 0
}

// texts reads a list of texts.
func texts(v any) ([]string, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := make([]string, len(list))
	for i, e := range list {
		if out[i], ok = e.(string); !ok {
			return nil, false
		}
	}
	return out, true
}
