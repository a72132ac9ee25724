package window

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"

	"assay/conductor"
	"assay/conductor/ending"
	"assay/conductor/episode"
	"assay/conductor/trace"
	"assay/core/canon"
	"assay/core/fault"
	"assay/core/money"
	"assay/run/lines"
)

// checkpoint keeps the episodes of one arm as they end, so that a restart plays only those that are missing.
//
//	7 0.5 1200000 stop {"v":2,"task_id":…}   place, score, pico-dollars, ending, trace
//	aborted the Conductor could not be asked
//
// Episodes stand in the order in which they ended.
type checkpoint struct {
	file    *lines.File
	path    string
	mu      sync.Mutex
	brief   []brief // by place
	aborted string
}

// brief is what a restart needs of an episode.
type brief struct {
	line   int64 // in the file; 0: the episode has not ended
	score  float64
	spent  money.Pico
	ending ending.Ending
}

var errCheckpoint = errors.New("not a line of an arm's checkpoint")

const abortedWord = "aborted "

// openCheckpoint opens an arm's checkpoint for n episodes.
func openCheckpoint(path, format string, n int) (*checkpoint, error) {
	c := &checkpoint{path: path, brief: make([]brief, n)}
	var err error
	c.file, err = lines.Open(path, format, func(line int64, payload []byte) error {
		if err := c.take(line, payload); err != nil {
			return conductor.BadTrace.Because(err).With(fault.Str("file", path), fault.Int("line", line))
		}
		return nil
	})
	return c, err
}

// take reads one line without reading the trace in it.
func (c *checkpoint) take(line int64, payload []byte) error {
	if why, ok := bytes.CutPrefix(payload, []byte(abortedWord)); ok {
		c.aborted = string(why)
		return nil
	}
	i, b, _, err := parseBrief(payload)
	if err != nil {
		return err
	}
	if i >= len(c.brief) || c.brief[i].line != 0 {
		return errCheckpoint
	}
	b.line = line
	c.brief[i] = b
	return nil
}

// parseBrief splits a line into what stands before the trace, and the trace.
func parseBrief(payload []byte) (i int, b brief, rest []byte, err error) {
	var field [4][]byte
	rest = payload
	for k := range field {
		var ok bool
		if field[k], rest, ok = bytes.Cut(rest, []byte{' '}); !ok {
			return 0, b, nil, errCheckpoint
		}
	}
	i, err = strconv.Atoi(string(field[0]))
	if err != nil || i < 0 {
		return 0, b, nil, errCheckpoint
	}
	if b.score, err = strconv.ParseFloat(string(field[1]), 64); err != nil {
		return 0, b, nil, errCheckpoint
	}
	pico, err := strconv.ParseInt(string(field[2]), 10, 64)
	if err != nil || pico < 0 {
		return 0, b, nil, errCheckpoint
	}
	b.spent, b.ending = money.Pico(pico), ending.Ending(field[3])
	return i, b, rest, nil
}

// add keeps an episode; it is on disk when add returns.
func (c *checkpoint) add(i int, r *episode.Result) error {
	p := strconv.AppendInt(nil, int64(i), 10)
	p = canon.AppendFloat(append(p, ' '), r.Score)
	p = strconv.AppendInt(append(p, ' '), int64(r.Spent), 10)
	p = append(append(append(p, ' '), r.Ending...), ' ')
	p = bytes.TrimSuffix(trace.Append(p, r), []byte{'\n'})
	line, err := c.file.Append(p)
	if err == nil {
		err = c.file.Sync(line)
	}
	if err != nil {
		return fmt.Errorf("keeping an episode: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.brief[i] = brief{line, r.Score, r.Spent, r.Ending}
	return nil
}

// at returns what is kept of an episode.
func (c *checkpoint) at(i int) brief {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.brief[i]
}

// abort keeps why the arm ends here.
func (c *checkpoint) abort(why string) error {
	if err := c.file.Write([]byte(abortedWord + why)); err != nil {
		return fmt.Errorf("keeping why an arm ended: %w", err)
	}
	c.aborted = why
	return nil
}

func (c *checkpoint) past(i int) (money.Pico, bool) {
	b := c.at(i)
	return b.spent, b.line != 0
}

func (c *checkpoint) close() error { return c.file.Close() }

// span is where a trace stands in a checkpoint's file.
type span struct{ at, length int64 }

// episodes are the traces of a closed checkpoint, in the slice's order.
type episodes struct {
	file    *os.File
	spans   []span // length 0: the episode has not ended
	aborted string
}

// openEpisodes reads where the traces stand. The checkpoint must be closed.
func openEpisodes(path, format string, n int) (*episodes, error) {
	e := &episodes{spans: make([]span, n)}
	at := lines.Start(format)
	err := lines.ReadFile(path, format, func(_ int64, payload []byte) error {
		start := at
		at += lines.Lead + int64(len(payload)) + lines.Trail
		if why, ok := bytes.CutPrefix(payload, []byte(abortedWord)); ok {
			e.aborted = string(why)
			return nil
		}
		i, _, rest, err := parseBrief(payload)
		if err != nil || i >= n {
			return errCheckpoint
		}
		e.spans[i] = span{start + lines.Lead + int64(len(payload)-len(rest)), int64(len(rest))}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	e.file, err = os.Open(path)
	return e, err
}

// line returns the trace of an episode, without its line end; nil where it has not ended.
func (e *episodes) line(i int, buf []byte) ([]byte, error) {
	s := e.spans[i]
	if s.length == 0 {
		return nil, nil
	}
	if int64(cap(buf)) < s.length {
		buf = make([]byte, s.length)
	}
	buf = buf[:s.length]
	_, err := e.file.ReadAt(buf, s.at)
	return buf, err
}

func (e *episodes) close() error { return e.file.Close() }

// armStages reads how far the arms of a window have come.
func (o *Owner) armStages(n int64) []ArmStage {
	entries, err := os.ReadDir(o.work(n, "arms"))
	if err != nil {
		return nil // none has begun
	}
	var out []ArmStage
	for _, e := range entries {
		s := ArmStage{Arm: e.Name()}
		f, err := os.Open(o.work(n, "arms", e.Name(), "episodes"))
		if err != nil {
			continue
		}
		in := bufio.NewScanner(f)
		in.Buffer(nil, lines.MaxPayload+64)
		for in.Scan() {
			_, payload, _ := bytes.Cut(in.Bytes(), []byte{' '})
			if why, ok := bytes.CutPrefix(payload, []byte(abortedWord)); ok {
				s.Aborted = string(why)
			} else if _, _, _, err := parseBrief(payload); err == nil {
				s.Ended++
			}
		}
		_ = f.Close()
		out = append(out, s)
	}
	return out
}
