// Package state renders what a Conductor sees: instructions, catalog, task and history, in this order.
//
// Invariants:
//   - Rendering is a function: the same state gives the same bytes in any process.
//   - What comes before the task is the same for every task, step and history of a window, and is rendered and hashed once.
//   - A worker's answer, a grade or an observation never appears; a delegate is shown as succeeded or failed, with its cost.
//
// Specification: docs/spec/state.md.
package state

import (
	"crypto/sha256"
	_ "embed"
	"encoding"
	"encoding/hex"
	"hash"
	"strconv"
	"unicode/utf8"

	"assay/conductor/action"
	"assay/conductor/catalog"
	"assay/conductor/profile"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/core/digest"
	"assay/core/money"
)

// MaxSteps is how many turns an episode has at most; the prompt says so.
const MaxSteps = window.MaxSteps

//go:embed instructions.txt
var instructions string

// Instructions returns the text at the head of our own prompts. Trained artifacts depend on its words: a change makes
// another window, which is why a schedule entry pins InstructionsDigest.
func Instructions() string { return instructions }

// InstructionsDigest returns the hexadecimal SHA-256 of an instruction text.
func InstructionsDigest(text string) string { return digest.HexOfBytes([]byte(text)) }

// Renderer holds the window-constant part of every prompt of a window.
type Renderer struct {
	prefix   string
	chars    int
	snapshot *catalog.Snapshot
	hashed   []byte // state of SHA-256 after the prefix

	prefixDigest string
}

// NewRenderer renders the window-constant part. Under profile.Strict it must fit catalog.TokenBudget
// (conductor.CatalogTooLarge).
func NewRenderer(instructions string, s *catalog.Snapshot, p profile.Profile) (*Renderer, error) {
	b := s.AppendPrefix(nil, instructions)
	r := &Renderer{prefix: string(b), chars: utf8.RuneCount(b), snapshot: s}
	if p.Strict() {
		if err := catalog.CheckBudget(r.chars); err != nil {
			return nil, err
		}
	}
	h := newHasher()
	h.Write(b)
	r.hashed, r.prefixDigest = h.save(nil), hex.EncodeToString(h.Sum(nil))
	return r, nil
}

// Snapshot returns the catalog that is rendered.
func (r *Renderer) Snapshot() *catalog.Snapshot { return r.snapshot }

// Prefix returns the window-constant part.
func (r *Renderer) Prefix() string { return r.prefix }

// PrefixDigest returns the hexadecimal SHA-256 of the window-constant part.
func (r *Renderer) PrefixDigest() string { return r.prefixDigest }

// PrefixChars returns the length of the window-constant part in characters.
func (r *Renderer) PrefixChars() int { return r.chars }

// PrefixTokens returns the estimated tokens of the window-constant part.
func (r *Renderer) PrefixTokens() int { return catalog.PromptTokens(r.chars) }

// Episode renders the successive prompts of one task. It is not safe for concurrent use.
type Episode struct {
	renderer *Renderer
	tail     []byte // task part, then history lines
	taskLen  int
	ends     []byte // behind one another, the parts of prompts that follow the task
	hash     hasher
	hashed   []byte            // state of SHA-256 after the task part
	sum      [sha256.Size]byte // of the last prompt
	steps    int
	spent    float64 // dollars, summed in history order as the prompt shows them
}

// Episode starts the prompts of a task.
func (r *Renderer) Episode(t task.Pinned) *Episode {
	b := make([]byte, 0, len(t.Prompt())+512)
	b = append(append(b, "\n# TASK\nbenchmark: "...), t.Benchmark()...)
	b = append(b, "\ntools available to the worker: "...)
	for i, tool := range t.Tools() {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, tool...)
	}
	if len(t.Tools()) == 0 {
		b = append(b, "none"...)
	}
	b = append(append(append(b, "\n---\n"...), t.Prompt()...), "\n---\n\n# HISTORY\n"...)
	e := &Episode{renderer: r, tail: b, taskLen: len(b), hash: newHasher()}
	e.hash.load(r.hashed)
	e.hash.Write(b)
	e.hashed = e.hash.save(make([]byte, 0, len(r.hashed)))
	return e
}

