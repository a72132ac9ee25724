package audit

import (
	"assay/conductor/episode"
	"assay/conductor/outcome"
	"assay/conductor/publication"
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
	case s.Replayed && (r.TokensIn != s.TokensIn || r.TokensOut != s.TokensOut || r.ServedModel != s.Served || r.Provider != s.Provider || r.Failed != s.Failed):
		return "what a draw gave"
	case last && r.Failed && (s.Replayed || s.Failure != episode.OtherModel) && r.ResponseHash != receipt.TextHash(s.Failure):
		return "the failure's digest"
	case last && !s.Replayed && r.Failed != (s.Failed && s.Failure != episode.OtherModel):
		return "whether a call failed"
	case !last && r.Failed:
		return "whether a call failed"
	case !r.Signed(p.w.gateway):
		return "the gateway's signature"
	}
	return ""
}

// beyond takes the receipts of episodes that never ended, in an arm that was given up: their traces are not published, and
// what they bought may be served to later arms.
func (b *book) beyond(p *armAudit) ([]pair, error) {
	var out []pair
	var before receipt.Place
	for ; b.at < len(b.lines); b.at++ {
		r, err := receipt.Parse(b.lines[b.at])
		if err != nil {
			return nil, find(b.file, b.at+1, err)
		}
		at, err := receipt.ParsePlace(r.CallID)
		if err != nil {
			return nil, find(b.file, b.at+1, err)
		}
		misplaced := at.Duel != p.duel || r.Duel != p.duel || r.Hotkey != p.arm.Hotkey || at.Episode < p.tasks || at.Episode >= len(p.slots)
		if misplaced || publication.Numbered(p.receipts, at.Episode) != b.file || len(out) > 0 && before.Compare(at) >= 0 || !r.Signed(p.w.gateway) {
			return nil, find(b.file, b.at+1, Stray.With(fault.Str("call_id", r.CallID)))
		}
		out, before = append(out, pair{p.slots[at.Episode].ID(), r.Model}), at
		b.taken = append(b.taken, r)
	}
	return out, nil
}

// rest refuses receipts that no call has.
func (b *book) rest() ([]receipt.Receipt, error) {
	if b.at < len(b.lines) {
		return nil, find(b.file, b.at+1, Stray.With())
	}
	return b.taken, nil
}
