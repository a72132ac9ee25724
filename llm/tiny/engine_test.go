package tiny

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/core/fault"
)

func network0(t testing.TB) *network {
	t.Helper()
	n, err := builtinNetwork()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// naive computes the logits behind a text in float64 with plain loops, every layer over every position.
func naive(n *network, text string) []float64 {
	d, hd := n.width, n.width/n.heads
	mul := func(w []float32, x []float64, outs int) []float64 {
		o := make([]float64, outs)
		for i := range o {
			for j, v := range x {
				o[i] += float64(w[i*len(x)+j]) * v
			}
		}
		return o
	}
	norm := func(x []float64, w []float32) []float64 {
		var s float64
		for _, v := range x {
			s += v * v
		}
		o := make([]float64, len(x))
		for i, v := range x {
			o[i] = v / math.Sqrt(s/float64(len(x))+1e-5) * float64(w[i])
		}
		return o
	}
	turn := func(x []float64, pos int) {
		for i := 0; i < d; i += 2 {
			s, c := math.Sincos(float64(pos) / math.Pow(10000, float64(i%hd)/float64(hd)))
			x[i], x[i+1] = x[i]*c-x[i+1]*s, x[i]*s+x[i+1]*c
		}
	}
	xs := make([][]float64, len(text))
	for p := range xs {
		for _, v := range n.embed[(int(text[p])+firstByte)*d:][:d] {
			xs[p] = append(xs[p], float64(v))
		}
	}
	for _, b := range n.blocks {
		var ks, vs [][]float64
		for p, x := range xs {
			h := norm(x, b.norm1)
			q, k := mul(b.q, h, d), mul(b.k, h, d)
			turn(q, p)
			turn(k, p)
			ks, vs = append(ks, k), append(vs, mul(b.v, h, d))
			att := make([]float64, d)
			for head := 0; head < d; head += hd {
				var sum float64
				w := map[int]float64{}
				for o := max(0, p-window+1); o <= p; o++ {
					var s float64
					for i := range hd {
						s += q[head+i] * ks[o][head+i]
					}
					w[o] = math.Exp(s / math.Sqrt(float64(hd)))
					sum += w[o]
				}
				for o, z := range w {
					for i := range hd {
						att[head+i] += z / sum * vs[o][head+i]
					}
				}
			}
			y := append([]float64(nil), x...)
			for i, v := range mul(b.o, att, d) {
				y[i] += v
			}
			h = norm(y, b.norm2)
			g, u := mul(b.gate, h, n.hidden), mul(b.up, h, n.hidden)
			for i, z := range g {
				g[i] = z / (1 + math.Exp(-z)) * u[i]
			}
			for i, v := range mul(b.down, g, d) {
				y[i] += v
			}
			xs[p] = y
		}
	}
	return mul(n.out, norm(xs[len(xs)-1], n.norm), vocabulary)
}

const verse = "In the beginning God created the heaven and the earth. And the earth was without form, and void; " +
	"and darkness was upon the face of the deep. And the Spirit of God moved upon the face of the waters.\n"

func near(t *testing.T, got []float32, want []float64, tolerance float64) {
	t.Helper()
	for i, v := range got {
		if math.Abs(float64(v)-want[i]) > tolerance {
			t.Fatalf("logit %d is %v, want %v", i, v, want[i])
		}
	}
}

// small is a network of the same kind with random weights, on which plain loops take no time. Two layers: what follows
// depends on the last 255 bytes.
func small() *network {
	n := &network{width: 8, layers: 2, heads: 2, hidden: 12, blocks: make([]block, 2)}
	r := rand.New(rand.NewPCG(1, 2))
	weights := func(count int) []float32 {
		w := make([]float32, count)
		for i := range w {
			w[i] = float32(r.NormFloat64() / 2)
		}
		return w
	}
	n.embed, n.norm, n.out = weights(vocabulary*8), weights(8), weights(vocabulary*8)
	for i := range n.blocks {
		n.blocks[i] = block{weights(8), weights(64), weights(64), weights(64), weights(64), weights(8), weights(96), weights(96), weights(96)}
	}
	n.rotations()
	return n
}

func TestEngineAgreesWithPlainLoops(t *testing.T) {
	agree := func(n *network, lengths ...int) {
		s := newSession(n)
		for _, length := range lengths {
			text := strings.Repeat(verse, 4)[:length]
			if err := s.start(t.Context(), text); err != nil {
				t.Fatal(err)
			}
			near(t, s.logits, naive(n, text), 1e-3)
		}
	}
	agree(network0(t), 1, 5, 40)
	// Beyond 255 bytes the plain loops look at all of them, the engine at the last 255.
	agree(small(), 1, 2, 3, 4, 5, 127, 128, 129, 254, 255, 256, 257, 600)
}

func TestTakingInAtOnceOrByteByByteGivesTheSameBits(t *testing.T) {
	n := small()
	whole, steps := newSession(n), newSession(n)
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(rapid.Byte(), 1, n.span()).Draw(t, "text"))
		cut := rapid.IntRange(1, len(text)).Draw(t, "cut")
		if err := errors.Join(whole.start(context.Background(), text), steps.start(context.Background(), text[:cut])); err != nil {
			t.Fatal(err)
		}
		for i := cut; i < len(text); i++ {
			if err := steps.next(context.Background(), int(text[i])+firstByte); err != nil {
				t.Fatal(err)
			}
		}
		for i := range whole.logits {
			if whole.logits[i] != steps.logits[i] {
				t.Fatalf("logit %d: %v at once, %v in steps", i, whole.logits[i], steps.logits[i])
			}
		}
	})
}

