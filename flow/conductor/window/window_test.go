package window_test

import (
	"context"
	"testing"

	"assay/chain/fake"
)

// at moves the chain to the block that opens a window.
func (l *league) at(n int64) {
	l.edit(func(s *fake.State) { s.Head = max(s.Head, l.season.Genesis+(n-1)*l.season.WindowBlocks) })
}

func TestAWindowCrownsABetterConductor(t *testing.T) {
	l := newLeague(t)
	better := l.submit(5, "oracle")
	l.at(1)
	o := l.open()
	defer o.Close()
	must(t, o.Commit(context.Background(), ownerID))
	must(t, o.Launch(context.Background(), ownerID))
	reveal, err := o.Run(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", reveal)
	if reveal.Crowned != better || reveal.Reigns != better {
		t.Errorf("crowned %q, deferral %q, outcomes %+v", reveal.Crowned, reveal.Deferral, reveal.Outcomes)
	}
}
