package tlog

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"assay/core/fault"
)

// CheckpointPath is where a log keeps its checkpoint.
const CheckpointPath = "checkpoint"

// Entries is the level of entry bundles, below the hash tiles of level 0.
const Entries = -1

// topLevel is the highest level of hash tiles that the longest log has.
const topLevel = 7

// Tile names a hash tile or an entry bundle: the Nth of a level, Width hashes or entries wide. Its path is
//
//	tile/0/x001/x234/067         a full tile
//	tile/entries/000.p/7         a bundle of seven entries
type Tile struct {
	Level int   // 0 to 7, or Entries
	N     int64 // from 0
	Width int   // 1 to 256
}

// Path returns the tile's path inside the log's folder.
func (t Tile) Path() string {
	level := "entries"
	if t.Level != Entries {
		level = strconv.Itoa(t.Level)
	}
	number := fmt.Sprintf("%03d", t.N%1000)
	for n := t.N / 1000; n > 0; n /= 1000 {
		number = fmt.Sprintf("x%03d/%s", n%1000, number)
	}
	path := "tile/" + level + "/" + number
	if t.Width != TileWidth {
		path += ".p/" + strconv.Itoa(t.Width)
	}
	return path
}

// maxPath is longer than every path of a tile.
const maxPath = 64

// ParseTilePath reads what Path writes, and nothing else.
func ParseTilePath(path string) (Tile, error) {
	bad := BadPath.With(fault.Str("path", path))
	rest, ok := strings.CutPrefix(path, "tile/")
	level, rest, ok2 := strings.Cut(rest, "/")
	if !ok || !ok2 || len(path) > maxPath {
		return Tile{}, bad
	}
	t := Tile{Level: Entries, Width: TileWidth}
	var err error
	if level != "entries" {
		if t.Level, err = strconv.Atoi(level); err != nil || t.Level < 0 {
			return Tile{}, bad
		}
	}
	if number, width, partial := strings.Cut(rest, ".p/"); partial {
		rest = number
		if t.Width, err = strconv.Atoi(width); err != nil || t.Width < 1 || t.Width >= TileWidth {
			return Tile{}, bad
		}
	}
	if t.N, err = strconv.ParseInt(strings.NewReplacer("x", "", "/", "").Replace(rest), 10, 64); err != nil {
		return Tile{}, bad
	}
	if t.Level > topLevel || t.N < 0 || t.N >= max(1, int64(maxSize)>>(tileHeight*(max(t.Level, 0)+1))) || t.Path() != path {
		return Tile{}, bad
	}
	return t, nil
}

// WidthIn returns how wide the Nth tile of a level is in a tree of a size: 0 where the tree has none.
func WidthIn(level int, n, size int64) int {
	have := size>>(tileHeight*max(level, 0)) - n<<tileHeight
	return int(min(max(have, 0), TileWidth))
}

// In reports whether a tree of the size has the tile, as it is or as a part of a wider one.
func (t Tile) In(size int64) bool { return t.Width <= WidthIn(t.Level, t.N, size) }

// AppendEntry appends a leaf to a bundle: its length in two bytes, big-endian, and its data.
func AppendEntry(bundle, leaf []byte) ([]byte, error) {
	if len(leaf) > MaxLeaf {
		return bundle, LeafTooLarge.With(fault.Int("bytes", int64(len(leaf))))
	}
	return append(binary.BigEndian.AppendUint16(bundle, uint16(len(leaf))), leaf...), nil
}

// cutEntry returns the first entry of a bundle and what follows it.
func cutEntry(bundle []byte) (entry, rest []byte, ok bool) {
	if len(bundle) < 2 {
		return nil, nil, false
	}
	n := int(binary.BigEndian.Uint16(bundle)) + 2
	if len(bundle) < n {
		return nil, nil, false
	}
	return bundle[2:n:n], bundle[n:], true
}

// ParseBundle returns the entries of a bundle that must hold exactly width of them. They share the bundle's memory.
func ParseBundle(bundle []byte, width int) ([][]byte, error) {
	if width < 1 || width > TileWidth {
		return nil, BadBundle.With(fault.Int("width", int64(width)))
	}
	entries, rest := make([][]byte, width), bundle
	for i := range entries {
		var ok bool
		if entries[i], rest, ok = cutEntry(rest); !ok {
			return nil, BadBundle.With(fault.Int("entry", int64(i)), fault.Int("offset", int64(len(bundle)-len(rest))))
		}
	}
	if len(rest) > 0 {
		return nil, BadBundle.With(fault.Int("entry", int64(width)), fault.Int("offset", int64(len(bundle)-len(rest))))
	}
	return entries, nil
}