func TestTheModelKnowsItsText(t *testing.T) {
	s := newSession(network0(t))
	text := "And it came to pass in those days, that there went out a decree from Caesar Augustus, that all the world should be taxed."
	if err := s.start(t.Context(), "\n"); err != nil {
		t.Fatal(err)
	}
	var nats float64
	for _, b := range []byte(text) {
		logp, _ := chances(s.logits, int(b)+firstByte, 0)
		nats -= logp
		if err := s.next(t.Context(), int(b)+firstByte); err != nil {
			t.Fatal(err)
		}
	}
	// A uniform guess takes 5.56 nats a byte, letter frequencies about 2.9; trained, it is below 2.
	if per := nats / float64(len(text)); per > 2 {
		t.Errorf("%.3f nats a byte", per)
	}
}

func TestLoadRefusesDamagedWeights(t *testing.T) {
	change := func(from, to string) []byte {
		b := bytes.Replace(builtin, []byte(from), []byte(to), 1)
		if bytes.Equal(b, builtin) {
			t.Fatalf("the weights hold no %s", from)
		}
		return b
	}
	notFinite := bytes.Clone(builtin)
	header := binary.LittleEndian.Uint64(builtin)
	notFinite[8+header], notFinite[9+header] = 0xff, 0x7f
	for name, file := range map[string][]byte{
		"empty":              {},
		"no header":          builtin[:8],
		"cut in the header":  builtin[:1000],
		"cut in the tensors": builtin[:len(builtin)-2],
		"header too long":    append(bytes.Repeat([]byte{0xff}, 8), builtin[8:]...),
		"type":               change(`"F16"`, `"F32"`),
		"shape":              change(`[259, 128]`, `[128, 259]`),
		"size of no digits":  change(`"D": "128"`, `"D": "12x"`),
		"more layers":        change(`"L": "4"`, `"L": "5"`),
		"heads do not fit":   change(`"H": "4"`, `"H": "3"`),
		"name":               change(`model.norm.weight`, `model.norm.weighs`),
		"negative offset":    change(`"data_offsets": [0, `, `"data_offsets": [-2,`),
		"not a number":       notFinite,
	} {
		if _, err := load(file); fault.Of(err) != BadWeights {
			t.Errorf("%s: %v, want bad weights", name, err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte{})
	f.Add(builtin[:5000])
	small := []byte(`{"__metadata__":{"D":"2","L":"1","H":"1","FF":"1","V":"259"},"model.norm.weight":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}}`)
	f.Add(append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(small))), small...), 0, 0, 0, 0))
	f.Fuzz(func(t *testing.T, file []byte) {
		n, err := load(file)
		if (err == nil) == (n == nil) || err != nil && fault.Of(err) != BadWeights {
			t.Fatalf("%v, %v", n, err)
		}
	})
}

func TestHalf(t *testing.T) {
	for bits, want := range map[uint16]float32{
		0: 0, 0x3c00: 1, 0xc000: -2, 0x3555: 0.33325195, 0x0001: 1.0 / (1 << 24), 0x83ff: -1023.0 / (1 << 24), 0x0400: 1.0 / (1 << 14), 0x7bff: 65504,
	} {
		if got := half(bits); got != want {
			t.Errorf("half(%#04x) = %v, want %v", bits, got, want)
		}
	}
}

func BenchmarkPrompt(b *testing.B) {
	for _, size := range []int{500, 10_000} {
		b.Run(strings.Repeat("k", size/5000+1), func(b *testing.B) {
			s := newSession(network0(b))
			text := strings.Repeat(verse, size/len(verse)+1)[:size]
			for b.Loop() {
				if err := s.start(b.Context(), text); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds(), "tok/s")
		})
	}
}

func BenchmarkToken(b *testing.B) {
	s := newSession(network0(b))
	if err := s.start(b.Context(), verse); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if s.pos == len(verse)+MaxTokens {
			s.pos = len(verse)
		}
		if err := s.next(b.Context(), 'a'+firstByte); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tok/s")
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := load(builtin); err != nil {
			b.Fatal(err)
		}
	}
}
