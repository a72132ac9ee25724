package admission_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"assay/conductor/admission"
	"assay/conductor/profile"
)

// guardFS fails the test's tree when a weight file is read behind its header.
type guardFS struct{ fstest.MapFS }

type guardFile struct {
	fs.File
	left int64
}

var errData = errors.New("tensor data was read")

func (g guardFS) Open(name string) (fs.File, error) {
	f, err := g.MapFS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".safetensors") {
		return f, err
	}
	return &guardFile{f, 8 + int64(binary.LittleEndian.Uint64(g.MapFS[name].Data))}, nil
}

func (g *guardFile) Read(p []byte) (int, error) {
	if int64(len(p)) > g.left {
		return 0, errData
	}
	n, err := g.File.Read(p)
	g.left -= int64(n)
	return n, err
}

func TestBehaviourM16_tensor_data_is_never_read(t *testing.T) {
	for _, p := range profiles {
		if v, err := admission.Admit(guardFS{good(nil)}, reference(t), p); err != nil || !v.Admitted() {
			t.Errorf("%s: %+v %v", p, v, err)
		}
	}
	check(t, []want{
		{"truncated data", "admitted", "bad_offsets 1.safetensors", change{"1.safetensors": weight(shardA, 15)}},
		{"no data", "admitted", "bad_offsets 1.safetensors", change{"1.safetensors": weight(shardA, 0)}},
		{"data behind", "admitted", "bad_offsets 1.safetensors", change{"1.safetensors": weight(shardA, 17)}},
	})
}

func TestFault34_length_is_checked_before_memory_is_taken(t *testing.T) {
	check(t, []want{{"all ones", "malformed_weight_file 0.safetensors", "", change{"0.safetensors": strings.Repeat("\xff", 8)}}})
	for _, n := range []uint64{1<<64 - 1, 1 << 63, 100_000_001, 100_000_000, 9} {
		prefix := binary.LittleEndian.AppendUint64(nil, n)
		var err error
		used := testing.AllocsPerRun(10, func() { _, err = admission.ReadHeader(bytes.NewReader(prefix), 16, 1000) })
		if !admission.Malformed(err) || used > 20 {
			t.Errorf("length %d: %v, %v allocations", n, err, used)
		}
	}
	const claimed = 99_000_000 // a header that the file's size allows for and whose bytes are not there
	r := io.MultiReader(bytes.NewReader(binary.LittleEndian.AppendUint64(nil, claimed)), strings.NewReader(`{"a":`))
	if _, err := admission.ReadHeader(r, claimed+8, 1000); !errors.Is(err, io.ErrUnexpectedEOF) || admission.Malformed(err) {
		t.Errorf("a file that shrinks while it is read is the disk's fault, got %v", err)
	}
}

func TestFault35_repeated_tensor_in_one_header(t *testing.T) {
	const w = `"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}`
	check(t, []want{
		{"tensor", "extra_tensor w", "", change{"0.safetensors": weight(`{`+w+`,`+w+`}`, 4)}},
		{"known tensor", "admitted", "duplicate_key 1.safetensors", change{"1.safetensors": weight(strings.Replace(shardA, `"b":{`, `"b":{"dtype":"F64","shape":[9],"data_offsets":[0,72]},"b":{`, 1), 16)}},
		{"member", "admitted", "duplicate_key 1.safetensors", change{"1.safetensors": weight(strings.Replace(shardA, `"dtype":"F32"`, `"dtype":"F64","dtype":"F32"`, 1), 16)}},
		{"metadata", "admitted", "duplicate_key 1.safetensors", change{"1.safetensors": weight(strings.Replace(shardA, `"format":"pt"`, `"format":"tf","format":"pt"`, 1), 16)}},
	})
	found, err := admission.Findings(good(change{"0.safetensors": weight(`{`+w+`,`+w+`}`, 4)}), reference(t), profile.Strict)
	if err != nil || len(found) != 2 || found[1].Kind != admission.DuplicateKey || !strings.HasSuffix(found[1].Text, ": w") {
		t.Errorf("findings %+v %v", found, err)
	}
}

