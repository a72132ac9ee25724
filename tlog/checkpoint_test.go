package tlog_test

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/core/fault"
	"assay/core/sign"
	"assay/tlog"
)

// line is a signature line of some key.
func line(name string, id uint32, sig string) string {
	raw := append(binary.BigEndian.AppendUint32(nil, id), sig...)
	return "— " + name + " " + base64.StdEncoding.EncodeToString(raw) + "\n"
}

// split returns a note's text, with its empty line, and its signature line.
func split(text []byte) (body, own string) {
	at := strings.Index(string(text), "\n\n") + 2
	return string(text[:at]), string(text[at:])
}

var three = tlog.Checkpoint{Origin: origin, Size: 3, Root: tlog.RootOf(hashes(0, 3))}

func TestFault80_TheLogsLineIsFoundByNameAndKey(t *testing.T) {
	body, own := split(note(three, signer))
	other := pin(origin, attacker)
	foreign := line(origin, other.ID(), strings.Repeat("s", 64)) // the log's name, a key nobody pinned
	witnesses := line("witness.example/a", 1, "first") + line("witness.example/b", 2, "second")
	for name, c := range map[string]struct {
		sigs string
		code fault.Code
		far  []string
	}{
		"alone":                         {own, fault.Code{}, nil},
		"behind two witnesses":          {witnesses + own, fault.Code{}, []string{"witness.example/a", "witness.example/b"}},
		"between":                       {line("w", 3, "x") + own + line("v", 4, "y"), fault.Code{}, []string{"w", "v"}},
		"behind an unknown key":         {foreign + own, fault.Code{}, []string{origin}},
		"unknown key with its name":     {foreign, tlog.NotSigned, nil},
		"witnesses only":                {witnesses, tlog.NotSigned, nil},
		"its key, another signature":    {line(origin, pinned.ID(), strings.Repeat("s", 64)), tlog.NotSigned, nil},
		"its key, no signature":         {line(origin, pinned.ID(), "s"), tlog.NotSigned, nil},
		"10,000 lines":                  {strings.Repeat(line("w", 3, "x"), 10_000) + own, tlog.TooManyLines, nil},
		"65 lines":                      {strings.Repeat(line("w", 3, "x"), 64) + own, tlog.TooManyLines, nil},
		"64 lines":                      {strings.Repeat(line("w", 3, "x"), 63) + own, fault.Code{}, []string{"w"}},
		"few long lines":                {line("w", 3, strings.Repeat("x", 1<<16)) + own, tlog.TooManyLines, nil},
		"no signatures":                 {"", tlog.BadCheckpoint, nil},
		"a line that is no signature":   {own + "hello\n", tlog.BadCheckpoint, nil},
		"a cut last line":               {strings.TrimSuffix(own, "\n"), tlog.BadCheckpoint, nil},
		"a signature's second spelling": {strings.Replace(own, "=\n", "\n", 1), tlog.BadCheckpoint, nil},
	} {
		s, err := tlog.Open([]byte(body+c.sigs), pinned, tlog.Limits{})
		var far []string
		for _, o := range s.Cosignatures() {
			far = append(far, o.Name)
		}
		if fault.Of(err) != c.code || cmp.Diff(far, c.far) != "" {
			t.Errorf("%s: %v, others %q", name, err, far)
		}
		if err == nil && (s.Checkpoint() != three || string(s.Note()) != body+c.sigs) {
			t.Errorf("%s: %+v", name, s)
		}
	}
	w := line("witness.example/a", 1, "first")
	s := open(t, []byte(body+w+own))
	if got := s.Cosignatures()[0]; got.KeyID != 1 || string(got.Signature) != "first" {
		t.Errorf("%+v", got)
	}
	if _, err := tlog.Open([]byte(body+w+w+w+own), pinned, tlog.Limits{Lines: 3}); fault.Of(err) != tlog.TooManyLines {
		t.Errorf("four lines of three: %v", err)
	}
}

