package submit

import "assay/conductor/submission"

// TreePrefix returns where the files of a kept artifact stand in the owner's store, with a slash at its end: a program that
// serves them reads them there.
func TreePrefix(manifest submission.Digest) string { return artifactPrefix(manifest) + treeFolder }
