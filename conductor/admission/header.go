package admission

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Tensor is what a weight file's header says about one tensor, its place in the file left out.
type Tensor struct {
	Name  string  `json:"name"`
	Dtype string  `json:"dtype"` // a code such as BF16
	Shape []int64 `json:"shape"` // elements per dimension
}

// Header is a weight file's header:
//
//	7f 00 00 00 00 00 00 00                                              length of the JSON text, little end first
//	{"w":{"dtype":"BF16","shape":[4,8],"data_offsets":[0,64]}, …}        the JSON text; tensor data follows
type Header struct {
	Tensors []HeaderTensor // in the order of their first mention
	Loose   []string       // what the format does not allow and Compat overlooks
	Repeats []string       // members named twice; the last one was taken
	DataLen int64          // bytes behind the header
}

// HeaderTensor is one member of a header. Broken says why it names no tensor; then the other fields mean nothing.
type HeaderTensor struct {
	Tensor
	Begin, End int64 // the range of the tensor's bytes behind the header; -1 when not two whole numbers
	Broken     string
}

// errManyTensors refuses a header that lists more tensors than are read.
var errManyTensors = errors.New("more tensors than are read")

// malformed is why a header cannot be read: the file's fault, not the disk's.
type malformed string

func (m malformed) Error() string { return string(m) }

// Malformed reports whether err, an error of ReadHeader, says that the bytes are no header. Any other error says that
// they could not be read.
func Malformed(err error) bool {
	var m malformed
	return errors.As(err, &m)
}

// ReadHeader reads the header of a weight file of size bytes from r, at most most tensors, and no byte behind it.
// The length is checked against the cap and the file's size before anything is made of it.
func ReadHeader(r io.Reader, size int64, most int) (*Header, error) {
	if size < 8 {
		return nil, malformed("shorter than the eight bytes of a header length")
	}
	var prefix [8]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, unexpected(err)
	}
	n := binary.LittleEndian.Uint64(prefix[:])
	switch {
	case n == 0 || n > maxHeader:
		return nil, malformed(fmt.Sprintf("header length %d is not in 1…%d", n, maxHeader))
	case n > uint64(size-8):
		return nil, malformed(fmt.Sprintf("header length %d reaches past the end of the file", n))
	}
	src := &exactly{r: r, left: int64(n)}
	d := headerReader{Decoder: jsontext.NewDecoder(src, jsontext.AllowDuplicateNames(true)), most: most, index: map[string]int{}}
	d.h.DataLen = size - 8 - int64(n)
	err := d.read()
	switch {
	case src.err != nil:
		return nil, src.err
	case err == errManyTensors:
		return nil, err
	case err != nil:
		return nil, malformed("the header is not a JSON object")
	}
	if src.first != '{' {
		d.h.Loose = append(d.h.Loose, "blanks before the header's object")
	}
	return &d.h, nil
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// exactly hands on left bytes of r and keeps the disk's errors apart from the text's. A file that ends early has
// changed under us.
type exactly struct {
	r     io.Reader
	left  int64
	first byte
	any   bool
	err   error
}

func (e *exactly) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n, err := e.r.Read(p[:min(int64(len(p)), e.left)])
	e.left -= int64(n)
	if n > 0 && !e.any {
		e.first, e.any = p[0], true
	}
	if err != nil && (err != io.EOF || e.left > 0) {
		e.err = unexpected(err)
	}
	return n, err
}

type headerReader struct {
	*jsontext.Decoder
	h     Header
	most  int
	index map[string]int
}

const metadataName = "__metadata__"