// hasher is SHA-256 whose state can be kept and taken up again, so that what prompts share is hashed once.
type hasher struct{ hash.Hash }

func newHasher() hasher { return hasher{sha256.New()} }

// save appends the state to dst.
func (h hasher) save(dst []byte) []byte {
	b, err := h.Hash.(encoding.BinaryAppender).AppendBinary(dst)
	if err != nil {
		panic("state: SHA-256 tells its state: " + err.Error())
	}
	return b
}

// load takes up a state that save gave.
func (h hasher) load(state []byte) {
	if err := h.Hash.(encoding.BinaryUnmarshaler).UnmarshalBinary(state); err != nil {
		panic("state: SHA-256 takes its own state: " + err.Error())
	}
}

// firstEnds is room for the ends of a usual episode's prompts.
const firstEnds = 1 << 10

// Delegated adds a step that called a model.
func (e *Episode) Delegated(kind action.Kind, model string, success bool, cost money.Pico) {
	dollars := cost.Dollars()
	e.steps++
	e.spent += dollars
	b := append(e.tail, "step "...)
	b = strconv.AppendInt(b, int64(e.steps), 10)
	b = append(append(append(append(b, ": "...), kind.Verb()...), ' '), model...)
	if success {
		b = append(b, " -> succeeded ($"...)
	} else {
		b = append(b, " -> failed ($"...)
	}
	e.tail = append(strconv.AppendFloat(b, dollars, 'f', 6, 64), ")\n"...)
}

// Refused adds a step whose turn could not be read.
func (e *Episode) Refused() {
	e.steps++
	b := append(e.tail, "step "...)
	b = strconv.AppendInt(b, int64(e.steps), 10)
	e.tail = append(b, ": refused, unparseable — no model was called\n"...)
}

// Prompt returns the prompt of the next turn. It stays as it is when further steps are added.
func (e *Episode) Prompt() Prompt {
	if e.ends == nil {
		e.ends = make([]byte, 0, firstEnds)
	}
	start := len(e.ends) // what stands before belongs to earlier prompts and is not touched
	end := append(e.ends, e.tail[e.taskLen:]...)
	if e.steps == 0 {
		end = append(end, "(no steps yet)\n"...)
	}
	end = append(end, "\nspent so far: $"...)
	end = strconv.AppendFloat(end, e.spent, 'f', 6, 64)
	end = append(end, "\nthis is step "...)
	end = strconv.AppendInt(end, int64(e.steps+1), 10)
	end = append(end, " of at most 12. Reply with exactly one action.\n"...)
	e.ends = end
	end = end[start:len(end):len(end)]
	e.hash.load(e.hashed)
	e.hash.Write(end)
	e.hash.Sum(e.sum[:0])
	return Prompt{prefix: e.renderer.prefix, task: e.tail[:e.taskLen:e.taskLen], end: end, sum: e.sum}
}

// Prompt is one rendered state. Its parts are shared between prompts, so that a window's catalog is not copied every turn.
type Prompt struct {
	prefix string
	task   []byte
	end    []byte
	sum    [sha256.Size]byte
}

// String returns the prompt's text.
func (p Prompt) String() string {
	b := make([]byte, 0, len(p.prefix)+len(p.task)+len(p.end))
	return string(append(append(append(b, p.prefix...), p.task...), p.end...))
}

// History returns the text behind the "# HISTORY" line: what the fixed policies read their position from.
func (p Prompt) History() []byte { return p.end }

// Digest returns the SHA-256 of the prompt's bytes.
func (p Prompt) Digest() digest.Of[Prompt] { return p.sum }

// DigestHex returns the digest as traces publish it.
func (p Prompt) DigestHex() string { return hex.EncodeToString(p.sum[:]) }
