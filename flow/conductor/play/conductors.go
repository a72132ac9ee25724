package play

import (
	"context"
	"errors"

	"assay/conductor"
	"assay/conductor/policy"
	"assay/conductor/serving"
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
	if err != nil {
		return Said{}, err
	}
	return Said{Text: c.Text, Tokens: int(c.Tokens)}, nil
}

// failureOf returns the exchange's failure in an error's chain.
func failureOf(err error) (*llm.Failure, bool) {
	var f *llm.Failure
	ok := errors.As(err, &f)
	return f, ok
}
