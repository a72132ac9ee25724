package submission_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay/conductor"
	"assay/conductor/submission"
	"assay/core/fault"
	"assay/core/sign"
	"assay/core/ss58"
)

var miner = sign.NewEd25519([32]byte{7})

func file(path string, size int64, sum byte) submission.File {
	return submission.File{Path: path, Size: size, SHA256: submission.Digest{sum}}
}

func draft(files ...submission.File) submission.Draft {
	if files == nil {
		files = []submission.File{file("sub/2.safetensors", 60, 2), file("config.json", 5, 1)}
	}
	return submission.Draft{Registration: submission.Digest{9}, Hotkey: ss58.Encode(miner.Public()), Files: files}
}

func seal(t testing.TB, d submission.Draft) *submission.Manifest {
	t.Helper()
	m, err := submission.Seal(d, miner)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestManifestBytes(t *testing.T) {
	d := draft()
	d.ModelName = "my.model-1"
	m := seal(t, d)
	text := string(m.Bytes())
	head := `{"files":[{"path":"config.json","sha256":"01` + strings.Repeat("0", 62) + `","size":5},{"path":"sub/2.safetensors","sha256":"02` +
		strings.Repeat("0", 62) + `","size":60}],"hotkey":"` + d.Hotkey + `","model_name":"my.model-1","protocol_version":2,"registration_id":"09` +
		strings.Repeat("0", 62) + `","signature":"`
	tree := sum("config.json\x005\x00\x01" + strings.Repeat("\x00", 31) + "sub/2.safetensors\x0060\x00\x02" + strings.Repeat("\x00", 31))
	tail := `","signature_scheme":"ed25519","tree_digest":"` + hex.EncodeToString(tree[:]) + `"}`
	if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) || len(text) != len(head)+128+len(tail) {
		t.Errorf("%s\nis not\n%s…%s", text, head, tail)
	}
	if m.Size() != 65 || m.ModelName() != d.ModelName || m.Hotkey() != d.Hotkey || m.Registration() != d.Registration {
		t.Errorf("%d %s %s", m.Size(), m.ModelName(), m.Hotkey())
	}
}

// TestTreeDigest computes the digest of two files by hand.
func TestTreeDigest(t *testing.T) {
	one := submission.File{Path: "a", Size: 12, SHA256: submission.Digest{0xff}}
	two := submission.File{Path: "b/c", Size: 0, SHA256: submission.Digest{}}
	want := submission.Digest(sum("a\x0012\x00\xff" + strings.Repeat("\x00", 31) + "b/c\x000\x00" + strings.Repeat("\x00", 32)))
	if got := submission.TreeDigest([]submission.File{one, two}); got != want {
		t.Errorf("%x, want %x", got, want)
	}
	moved := []submission.File{{Path: "a", Size: 1, SHA256: one.SHA256}, two}
	if submission.TreeDigest(moved) == want {
		t.Error("a size is not covered")
	}
}

func TestManifestComesBack(t *testing.T) {
	m := seal(t, draft())
	back, err := submission.Parse(m.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m.Files(), back.Files()); diff != "" || back.Digest() != m.Digest() || back.Tree() != m.Tree() || back.Files()[0].Path != "config.json" {
		t.Error(diff)
	}
	for i := range m.Bytes() {
		for _, bit := range []byte{1, 0x20} {
			altered := bytes.Clone(m.Bytes())
			altered[i] ^= bit
			if _, err := submission.Parse(altered); err == nil {
				t.Fatalf("byte %d altered: %s is taken", i, altered)
			}
		}
	}
}

