package conformance

import (
	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor/profile"
	"assay/conductor/reading"
	"assay/conductor/worker"
	"assay/core/canon"
	"assay/core/digest"
	"assay/verify/vector"
)

type observationIn struct {
	Name      string         `json:"name"`
	Arg       string         `json:"arg"`
	Start     jsontext.Value `json:"start"`
	Output    string         `json:"output"`
	Truncated bool           `json:"truncated"`
}

func runWorkerRequest(_ profile.Profile, op string, in jsontext.Value) (any, error) {
	v, err := vector.Read[struct {
		Model        string          `json:"model"`
		Prompt       string          `json:"prompt"`
		Observations []observationIn `json:"observations"`
		Params       jsontext.Value  `json:"params"`
	}](in)
	if err != nil {
		return nil, err
	}
	seen := make([]reading.Observation, len(v.Observations))
	for i, o := range v.Observations {
		seen[i] = reading.Observation{Call: reading.Call{Name: o.Name, Arg: o.Arg, Start: string(o.Start)}, Output: o.Output, Truncated: o.Truncated}
	}
	text := reading.Compose(v.Prompt, seen)
	switch op {
	case "compose":
		return canon.Object{"text": text, "sha256": digest.HexOfBytes([]byte(text))}, nil
	case "chat_body":
		var params canon.Object
		if v.Params != nil {
			if params, err = canon.DecodeObject(v.Params); err != nil {
				return nil, err
			}
		}
		body := worker.ChatBody(v.Model, text, params)
		return canon.Object{"body": string(body), "sha256": digest.HexOfBytes(body)}, nil
	}
	return nil, vector.UnknownOp(op)
}

func runCompletion(p profile.Profile, op string, in jsontext.Value) (any, error) {
	v, err := vector.Read[struct {
		Payload jsontext.Value `json:"payload"`
		Status  int            `json:"status"`
		Limit   *float64       `json:"limit_remaining"`
		Credits *float64       `json:"credits_remaining"`
		Cap     float64        `json:"cap_usd"`
	}](in)
	if err != nil {
		return nil, err
	}
	switch op {
	case "completion":
		r, err := worker.ReadReply(v.Payload, p)
		if err != nil {
			return nil, err
		}
		return canon.Object{
			"text": r.Text, "cost_usd": r.Cost, "tokens_in": r.TokensIn, "tokens_out": r.TokensOut,
			"finish_reason": r.Finish, "served_model": r.ServedModel, "provider": r.Provider,
		}, nil
	case "retryable":
		return worker.Retryable(v.Status), nil
	case "allowance":
		return vector.Dollars(worker.Allowance(v.Limit, v.Credits, v.Cap)), nil
	}
	return nil, vector.UnknownOp(op)
}
