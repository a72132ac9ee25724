package tokens

import (
	"container/heap"
	"math"
	"strings"
	"sync"
	"unicode/utf8"
)

// model merges the bytes of a word, pair by pair, the pair of the lowest rank first and of equal ranks the leftmost.
type model struct {
	bytes  [256]int32        // the token of each byte that stands in UTF-8
	whole  map[string]int32  // ids by the bytes they stand for; nil unless whole words skip the merges
	texts  map[int]string    // the bytes of every id
	merges map[uint64]merged // by left<<32 | right
	cache  *cache
}

// merged is what a pair becomes.
type merged struct{ rank, id int32 }

func pair(left, right int32) uint64 { return uint64(uint32(left))<<32 | uint64(uint32(right)) }

const noRank = math.MaxInt32

func (m *model) rank(left, right int32) (rank, id int32) {
	if to, ok := m.merges[pair(left, right)]; ok {
		return to.rank, to.id
	}
	return noRank, 0
}

// word returns the ids of a word. The result is shared and must not be changed.
func (m *model) word(w string) []int32 {
	if m.whole != nil {
		if id, ok := m.whole[w]; ok {
			return []int32{id}
		}
	}
	if ids, ok := m.cache.get(w); ok {
		return ids
	}
	ids := make([]int32, len(w))
	for i := range len(w) {
		ids[i] = m.bytes[w[i]]
	}
	if len(ids) <= shortWord {
		ids = m.mergeShort(ids)
	} else {
		ids = m.mergeLong(ids)
	}
	m.cache.put(w, ids)
	return ids
}

// shortWord is the length up to which looking at every pair again is faster than keeping a heap.
const shortWord = 32

// mergeShort merges in place.
func (m *model) mergeShort(ids []int32) []int32 {
	var ranks, to [shortWord]int32
	look := func(i int) {
		ranks[i], to[i] = noRank, 0
		if i+1 < len(ids) {
			ranks[i], to[i] = m.rank(ids[i], ids[i+1])
		}
	}
	for i := range ids {
		look(i)
	}
	for {
		best := 0
		for i := 1; i < len(ids); i++ {
			if ranks[i] < ranks[best] {
				best = i
			}
		}
		if len(ids) == 0 || ranks[best] == noRank {
			return ids
		}
		ids[best] = to[best]
		copy(ids[best+1:], ids[best+2:])
		copy(ranks[best+1:len(ids)], ranks[best+2:len(ids)])
		copy(to[best+1:len(ids)], to[best+2:len(ids)])
		ids = ids[:len(ids)-1]
		look(best)
		if best > 0 {
			look(best - 1)
		}
	}
}

// candidate is a pair that may be merged, left at position at. It is stale when the ids there have changed.
type candidate struct {
	rank, at    int32
	left, right int32
	id          int32
}

type candidates []candidate

func (c candidates) Len() int { return len(c) }
func (c candidates) Less(i, j int) bool {
	return c[i].rank < c[j].rank || c[i].rank == c[j].rank && c[i].at < c[j].at
}
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(x any)   { *c = append(*c, x.(candidate)) }
func (c *candidates) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// mergeLong merges with a heap of candidates over a linked list: n log n for any word.
func (m *model) mergeLong(ids []int32) []int32 {
	n := int32(len(ids))
	next, prev := make([]int32, n), make([]int32, n)
	var queue candidates
	offer := func(at int32) {
		if at < 0 || next[at] >= n {
			return
		}
		left, right := ids[at], ids[next[at]]
		if rank, id := m.rank(left, right); rank != noRank {
			heap.Push(&queue, candidate{rank, at, left, right, id})
		}
	}
	for i := range n {
		next[i], prev[i] = i+1, i-1
	}
	for i := range n - 1 {
		offer(i)
	}
	const gone = -1
	for len(queue) > 0 {
		c := heap.Pop(&queue).(candidate)
		if ids[c.at] != c.left || next[c.at] >= n || ids[next[c.at]] != c.right {
			continue
		}
		right := next[c.at]
		ids[c.at], ids[right] = c.id, gone
		next[c.at] = next[right]
		if next[right] < n {
			prev[next[right]] = c.at
		}
		offer(c.at)
		offer(prev[c.at])
	}
	out := ids[:0]
	for _, id := range ids {
		if id != gone {
			out = append(out, id)
		}
	}
	return out
}

// cache remembers words, at most maxWords of at most maxWord bytes. When it is full it begins anew.
type cache struct {
	mu    sync.RWMutex // guards words
	words map[string][]int32
}

const (
	maxWords = 1 << 14
	maxWord  = 64
)

func newCache() *cache { return &cache{words: map[string][]int32{}} }

func (c *cache) get(w string) ([]int32, bool) {
	if len(w) > maxWord {
		return nil, false
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	ids, ok := c.words[w]
	return ids, ok
}

func (c *cache) put(w string, ids []int32) {
	if len(w) > maxWord {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.words) >= maxWords {
		clear(c.words)
	}
	c.words[strings.Clone(w)] = ids // not a slice of the text, which would be kept alive
}

// byteOf maps the characters in which a vocabulary writes bytes back to the bytes. Printable characters of Latin-1
// stand for themselves; the other 68 bytes, in their order, are written as U+0100 onwards.
var byteOf = func() map[rune]byte {
	out := make(map[rune]byte, 256)
	other := rune(0x100)
	for b := range rune(256) {
		if b > ' ' && b < 0x7f || b > 0xa0 && b != 0xad {
			out[b] = byte(b)
			continue
		}
		out[other] = byte(b)
		other++
	}
	return out
}()

// spelled returns the bytes that a vocabulary's word stands for; false when some character stands for none.
func spelled(word string) (string, bool) {
	out := make([]byte, 0, len(word))
	for _, r := range word {
		b, ok := byteOf[r]
		if !ok || r == utf8.RuneError {
			return "", false
		}
		out = append(out, b)
	}
	return string(out), true
}
