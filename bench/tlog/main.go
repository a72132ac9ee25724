// Package main measures assay's log writer beside Tessera's POSIX driver, in one run, in pairs that follow each other.
//
// Invariants:
//   - Both write to the same disk, the same leaves, from as many goroutines; each waits for its leaf before it adds the next.
//   - What "appended" means is printed with each ratio. Ours always means: on disk, integrated, and covered by a checkpoint on disk.
//
// It is a module of its own, so that Tessera's dependencies stay out of assay's. What is written: docs/spec/log.md.
package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/transparency-dev/tessera"
	tposix "github.com/transparency-dev/tessera/storage/posix"
	"golang.org/x/mod/sumdb/note"

	"assay/core/sign"
	"assay/tlog"
	"assay/tlog/posix"
)

const origin = "example.com/assay/log"

var (
	dir     = flag.String("dir", "", "where the logs are written: a folder on a real disk; the system's temporary folder by default")
	writers = flag.Int("writers", 64, "goroutines that append")
	each    = flag.Int("each", 200, "leaves for each of them; a fifth of that where Tessera publishes, which takes long")
	pairs   = flag.Int("pairs", 9, "interleaved pairs; the median is printed")
	tune    = flag.Bool("tune", false, "try Tessera's settings instead of comparing")
)

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// setting is one way to run Tessera.
type setting struct {
	batch     uint
	age       time.Duration
	published bool // wait for a published checkpoint, not only for the index
}

// The settings that served Tessera best here; -tune tries others.
var (
	integrated = setting{batch: 64, age: 5 * time.Millisecond}
	published  = setting{batch: 64, age: 5 * time.Millisecond, published: true}
)

// leaves returns how many leaves each writer appends.
func (s setting) leaves() int {
	if s.published {
		return max(*each/5, 1)
	}
	return *each
}

func run(ctx context.Context) error {
	if *tune {
		return tuning(ctx)
	}
	if err := compare(ctx, "tessera: index durable and integrated, not published", integrated); err != nil {
		return err
	}
	return compare(ctx, "tessera: covered by a published checkpoint (interval 100ms, its least)", published)
}

func tuning(ctx context.Context) error {
	for _, published := range []bool{false, true} {
		for _, batch := range []uint{16, 32, 64, 128} {
			for _, age := range []time.Duration{time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond} {
				s := setting{batch, age, published}
				var rates []float64
				for range 3 {
					rate, err := measure(ctx, s.open, s.leaves())
					if err != nil {
						return err
					}
					rates = append(rates, rate)
				}
				fmt.Printf("published %v, batch %d, age %v: %.0f leaves/s\n", published, batch, age, median(rates))
			}
		}
	}
	return nil
}

func compare(ctx context.Context, what string, s setting) error {
	var ours, theirs, ratios []float64
	for i := range *pairs {
		a, b := openOurs, s.open
		if i%2 == 1 { // who comes second finds a busier disk
			a, b = b, a
		}
		first, err := measure(ctx, a, s.leaves())
		if err != nil {
			return err
		}
		second, err := measure(ctx, b, s.leaves())
		if err != nil {
			return err
		}
		if i%2 == 1 {
			first, second = second, first
		}
		ours, theirs, ratios = append(ours, first), append(theirs, second), append(ratios, first/second)
	}
	fmt.Printf("%s, batch %d, age %v; ours: durable, integrated and under a durable checkpoint\n", what, s.batch, s.age)
	fmt.Printf("  %d writers, 512-byte leaves, median of %d pairs: ours %.0f/s, tessera %.0f/s, ratio %.2f (%.2f to %.2f)\n",
		*writers, *pairs, median(ours), median(theirs), median(ratios), slices.Min(ratios), slices.Max(ratios))
	return nil
}

func median(of []float64) float64 {
	of = slices.Sorted(slices.Values(of))
	return of[len(of)/2]
}

// appender adds one leaf and returns when it is what the run calls appended.
type appender func(ctx context.Context, leaf []byte) error

// opener opens a log in a folder.
type opener func(ctx context.Context, dir string) (appender, func() error, error)

// measure returns how many leaves a second a new log takes.
func measure(ctx context.Context, open opener, each int) (rate float64, err error) {
	folder, err := os.MkdirTemp(*dir, "log")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	add, closeLog, err := open(ctx, folder)
	if err != nil {
		return 0, err
	}
	var pool sync.WaitGroup
	errs := make(chan error, *writers)
	begin := time.Now()
	for w := range *writers {
		pool.Go(func() {
			leaf := make([]byte, 512)
			for i := range each {
				binary.BigEndian.PutUint64(leaf, uint64(w)<<32|uint64(i))
				if err := add(ctx, slices.Clone(leaf)); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	pool.Wait()
	took := time.Since(begin)
	close(errs)
	if err := <-errs; err != nil {
		return 0, err
	}
	return float64(*writers*each) / took.Seconds(), closeLog()
}

var seed = [32]byte{7}

func openOurs(_ context.Context, dir string) (appender, func() error, error) {
	l, err := posix.Open(dir, sign.NewEd25519(seed), origin, posix.Options{})
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, leaf []byte) error {
		_, err := l.Append(ctx, leaf)
		return err
	}, l.Close, nil
}

// open runs Tessera without what costs it time here: no collection of garbage, no republishing.
func (s setting) open(ctx context.Context, dir string) (appender, func() error, error) {
	signer, err := noteSigner()
	if err != nil {
		return nil, nil, err
	}
	driver, err := tposix.New(ctx, tposix.Config{Path: dir})
	if err != nil {
		return nil, nil, err
	}
	interval := time.Hour
	if s.published {
		interval = 100 * time.Millisecond
	}
	ctx, cancel := context.WithCancel(ctx)
	log, _, reader, err := tessera.NewAppender(ctx, driver, tessera.NewAppendOptions().WithCheckpointSigner(signer).
		WithBatching(s.batch, s.age).WithCheckpointInterval(interval).WithGarbageCollectionInterval(0).WithCheckpointRepublishInterval(0))
	if err != nil {
		cancel()
		return nil, nil, err
	}
	stop := func() error { cancel(); return nil }
	if !s.published {
		return func(ctx context.Context, leaf []byte) error {
			_, err := log.Add(ctx, tessera.NewEntry(leaf))()
			return err
		}, stop, nil
	}
	await := tessera.NewPublicationAwaiter(ctx, reader.ReadCheckpoint, time.Millisecond)
	return func(ctx context.Context, leaf []byte) error {
		_, _, err := await.Await(ctx, log.Add(ctx, tessera.NewEntry(leaf)))
		return err
	}, stop, nil
}

// noteSigner returns the key as Tessera takes it.
func noteSigner() (note.Signer, error) {
	v, err := tlog.NewVerifierKey(origin, sign.NewEd25519(seed).Public())
	if err != nil {
		return nil, err
	}
	private := append([]byte{1}, ed25519.NewKeyFromSeed(seed[:]).Seed()...)
	id := strings.Split(v.String(), "+")[1]
	return note.NewSigner("PRIVATE+KEY+" + origin + "+" + id + "+" + base64.StdEncoding.EncodeToString(private))
}
