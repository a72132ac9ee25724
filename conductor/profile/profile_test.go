package profile_test

import (
	"testing"

	"assay/conductor"
	"assay/conductor/profile"
	"assay/core/fault"
)

func TestProfilesReadBack(t *testing.T) {
	for _, p := range []profile.Profile{profile.Strict, profile.Compat} {
		if back, err := profile.Parse(p.String()); err != nil || back != p {
			t.Errorf("%v reads back as %v: %v", p, back, err)
		}
	}
	var zero profile.Profile
	if zero != profile.Strict {
		t.Error("the default is not strict")
	}
	for p := range profile.Profile(4) {
		if p.Strict() != (p != profile.Compat) {
			t.Errorf("profile %d: strict %v", p, p.Strict())
		}
	}
	for _, s := range []string{"", "Strict", "compat ", "lenient"} {
		if _, err := profile.Parse(s); fault.Of(err) != conductor.UnknownProfile {
			t.Errorf("%q: %v", s, err)
		}
	}
}
