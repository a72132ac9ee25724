// Package conformance runs the public vectors against the rules, in the compat profile.
//
// Invariants:
//   - A line is answered by the rule that decides in production; this package only reads its input and writes its answer.
//   - What counts as passed is verify/vector's to say, for every group alike.
package conformance

import (
	"io/fs"
	"maps"

	"assay/conductor/profile"
	"assay/verify/conformance/contest"
	"assay/verify/vector"
)

// Group is the outcome of one vector file.
type Group = vector.Group

// Groups returns the groups that are known here, by name.
func Groups() map[string]vector.Runner {
	known := map[string]vector.Runner{
		"parse": runParse, "tracker": runTracker, "parse_tool": runParseTool,
		"render": runRender, "catalog_snapshot": runCatalog, "freeze_digest": runFreeze,
		"canonical_json": runCanonical, "task_order": runTaskOrder, "draw": runDraw,
		"worker_request": runWorkerRequest, "completion": runCompletion,
		"episode": runEpisode, "window_run": runWindow,
		"graders": runGraders, "admission": runAdmission, "window_build": runWindowBuild, "observe": runObserve,
		"canonical_p": runFormP, "canonical_r": runFormR, "float_repr": runFloat,
	}
	maps.Copy(known, contest.Groups())
	return known
}

// Run runs every *.jsonl file below the root of vectors, in path order.
func Run(vectors fs.FS, progress func(Group)) ([]Group, error) {
	return vector.Run(profile.Compat, Groups(), vectors, progress)
}
