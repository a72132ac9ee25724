package admission

import (
	"maps"
	"slices"
	"strings"

	"assay/core/canon"
)

// indexSuffix ends the name of a file that says which weight file holds which tensor:
//
//	{"metadata":{"total_size":120},"weight_map":{"lm_head":"model-00002-of-00002.safetensors"}}
const indexSuffix = ".safetensors.index.json"

// indexes compares every weight index with the weight files. A loader that goes by an index leaves out what it does not name, so
// a wrong one makes another model of admitted files, or none.
func (w *weightReader) indexes() error {
	for _, f := range w.files {
		if !strings.HasSuffix(f.name, indexSuffix) {
			continue
		}
		text, _, err := w.readFile(f.path, w.bounds.indexBytes)
		if err != nil {
			return err
		}
		if text == nil {
			w.note(OversizedFile, f.path, show(f.path)+" is longer than a weight index that is read")
			continue
		}
		folder := strings.TrimSuffix(f.path, f.name)
		for _, why := range w.compareIndex(text, folder) {
			w.note(BadIndex, f.path, "bad weight index "+show(f.path)+": "+why)
		}
	}
	return nil
}

func (w *weightReader) note(k Kind, subject, text string) {
	w.strict = append(w.strict, Finding{k, subject, text})
}

// compareIndex returns what is wrong with an index, whose paths begin at folder. Tensors that no index could name, because their
// file cannot be read, are nobody's lack.
func (w *weightReader) compareIndex(text []byte, folder string) (wrong []string) {
	doc, err := canon.DecodeObject(text)
	if err != nil {
		return []string{"it is not a JSON object that names every member once"}
	}
	named, ok := doc["weight_map"].(canon.Object)
	if !ok {
		return []string{"it has no object weight_map"}
	}
	for _, tensor := range slices.Sorted(maps.Keys(named)) {
		file, _ := named[tensor].(string)
		switch home, known := w.home[tensor]; {
		case !known && !w.unread:
			wrong = append(wrong, "no weight file holds tensor "+show(tensor))
		case known && folder+file != home:
			wrong = append(wrong, "tensor "+show(tensor)+" lies in "+show(home))
		}
	}
	for _, tensor := range slices.Sorted(maps.Keys(w.home)) {
		if _, ok := named[tensor]; !ok {
			wrong = append(wrong, "it does not name tensor "+show(tensor))
		}
	}
	if len(wrong) > maxNotes {
		wrong = wrong[:maxNotes]
	}
	return wrong
}
