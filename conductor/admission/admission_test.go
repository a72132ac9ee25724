package admission_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay/conductor"
	"assay/conductor/admission"
	"assay/conductor/profile"
	"assay/core/fault"
)

var profiles = []profile.Profile{profile.Strict, profile.Compat}

const goodConfig = `{"model_type":"toy","architectures":["Toy"],"text_config":{"num_hidden_layers":2,"hidden_size":4,
"num_experts":4,"num_experts_per_tok":2,"rope_parameters":{"rope_theta":10000.0,"rope_type":"default",
"partial_rotary_factor":0.25,"mrope_section":[2,1,1]}},"note":1}`

const (
	shardA = `{"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},"a":{"dtype":"F32","shape":[],"data_offsets":[12,16]}}`
	shardB = `{"c":{"dtype":"I64","shape":[2],"data_offsets":[0,16]}}`
)

// weight returns the bytes of a weight file with n bytes of data.
func weight(header string, n int) string {
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return string(length) + header + strings.Repeat("\x00", n)
}

// good returns a tree that defines the reference of these tests, with the changes laid over it. An empty text with the
// key's first letter "-" removes a file.
func good(changes map[string]string) fstest.MapFS {
	files := map[string]string{
		"config.json": goodConfig, "tokenizer.json": "{}", "tokenizer_config.json": `{"a":1}`,
		"1.safetensors": weight(shardA, 16), "sub/2.safetensors": weight(shardB, 16),
		"README.md": "weights", "LICENSE": "free",
	}
	maps.Copy(files, changes)
	m := fstest.MapFS{}
	for p, text := range files {
		if name, gone := strings.CutPrefix(p, "-"); gone {
			delete(m, name)
		} else if _, gone := files["-"+p]; !gone {
			m[p] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return m
}

func reference(t testing.TB) *admission.Reference {
	t.Helper()
	ref, err := admission.ReadReference(good(nil), profile.Strict)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// refusal is what Admit says, as "kind subject".
func refusal(t testing.TB, tree fs.FS, p profile.Profile) string {
	t.Helper()
	v, err := admission.Admit(tree, reference(t), p)
	if err != nil {
		t.Fatal(err)
	}
	if v.Admitted() {
		return "admitted"
	}
	return strings.TrimSpace(string(v.Refusal().Kind) + " " + v.Refusal().Subject)
}

type change map[string]string

// want checks one changed tree in both profiles; strict is compat when left out.
type want struct {
	name, compat, strict string
	change               change
}

func check(t *testing.T, rows []want) {
	t.Helper()
	for _, r := range rows {
		if r.strict == "" {
			r.strict = r.compat
		}
		for p, want := range map[profile.Profile]string{profile.Compat: r.compat, profile.Strict: r.strict} {
			t.Run(r.name+"/"+p.String(), func(t *testing.T) {
				if got := refusal(t, good(r.change), p); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		}
	}
}

func config(old, new string) change {
	if !strings.Contains(goodConfig, old) {
		panic("the test's config holds no " + old)
	}
	return change{"config.json": strings.Replace(goodConfig, old, new, 1)}
}

func TestBehaviourM1_reference_tree_is_admitted(t *testing.T) {
	for _, p := range profiles {
		ref, err := admission.ReadReference(good(nil), p)
		if err != nil {
			t.Fatal(err)
		}
		v, err := admission.Admit(good(nil), ref, p)
		if err != nil || !v.Admitted() || v.Err() != nil {
			t.Errorf("%s: %+v %v", p, v, err)
		}
	}
	if (admission.Verdict{}).Admitted() || (admission.Verdict{}).Err() == nil {
		t.Error("the zero verdict admits")
	}
}

func TestBehaviourM2_pickles(t *testing.T) {
	check(t, []want{
		{"bin", "pickle_archive x/pytorch_model.bin", "", change{"x/pytorch_model.bin": "", "config.json": "broken"}},
		{"pt", "pickle_archive a.PT", "", change{"a.PT": ""}},
		{"pth", "pickle_archive a.Pth", "", change{"a.Pth": ""}},
		{"before code", "pickle_archive z.bin", "", change{"z.bin": "", "a.py": ""}},
		{"paths by component", "pickle_archive a/z.bin", "", change{"a/z.bin": "", "a.bin": ""}},
		{"dotfile", "admitted", "pickle_archive .bin", change{".bin": ""}},
		{"suffix in the middle", "admitted", "unknown_file_type m.bin.bak", change{"m.bin.bak": ""}},
		{"a letter that lowers to i", "admitted", "unknown_file_type a.bİn", change{"a.bİn": ""}},
	})
	v, err := admission.Admit(good(change{"a/b.bin": ""}), reference(t), profile.Strict)
	if err != nil || v.Refusal().Text != "pickle archive refused: a/b.bin" {
		t.Errorf("text %q, %v", v.Refusal().Text, err)
	}
	if fault.Of(v.Err()) != conductor.Refused {
		t.Errorf("error %v", v.Err())
	}
}

func TestBehaviourM3_code(t *testing.T) {
	check(t, []want{
		{"py", "bundled_code modeling.py", "", change{"modeling.py": "", "config.json": "broken"}},
		{"pyc", "bundled_code a/b.PYC", "", change{"a/b.PYC": ""}},
		{"so", "bundled_code lib.so", "", change{"lib.so": ""}},
		{"pyd", "bundled_code lib.pyd", "", change{"lib.pyd": ""}},
		{"dotfile", "admitted", "bundled_code .py", change{".py": ""}},
		{"versioned library", "admitted", "unknown_file_type lib.so.1", change{"lib.so.1": ""}},
		{"upper-case weights", "admitted", "unknown_file_type e.SAFETENSORS", change{"e.SAFETENSORS": "x"}},
	})
}

func TestBehaviourM4_directory_named_like_a_pickle(t *testing.T) {
	check(t, []want{{"dir", "admitted", "", change{"x.bin/notes.txt": "", "y.py/LICENSE": ""}}})
}

func TestBehaviourM5_custom_code(t *testing.T) {
	check(t, []want{
		{"top", "custom_code_config auto_map", "", config(`"note":1`, `"auto_map":{}`)},
		{"false", "custom_code_config trust_remote_code", "", config(`"note":1`, `"trust_remote_code":false`)},
		{"deep", "custom_code_config custom_pipelines", "", config(`[2,1,1]`, `{"x":{"custom_pipelines":null}}`)},
		{"before the architecture", "custom_code_config auto_map", "", config(`{"model_type":"toy"`, `{"auto_map":1,"model_type":"x"`)},
		{"in a list", "admitted", "custom_code_config auto_map", config(`"note":1`, `"note":[[{"auto_map":{}}]]`)},
	})
}

func TestBehaviourM6_config_unreadable(t *testing.T) {
	check(t, []want{
		{"missing", "config_missing", "", change{"-config.json": ""}},
		{"in a folder only", "config_missing", "", change{"-config.json": "", "a/config.json": goodConfig}},
		{"empty", "config_not_json", "", change{"config.json": ""}},
		{"cut", "config_not_json", "", change{"config.json": goodConfig[:40]}},
		{"list", "config_not_json", "", change{"config.json": "[]"}},
		{"null", "config_not_json", "", change{"config.json": "null"}},
		{"text behind", "config_not_json", "", change{"config.json": goodConfig + "x"}},
		{"repeated key", "admitted", "duplicate_key config.json", config(`"note":1`, `"note":1,"note":2`)},
		{"repeated key in a block", "admitted", "duplicate_key config.json", config(`"hidden_size":4`, `"hidden_size":9,"hidden_size":4`)},
		{"large", "admitted", "oversized_file config.json", change{"config.json": goodConfig + strings.Repeat(" ", 1<<20)}},
	})
}

func TestBehaviourM7_harmless_keys(t *testing.T) {
	check(t, []want{
		{"extra", "admitted", "", config(`"note":1`, `"transformers_version":"9","vision_config":{"hidden_size":7}`)},
		{"inner model_type", "admitted", "", config(`"num_experts":4`, `"num_experts":4,"model_type":"inner"`)},
	})
}

func TestBehaviourM8_architecture(t *testing.T) {
	check(t, []want{
		{"changed", "architecture_mismatch text_config.hidden_size", "", config(`"hidden_size":4`, `"hidden_size":5`)},
		{"absent", "architecture_mismatch model_type", "", config(`"model_type":"toy",`, ``)},
		{"added", "architecture_mismatch intermediate_size", "", config(`"note":1`, `"intermediate_size":null`)},
		{"moved up", "architecture_mismatch num_experts", "", config(`"num_experts":4,`, ``).and(`"note":1`, `"num_experts":4`)},
		{"block is a list", "architecture_mismatch text_config.hidden_size", "", change{"config.json": `{"model_type":"toy","architectures":["Toy"],"text_config":[]}`}},
		{"list grew", "architecture_mismatch architectures", "", config(`["Toy"]`, `["Toy","X"]`)},
		{"4 and 4.0", "admitted", "architecture_mismatch text_config.hidden_size", config(`"hidden_size":4`, `"hidden_size":4.0`)},
		{"1 and true", "admitted", "architecture_mismatch text_config.rope_parameters.mrope_section", config(`[2,1,1]`, `[2,true,1]`)},
		{"4 and a text", "architecture_mismatch text_config.hidden_size", "", config(`"hidden_size":4`, `"hidden_size":"4"`)},
		{"many digits", "architecture_mismatch text_config.hidden_size", "", config(`"hidden_size":4`, `"hidden_size":`+strings.Repeat("4", 5000))},
	})
	v, err := admission.Admit(good(config(`"model_type":"toy",`, ``)), reference(t), profile.Strict)
	if want := `architecture mismatch: model_type is <absent>, the reference has "toy"`; err != nil || v.Refusal().Text != want {
		t.Errorf("text %q, %v; want %q", v.Refusal().Text, err, want)
	}
}

func (c change) and(old, new string) change {
	return change{"config.json": strings.Replace(c["config.json"], old, new, 1)}
}

func TestBehaviourM9_fields_that_change_no_tensor(t *testing.T) {
	check(t, []want{
		{"per tok", "architecture_mismatch text_config.num_experts_per_tok", "", config(`"num_experts_per_tok":2`, `"num_experts_per_tok":3`)},
		{"theta", "architecture_mismatch text_config.rope_parameters.rope_theta", "", config(`10000.0`, `1e5`)},
		{"type", "architecture_mismatch text_config.rope_parameters.rope_type", "", config(`"default"`, `"yarn"`)},
		{"factor", "architecture_mismatch text_config.rope_parameters.partial_rotary_factor", "", config(`0.25`, `0.5`)},
		{"sections", "architecture_mismatch text_config.rope_parameters.mrope_section", "", config(`[2,1,1]`, `[1,2,1]`)},
	})
}

// header replaces the first shard's header; n is its data's length.
func header(h string, n int) change { return change{"1.safetensors": weight(h, n)} }

func TestBehaviourM10_tensors(t *testing.T) {
	const b = `"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]}`
	const a = `"a":{"dtype":"F32","shape":[],"data_offsets":[12,16]}`
	check(t, []want{
		{"extra", "extra_tensor zz", "", header(`{`+b+`,`+a+`,"zz":{"dtype":"U8","shape":[1],"data_offsets":[16,17]}}`, 17)},
		{"missing", "missing_tensor a", "", header(`{`+b+`}`, 12)},
		{"reshaped", "reshaped_tensor b", "", header(`{"b":{"dtype":"BF16","shape":[3,2],"data_offsets":[0,12]},`+a+`}`, 16)},
		{"dtype", "wrong_dtype b", "", header(`{"b":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]},`+a+`}`, 16)},
		{"smallest name", "missing_tensor a", "", header(`{"aa":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1)},
		{"dimension as a float", "admitted", "loose_header 1.safetensors", header(`{`+strings.Replace(b, "3]", "3.0]", 1)+`,`+a+`}`, 16)},
	})
}

func TestBehaviourM11_duplicate_tensor(t *testing.T) {
	check(t, []want{
		{"two shards", "duplicate_tensor c", "", change{"3.safetensors": weight(shardB, 16)}},
		{"one shard", "admitted", "duplicate_key sub/2.safetensors", change{"sub/2.safetensors": weight(`{"c":{},`+shardB[1:], 16)}},
	})
}

func TestBehaviourM12_no_weight_file(t *testing.T) {
	check(t, []want{
		{"none", "no_weight_file", "", change{"-1.safetensors": "", "-sub/2.safetensors": ""}},
		{"a directory only", "no_weight_file", "", change{"-1.safetensors": "", "-sub/2.safetensors": "", "d.safetensors/README.md": ""}},
	})
}

func TestBehaviourM13_malformed_weight_file(t *testing.T) {
	rows := []want{}
	for name, bytes := range map[string]string{
		"empty": "", "short": "abc", "length 0": "\x00\x00\x00\x00\x00\x00\x00\x00", "past the end": "\x03\x00\x00\x00\x00\x00\x00\x00{}",
		"over the cap": string([]byte{1, 0xe1, 0xf5, 5, 0, 0, 0, 0}) + "{}", "negative": "\xff\xff\xff\xff\xff\xff\xff\xff{}",
		"junk": weight("not json", 0), "list": weight("[]", 0), "null": weight("null", 0), "cut": weight(`{"a":`, 0),
		"text behind": weight("{}x", 0), "NUL behind": weight("{}\x00", 0), "no dtype": weight(`{"z":{"shape":[1]}}`, 0),
		"no shape": weight(`{"z":{"dtype":"F32"}}`, 0), "shape no list": weight(`{"z":{"dtype":"F32","shape":3}}`, 0),
		"tensor no object": weight(`{"z":[1]}`, 0), "dtype no text": weight(`{"z":{"dtype":1,"shape":[]}}`, 0),
		"half a dimension": weight(`{"z":{"dtype":"F32","shape":[1.5]}}`, 0), "bad utf-8": weight("{\"\xff\":1}", 0),
		"rank": weight(`{"z":{"dtype":"F32","shape":[1`+strings.Repeat(",1", 64)+`]}}`, 0),
	} {
		rows = append(rows, want{name, "malformed_weight_file 0.safetensors", "", change{"0.safetensors": bytes}})
	}
	check(t, rows)
	check(t, []want{
		{"blanks behind", "admitted", "bad_offsets 0.safetensors", change{"0.safetensors": weight("{}   ", 5)}},
		{"blanks before", "admitted", "loose_header 0.safetensors", change{"0.safetensors": weight("  {}", 0)}},
	})
}

func TestBehaviourM14_tokenizer(t *testing.T) {
	check(t, []want{
		{"one byte", "tokenizer_mismatch", "", change{"tokenizer.json": "{ }"}},
		{"other file", "tokenizer_mismatch", "", change{"tokenizer_config.json": `{"a":2}`}},
		{"byte moved", "tokenizer_mismatch", "", change{"tokenizer.json": "{}{", "tokenizer_config.json": `"a":1}`}},
		{"first missing", "tokenizer_missing tokenizer.json", "", change{"-tokenizer.json": ""}},
		{"second missing", "tokenizer_missing tokenizer_config.json", "", change{"-tokenizer_config.json": ""}},
		{"elsewhere", "tokenizer_missing tokenizer.json", "", change{"-tokenizer.json": "", "x/tokenizer.json": "{}"}},
		{"after the tensors", "no_weight_file", "", change{"-1.safetensors": "", "-sub/2.safetensors": "", "-tokenizer.json": ""}},
	})
}

func TestBehaviourM15_unpinned_reference(t *testing.T) {
	text, err := json.Marshal(reference(t))
	if err != nil {
		t.Fatal(err)
	}
	var back admission.Reference
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*reference(t), back); diff != "" {
		t.Errorf("a reference does not survive its text (-want +got):\n%s", diff)
	}
	pinned := reference(t).Tokenizer.String()
	for name, edit := range map[string][2]string{
		"unpinned": {pinned, "UNPINNED"}, "zero": {pinned, strings.Repeat("0", 64)}, "upper case": {pinned, strings.ToUpper(pinned)},
		"version": {`"v":1`, `"v":2`}, "repeated member": {`"v":1`, `"v":1,"v":1`}, "unknown member": {`"v":1`, `"v":1,"w":1`},
		"order of tensors": {`"name":"a"`, `"name":"bb"`}, "negative shape": {`"shape":[2,3]`, `"shape":[2,-3]`},
	} {
		bad := strings.Replace(string(text), edit[0], edit[1], 1)
		if _, err := admission.ParseReference([]byte(bad)); bad == string(text) || fault.Of(err) != admission.BadReference {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, ref := range []*admission.Reference{nil, {}} {
		if v, err := admission.Admit(good(nil), ref, profile.Compat); fault.Of(err) != admission.BadReference || v.Admitted() {
			t.Errorf("an empty reference judged a tree: %v", err)
		}
	}
	_, err = admission.ReadReference(good(change{"-tokenizer.json": ""}), profile.Compat)
	if fault.Of(err) != conductor.Refused {
		t.Errorf("a tree without a tokenizer became a reference: %v", err)
	}
}

func TestFindings_lists_everything_in_one_pass(t *testing.T) {
	tree := good(change{
		"w.bin": "", "m.py": "", "x.exe": "", "config.json": strings.NewReplacer(`"toy"`, `"other"`, `"hidden_size":4`, `"hidden_size":4.0`, `"note":1`, `"auto_map":1`).Replace(goodConfig),
		"1.safetensors": weight(`{"b":{"dtype":"F16","shape":[3],"data_offsets":[0,4]}}`, 9), "tokenizer.json": "x",
	})
	var got []string
	found, err := admission.Findings(tree, reference(t), profile.Strict)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		got = append(got, strings.TrimSpace(string(f.Kind)+" "+f.Subject))
	}
	want := []string{
		"pickle_archive w.bin", "bundled_code m.py",
		"unknown_file_type x.exe",
		"custom_code_config auto_map", "architecture_mismatch model_type", "architecture_mismatch text_config.hidden_size",
		"missing_tensor a", "reshaped_tensor b", "wrong_dtype b",
		"size_mismatch b", "bad_offsets 1.safetensors", "tokenizer_mismatch",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// changes are the single edits from which the property draws.
var changes = []change{
	{"w.bin": ""}, {".bin": ""}, {"m.py": ""}, {"x.exe": ""}, {"-config.json": ""}, {"config.json": "[]"},
	config(`"note":1`, `"auto_map":1`), config(`"note":1`, `"n":[{"auto_map":1}]`), config(`"note":1`, `"note":1,"note":1`),
	config(`"hidden_size":4`, `"hidden_size":4.0`), config(`"hidden_size":4`, `"hidden_size":8`),
	header(`{}`, 0), header(`junk`, 0), {"-1.safetensors": "", "-sub/2.safetensors": ""}, {"9.safetensors": weight(shardB, 16)},
	{"sub/2.safetensors": weight(shardB, 3)}, {"tokenizer.json": ""}, {"-tokenizer_config.json": ""},
}

func TestProperty_strict_refuses_what_compat_refuses_and_admit_is_the_first_finding(t *testing.T) {
	ref := reference(t)
	rapid.Check(t, func(t *rapid.T) {
		tree := change{}
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(changes)-1), 0, 4).Draw(t, "changes") {
			maps.Copy(tree, changes[i])
		}
		var all [2][]admission.Finding
		for _, p := range profiles {
			v, err := admission.Admit(good(tree), ref, p)
			if err != nil {
				t.Fatal(err)
			}
			found, err := admission.Findings(good(tree), ref, p)
			if err != nil {
				t.Fatal(err)
			}
			if v.Admitted() != (len(found) == 0) || len(found) > 0 && found[0] != v.Refusal() {
				t.Fatalf("%s: Admit says %+v, Findings %+v", p, v, found)
			}
			all[p] = found
		}
		for _, f := range all[profile.Compat] {
			if !slices.Contains(all[profile.Strict], f) {
				t.Fatalf("strict misses %+v", f)
			}
		}
	})
}

func TestBounds(t *testing.T) {
	many := change{}
	for i := range 1100 {
		many[fmt.Sprintf("n/%d.txt", i)] = ""
	}
	check(t, []want{
		{"files", "admitted", "too_many_files", many},
		{"depth", "admitted", "bad_name " + strings.Repeat("d/", 15) + "d", change{strings.Repeat("d/", 20) + "x.txt": ""}},
		{"tokenizer", "tokenizer_mismatch", "oversized_file tokenizer.json", change{"tokenizer.json": strings.Repeat(" ", 64<<20+1)}},
		{"escape sequence in a name", "admitted", "bad_name a\x1b[2J.txt", change{"a\x1b[2J.txt": ""}},
	})
}

func TestLinks(t *testing.T) {
	tree := good(nil)
	tree["l.txt"] = &fstest.MapFile{Data: []byte("README.md"), Mode: fs.ModeSymlink | 0o777}
	tree["pipe.txt"] = &fstest.MapFile{Mode: fs.ModeNamedPipe | 0o644}
	tree["lost.txt"] = &fstest.MapFile{Data: []byte("nowhere"), Mode: fs.ModeSymlink | 0o777}
	found, err := admission.Findings(tree, reference(t), profile.Strict)
	if err != nil || len(found) != 3 || found[0].Kind != admission.Link || found[1].Kind != admission.Link || found[2].Kind != admission.SpecialFile {
		t.Errorf("strict: %+v %v", found, err)
	}
	if got := refusal(t, tree, profile.Compat); got != "admitted" {
		t.Errorf("compat: %s", got)
	}
	tree["p.bin"] = tree["l.txt"]
	if got := refusal(t, tree, profile.Compat); got != "pickle_archive p.bin" {
		t.Errorf("compat, a link named like a pickle: %s", got)
	}
	tree["config.json"] = &fstest.MapFile{Data: []byte("README.md"), Mode: fs.ModeSymlink | 0o777}
	if got := refusal(t, tree, profile.Strict); got != "link config.json" {
		t.Errorf("strict, the config is a link: %s", got)
	}
}

// brokenFS fails when one path is opened.
type brokenFS struct {
	fs.FS
	path string
}

var errDisk = errors.New("disk on fire")

func (b brokenFS) Open(name string) (fs.File, error) {
	if name == b.path {
		return nil, errDisk
	}
	return b.FS.Open(name)
}

func TestUnreadableDiskIsAnErrorAndAdmitsNobody(t *testing.T) {
	ref := reference(t)
	for _, path := range []string{".", "sub", "config.json", "1.safetensors", "tokenizer_config.json"} {
		for _, p := range profiles {
			v, err := admission.Admit(brokenFS{good(nil), path}, ref, p)
			if !errors.Is(err, errDisk) || v.Admitted() {
				t.Errorf("%s, %s: %+v %v", path, p, v, err)
			}
		}
	}
}
