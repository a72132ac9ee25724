package tlog

import (
	"bytes"
	"errors"
	"io/fs"
	"runtime"
	"sync"
)

// CheckOptions are the settings of Check. The zero CheckOptions are good.
type CheckOptions struct {
	Limits  Limits
	Workers int // bundles that are hashed at a time: as many as there are processors by default
	// Each is told of every entry in order, after the root has vouched for it. The data is valid until it returns; its error ends Check.
	Each func(index int64, data []byte) error
}

// Check reads a log's whole folder: it verifies the checkpoint, recomputes the tree from the entries, compares every hash tile byte by
// byte, and refuses files that belong to nothing. Partial tiles of earlier checkpoints may be there and are compared too. A refusal
// of the folder is a *Damage that names the first wrong file. Memory stays within a few bundles for each worker.
//
// Hash tiles are read from the root downward, so that each is known to be right before anything is compared with it: a wrong bundle
// and a wrong tile are told apart.
func Check(fsys fs.FS, v VerifierKey, o CheckOptions) (Signed, error) {
	s, err := readCheckpoint(fsys, v, o.Limits)
	if err != nil {
		return Signed{}, err
	}
	c := &checker{fsys: fsys, signed: s, size: s.cp.Size, each: o.Each, workers: o.Workers}
	if c.workers <= 0 {
		c.workers = runtime.GOMAXPROCS(0)
	}
	old, err := c.list()
	if err != nil {
		return Signed{}, err
	}
	if err := c.readEdge(); err != nil {
		return Signed{}, err
	}
	if err := c.bundles(); err != nil {
		return Signed{}, err
	}
	for _, t := range old {
		if err := c.superseded(t); err != nil {
			return Signed{}, err
		}
	}
	return s, nil
}

// checker is one Check under way.
type checker struct {
	fsys    fs.FS
	signed  Signed
	size    int64
	each    func(int64, []byte) error
	workers int
	edge    [][]byte // by level: the rightmost partial tile, trusted
	way     []loaded // by level: the full tile that was read last, trusted
}

// loaded is a full tile in memory.
type loaded struct {
	n    int64
	data []byte
}

// list looks at the names of all files and returns the partial tiles that earlier checkpoints have left.
func (c *checker) list() (old []Tile, err error) {
	err = fs.WalkDir(c.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == CheckpointPath && d.Type().IsRegular() {
			return err
		}
		t, err := ParseTilePath(name)
		if err != nil || !d.Type().IsRegular() || !t.In(c.size) {
			return damage(name, -1, -1, Foreign.With())
		}
		if t.Width != WidthIn(t.Level, t.N, c.size) {
			old = append(old, t)
		}
		return nil
	})
	return old, err
}

// tile reads a hash tile, whose file has exactly its length.
func (c *checker) tile(t Tile, dst []byte) ([]byte, error) {
	data, err := readFile(c.fsys, t.Path(), t.limit(), dst[:0])
	if err != nil {
		return dst, damage(t.Path(), t.first(0), -1, err)
	}
	if want := t.Width * HashSize; len(data) != want {
		short := min(len(data), want-1)
		return data, damage(t.Path(), t.first(short/HashSize), int64(min(len(data), want)), errors.New("it has another length"))
	}
	return data, nil
}

// first returns the first entry below the ith hash of a tile.
func (t Tile) first(i int) int64 {
	return (t.N<<tileHeight + int64(i)) << (tileHeight * max(t.Level, 0))
}

// readEdge reads the rightmost tiles, which together must lead to the signed root.
func (c *checker) readEdge() error {
	for level := 0; c.size>>(tileHeight*level) > 0; level++ {
		c.edge = append(c.edge, nil)
		if t := edgeTile(level, c.size); t.Width > 0 {
			data, err := c.tile(t, nil)
			if err != nil {
				return err
			}
			c.edge[level] = data
		}
	}
	c.way = make([]loaded, len(c.edge)+1)
	for i := range c.way {
		c.way[i].n = -1
	}
	if foldEdge(c.edge) != c.signed.cp.Root {
		return c.blameEdge()
	}
	return nil
}

// trusted returns the hash that the root vouches for at a level's place n. Tiles that it needs are read and checked on the way.
func (c *checker) trusted(level int, n int64) (Hash, error) {
	t := Tile{Level: level, N: n >> tileHeight, Width: WidthIn(level, n>>tileHeight, c.size)}
	at := int(n&(TileWidth-1)) * HashSize
	if t.Width < TileWidth {
		return Hash(c.edge[level][at:]), nil
	}
	if c.way[level].n != t.N {
		want, err := c.trusted(level+1, t.N)
		if err != nil {
			return Hash{}, err
		}
		data, err := c.tile(t, c.way[level].data)
		if err != nil {
			return Hash{}, err
		}
		if perfect(data) != want {
			return Hash{}, c.blameTile(t, data, want)
		}
		c.way[level] = loaded{t.N, data}
	}
	return Hash(c.way[level].data[at:]), nil
}