func TestFault37_shape_and_offsets(t *testing.T) {
	base := reference(t)
	for name, row := range map[string]struct {
		header  string
		data    int
		kind    admission.Kind
		subject string
	}{
		"overflow":            {`{"w":{"dtype":"F32","shape":[65536,65536,65536,65536],"data_offsets":[0,4]}}`, 4, admission.SizeMismatch, "w"},
		"overflow in bits":    {`{"w":{"dtype":"F64","shape":[4611686018427387904],"data_offsets":[0,0]}}`, 0, admission.SizeMismatch, "w"},
		"too few bytes":       {`{"w":{"dtype":"F32","shape":[1000,1000],"data_offsets":[0,4]}}`, 4, admission.SizeMismatch, "w"},
		"negative dimension":  {`{"w":{"dtype":"U8","shape":[-1,-4],"data_offsets":[0,4]}}`, 4, admission.SizeMismatch, "w"},
		"half a byte":         {`{"w":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}}`, 2, admission.SizeMismatch, "w"},
		"turned around":       {`{"w":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}}`, 4, admission.SizeMismatch, "w"},
		"no offsets":          {`{"w":{"dtype":"U8","shape":[4]}}`, 4, admission.SizeMismatch, "w"},
		"three offsets":       {`{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4,8]}}`, 4, admission.SizeMismatch, "w"},
		"float offsets":       {`{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4.0]}}`, 4, admission.SizeMismatch, "w"},
		"overlap":             {`{"v":{"dtype":"U8","shape":[100],"data_offsets":[0,100]},"w":{"dtype":"U8","shape":[100],"data_offsets":[50,150]}}`, 150, admission.BadOffsets, "0.safetensors"},
		"same range":          {`{"v":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, 4, admission.BadOffsets, "0.safetensors"},
		"hole":                {`{"v":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"w":{"dtype":"U8","shape":[4],"data_offsets":[5,9]}}`, 9, admission.BadOffsets, "0.safetensors"},
		"hole at the start":   {`{"w":{"dtype":"U8","shape":[4],"data_offsets":[1,5]}}`, 5, admission.BadOffsets, "0.safetensors"},
		"past the end":        {`{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, 3, admission.BadOffsets, "0.safetensors"},
		"bytes behind":        {`{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, 5, admission.BadOffsets, "0.safetensors"},
		"unknown dtype":       {`{"w":{"dtype":"F8","shape":[4],"data_offsets":[0,4]}}`, 4, admission.UnknownDtype, "w"},
		"unknown member":      {`{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":1}}`, 4, admission.LooseHeader, "0.safetensors"},
		"metadata of numbers": {`{"__metadata__":{"a":1}}`, 0, admission.LooseHeader, "0.safetensors"},
		"metadata a list":     {`{"__metadata__":[]}`, 0, admission.LooseHeader, "0.safetensors"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := admission.Findings(good(change{"0.safetensors": weight(row.header, row.data)}), base, profile.Strict)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range found {
				if f.Kind == row.kind && f.Subject == row.subject {
					return
				}
			}
			t.Errorf("no %s of %s in %+v", row.kind, row.subject, found)
		})
	}
	t.Run("tiled in any order, with empty tensors", func(t *testing.T) {
		h := `{"w":{"dtype":"F4","shape":[2,4],"data_offsets":[6,10]},"u":{"dtype":"U8","shape":[0,9],"data_offsets":[6,6]},"v":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]}}`
		ref, err := admission.ReadReference(good(change{"0.safetensors": weight(h, 10)}), profile.Strict)
		if err != nil || len(ref.Tensors) != 6 {
			t.Errorf("%v %v", ref, err)
		}
	})
}

func TestFault38_no_sniffing(t *testing.T) {
	// 80 02 is how a pickle begins, and with six zeros a header length of 640.
	text := `{"c":{"dtype":"I64","shape":[2],"data_offsets":[0,16]}}`
	asHeader := "\x80\x02\x00\x00\x00\x00\x00\x00" + text + strings.Repeat(" ", 640-len(text)) + strings.Repeat("\x00", 16)
	asPickle := "\x80\x02\x00\x00\x00\x00\x00\x00" + "cos\nsystem\n(S'true'\ntR." + strings.Repeat(" ", 700)
	check(t, []want{
		{"header", "admitted", "", change{"sub/2.safetensors": asHeader}},
		{"pickle", "malformed_weight_file sub/2.safetensors", "", change{"sub/2.safetensors": asPickle}},
		{"header named like a pickle", "pickle_archive 3.bin", "", change{"3.bin": asHeader}},
	})
}

func FuzzReadHeader(f *testing.F) {
	for _, seed := range []string{weight(shardA, 16), weight(shardB, 16), weight("{}", 0), strings.Repeat("\xff", 8), "", weight(`{"a":{"dtype":"F4","shape":[1e3,true],"data_offsets":[0]}}`, 3)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := admission.ReadHeader(bytes.NewReader(b), int64(len(b)), 100)
		if err != nil {
			return
		}
		names := map[string]bool{}
		for _, x := range h.Tensors {
			if names[x.Name] {
				t.Fatalf("tensor %q stands twice", x.Name)
			}
			names[x.Name] = true
			if (x.Begin < 0) != (x.End < 0) {
				t.Fatalf("half a range: %+v", x)
			}
		}
		if h.DataLen < 0 || h.DataLen > int64(len(b)) || len(h.Tensors) > 100 {
			t.Fatalf("%d bytes of data in %d, %d tensors", h.DataLen, len(b), len(h.Tensors))
		}
		// What Strict admits as a reference is whole: the tensors' bytes are the file's.
		ref, err := admission.ReadReference(good(change{"-1.safetensors": "", "-sub/2.safetensors": "", "0.safetensors": string(b)}), profile.Strict)
		if err == nil && len(ref.Tensors) != len(h.Tensors) {
			t.Fatalf("%d tensors in the reference, %d in the header", len(ref.Tensors), len(h.Tensors))
		}
	})
}

func FuzzConfig(f *testing.F) {
	for _, seed := range []string{goodConfig, "[]", "{}", `{"text_config":{"rope_parameters":{"rope_theta":1e3,"rope_theta":1e3}}}`, `{"num_experts":[{"auto_map":0}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := admission.ParseConfig(b)
		tree := good(change{"config.json": string(b)})
		ref, strictErr := admission.ReadReference(tree, profile.Strict)
		if strictErr != nil {
			return
		}
		if err != nil {
			t.Fatalf("strict reads what cannot be parsed: %v", err)
		}
		if len(ref.Config) != len(admission.Fields(c)) {
			t.Fatalf("fields %v and %v", ref.Config, admission.Fields(c))
		}
		for _, p := range profiles { // a tree equals itself, however odd its numbers
			if v, err := admission.Admit(tree, ref, p); err != nil || !v.Admitted() {
				t.Fatalf("%s: a tree is not its own reference: %+v %v", p, v.Refusal(), err)
			}
		}
	})
}

func BenchmarkAdmit(b *testing.B) {
	ref, tree := reference(b), good(nil)
	for b.Loop() {
		if v, err := admission.Admit(tree, ref, profile.Strict); err != nil || !v.Admitted() {
			b.Fatal(v, err)
		}
	}
}