func (d *headerReader) read() error {
	if d.PeekKind() != '{' {
		return errors.New("no object")
	}
	metadata := false
	err := d.object(func(name string) error {
		if name == metadataName {
			if metadata {
				d.repeat(name)
			}
			metadata = true
			return d.metadata()
		}
		t, err := d.tensor(name)
		if err != nil {
			return err
		}
		if i, ok := d.index[name]; ok {
			d.repeat(name)
			d.h.Tensors[i] = t
			return nil
		}
		if len(d.h.Tensors) >= d.most {
			return errManyTensors
		}
		d.index[name] = len(d.h.Tensors)
		d.h.Tensors = append(d.h.Tensors, t)
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return errors.New("text behind the object")
	}
	return nil
}

// maxNotes bounds the remarks about one header.
const maxNotes = 100

func (d *headerReader) repeat(name string) {
	if len(d.h.Repeats) < maxNotes {
		d.h.Repeats = append(d.h.Repeats, name)
	}
}

func (d *headerReader) loose(note string) {
	if len(d.h.Loose) < maxNotes {
		d.h.Loose = append(d.h.Loose, note)
	}
}

// object reads an object and calls member behind each of its names; member must read the value.
func (d *headerReader) object(member func(name string) error) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		tok, err := d.ReadToken()
		if err != nil {
			return err
		}
		if err := member(tok.String()); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

func (d *headerReader) metadata() error {
	if d.PeekKind() != '{' {
		d.loose(metadataName + " is not an object")
		return d.SkipValue()
	}
	seen := map[string]bool{}
	return d.object(func(name string) error {
		if seen[name] {
			d.repeat(metadataName + "." + name)
		}
		seen[name] = true
		if d.PeekKind() != '"' {
			d.loose(metadataName + " holds a value that is not a text")
		}
		return d.SkipValue()
	})
}

func (d *headerReader) tensor(name string) (HeaderTensor, error) {
	t := HeaderTensor{Tensor: Tensor{Name: name}, Begin: -1, End: -1}
	if d.PeekKind() != '{' {
		t.Broken = "is not an object"
		return t, d.SkipValue()
	}
	var dtype, shape, offsets bool // which members were seen
	broken := map[string]string{}  // by member: of equal names the last counts
	err := d.object(func(member string) (err error) {
		again := false
		switch member {
		case "dtype":
			again, dtype = dtype, true
			t.Dtype, broken[member], err = d.text()
		case "shape":
			again, shape = shape, true
			t.Shape, broken[member], err = d.shape()
		case "data_offsets":
			again, offsets = offsets, true
			t.Begin, t.End, err = d.offsets()
		default:
			d.loose("unknown member of a tensor: " + show(member))
			return d.SkipValue()
		}
		if again {
			d.repeat(name + "." + member)
		}
		return err
	})
	switch {
	case !dtype:
		t.Broken = "has no dtype"
	case !shape:
		t.Broken = "has no shape"
	case broken["dtype"] != "":
		t.Broken = broken["dtype"]
	default:
		t.Broken = broken["shape"]
	}
	return t, err
}

func (d *headerReader) text() (s, broken string, err error) {
	if d.PeekKind() != '"' {
		return "", "has a dtype that is not a text", d.SkipValue()
	}
	tok, err := d.ReadToken()
	if err != nil {
		return "", "", err
	}
	return tok.String(), "", nil
}

// shape reads dimensions. The reference compares them as numbers, so 4.0 and true are read too, and noted as loose.
func (d *headerReader) shape() (dims []int64, broken string, err error) {
	if d.PeekKind() != '[' {
		return nil, "has a shape that is not a list", d.SkipValue()
	}
	dims = []int64{}
	err = d.list(func() error {
		n, exact, err := d.whole()
		switch {
		case err != nil:
			return err
		case n == math.MinInt64:
			broken = "has a dimension that is not a whole number"
		case len(dims) == maxRank:
			broken = "has too many dimensions"
		default:
			dims = append(dims, n)
		}
		if !exact {
			d.loose("a dimension is not written as a whole number")
		}
		return nil
	})
	return dims, broken, err
}

// offsets reads a pair of whole numbers; -1, -1 for anything else, which is nobody's concern in Compat.
func (d *headerReader) offsets() (begin, end int64, err error) {
	if d.PeekKind() != '[' {
		return -1, -1, d.SkipValue()
	}
	pair, count := [2]int64{-1, -1}, 0
	err = d.list(func() error {
		n, exact, err := d.whole()
		if count < 2 && exact {
			pair[count] = n
		}
		count++
		return err
	})
	if count != 2 || pair[0] < 0 || pair[1] < 0 {
		return -1, -1, err
	}
	return pair[0], pair[1], err
}

func (d *headerReader) list(element func() error) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != ']' {
		if err := element(); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// whole reads a value as a whole number: math.MinInt64 when it is none that fits. exact says that it is written as one.
func (d *headerReader) whole() (n int64, exact bool, err error) {
	switch kind := d.PeekKind(); kind {
	case '0', 't', 'f':
		tok, err := d.ReadToken()
		if err != nil {
			return 0, false, err
		}
		if kind != '0' {
			return map[bool]int64{true: 1}[tok.Bool()], false, nil
		}
		s := tok.String()
		if !strings.ContainsAny(s, ".eE") {
			if n, err := strconv.ParseInt(s, 10, 64); err == nil {
				return n, n >= 0, nil
			}
			return math.MinInt64, false, nil
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return int64(f), false, nil
		}
		return math.MinInt64, false, nil
	}
	return math.MinInt64, false, d.SkipValue()
}

// sortTensors orders tensors by name, by code point.
func sortTensors(list []Tensor) {
	slices.SortFunc(list, func(a, b Tensor) int { return strings.Compare(a.Name, b.Name) })
}
