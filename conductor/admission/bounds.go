package admission

import "assay/conductor/profile"

// bounds limits the work and the memory that one tree can cost.
type bounds struct {
	entries       int   // files and directories
	depth         int   // components of a path
	configBytes   int64 // config.json
	tokenizerFile int64 // each of the two tokenizer files; they are streamed
	indexBytes    int64 // a weight index; Strict alone reads it
	tensors       int   // over all weight files
}

const (
	maxHeader = 100_000_000 // bytes of a weight file's header, in both profiles
	maxRank   = 64          // dimensions of a tensor, in both profiles
)

// boundsOf returns the profile's bounds. Compat's exist only to keep the machine alive: the reference has none.
func boundsOf(p profile.Profile) bounds {
	if !p.Strict() {
		return bounds{entries: 1 << 20, depth: 256, configBytes: 64 << 20, tokenizerFile: 1 << 40, tensors: 1 << 22}
	}
	return bounds{entries: 1024, depth: 16, configBytes: 1 << 20, tokenizerFile: 64 << 20, indexBytes: 32 << 20, tensors: 1 << 16}
}