// slot is one bundle under way. Its buffers are used again.
type slot struct {
	t            Tile
	want         Hash // of the full tile of leaf hashes; the rightmost partial tile is the edge's
	bundle, tile []byte
	err          error
	done         chan struct{}
}

// bundles checks all bundles and their hash tiles, several at a time, and hands out their entries in order.
func (c *checker) bundles() error {
	free, work, order := make(chan *slot, 2*c.workers), make(chan *slot, 2*c.workers), make(chan *slot, 2*c.workers)
	for range cap(free) {
		free <- &slot{done: make(chan struct{}, 1)}
	}
	quit := make(chan struct{})
	var pool sync.WaitGroup
	defer pool.Wait()
	defer close(quit)
	pool.Go(func() { c.feed(free, work, order, quit) })
	for range c.workers {
		pool.Go(func() {
			for s := range work {
				s.err = c.bundle(s)
				s.done <- struct{}{}
			}
		})
	}
	for s := range order {
		<-s.done
		if err := c.hand(s); err != nil {
			return err
		}
		free <- s
	}
	return nil
}

// feed names the bundles one after the other, each with the hash that its tile must have.
func (c *checker) feed(free, work, order chan *slot, quit chan struct{}) {
	defer close(order)
	defer close(work)
	for n := int64(0); n<<tileHeight < c.size; n++ {
		var s *slot
		select {
		case s = <-free:
		case <-quit:
			return
		}
		s.t, s.err = Tile{Level: Entries, N: n, Width: WidthIn(Entries, n, c.size)}, nil
		if s.t.Width == TileWidth {
			s.want, s.err = c.trusted(1, n)
		}
		order <- s
		if s.err != nil {
			s.done <- struct{}{}
			return
		}
		work <- s
	}
}

// bundle checks a hash tile of level 0 and the bundle below it.
func (c *checker) bundle(s *slot) error {
	var hashes []byte
	if s.t.Width < TileWidth {
		hashes = c.edge[0]
	} else {
		t := Tile{Level: 0, N: s.t.N, Width: TileWidth}
		var err error
		if s.tile, err = c.tile(t, s.tile); err != nil {
			return err
		}
		if hashes = s.tile; perfect(hashes) != s.want {
			return c.blameTile(t, hashes, s.want)
		}
	}
	data, err := readFile(c.fsys, s.t.Path(), s.t.limit(), s.bundle[:0])
	if err != nil {
		return damage(s.t.Path(), s.t.first(0), -1, err)
	}
	s.bundle = data
	if d := checkBundle(s.t, data, hashes); d != nil {
		return d
	}
	return nil
}

// hand gives a bundle's entries out.
func (c *checker) hand(s *slot) error {
	if s.err != nil || c.each == nil {
		return s.err
	}
	rest := s.bundle
	for i := range s.t.Width {
		var entry []byte
		entry, rest, _ = cutEntry(rest)
		if err := c.each(s.t.first(i), entry); err != nil {
			return err
		}
	}
	return nil
}

// superseded compares a partial tile of an earlier checkpoint with the beginning of the present one.
func (c *checker) superseded(t Tile) error {
	now := Tile{Level: t.Level, N: t.N, Width: WidthIn(t.Level, t.N, c.size)}
	whole, err := readFile(c.fsys, now.Path(), now.limit(), nil)
	if err != nil {
		return damage(now.Path(), now.first(0), -1, err)
	}
	part, err := readFile(c.fsys, t.Path(), t.limit(), nil)
	if err != nil {
		return damage(t.Path(), t.first(0), -1, err)
	}
	starts := t.starts(whole)
	want := whole[:starts[t.Width]]
	if bytes.Equal(part, want) {
		return nil
	}
	at, i := difference(part, want), 0
	for i < t.Width-1 && starts[i+1] <= at {
		i++
	}
	return damage(t.Path(), t.first(i), int64(at), errors.New("it is not the beginning of the tile that replaced it"))
}

// starts returns where each entry or hash of a whole tile begins, up to the end of the last that t has. Places that the data does
// not reach are its end.
func (t Tile) starts(whole []byte) []int {
	out := make([]int, t.Width+1)
	rest := whole
	for i := range t.Width {
		if t.Level != Entries {
			rest = rest[min(HashSize, len(rest)):]
		} else {
			_, rest, _ = cutEntry(rest)
		}
		out[i+1] = len(whole) - len(rest)
	}
	return out
}

// difference returns the first place at which two texts differ.
func difference(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
