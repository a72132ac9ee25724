// Package exec asks a Conductor that runs as a child process: one JSON line in, one JSON line out, for each turn.
//
//	in   {"prompt":"…","task_id":"hle-1","step":3}
//	out  {"text":"DELEGATE a/b"}                     optionally "tokens": how many tokens the text took
//	     {"error":"what went wrong"}                 instead
//
// Invariants:
//   - A turn ends with the text of exactly one line or with a refusal that names its reason; never with an empty text instead.
//   - Turns pass one after another. A process that broke the protocol, hung or died is gone, its whole process group with
//     it, before the error is returned. None is replaced in silence: only a turn behind an error starts a fresh one.
//   - Where we are killed, the process and what stays in its group are killed too.
//   - A line is at most 1 MiB long.
package exec

import (
	"context"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"assay/core/fault"
)

// The refusals of this room.
var (
	BadSpec       = fault.NewCode("exec.bad_spec", fault.Invalid, "a Conductor is named exec:COMMAND or module:attribute")
	NotStarted    = fault.NewCode("exec.not_started", fault.Unready, "the Conductor's process could not be started")
	Exited        = fault.NewCode("exec.exited", fault.Unready, "the Conductor's process ended without an answer")
	TimedOut      = fault.NewCode("exec.timed_out", fault.Unready, "the Conductor did not answer in time")
	Flooded       = fault.NewCode("exec.flooded", fault.Unready, "the Conductor's answer is longer than a line may be")
	NotUTF8       = fault.NewCode("exec.not_utf8", fault.Unready, "the Conductor's answer is not UTF-8 text")
	NotJSON       = fault.NewCode("exec.not_json", fault.Unready, "the Conductor's answer is not a line with one JSON object")
	NoText        = fault.NewCode("exec.no_text", fault.Unready, "the Conductor's answer has no text")
	AnsweredTwice = fault.NewCode("exec.answered_twice", fault.Unready, "the Conductor wrote more lines than it was asked for")
	OutOfTurn     = fault.NewCode("exec.out_of_turn", fault.Unready, "the Conductor answered for another turn")
	Reported      = fault.NewCode("exec.reported_error", fault.Unready, "the Conductor reported an error")
	Closed        = fault.NewCode("exec.closed", fault.NotAllowed, "the Conductor was closed")
)

// Turn is what a Conductor is asked.
type Turn struct {
	Prompt string // the rendered state
	TaskID string
	Step   int // counted from 1
}

// Unknown is the number of tokens of a text whose Conductor did not say it.
const Unknown = -1

// Text is what a Conductor said.
type Text struct {
	Text   string // untouched
	Tokens int    // Unknown where not told
}

// Options configure a Prompter. The zero value of a field takes its default.
type Options struct {
	Dir     string        // where the process runs; default: here
	Env     []string      // its environment; default: ours
	Stderr  io.Writer     // where its standard error goes; default: nowhere
	Timeout time.Duration // for one turn, start of the process included; default 180 s
	Python  string        // interpreter of module:attribute; default python3
}

// Prompter is one Conductor. It is safe for concurrent use; turns wait for each other.
type Prompter struct {
	argv   []string
	o      Options
	turn   chan struct{} // holds one token; whoever has it owns what is below
	p      *process
	closed bool
}

var target = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$`)

// Open makes the Conductor that spec names: "exec:" and a command for the shell, or a Python "module:attribute" that is
// found from the directory where the process runs. Nothing is started before the first turn.
func Open(spec string, o Options) (*Prompter, error) {
	if command, ok := strings.CutPrefix(spec, "exec:"); ok {
		if strings.TrimSpace(command) == "" || strings.ContainsRune(command, 0) {
			return nil, BadSpec.With(fault.Str("spec", spec))
		}
		return Command([]string{"/bin/sh", "-c", command}, o), nil
	}
	if !target.MatchString(spec) {
		return nil, BadSpec.With(fault.Str("spec", spec))
	}
	if o.Python == "" {
		o.Python = "python3"
	}
	python, err := exec.LookPath(o.Python)
	if err != nil {
		return nil, NotStarted.Because(err)
	}
	module, attribute, _ := strings.Cut(spec, ":")
	return Command([]string{python, "-X", "utf8", "-c", shim, module, attribute}, o), nil
}

// Command makes a Conductor of a program and its arguments. argv must not be empty.
func Command(argv []string, o Options) *Prompter {
	if o.Timeout <= 0 {
		o.Timeout = 180 * time.Second
	}
	p := &Prompter{argv: argv, o: o, turn: make(chan struct{}, 1)}
	p.turn <- struct{}{}
	return p
}

// Prompt makes one turn. Its error carries a code of this room, or is ctx's error when ctx ended.
func (c *Prompter) Prompt(ctx context.Context, t Turn) (Text, error) {
	select {
	case <-c.turn:
	case <-ctx.Done():
		return Text{}, ctx.Err()
	}
	defer func() { c.turn <- struct{}{} }()
	if c.closed {
		return Text{}, Closed.With()
	}
	if err := ctx.Err(); err != nil {
		return Text{}, err
	}
	limited, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	text, err := c.ask(limited, t)
	if err == nil {
		return text, nil
	}
	c.drop()
	if ctx.Err() != nil {
		return Text{}, ctx.Err()
	}
	return Text{}, err
}

// ask makes one exchange. A process that ended after an earlier turn is found gone here, and that is an error: whatever it
// knew of the run is lost with it.
func (c *Prompter) ask(ctx context.Context, t Turn) (Text, error) {
	if c.p == nil {
		p, err := start(c.argv, c.o)
		if err != nil {
			return Text{}, NotStarted.Because(err)
		}
		c.p = p
	} else if c.p.unasked() {
		return Text{}, AnsweredTwice.With()
	}
	line, err := c.p.exchange(ctx, t.line())
	if err != nil {
		return Text{}, err
	}
	return parse(line, t)
}

// drop ends the process and everything it started.
func (c *Prompter) drop() {
	if c.p != nil {
		c.p.kill()
		c.p = nil
	}
}

// Close waits for a turn under way, then ends the process: its input is closed, and after a moment its group is killed.
// A line that nobody asked for is reported. Close may be called again.
func (c *Prompter) Close() error {
	<-c.turn
	defer func() { c.turn <- struct{}{} }()
	c.closed = true
	if c.p == nil {
		return nil
	}
	unasked := c.p.unasked()
	c.p.finish()
	c.p = nil
	if unasked {
		return AnsweredTwice.With()
	}
	return nil
}
