// Package publication names the files that a window publishes and writes and reads their lines.
//
//	key                                  the owner's verifier key
//	latest.json                          {"window":3}
//	schedule.json                        the manifest of all schedule entries, in the owner's envelope
//	window/3/record.json                 the window record, in the owner's envelope: there before any arm runs
//	window/3/rules.json                  what the window is played and judged under
//	window/3/catalog.jsonl               where the catalog came from, and every row that was dropped
//	window/3/pool/000000.jsonl           every task of the pool, its statement as a digest (compat: the statement)
//	window/3/tasks/000000.jsonl          the slice, with statements, in its order
//	window/3/arms/king/arm.json          who played
//	window/3/arms/king/000000.jsonl      the arm's traces, in the slice's order
//	window/3/receipts/king/000000.jsonl  what its calls cost, episode by episode
//	window/3/outcomes/000000.jsonl       a digest of every row of the outcome table
//	window/3/reveal.json                 what was decided, in the owner's envelope
//	log/…                                one transparency log; each line of each file above but the first two is a leaf
//
// Invariants:
//   - A line has one spelling: what reads it refuses every text that would not be written again byte for byte.
//   - Where a line stands follows from its number: files of many lines hold Chunk of them each.
//   - A leaf names a file, a line and the line's digest, so every byte that is published is covered by the log's root.
//
// Specification: docs/spec/publication.md.
package publication

import (
	"fmt"
	"path"
	"strconv"

	"assay/core/digest"
)

// Names at the top of a publication.
const (
	KeyFile      = "key"
	LatestFile   = "latest.json"
	ScheduleFile = "schedule.json"
	LogDir       = "log"
	WindowsDir   = "window"
)

// Names below a window's folder.
const (
	RecordFile  = "record.json"
	RulesFile   = "rules.json"
	CatalogFile = "catalog.jsonl"
	PoolDir     = "pool"
	TasksDir    = "tasks"
	ArmsDir     = "arms"
	ArmFile     = "arm.json"
	ReceiptsDir = "receipts"
	OutcomesDir = "outcomes"
	RevealFile  = "reveal.json"
)

// Chunk is how many lines a numbered file holds: the last one may hold fewer.
const Chunk = 1000

// MaxLine is the longest line, in bytes without its line end.
const MaxLine = 16 << 20

// WindowDir returns the folder of a window.
func WindowDir(window int64) string { return WindowsDir + "/" + strconv.FormatInt(window, 10) }

// Numbered returns the name of the numbered file that holds line i, counted from 0.
func Numbered(dir string, i int) string { return path.Join(dir, fmt.Sprintf("%06d.jsonl", i/Chunk)) }

// Leaf appends the leaf of a line: the file's path, the line's number from 1 and its digest.
//
//	window/3/tasks/000000.jsonl 17 9f86d081…
func Leaf(dst []byte, file string, number int, line []byte) []byte {
	dst = append(append(dst, file...), ' ')
	dst = append(strconv.AppendInt(dst, int64(number), 10), ' ')
	return digest.Sum[Line](line).AppendHex(dst)
}

// Line is what a leaf's digest is of: one line without its line end.
type Line struct{}
