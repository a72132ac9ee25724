package audit

import (
	"io/fs"
	"sync"

	"assay/conductor/worker"
	"assay/tlog"
)

// Request is one worker request of a publication.
type Request struct {
	Window  int64
	Arm     string
	Episode int // place in the arm, from 0
	Step    int
	Call    int
	Model   string
	Body    []byte // what was sent, byte for byte; for a draw that was served again, what its buyer sent
}

// Requests audits a publication and hands over the body of every worker request, in no particular order.
func Requests(fsys fs.FS, key tlog.VerifierKey, o Options, each func(Request) error) error {
	var mu sync.Mutex
	o.tells = func(r Request) error {
		mu.Lock()
		defer mu.Unlock()
		return each(r)
	}
	_, err := Audit(fsys, key, o)
	return err
}

// tell hands over the requests of one delegate; calls is how many were made.
func (p *armAudit) tell(episode, step, calls int, req worker.Request, seen func(worker.Request, int) worker.Request) error {
	if p.tells == nil {
		return nil
	}
	for c := range calls {
		if c > 0 {
			req = seen(req, c-1)
		}
		r := Request{Window: p.w.number, Arm: p.arm.Name, Episode: episode, Step: step, Call: c, Model: req.Model().String(), Body: req.Body()}
		if err := p.tells(r); err != nil {
			return err
		}
	}
	return nil
}