func TestACheckpointHasOneSpelling(t *testing.T) {
	root := three.Root.String()
	for _, text := range []string{
		origin + "\n03\n" + root + "\n", origin + "\n+3\n" + root + "\n", origin + "\n-3\n" + root + "\n", origin + "\n\n" + root + "\n",
		origin + "\n99999999999999999999\n" + root + "\n", origin + "\n4611686018427387905\n" + root + "\n", "\n3\n" + root + "\n",
		origin + "\n3\n" + root[:40] + "\n", origin + "\n3\n" + root[:42] + second(root[42]) + "=\n", origin + "\n3\n" + root + "\nextension\n",
		origin + "\n3\n", origin + "\n0\n" + root + "\n", origin + " \n3\n" + root + "\n",
	} {
		if _, err := tlog.Open(signText(text), pinned, tlog.Limits{}); fault.Of(err) != tlog.BadCheckpoint {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := tlog.Open(signText(three.Text()), pinned, tlog.Limits{}); err != nil {
		t.Errorf("the only spelling: %v", err)
	}
}

// second returns the base64 digit that differs from another only in a bit that stands for nothing.
func second(digit byte) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	return string(digits[strings.IndexByte(digits, digit)^1])
}

// signText signs any text with the pinned key.
func signText(text string) []byte {
	sig, err := signer.Sign([]byte(text))
	if err != nil {
		panic(err)
	}
	return []byte(text + "\n" + line(origin, pinned.ID(), string(sig)))
}

func TestFault79_OnlyASignedRootProvesAnything(t *testing.T) {
	r, err := tlog.OpenReader(build(leaf, 5), pinned, tlog.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	good, err := r.Proof(2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := good.Check(pinned, tlog.Limits{}); err != nil {
		t.Fatalf("the log's own proof: %v", err)
	}
	// The attacker's tree of the same size, with another third leaf and a valid path to its own root.
	own := hashes(0, 5)
	own[2] = tlog.LeafHash([]byte("forged"))
	root := tlog.RootOf(own)
	forged := tlog.Proof{Index: 2, Leaf: []byte("forged"), Hashes: good.Hashes}
	for name, c := range map[string]struct {
		checkpoint []byte
		code       fault.Code
	}{
		"none":                            {nil, tlog.NoCheckpoint},
		"signed by the attacker":          {note(tlog.Checkpoint{Origin: origin, Size: 5, Root: root}, attacker), tlog.NotSigned},
		"another log's, same size":        {note(tlog.Checkpoint{Origin: "example.com/other", Size: 5, Root: root}, attacker), tlog.NotSigned},
		"another log's with the same key": {note(tlog.Checkpoint{Origin: "example.com/other", Size: 5, Root: root}, signer), tlog.NotSigned},
		"another log's text, this name":   {signText("example.com/other\n5\n" + root.String() + "\n"), tlog.OtherLog},
		"not signed":                      {[]byte(tlog.Checkpoint{Origin: origin, Size: 5, Root: root}.Text() + "\n"), tlog.BadCheckpoint},
		"the log's":                       {good.Checkpoint, tlog.ProofFails},
	} {
		forged.Checkpoint = c.checkpoint
		if _, err := forged.Check(pinned, tlog.Limits{}); fault.Of(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code.Name())
		}
		parsed, err := tlog.ParseProof(forged.Marshal())
		if (err == nil) != (c.checkpoint != nil) || c.checkpoint == nil && fault.Of(err) != tlog.NoCheckpoint {
			t.Errorf("%s: parsed as %+v, %v", name, parsed, err)
		}
	}
	if err := tlog.CheckInclusion(tlog.Signed{}, 2, leaf(2), good.Hashes); fault.Of(err) != tlog.NoCheckpoint {
		t.Errorf("under the zero checkpoint: %v", err)
	}
	if err := tlog.CheckConsistency(tlog.Signed{}, r.Signed(), nil); fault.Of(err) != tlog.NoCheckpoint {
		t.Errorf("growth from the zero checkpoint: %v", err)
	}
	if _, err := tlog.Open(good.Checkpoint, tlog.VerifierKey{}, tlog.Limits{}); fault.Of(err) != tlog.NoCheckpoint {
		t.Errorf("under the zero key: %v", err)
	}
}

type badSigner struct {
	sign.Signer
	err error
}

func (b badSigner) Sign([]byte) ([]byte, error) { return make([]byte, 64), b.err }

func TestASignersWordIsChecked(t *testing.T) {
	for _, err := range []error{nil, errors.New("the card was pulled")} {
		if _, got := three.Sign(badSigner{signer, err}); fault.Of(got) != sign.SignerFailed {
			t.Errorf("signer that answers %v: %v", err, got)
		}
	}
	for _, c := range []tlog.Checkpoint{{Origin: origin, Size: -1}, {Origin: origin, Size: 1 << 60}} {
		if _, err := c.Sign(signer); fault.Of(err) != tlog.BadCheckpoint {
			t.Errorf("size %d: %v", c.Size, err)
		}
	}
	if _, err := (tlog.Checkpoint{Origin: "a b"}).Sign(signer); fault.Of(err) != tlog.BadKey {
		t.Errorf("an origin with a blank: %v", err)
	}
}

func TestProofsHaveOneSpelling(t *testing.T) {
	r, err := tlog.OpenReader(build(leaf, 7), pinned, tlog.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Proof(4)
	if err != nil {
		t.Fatal(err)
	}
	text := string(p.Marshal())
	if again, err := tlog.ParseProof([]byte(text)); err != nil || cmp.Diff(again, p) != "" {
		t.Errorf("%+v, %v", again, err)
	}
	for _, bad := range []string{
		"", text[:20], "x" + text, strings.Replace(text, "index 4", "index 04", 1), strings.Replace(text, "index 4", "index -4", 1),
		strings.Replace(text, "index 4\n", "", 1), strings.Replace(text, "extra ", "extra", 1), strings.Replace(text, "extra ", "extra \r", 1),
		strings.Replace(text, "\n", "\nextra \n", 1), strings.Replace(text, "index 4\n", "index 4\n"+strings.Repeat(three.Root.String()+"\n", 64), 1),
		strings.Replace(text, "index 4\n", "index 4\nAAAA\n", 1), strings.Repeat("x", 1<<20),
	} {
		if _, err := tlog.ParseProof([]byte(bad)); fault.Of(err) != tlog.BadProof {
			t.Errorf("%.60q: %v", bad, err)
		}
	}
	g, err := r.Growth(3)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Check(open(t, note(three, signer)), r.Signed()); err != nil {
		t.Errorf("growth: %v", err)
	}
	lines := string(g.Marshal())
	if again, err := tlog.ParseGrowth([]byte(lines)); err != nil || cmp.Diff(again, g) != "" {
		t.Errorf("%+v, %v", again, err)
	}
	for _, bad := range []string{"", lines + "\n", lines + "x", "x" + lines, strings.Replace(lines, "older 3", "older 3 ", 1), strings.Replace(lines, "newer", "never", 1)} {
		if _, err := tlog.ParseGrowth([]byte(bad)); fault.Of(err) != tlog.BadProof {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestGrowthOfAnotherHistoryIsRefused(t *testing.T) {
	r, err := tlog.OpenReader(build(leaf, 9), pinned, tlog.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	forked := func(size int) tlog.Signed {
		h := hashes(0, size)
		h[0] = tlog.LeafHash([]byte("rewritten"))
		return open(t, note(tlog.Checkpoint{Origin: origin, Size: int64(size), Root: tlog.RootOf(h)}, signer))
	}
	for older := range 10 {
		g, err := r.Growth(int64(older))
		if err != nil {
			t.Fatal(err)
		}
		was := open(t, note(tlog.Checkpoint{Origin: origin, Size: int64(older), Root: tlog.RootOf(hashes(0, older))}, signer))
		if err := g.Check(was, r.Signed()); err != nil {
			t.Errorf("from %d: %v", older, err)
		}
		if older > 0 {
			if err := g.Check(forked(older), r.Signed()); fault.Of(err) != tlog.ProofFails {
				t.Errorf("from a forked %d: %v", older, err)
			}
		}
		if err := g.Check(was, was); older < 9 && fault.Of(err) != tlog.ProofFails {
			t.Errorf("to another size: %v", err)
		}
	}
	for _, older := range []int64{-1, 10} {
		if _, err := r.Growth(older); fault.Of(err) != tlog.NoEntry {
			t.Errorf("from %d: %v", older, err)
		}
	}
	small := open(t, note(three, signer))
	if err := tlog.CheckConsistency(r.Signed(), small, nil); fault.Of(err) != tlog.NoEntry {
		t.Errorf("a log that shrank: %v", err)
	}
	other, err := tlog.Open(note(tlog.Checkpoint{Origin: "b", Size: 3, Root: three.Root}, signer), pin("b", signer), tlog.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tlog.CheckConsistency(other, r.Signed(), nil); fault.Of(err) != tlog.OtherLog {
		t.Errorf("growth of another log: %v", err)
	}
}

func ExampleCheckpoint_Sign() {
	c := tlog.Checkpoint{Origin: "example.com/log", Size: 0, Root: tlog.EmptyRoot()}
	text, _ := c.Sign(sign.NewEd25519([32]byte{7}))
	fmt.Print(string(text))
	// Output:
	// example.com/log
	// 0
	// 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=
	//
	// — example.com/log 9eg4GrzcSlKZicn5T2MR+sGxKl6TKYiwN7HuAXxrcRd/jSQIKJeDrG11awutQ3DzZfuRWmxzTH76zsOfyaqDcxNAbQM=
}
