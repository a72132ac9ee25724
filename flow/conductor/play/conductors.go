package play

import (
	"context"
	"errors"
	"fmt"

	"assay/conductor"
	"assay/conductor/policy"
	"assay/conductor/serving"
	"assay/core/secret"
	"assay/core/text"
	"assay/llm"
	"assay/llm/exec"
)

// Fixed is a reference policy as a Conductor.
type Fixed struct{ Policy *policy.Policy }

// Turn returns the policy's answer.
func (f Fixed) Turn(_ context.Context, a Ask) (Said, error) {
	return Said{Text: f.Policy.Turn(a.Prompt), Tokens: -1}, nil
}

// Process is a Conductor in a child process.
type Process struct{ Prompter *exec.Prompter }

// Turn asks the process.
func (p Process) Turn(ctx context.Context, a Ask) (Said, error) {
	t, err := p.Prompter.Prompt(ctx, exec.Turn{Prompt: a.Prompt.String(), TaskID: a.TaskID, Step: a.Step})
	if err != nil {
		return Said{}, err
	}
	return Said{Text: t.Text, Tokens: t.Tokens}, nil
}

// Served is a Conductor behind a completions endpoint.
type Served struct {
	Client       llm.Client
	Model        string   // the name that is asked for
	Names        []string // names that may answer: the asked one and its aliases
	Instructions string   // what every prompt must begin with
	Redactor     *secret.Redactor
}

// Turn asks the endpoint.
func (s Served) Turn(ctx context.Context, a Ask) (Said, error) {
	prompt := a.Prompt.String()
	if err := serving.Check(prompt, s.Instructions); err != nil {
		return Said{}, err
	}
	reply, err := s.Client.Send(ctx, llm.Request{Path: llm.CompletionPath, Body: serving.Body(s.Model, prompt)})
	if err != nil {
		if ctx.Err() != nil {
			return Said{}, context.Cause(ctx)
		}
		return Said{}, conductor.ServingFailed.Because(err)
	}
	c, err := serving.Read(reply.Body, s.Names)
	if c.Failure != "" {
		err = fmt.Errorf("%w: %s", err, shown(c.Failure, s.Redactor))
	}
	if err != nil {
		return Said{}, err
	}
	return Said{Text: c.Text, Tokens: int(c.Tokens)}, nil
}

// maxShown is how many bytes of a provider's words are kept.
const maxShown = 200

// shown is what a provider wrote, without secrets and then cut: the other way round a cut could leave half a secret.
func shown(s string, r *secret.Redactor) string {
	if r != nil {
		s = r.Redact(s)
	}
	return text.Clip(s, maxShown)
}

// failureOf returns the exchange's failure in an error's chain.
func failureOf(err error) (*llm.Failure, bool) {
	var f *llm.Failure
	ok := errors.As(err, &f)
	return f, ok
}
