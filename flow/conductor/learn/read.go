package learn

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"

	"assay/conductor/catalog"
	"assay/conductor/profile"
	"assay/conductor/publication"
	"assay/conductor/state"
	"assay/conductor/task"
	"assay/conductor/trace"
	"assay/conductor/window"
	"assay/conductor/world"
	"assay/core/canon"
	"assay/core/fault"
)

// Publication opens the revealed windows of a publication: one, or all for 0.
func Publication(fsys fs.FS, only int64) ([]*Set, error) {
	entries, err := fs.ReadDir(fsys, publication.WindowsDir)
	if err != nil {
		return nil, BadSource.Because(err)
	}
	var numbers []int64
	for _, e := range entries {
		n, err := strconv.ParseInt(e.Name(), 10, 64)
		if err != nil || only != 0 && n != only {
			continue
		}
		if _, err := fs.Stat(fsys, path.Join(publication.WindowDir(n), publication.RevealFile)); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	var out []*Set
	for _, n := range numbers {
		s, err := openWindow(fsys, n)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, BadSource.With(fault.Str("why", "no window is revealed"))
	}
	return out, nil
}

// TraceFile opens a trace file of the dev kit, whose statements stand in the world that it was played on.
func TraceFile(open func() (io.ReadCloser, error), w *world.World) (*Set, error) {
	if w == nil {
		return nil, NoWorld.With()
	}
	s := &Set{tasks: map[string]task.Pinned{}}
	var specs []task.Spec
	for _, t := range w.Tasks {
		specs = append(specs, t.Spec())
	}
	pinned, err := window.Slice("", specs)
	if err != nil {
		return nil, err
	}
	for _, t := range pinned {
		s.tasks[t.ID()] = t
	}
	s.each = func(_ string, do func(int, trace.Episode) error) error {
		f, err := open()
		if err != nil {
			return err
		}
		in := bufio.NewReaderSize(f, 1<<16)
		header, err := in.ReadBytes('\n')
		if err == nil {
			err = s.header(header)
		}
		for i := 0; err == nil; i++ {
			var line []byte
			if line, err = in.ReadBytes('\n'); len(line) == 0 {
				break
			}
			e, perr := trace.Parse(line)
			if perr != nil {
				err = perr
				break
			}
			err = do(i, e)
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return errors.Join(err, f.Close())
	}
	s.Arms = []string{""}
	return s, s.gather()
}

// header reads the first line of a trace file.
func (s *Set) header(line []byte) error {
	o, err := canon.DecodeObject(bytes.TrimSuffix(line, []byte{'\n'}))
	if err != nil {
		return BadSource.Because(err)
	}
	frozen, _ := o["catalog"].(string)
	instructions, _ := o["instructions"].(string)
	nonce, _ := o["nonce"].(string)
	arm, _ := o["arm"].(string)
	entry, _ := o["schedule"].(canon.Object)
	if frozen == "" || entry == nil {
		return BadSource.With(fault.Str("why", "the first line is no trace header"))
	}
	s.Profile = profile.Compat
	if entry["profile"] == "strict" {
		s.Profile = profile.Strict
	}
	s.Nonce, s.Arms = nonce, []string{arm}
	if s.Snapshot, err = catalog.Thaw(frozen, s.Profile); err != nil {
		return BadSource.Because(err)
	}
	s.Renderer, err = state.NewRenderer(instructions, s.Snapshot, s.Profile)
	return err
}

// readHead reads the head of a window record.
func readHead(fsys fs.FS, file string) (publication.Head, error) {
	f, err := fsys.Open(file)
	if err != nil {
		return publication.Head{}, BadSource.Because(err)
	}
	defer f.Close()
	return publication.ReadHead(f)
}

func readLine(fsys fs.FS, file string, v any) error {
	text, err := fs.ReadFile(fsys, file)
	if err != nil {
		return BadSource.Because(err)
	}
	return publication.Parse(file, 1, bytes.TrimSuffix(text, []byte{'\n'}), v)
}

// eachLine gives every line of the numbered files of a folder to do.
func eachLine(fsys fs.FS, dir string, do func(i int, file string, line []byte) error) error {
	for i := 0; ; {
		file := publication.Numbered(dir, i)
		text, err := fs.ReadFile(fsys, file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		for line := range bytes.Lines(text) {
			if err := do(i, file, bytes.TrimSuffix(line, []byte{'\n'})); err != nil {
				return err
			}
			i++
		}
		if i%publication.Chunk != 0 {
			return nil
		}
	}
}

func (s *Set) readTasks(fsys fs.FS, dir string) error {
	return eachLine(fsys, dir, func(i int, file string, line []byte) error {
		var t publication.Task
		if err := publication.Parse(file, i%publication.Chunk+1, line, &t); err != nil {
			return err
		}
		one, err := window.Slice("", []task.Spec{t.Spec()})
		if err != nil {
			return err
		}
		s.tasks[t.ID] = one[0]
		return nil
	})
}

func eachEpisode(fsys fs.FS, dir string, do func(int, trace.Episode) error) error {
	return eachLine(fsys, dir, func(i int, file string, line []byte) error {
		e, err := trace.Parse(line)
		if err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		return do(i, e)
	})
}
