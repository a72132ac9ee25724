package tiny

import (
	"context"
	"math"
	"slices"
)

// session is the working memory of one text. It is reused from text to text.
type session struct {
	net    *network
	k, v   [][]float32 // by layer: one vector for each position
	pos    int         // tokens taken in
	logits []float32   // of the token after the last one

	// Scratch, one row for each token that is taken in at once.
	x, h, q, att, gate, up []float32
	scores                 [window]float32
}

func newSession(n *network) *session {
	return &session{net: n, k: make([][]float32, n.layers), v: make([][]float32, n.layers), logits: make([]float32, vocabulary)}
}

// start forgets the previous text and takes in a prompt, of which the last span tokens matter. An empty prompt is one
// line end: the model has to stand somewhere.
func (s *session) start(ctx context.Context, prompt string) error {
	s.pos = 0
	if prompt == "" {
		prompt = "\n"
	}
	prompt = prompt[max(0, len(prompt)-s.net.span()):]
	s.room(len(prompt))
	for i := range len(prompt) {
		s.place(i, int(prompt[i])+firstByte)
	}
	return s.advance(ctx, len(prompt))
}

// next takes in one token.
func (s *session) next(ctx context.Context, token int) error {
	s.room(1)
	s.place(0, token)
	return s.advance(ctx, 1)
}

// room makes room for rows of scratch and for as many positions behind the present one.
func (s *session) room(rows int) {
	n := s.net
	for _, b := range []*[]float32{&s.x, &s.h, &s.q, &s.att} {
		*b = sized(*b, rows*n.width)
	}
	s.gate, s.up = sized(s.gate, rows*n.hidden), sized(s.up, rows*n.hidden)
	for l := range n.layers {
		s.k[l], s.v[l] = sized(s.k[l], (s.pos+rows)*n.width), sized(s.v[l], (s.pos+rows)*n.width)
	}
}

// sized returns b with length n, its beginning kept.
func sized(b []float32, n int) []float32 {
	if n > cap(b) {
		b = slices.Grow(b, n-len(b))
	}
	return b[:n]
}

func (s *session) place(row, token int) {
	d := s.net.width
	copy(s.x[row*d:(row+1)*d], s.net.embed[token*d:])
}

// advance runs rows tokens, whose embeddings are placed, through all layers and leaves the logits behind the last.
// A layer's rows are computed only from where a later layer still looks: window-1 further back for each layer to come.
func (s *session) advance(ctx context.Context, rows int) error {
	n, d := s.net, s.net.width
	for l := range n.blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		in := max(0, rows-1-(n.layers-l)*(window-1))
		out := max(0, rows-1-(n.layers-l-1)*(window-1))
		s.layer(l, in, out, rows)
	}
	last := s.x[(rows-1)*d : rows*d]
	normalise(s.h[:d], last, n.norm)
	multiply(s.logits, n.out, s.h[:d], d, vocabulary, 1)
	s.pos += rows
	return nil
}

// layer computes keys and values of rows in to end, and the residual stream of rows out to end.
func (s *session) layer(l, in, out, end int) {
	n, b, d := s.net, &s.net.blocks[l], s.net.width
	k, v := s.k[l][s.pos*d:], s.v[l][s.pos*d:]
	for r := in; r < end; r++ {
		normalise(s.h[r*d:(r+1)*d], s.x[r*d:(r+1)*d], b.norm1)
	}
	multiply(k[in*d:end*d], b.k, s.h[in*d:end*d], d, d, end-in)
	multiply(v[in*d:end*d], b.v, s.h[in*d:end*d], d, d, end-in)
	multiply(s.q[out*d:end*d], b.q, s.h[out*d:end*d], d, d, end-out)
	for r := in; r < end; r++ {
		n.rotate(k[r*d:(r+1)*d], s.pos+r)
	}
	for r := out; r < end; r++ {
		n.rotate(s.q[r*d:(r+1)*d], s.pos+r)
		s.attend(l, r)
	}
	rows := end - out
	x, h := s.x[out*d:end*d], s.h[out*d:end*d]
	multiply(h, b.o, s.att[out*d:end*d], d, d, rows)
	add(x, h)
	for r := range rows {
		normalise(h[r*d:(r+1)*d], x[r*d:(r+1)*d], b.norm2)
	}
	g, u := s.gate[:rows*n.hidden], s.up[:rows*n.hidden]
	multiply(g, b.gate, h, d, n.hidden, rows)
	multiply(u, b.up, h, d, n.hidden, rows)
	for i, z := range g {
		g[i] = z / (1 + float32(math.Exp(float64(-z)))) * u[i]
	}
	multiply(h, b.down, g, n.hidden, d, rows)
	add(x, h)
}

// rotate turns each pair of a head's vector by its position's angle.
func (n *network) rotate(x []float32, pos int) {
	half := n.width / n.heads / 2
	cos, sin := n.cos[pos*half:(pos+1)*half], n.sin[pos*half:(pos+1)*half]
	for len(x) > 0 {
		for i, c := range cos {
			a, b, s := x[2*i], x[2*i+1], sin[i]
			x[2*i], x[2*i+1] = a*c-b*s, a*s+b*c
		}
		x = x[2*half:]
	}
}

// attend mixes the values that row r sees: those of its window.
func (s *session) attend(l, r int) {
	n, d := s.net, s.net.width
	hd := d / n.heads
	at := s.pos + r
	from := max(0, at-window+1)
	scores := s.scores[:at-from+1]
	scale := 1 / float32(math.Sqrt(float64(hd)))
	for head := 0; head < d; head += hd {
		q := s.q[r*d+head : r*d+head+hd]
		top := float32(math.Inf(-1))
		for i := range scores {
			scores[i] = dot(q, s.k[l][(from+i)*d+head:]) * scale
			top = max(top, scores[i])
		}
		var sum float32
		for i, z := range scores {
			scores[i] = float32(math.Exp(float64(z - top)))
			sum += scores[i]
		}
		o := s.att[r*d+head : r*d+head+hd]
		clear(o)
		for i, z := range scores {
			axpy(o, z/sum, s.v[l][(from+i)*d+head:])
		}
	}
}
