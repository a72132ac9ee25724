package play

import (
	"strconv"

	"assay/conductor/episode"
	"assay/conductor/task"
	"assay/core/digest"
	"assay/run"
)

// about binds an episode's records to what it was played with: the arm, the prompts' constant part and the task.
func (r *running) about(t task.Pinned) string {
	return digest.HexOfBytes([]byte(r.About + "\x00" + r.Profile.String() + "\x00" + r.Renderer.PrefixDigest() + "\x00" + t.Benchmark() + "\x00" + t.Digest()))
}

// UncertainCall is the failure of a worker call whose result was lost in a crash. It may have been charged.
const UncertainCall = "uncertain: the call was under way when the run was cut off; the provider may have charged it"

// durable says how the effects of one episode survive a crash.
func (p *player) durable() *run.Durable[episode.Event, episode.Effect] {
	return &run.Durable[episode.Event, episode.Effect]{
		Journal: p.Journal,
		Care:    p.care,
		Key:     key,
		Uncertain: func(episode.Effect) episode.Event {
			return episode.Event{Told: episode.Failed, Text: UncertainCall, Now: p.elapsed()}
		},
		AppendEvent: appendEvent,
		ParseEvent: func(text []byte) (episode.Event, error) {
			e, err := parseEvent(text)
			if err == nil {
				p.base, p.since = e.Now, p.Now() // the episode's clock goes on from where it stood
			}
			return e, err
		},
	}
}

// care: a worker call that costs money happens once. A turn and a read are written down, because asking again may give
// something else; a grade is a function.
func (p *player) care(d episode.Effect) run.Care {
	switch {
	case d.Do == episode.Call && p.Paid:
		return run.Once
	case d.Do == episode.Grade, d.Do == episode.Fill:
		return run.Repeatable
	}
	return run.Recorded
}

// key is the effect's execution id within its episode.
func key(d episode.Effect) string {
	k := strconv.Itoa(d.Step)
	switch d.Do {
	case episode.Ask:
		return k + "/ask"
	case episode.Call:
		return k + "/call/" + strconv.Itoa(len(d.Request.Observations())) + "/" + d.Request.Model().String()
	}
	return k + "/inspect/" + strconv.Itoa(len(d.Request.Observations()))
}
