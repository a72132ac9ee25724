package admission

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// weights reads the header of every weight file and compares the tensors.
func (s *survey) weights() error {
	w := weightReader{survey: s, home: map[string]string{}}
	files := 0
	for _, f := range s.files {
		if !strings.HasSuffix(f.name, ".safetensors") {
			continue
		}
		files++
		if err := w.file(f.path); err != nil {
			return err
		}
	}
	if files == 0 {
		return s.refuse(NoWeightFile, "", "no weight file")
	}
	sortTensors(w.tensors)
	s.read.Tensors = w.tensors
	if s.ref != nil {
		if err := w.compare(s.ref.Tensors); err != nil {
			return err
		}
	}
	if !s.strict() {
		return nil
	}
	if err := w.indexes(); err != nil {
		return err
	}
	return s.refuseAll(w.strict)
}

// weightReader gathers the tensors of all weight files.
type weightReader struct {
	*survey
	tensors []Tensor
	home    map[string]string // file of each tensor
	unread  bool              // some file's tensors are not known
	strict  []Finding         // what Strict refuses, for behind the comparison
}

func (w *weightReader) file(path string) error {
	f, size, err := w.open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h, err := ReadHeader(f, size, w.bounds.tensors-len(w.tensors))
	switch {
	case err == errManyTensors:
		return w.enough(TooManyTensors, path, "too many tensors, counted up to "+show(path))
	case err != nil && Malformed(err):
		return w.malformed(path, err.Error())
	case err != nil:
		return err
	}
	for i := range h.Tensors {
		t := &h.Tensors[i]
		if t.Broken != "" {
			return w.malformed(path, "tensor "+show(t.Name)+" "+t.Broken)
		}
		if _, again := w.home[t.Name]; again {
			if err := w.refuse(DuplicateTensor, t.Name, "duplicate tensor "+show(t.Name)+" in "+show(path)); err != nil {
				return err
			}
			continue
		}
		w.home[t.Name] = path
		w.tensors = append(w.tensors, t.Tensor)
	}
	if w.survey.strict() {
		w.strict = append(w.strict, strictHeader(path, h)...)
	}
	return nil
}

func (w *weightReader) malformed(path, why string) error {
	w.unread = true
	return w.refuse(MalformedWeightFile, path, "malformed weight file "+show(path)+": "+why)
}

// compare walks both sorted lists. A tensor is called missing only when every file could be read.
func (w *weightReader) compare(want []Tensor) error {
	got := w.tensors
	for len(got)+len(want) > 0 {
		var err error
		switch {
		case len(want) == 0 || len(got) > 0 && got[0].Name < want[0].Name:
			err = w.refuse(ExtraTensor, got[0].Name, "extra tensor "+show(got[0].Name))
			got = got[1:]
		case len(got) == 0 || want[0].Name < got[0].Name:
			if !w.unread {
				err = w.refuse(MissingTensor, want[0].Name, "missing tensor "+show(want[0].Name))
			}
			want = want[1:]
		default:
			err = w.compareTensor(got[0], want[0])
			got, want = got[1:], want[1:]
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *weightReader) compareTensor(got, want Tensor) error {
	if !slices.Equal(got.Shape, want.Shape) {
		text := fmt.Sprintf("reshaped tensor %s: %v, the reference has %v", show(got.Name), got.Shape, want.Shape)
		if err := w.refuse(ReshapedTensor, got.Name, text); err != nil {
			return err
		}
	}
	if got.Dtype != want.Dtype {
		text := fmt.Sprintf("wrong dtype of tensor %s: %s, the reference has %s", show(got.Name), show(got.Dtype), show(want.Dtype))
		return w.refuse(WrongDtype, got.Name, text)
	}
	return nil
}

// dtypeBits is the size of one element, in bits.
var dtypeBits = map[string]uint64{
	"BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
	"U16": 16, "I16": 16, "F16": 16, "BF16": 16,
	"U32": 32, "I32": 32, "F32": 32,
	"U64": 64, "I64": 64, "F64": 64, "C64": 64,
}

// strictHeader checks that every tensor has the bytes that its shape and dtype ask for, and that the tensors' ranges
// tile the data section exactly. No data is read: the file's length is enough.
func strictHeader(path string, h *Header) []Finding {
	var out []Finding
	note := func(k Kind, subject, text string) { out = append(out, Finding{k, subject, text}) }
	for _, r := range h.Repeats {
		note(DuplicateKey, path, "duplicate key in "+show(path)+": "+show(r))
	}
	for _, l := range h.Loose {
		note(LooseHeader, path, "loose header in "+show(path)+": "+l)
	}
	order := make([]*HeaderTensor, 0, len(h.Tensors))
	for i := range h.Tensors {
		t := &h.Tensors[i]
		order = append(order, t)
		per, known := dtypeBits[t.Dtype]
		if !known {
			note(UnknownDtype, t.Name, "unknown dtype of tensor "+show(t.Name)+": "+show(t.Dtype))
			continue
		}
		if size, ok := tensorBytes(t.Shape, per); !ok || t.Begin < 0 || t.End < t.Begin || uint64(t.End-t.Begin) != size {
			note(SizeMismatch, t.Name, fmt.Sprintf("tensor %s: bytes %d to %d do not hold shape %v of %s", show(t.Name), t.Begin, t.End, t.Shape, t.Dtype))
		}
	}
	slices.SortStableFunc(order, func(a, b *HeaderTensor) int {
		if a.Begin != b.Begin {
			return compareInt(a.Begin, b.Begin)
		}
		return compareInt(a.End, b.End)
	})
	var end int64
	for _, t := range order {
		if t.Begin != end {
			what := map[bool]string{true: "a hole", false: "an overlap"}[t.Begin > end]
			note(BadOffsets, path, fmt.Sprintf("bad data offsets in %s: %s before tensor %s, at byte %d", show(path), what, show(t.Name), end))
			return out
		}
		end = max(end, t.End)
	}
	if end != h.DataLen {
		note(BadOffsets, path, fmt.Sprintf("bad data offsets in %s: tensors end at byte %d of %d", show(path), end, h.DataLen))
	}
	return out
}

func compareInt(a, b int64) int {
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	return 0
}

// tensorBytes returns the product of shape times per bits, in bytes; false when it overflows or is no whole number.
func tensorBytes(shape []int64, per uint64) (uint64, bool) {
	n := per
	for _, d := range shape {
		if d < 0 {
			return 0, false
		}
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 {
			// A later dimension of zero would make the product zero, but no real tensor is written so.
			return 0, false
		}
		n = lo
	}
	return n / 8, n%8 == 0
}
