package audit

import (
	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/receipt"
	"assay/conductor/worker"
	"assay/core/fault"
)

// book is one file of receipts, taken in order.
type book struct {
	file  string
	lines [][]byte
	at    int
	taken []receipt.Receipt
}

func (p *armAudit) book(file string) (*book, error) {
	lines, err := p.chunk(file)
	return &book{file: file, lines: lines}, err
}

// take returns the receipt of a call, which must be the next one, and holds it against the call. A receipt names one place;
// where another stands, it is the receipts that are wrong.
func (b *book) take(at receipt.Place, p *armAudit, req worker.Request, s *episode.Step) (receipt.Receipt, error) {
	if b.at == len(b.lines) {
		return receipt.Receipt{}, find(b.file, b.at+1, Missing.With(fault.Str("call_id", at.String())))
	}
	r, err := receipt.Parse(b.lines[b.at])
	b.at++
	if err != nil {
		return r, find(b.file, b.at, err)
	}
	if what := b.wrong(r, at, p, req, s); what != "" {
		return r, find(b.file, b.at, Differs.With(fault.Str("record", what), fault.Str("call_id", at.String())))
	}
	b.taken = append(b.taken, r)
	return r, nil
}

// wrong names what of a receipt does not belong to its call, "" for nothing.
func (b *book) wrong(r receipt.Receipt, at receipt.Place, p *armAudit, req worker.Request, s *episode.Step) string {
	last := at.Call == len(s.Observations) || s.Replayed
	switch {
	case r.CallID != at.String() || r.Duel != p.duel:
		return "the receipt of another call"
	case r.Hotkey != p.arm.Hotkey:
		return "whose receipt it is"
	case r.Model != s.Model:
		return "the model of a receipt"
	case r.PromptHash != receipt.BodyHash(req.Body()):
		return "the request's digest"
	case r.Replayed != s.Replayed:
		return "whether a call was paid or served again"
	case s.Replayed && r.Row != p.w.digests[outcome.Key{Task: req.Task().ID(), Model: s.Model, Attempt: s.Attempt}]:
		return "the outcome row that was served"
	case s.Replayed && r.Cost != s.Cost:
		return "what a draw cost"
	case last && !s.Replayed && r.Failed != (s.Failed && s.Failure != episode.OtherModel):
		return "whether a call failed"
	case !last && r.Failed:
		return "whether a call failed"
	case !r.Signed(p.w.gateway):
		return "the gateway's signature"
	}
	return ""
}

// rest refuses receipts that no call has.
func (b *book) rest() ([]receipt.Receipt, error) {
	if b.at < len(b.lines) {
		return nil, find(b.file, b.at+1, Stray.With())
	}
	return b.taken, nil
}
