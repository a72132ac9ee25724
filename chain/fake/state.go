package fake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"assay/chain"
	"assay/core/canon"
	"assay/core/fault"
	"assay/core/ss58"
)

// BadFile refuses a file that is no chain.
var BadFile = fault.NewCode("chain.bad_file", fault.Invalid, "the chain's file has a mistake; correct it")

// State is what the file holds. Every member may be left out.
type State struct {
	Seed        string             `json:"seed,omitzero"`    // hashes that are not listed derive from it
	Genesis     int64              `json:"genesis"`          // first block there is
	Head        int64              `json:"head"`             // newest block
	Hashes      map[string]string  `json:"hashes,omitempty"` // block number to hash, before any derived one
	Neurons     []chain.Neuron     `json:"neurons"`
	Commitments []chain.Commitment `json:"commitments"` // at most one for each hotkey
	Weights     []Weights          `json:"weights"`     // at most one set for each hotkey
	Parameters  chain.Parameters   `json:"parameters"`
	Fail        []string           `json:"fail,omitempty"` // steps that fail, see the constants
}

// Weights is what one hotkey set, and when.
type Weights struct {
	Hotkey  string         `json:"hotkey"`
	Block   int64          `json:"block"`
	Weights []chain.Weight `json:"weights"`
}

// maxFile is the longest file in bytes.
const maxFile = 16 << 20

// Read returns what the file at path holds. A file that is not there is a chain that cannot be asked.
func Read(path string) (*State, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, chain.Unavailable.Because(err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, chain.Unavailable.Because(err)
	}
	s, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// Parse reads the text of a file strictly.
func Parse(text []byte) (*State, error) {
	if len(text) > maxFile {
		return nil, BadFile.With(fault.Int("max_bytes", maxFile))
	}
	s := &State{}
	if err := canon.Strict(text, s); err != nil {
		return nil, BadFile.Because(err)
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	return s, nil
}

// bad is the refusal of one place in the file.
func bad(where string, i int, why error) error {
	return BadFile.Because(why).With(fault.Str("in", where), fault.Int("entry", int64(i)))
}

var (
	errTwice  = errors.New("it stands here twice")
	errBlock  = errors.New("its block lies behind the head, or is negative")
	errNumber = errors.New("not a block number in decimal")
	errHash   = errors.New(`a hash is "0x" and 64 lower-case hexadecimal digits`)
	errSigns  = errors.New("genesis, head and parameters are not negative, and the head is not before the genesis")
	errUID    = errors.New("a uid is a number from 0 to 65535")
	errStep   = errors.New("no such step")
)

func (s *State) check() error {
	if s.Genesis < 0 || s.Head < s.Genesis || s.Parameters.WeightsRateLimit < 0 || s.Parameters.ImmunityPeriod < 0 {
		return BadFile.Because(errSigns)
	}
	for number, hash := range s.Hashes {
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 0 || strconv.FormatInt(n, 10) != number {
			return BadFile.Because(errNumber).With(fault.Str("in", "hashes"), fault.Str("block", number))
		}
		if !chain.IsHash(hash) {
			return BadFile.Because(errHash).With(fault.Str("in", "hashes"), fault.Str("block", number))
		}
	}
	for i, step := range s.Fail {
		if !slices.Contains(steps, step) {
			return bad("fail", i, errStep)
		}
	}
	return s.checkPeople()
}

func (s *State) checkPeople() error {
	uids, neurons, commitments, weights := map[int]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i, n := range s.Neurons {
		if n.UID < 0 || n.UID > chain.MaxUID {
			return bad("neurons", i, errUID)
		}
		if uids[n.UID] {
			return bad("neurons", i, errTwice)
		}
		uids[n.UID] = true
		if err := s.checkEntry("neurons", i, n.Hotkey, n.Registered, neurons); err != nil {
			return err
		}
	}
	for i, c := range s.Commitments {
		if err := s.checkEntry("commitments", i, c.Hotkey, c.Block, commitments); err != nil {
			return err
		}
		if c.Signal != "" {
			if err := chain.CheckSignal(c.Signal); err != nil {
				return bad("commitments", i, err)
			}
		}
	}
	for i, w := range s.Weights {
		err := s.checkEntry("weights", i, w.Hotkey, w.Block, weights)
		if err == nil {
			if err = chain.CheckWeights(w.Weights); err != nil {
				err = bad("weights", i, err)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkEntry looks at what every entry has: a hotkey, once, and a block up to the head.
func (s *State) checkEntry(where string, i int, hotkey string, block int64, seen map[string]bool) error {
	if _, err := ss58.Decode(hotkey); err != nil {
		return bad(where, i, err)
	}
	if seen[hotkey] {
		return bad(where, i, errTwice)
	}
	if block < 0 || block > s.Head {
		return bad(where, i, errBlock)
	}
	seen[hotkey] = true
	return nil
}

// hash returns a block's hash: the one listed, or SHA-256 of "fake chain", the seed and the number, each ended by a line end.
func (s *State) hash(number int64) string {
	text := strconv.FormatInt(number, 10)
	if listed, ok := s.Hashes[text]; ok {
		return listed
	}
	sum := sha256.Sum256([]byte("fake chain\n" + s.Seed + "\n" + text + "\n"))
	return "0x" + hex.EncodeToString(sum[:])
}

func (s *State) block() chain.Block { return chain.Block{Number: s.Head, Hash: s.hash(s.Head)} }

func (s *State) metagraph() chain.Metagraph {
	slices.SortFunc(s.Neurons, func(a, b chain.Neuron) int { return a.UID - b.UID })
	return chain.Metagraph{Block: s.block(), Neurons: s.Neurons}
}

// Edit changes the file at path under the lock that all writers take, and has the change on disk when it returns. When do fails
// the file stays as it was. The lock is the file path + ".lock".
func Edit(ctx context.Context, path string, do func(*State) error) error {
	unlock, err := lock(ctx, path+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	s, err := Read(path)
	if err != nil {
		return err
	}
	if err := do(s); err != nil {
		return err
	}
	// One name for all writers: what a killed one left is taken away by the next.
	next := path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	return replace(path, f, s)
}

// Write replaces the file at path by a state, or makes it. It takes no lock and does not look at what stands there: Edit does.
func Write(path string, s *State) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-")
	if err != nil {
		return err
	}
	return replace(path, f, s)
}

// replace fills f, a file beside path, with a state and gives it path's name. When it fails f is gone and path as it was.
func replace(path string, f *os.File, s *State) error {
	err := s.check()
	var text []byte
	if err == nil {
		text, err = json.Marshal(s, jsontext.WithIndent("  "), json.Deterministic(true), json.FormatNilSliceAsNull(false))
	}
	if err == nil {
		_, err = f.Write(append(text, '\n'))
	}
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDirectory(filepath.Dir(path))
}

// syncDirectory makes the names in a directory durable.
func syncDirectory(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// lockEvery is how often a lock that somebody holds is tried again: a writer holds it for some milliseconds.
const lockEvery = 2 * time.Millisecond

// lock waits for the lock file at path until ctx ends.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, chain.Unavailable.Because(err)
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		held, err := tryLock(f)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if held {
			return func() { _ = f.Close() }, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(lockEvery):
		}
	}
}
