package window

import (
	"context"

	"assay/conductor/episode"
	"assay/conductor/worker"
	"assay/core/secret"
	"assay/flow/conductor/play"
)

// Recorded answers from the world's recorded outcomes, under the name of the asked model. The same id gives the same answer,
// so an answer is never paid twice.
type Recorded struct{ play.Recorded }

// Call answers.
func (w Recorded) Call(ctx context.Context, r worker.Request) (episode.Event, error) {
	e, err := w.Recorded.Call(ctx, r)
	if err == nil && e.Told == episode.Answered {
		e.Served = r.Model().String()
	}
	return e, err
}

// CallAs answers.
func (w Recorded) CallAs(ctx context.Context, _ string, r worker.Request) (episode.Event, error) {
	return w.Call(ctx, r)
}

// RecordedWorkers makes workers of recorded answers for every key.
func RecordedWorkers(w play.Recorded) func(secret.Value) (play.Workers, *secret.Redactor, error) {
	return func(key secret.Value) (play.Workers, *secret.Redactor, error) {
		return Recorded{w}, secret.NewRedactor(key), nil
	}
}
