package conformance

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"assay/conductor/profile"
	"assay/conductor/task"
	"assay/conductor/window"
	"assay/core/canon"
	"assay/verify/vector"
)

// recordIn is what a line about windows may bring.
type recordIn struct {
	Epoch        int64            `json:"epoch"`
	PerBenchmark int64            `json:"per_benchmark"`
	Minimum      int64            `json:"minimum"`
	Tasks        []taskIn         `json:"tasks"`
	Catalog      []row            `json:"catalog"`
	Nonce        string           `json:"nonce"`
	Revealed     []string         `json:"revealed"`
	Entries      []jsontext.Value `json:"entries"`
	Record       jsontext.Value   `json:"record"`
	Window       int64            `json:"window"`
	Manifest     jsontext.Value   `json:"manifest"`
}

// runWindowBuild builds and reads the reference's entries, which are compat ones whatever profile the other groups are run in.
func runWindowBuild(_ profile.Profile, op string, in jsontext.Value) (any, error) {
	v, err := vector.Read[recordIn](in)
	if err != nil {
		return nil, err
	}
	switch op {
	case "window_build":
		return v.build()
	case "manifest":
		entries := make([]window.Entry, len(v.Entries))
		for i, text := range v.Entries {
			if entries[i], err = window.ParseEntry(text); err != nil {
				return nil, err
			}
		}
		m, err := window.NewManifest(entries)
		return m.Object(), err
	case "window_verify":
		return v.verify()
	}
	return nil, vector.UnknownOp(op)
}

func (v recordIn) pool() []task.Spec {
	pool := make([]task.Spec, len(v.Tasks))
	for i, t := range v.Tasks {
		pool[i] = t.spec()
	}
	return pool
}

func (v recordIn) build() (any, error) {
	pool := v.pool()
	s, err := catalogOf(v.Catalog)
	if err != nil {
		return nil, err
	}
	e := window.Entry{Epoch: v.Epoch, PerBenchmark: v.PerBenchmark, Minimum: v.Minimum, Profile: profile.Compat}
	if e.PoolDigest, err = window.PoolDigest(pool, e.Profile); err != nil {
		return nil, err
	}
	r, _, err := window.Build(window.Basis{Epoch: v.Epoch, Entry: e, Pool: pool, Catalog: s.Freeze(), Nonce: v.Nonce, Revealed: v.Revealed})
	if err != nil {
		return nil, err
	}
	sum, err := r.Digest()
	if err != nil {
		return nil, err
	}
	// Written and read back, so that the wanted record is compared with what a stranger reads.
	text, err := canon.ASCII(r.Object())
	if err != nil {
		return nil, err
	}
	record, err := canon.DecodeObject(text)
	return canon.Object{"record": record, "record_digest": sum, "entry_digest": e.Digest()}, err
}

func (v recordIn) verify() (any, error) {
	r, err := window.ParseRecord(v.Record)
	if err != nil {
		return nil, err
	}
	// A line may bring a manifest whose root no longer fits its digests; the rule under test looks at the digests.
	listed, err := vector.Read[struct {
		Digests map[string]string `json:"digests"`
		Root    string            `json:"root"`
		V       int               `json:"v"`
		Epochs  []int64           `json:"epochs"`
	}](v.Manifest)
	if err != nil {
		return nil, err
	}
	m := window.Manifest{Root: listed.Root, Digests: make(map[int64]string)}
	for name, sum := range listed.Digests {
		epoch, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			return nil, err
		}
		m.Digests[epoch] = sum
	}
	w, err := window.Verify(r, v.Window, m, window.Pool{Specs: v.pool()})
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(w.Tasks))
	for i, t := range w.Tasks {
		ids[i] = t.ID()
	}
	return canon.Object{"task_ids": ids, "benchmarks": r.Benchmarks, "seen": w.Seen, "catalog": rowsOf(w.Catalog)}, nil
}
