package tlog

import "errors"

// The way here is taken only when something is wrong. What the bundles say is computed and put beside what the tiles say; the signed
// root decides which of them is right.

var (
	errTile = errors.New("the hash tile is not what the entries below it give")
	errBoth = errors.New("the bundle and its hash tile agree with each other and not with the signed root")
	errTree = errors.New("the tree is whole and is not what the checkpoint signs")
)

// fromBundles computes a hash tile from the entries below it.
func (c *checker) fromBundles(t Tile) ([]byte, error) {
	out := make([]byte, 0, t.Width*HashSize)
	if t.Level > 0 {
		for i := range t.Width {
			below, err := c.fromBundles(Tile{Level: t.Level - 1, N: t.N<<tileHeight + int64(i), Width: TileWidth})
			if err != nil {
				return nil, err
			}
			h := perfect(below)
			out = append(out, h[:]...)
		}
		return out, nil
	}
	b := Tile{Level: Entries, N: t.N, Width: t.Width}
	data, err := readFile(c.fsys, b.Path(), b.limit(), nil)
	if err != nil {
		return nil, damage(b.Path(), b.first(0), -1, err)
	}
	entries, err := ParseBundle(data, b.Width)
	if err != nil {
		return nil, damage(b.Path(), b.first(0), -1, err)
	}
	for _, e := range entries {
		h := LeafHash(e)
		out = append(out, h[:]...)
	}
	return out, nil
}

// blameTile says what is wrong about a full tile that does not have the hash that the root vouches for.
func (c *checker) blameTile(t Tile, data []byte, want Hash) error {
	own, err := c.fromBundles(t)
	if err != nil { // the tile is wrong whatever is wrong about the bundle
		return damage(t.Path(), t.first(0), -1, err)
	}
	at := difference(own, data)
	if perfect(own) == want || t.Level > 0 && at < len(own) {
		return damage(t.Path(), t.first(at/HashSize), int64(at), errTile)
	}
	b := Tile{Level: Entries, N: t.first(0) >> tileHeight, Width: TileWidth}
	if at < len(own) {
		return damage(b.Path(), b.first(at/HashSize), -1, errors.New("neither the bundle nor its hash tile leads to the signed root"))
	}
	return damage(b.Path(), b.first(0), -1, errBoth)
}

// blameEdge says what is wrong about the rightmost tiles, which do not lead to the signed root.
func (c *checker) blameEdge() error {
	own := make([][]byte, len(c.edge))
	for level := range own {
		if t := edgeTile(level, c.size); t.Width > 0 {
			var err error
			if own[level], err = c.fromBundles(t); err != nil {
				return err
			}
		}
	}
	for level := len(own) - 1; level >= 0; level-- { // the highest level stands over the first entries
		at := difference(own[level], c.edge[level])
		if at == len(own[level]) {
			continue
		}
		if t := edgeTile(level, c.size); level > 0 || foldEdge(own) == c.signed.cp.Root {
			return damage(t.Path(), t.first(at/HashSize), int64(at), errTile)
		}
		b := edgeTile(Entries, c.size)
		return damage(b.Path(), b.first(at/HashSize), -1, errors.New("neither the bundle nor its hash tile leads to the signed root"))
	}
	return damage(CheckpointPath, -1, -1, errTree)
}