func TestManifestRefusals(t *testing.T) {
	good := string(seal(t, draft()).Bytes())
	sig := good[strings.Index(good, `"signature":"`)+13:][:128]
	for name, c := range map[string]struct {
		old, new string
		want     fault.Code
	}{
		"a version of its own":   {`"protocol_version":1`, `"protocol_version":2`, conductor.BadManifest},
		"another scheme":         {`"ed25519"`, `"sr25519"`, conductor.BadManifest},
		"an unknown member":      {`{"files"`, `{"extra":1,"files"`, conductor.BadManifest},
		"a blank":                {`{"files":`, `{"files": `, conductor.BadManifest},
		"a line end behind it":   {`"}`, "\"}\n", conductor.BadManifest},
		"another tree digest":    {`"tree_digest":"`, `"tree_digest":"0`, conductor.BadManifest},
		"upper-case digits":      {sig, strings.ToUpper(sig), conductor.BadManifest},
		"a signature of nothing": {sig, strings.Repeat("0", 128), conductor.ManifestForged},
		"no signature":           {sig, "", conductor.ManifestForged},
		"another registration":   {`"registration_id":"09`, `"registration_id":"08`, conductor.ManifestForged},
		"another hotkey":         {ss58.Encode(miner.Public()), ss58.Encode(sign.NewEd25519([32]byte{8}).Public()), conductor.ManifestForged},
		"no hotkey":              {ss58.Encode(miner.Public()), "5x", conductor.BadManifest},
		"a size as text":         {`"size":5`, `"size":"5"`, conductor.BadManifest},
		"a size with a point":    {`"size":5`, `"size":5.0`, conductor.BadManifest},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		if text == good {
			t.Fatalf("%s: nothing was changed", name)
		}
		if m, err := submission.Parse([]byte(text)); fault.Of(err) != c.want || m != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := submission.Parse(bytes.Repeat([]byte(" "), submission.MaxManifest+1)); fault.Of(err) != conductor.BadManifest {
		t.Errorf("a long text: %v", err)
	}
	d := draft()
	if _, err := submission.Seal(d, sign.NewEd25519([32]byte{8})); fault.Of(err) != conductor.BadManifest {
		t.Errorf("another signer: %v", err)
	}
}

func TestBehaviourK10_Paths(t *testing.T) {
	for name, files := range map[string][]submission.File{
		"absolute": {file("/a", 1, 1)}, "up": {file("../a", 1, 1)}, "up inside": {file("a/../b", 1, 1)}, "dot": {file("./a", 1, 1)},
		"empty": {file("", 1, 1)}, "itself": {file(".", 1, 1)}, "double slash": {file("a//b", 1, 1)}, "ends in a slash": {file("a/", 1, 1)},
		"backslash": {file(`a\b`, 1, 1)}, "unprintable": {file("a\x07", 1, 1)}, "not UTF-8": {file("a\xff", 1, 1)}, "long": {file(strings.Repeat("a", 513), 1, 1)},
		"duplicate": {file("a", 1, 1), file("b", 1, 1), file("a", 1, 1)}, "file and folder": {file("a", 1, 1), file("a-b", 1, 1), file("a/b/c", 1, 1)},
		"file and deep folder": {file("a/b", 1, 1), file("a/b/c/d", 1, 1)},
		"the manifest":         {file("manifest.json", 1, 1)}, "the funding": {file("openrouter/key.json", 1, 1)}, "the marker": {file(".verified", 1, 1)},
	} {
		if _, err := submission.Seal(draft(files...), miner); fault.Of(err) != conductor.BadPath {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, files := range map[string][]submission.File{
		"no files": {}, "negative size": {file("a", -1, 1)}, "too large together": {file("a", 1<<61, 1), file("b", 1<<62, 1)},
		"too many": make([]submission.File, submission.MaxFiles+1),
	} {
		if _, err := submission.Seal(draft(files...), miner); fault.Of(err) != conductor.BadManifest {
			t.Errorf("%s: %v", name, err)
		}
	}
	seal(t, draft(file("sub/manifest.json", 1, 1), file("a/openrouter/x", 0, 1), file("größe", 1, 1)))
}

func TestBehaviourK12_ModelName(t *testing.T) {
	for _, name := range []string{"abc", "0.a", "a--", "a_b.c-d", strings.Repeat("a", 40), "thirtyspokes", "thirtyspoke-s"} {
		d := draft()
		d.ModelName = name
		if m := seal(t, d); !strings.Contains(string(m.Bytes()), `"protocol_version":2`) {
			t.Errorf("%s: %s", name, m.Bytes())
		}
	}
	for _, name := range []string{"ab", "-ab", ".ab", "aB", "a b", "a/b", "äbc", "abc\n", strings.Repeat("a", 41), "thirtyspokes-", "thirtyspokes-genesis"} {
		d := draft()
		d.ModelName = name
		if _, err := submission.Seal(d, miner); fault.Of(err) != conductor.BadModelName {
			t.Errorf("%q: %v", name, err)
		}
	}
	if text := string(seal(t, draft()).Bytes()); !strings.Contains(text, `"protocol_version":1`) || strings.Contains(text, "model_name") {
		t.Errorf("without a name: %s", text)
	}
}

func TestZeroManifestIsEmpty(t *testing.T) {
	var zero submission.Manifest
	if len(zero.Bytes()) != 0 || zero.Files() != nil || zero.Size() != 0 {
		t.Errorf("%+v", zero)
	}
	if _, err := submission.Parse(zero.Bytes()); fault.Of(err) != conductor.BadManifest {
		t.Errorf("parsed: %v", err)
	}
}

// lying signs what nobody asked for.
type lying struct{ sign.Signer }

func (l lying) Sign([]byte) ([]byte, error) { return l.Signer.Sign([]byte("something else")) }

func TestSealLetsNoBadSignatureOut(t *testing.T) {
	if m, err := submission.Seal(draft(), lying{miner}); fault.Of(err) != sign.SignerFailed || m != nil {
		t.Errorf("%v", err)
	}
}

// TestOrderOfFilesDoesNotShow: the same files in any order are the same artifact.
func TestOrderOfFilesDoesNotShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var files []submission.File
		for i := range rapid.IntRange(1, 6).Draw(t, "n") {
			files = append(files, file(fmt.Sprintf("%c/%d", 'a'+i%3, i), int64(i), byte(i)))
		}
		one, err := submission.Seal(draft(files...), miner)
		if err != nil {
			t.Fatal(err)
		}
		two, err := submission.Seal(draft(rapid.Permutation(files).Draw(t, "order")...), miner)
		if err != nil || !bytes.Equal(one.Bytes(), two.Bytes()) {
			t.Fatalf("%v", err)
		}
	})
}

// FuzzParse holds that what is read is what would be written, and that nothing unsigned is read.
func FuzzParse(f *testing.F) {
	f.Add(seal(f, draft()).Bytes())
	named := draft()
	named.ModelName = "abc"
	f.Add(seal(f, named).Bytes())
	f.Add([]byte(`{"files":[{"path":"a","sha256":"","size":1}],"protocol_version":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := submission.Parse(text)
		if err != nil {
			return
		}
		if !bytes.Equal(m.Bytes(), text) {
			t.Errorf("%s is read as %s", text, m.Bytes())
		}
		if tree := m.Tree(); !strings.Contains(string(text), hex.EncodeToString(tree[:])) {
			t.Errorf("tree %x", tree)
		}
	})
}
