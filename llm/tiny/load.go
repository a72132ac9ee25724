package tiny

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"assay/core/canon"
)

// network is the weights of one model. It is not changed once it is loaded.
type network struct {
	width, layers, heads, hidden int // of the vectors, and of the feed-forward part
	embed, norm, out             []float32
	blocks                       []block
	cos, sin                     []float32 // rotation by position and pair: [position][width/heads/2]
}

type block struct {
	norm1, q, k, v, o, norm2, gate, up, down []float32
}

// A token is a byte plus 3; the first three are the unknown token and the beginning and end of a text.
const (
	vocabulary = 259
	firstByte  = 3
)

// window is how many bytes a layer looks back over, its own included: the length of the texts in training.
const window = 128

// span is how many tokens at the end of a prompt can reach the next one through all layers.
func (n *network) span() int { return n.layers*(window-1) + 1 }

const maxHeader = 1 << 20

// load reads a safetensors file: the header's length in 8 bytes, little-endian, the header in JSON, the tensors in F16.
// The header's metadata names the model's sizes: D, L, H, FF and V.
func load(file []byte) (*network, error) {
	if len(file) < 8 {
		return nil, BadWeights.Because(errors.New("short file"))
	}
	size := binary.LittleEndian.Uint64(file)
	if size > maxHeader || size > uint64(len(file)-8) {
		return nil, BadWeights.Because(fmt.Errorf("header of %d bytes", size))
	}
	var header map[string]jsontext.Value
	if err := canon.Lenient(file[8:8+size], &header); err != nil {
		return nil, BadWeights.Because(err)
	}
	var sizes struct{ D, L, H, FF, V string }
	if err := canon.Lenient(header["__metadata__"], &sizes); err != nil {
		return nil, BadWeights.Because(fmt.Errorf("metadata: %w", err))
	}
	n, err := dimensions(sizes.D, sizes.L, sizes.H, sizes.FF, sizes.V)
	if err != nil {
		return nil, BadWeights.Because(err)
	}
	t := tensors{header: header, data: file[8+size:]}
	n.read(&t)
	if t.err != nil {
		return nil, BadWeights.Because(t.err)
	}
	n.rotations()
	return n, nil
}

func dimensions(texts ...string) (*network, error) {
	limits := [...]int{4096, 64, 64, 16384, vocabulary}
	var v [len(limits)]int
	for i, s := range texts {
		var err error
		if v[i], err = strconv.Atoi(s); err != nil || v[i] < 1 || v[i] > limits[i] {
			return nil, fmt.Errorf("size %q lies outside 1 to %d", s, limits[i])
		}
	}
	n := &network{width: v[0], layers: v[1], heads: v[2], hidden: v[3]}
	if v[4] != vocabulary || n.width%(2*n.heads) != 0 {
		return nil, errors.New("not a byte model with heads of even width")
	}
	return n, nil
}

func (n *network) read(t *tensors) {
	n.embed = t.get("model.embed_tokens.weight", vocabulary, n.width)
	n.norm = t.get("model.norm.weight", n.width)
	n.out = t.get("lm_head.weight", vocabulary, n.width)
	for i := range n.layers {
		p := "model.layers." + strconv.Itoa(i) + "."
		n.blocks = append(n.blocks, block{
			norm1: t.get(p+"input_layernorm.weight", n.width),
			q:     t.get(p+"self_attn.q_proj.weight", n.width, n.width),
			k:     t.get(p+"self_attn.k_proj.weight", n.width, n.width),
			v:     t.get(p+"self_attn.v_proj.weight", n.width, n.width),
			o:     t.get(p+"self_attn.o_proj.weight", n.width, n.width),
			norm2: t.get(p+"post_attention_layernorm.weight", n.width),
			gate:  t.get(p+"mlp.gate_proj.weight", n.hidden, n.width),
			up:    t.get(p+"mlp.up_proj.weight", n.hidden, n.width),
			down:  t.get(p+"mlp.down_proj.weight", n.width, n.hidden),
		})
		if t.err != nil {
			return
		}
	}
}

// rotations makes the table of position angles. Positions count from the first token that is computed.
func (n *network) rotations() {
	half := n.width / n.heads / 2
	positions := n.span() + MaxTokens
	n.cos, n.sin = make([]float32, positions*half), make([]float32, positions*half)
	for i := range half {
		step := math.Pow(10000, -float64(i)/float64(half))
		for p := range positions {
			s, c := math.Sincos(float64(p) * step)
			n.sin[p*half+i], n.cos[p*half+i] = float32(s), float32(c)
		}
	}
}

// tensors reads tensors until one fails; the first error stays.
type tensors struct {
	header map[string]jsontext.Value
	data   []byte
	err    error
}

func (t *tensors) get(name string, shape ...int) []float32 {
	if t.err != nil {
		return nil
	}
	var h struct {
		Type    string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets []int  `json:"data_offsets"`
	}
	if err := canon.Lenient(t.header[name], &h); err != nil {
		t.err = fmt.Errorf("tensor %s: %w", name, err)
		return nil
	}
	count, same := 1, len(h.Shape) == len(shape)
	for i, n := range shape {
		count *= n
		same = same && h.Shape[i] == n
	}
	if !same || h.Type != "F16" || len(h.Offsets) != 2 || h.Offsets[0] < 0 || h.Offsets[1] > len(t.data) || h.Offsets[1]-h.Offsets[0] != 2*count {
		t.err = fmt.Errorf("tensor %s: not F16 of shape %v inside the file", name, shape)
		return nil
	}
	raw := t.data[h.Offsets[0]:h.Offsets[1]]
	out := make([]float32, count)
	for i := range out {
		bits := binary.LittleEndian.Uint16(raw[2*i:])
		if bits&0x7c00 == 0x7c00 {
			t.err = fmt.Errorf("tensor %s: not finite", name)
			return nil
		}
		out[i] = half(bits)
	}
	return out
}

// half widens a finite 16-bit float: a sign, 5 bits of exponent, 10 of fraction.
func half(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	if exp == 0 { // zero, or a subnormal: frac · 2^-24
		f := float32(frac) / (1 << 24)
		return math.Float32frombits(math.Float32bits(f) | sign)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}
