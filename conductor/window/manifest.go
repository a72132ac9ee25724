package window

import (
	"maps"
	"slices"
	"strconv"

	"assay/conductor"
	"assay/core/canon"
	"assay/core/digest"
	"assay/core/fault"
)

// Manifest is the schedule of all windows: every entry's digest, under one root that is committed before anybody submits.
type Manifest struct {
	Root    string           // hexadecimal
	Digests map[int64]string // entry digests by epoch
}

// NewManifest makes the schedule of the entries, in any order. Two entries for one epoch are conductor.BadSchedule.
func NewManifest(entries []Entry) (Manifest, error) {
	digests := make(map[int64]string, len(entries))
	for _, e := range entries {
		if _, twice := digests[e.Epoch]; twice {
			return Manifest{}, conductor.BadSchedule.With(fault.Int("epoch", e.Epoch))
		}
		digests[e.Epoch] = e.Digest()
	}
	return Manifest{Root: rootOf(digests), Digests: digests}, nil
}

// rootOf folds the digests: root = sha256("root|epoch|digest") by rising epoch, beginning with the empty text.
func rootOf(digests map[int64]string) (root string) {
	for _, epoch := range slices.Sorted(maps.Keys(digests)) {
		root = digest.HexOfString(root + "|" + strconv.FormatInt(epoch, 10) + "|" + digests[epoch])
	}
	return root
}

// Epochs returns the windows that are scheduled, rising.
func (m Manifest) Epochs() []int64 { return slices.Sorted(maps.Keys(m.Digests)) }

// Object returns the manifest as it is signed.
//
//	{"digests":{"3":"8e79…","4":"552b…"},"epochs":[3,4],"root":"310c…","v":1}
func (m Manifest) Object() canon.Object {
	digests, epochs := canon.Object{}, []any{}
	for _, epoch := range m.Epochs() {
		digests[strconv.FormatInt(epoch, 10)] = m.Digests[epoch]
		epochs = append(epochs, epoch)
	}
	return canon.Object{"v": 1, "root": m.Root, "digests": digests, "epochs": epochs}
}

// ParseManifest reads what Object wrote and folds the root again. Anything else is conductor.BadSchedule.
func ParseManifest(text []byte) (Manifest, error) {
	o, err := canon.DecodeObject(text)
	if err != nil {
		return Manifest{}, conductor.BadSchedule.Because(err)
	}
	listed, _ := o["digests"].(canon.Object)
	m := Manifest{Digests: make(map[int64]string, len(listed))}
	for name, v := range listed {
		epoch, ok := whole(canon.Int(name))
		s, _ := v.(string)
		if _, err := digest.Parse[Entry](s); err != nil || !ok {
			return Manifest{}, conductor.BadSchedule.Because(err).With(fault.Str("epoch", name))
		}
		m.Digests[epoch] = s
	}
	m.Root = rootOf(m.Digests)
	if d, err := firstOther(m.Object(), o); d != "" || err != nil {
		return Manifest{}, conductor.BadSchedule.Because(err).With(fault.Str("member", d))
	}
	return m, nil
}

// firstOther names the first member, by name, in which the objects differ, "" for none.
func firstOther(a, b canon.Object) (string, error) {
	names := slices.Sorted(maps.Keys(a))
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	for _, name := range names {
		va, inA := a[name]
		vb, inB := b[name]
		ta, err := canon.ASCII(va)
		if err != nil {
			return name, err
		}
		tb, err := canon.ASCII(vb)
		if err != nil {
			return name, err
		}
		if inA != inB || string(ta) != string(tb) {
			return name, nil
		}
	}
	return "", nil
}
