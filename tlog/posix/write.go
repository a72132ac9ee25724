package posix

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"sync"

	"assay/core/fault"
	"assay/tlog"
)

const (
	tempPrefix = ".tmp-"
	filePerm   = 0o644
	dirPerm    = 0o755
	hands      = 8 // files that are brought to disk at a time
)

// writing is one batch on its way to disk.
type writing struct {
	log *Log

	pool sync.WaitGroup
	free chan struct{} // a token for each hand that is at work

	mu      sync.Mutex
	errs    []error
	created []string        // files and folders that undo removes
	folders map[string]bool // folders whose names must reach the disk
	next    string          // temporary file of the checkpoint
}

func (l *Log) newWriting() *writing {
	return &writing{log: l, free: make(chan struct{}, hands), folders: map[string]bool{}}
}

// tile writes a tile or bundle under its name. Several are written at a time: a disk takes many as fast as one.
func (w *writing) tile(t tlog.Tile, data []byte) {
	w.spawn(func(temp string) error {
		name := t.Path()
		there, err := w.log.same(name, data)
		if err != nil || there {
			return err
		}
		if err := w.mkdirs(path.Dir(name)); err != nil {
			return err
		}
		if err := w.temp(temp, data); err != nil {
			return err
		}
		w.note(name)
		if err := w.log.root.Rename(temp, name); err != nil {
			return err
		}
		return w.log.step("tlog/tile")
	})
}

// checkpoint writes the next checkpoint under a temporary name.
func (w *writing) checkpoint(note []byte) {
	w.spawn(func(temp string) error {
		w.mu.Lock()
		w.next = temp
		w.mu.Unlock()
		return w.temp(temp, note)
	})
}

// spawn gives work to a hand, with a name for a temporary file.
func (w *writing) spawn(work func(temp string) error) {
	w.log.temps++
	temp := tempPrefix + strconv.FormatInt(w.log.temps, 10)
	w.free <- struct{}{}
	w.pool.Go(func() {
		defer func() { <-w.free }()
		if w.failed() {
			return
		}
		if err := work(temp); err != nil {
			w.mu.Lock()
			w.errs = append(w.errs, err)
			w.mu.Unlock()
		}
	})
}

func (w *writing) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.errs) > 0
}

// wait returns when all hands have finished.
func (w *writing) wait() error {
	w.pool.Wait()
	return errors.Join(w.errs...)
}

// note remembers a name that is about to be made, and its folder.
func (w *writing) note(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.created = append(w.created, name)
	w.folders[path.Dir(name)] = true
}

// temp writes a temporary file and brings it to disk.
func (w *writing) temp(name string, data []byte) error {
	w.mu.Lock()
	w.created = append(w.created, name)
	w.mu.Unlock()
	f, err := w.log.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, filePerm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = w.log.step("tlog/written")
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return w.log.step("tlog/temp")
}

// mkdirs makes a folder and those above it.
func (w *writing) mkdirs(dir string) error {
	if _, err := w.log.root.Lstat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := w.mkdirs(path.Dir(dir)); err != nil {
		return err
	}
	err := w.log.root.Mkdir(dir, dirPerm)
	if err == nil {
		w.note(dir)
	} else if errors.Is(err, fs.ErrExist) { // another hand was faster
		err = nil
	}
	return err
}

// same reports whether a file is there with the bytes. With other bytes it is refused.
func (l *Log) same(name string, data []byte) (bool, error) {
	if _, err := l.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	have, err := l.root.ReadFile(name)
	if err != nil {
		return false, err
	}
	if !bytes.Equal(have, data) {
		return false, OtherBytes.With(fault.Str("file", name))
	}
	return true, nil
}

// syncFolders brings the new names to disk.
func (w *writing) syncFolders() error {
	var pool sync.WaitGroup
	errs := make([]error, len(w.folders))
	i := 0
	for dir := range w.folders {
		err := &errs[i]
		i++
		w.free <- struct{}{}
		pool.Go(func() {
			*err = w.log.syncFolder(dir)
			<-w.free
		})
	}
	pool.Wait()
	return errors.Join(errors.Join(errs...), w.log.step("tlog/folders"))
}

func (l *Log) syncFolder(dir string) error {
	d, err := l.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// publish puts the next checkpoint in the place of the last. From its first step on, what a reader sees is the new log.
func (w *writing) publish() error {
	if err := w.log.root.Rename(w.next, tlog.CheckpointPath); err != nil {
		return err
	}
	if err := w.log.step("tlog/checkpoint"); err != nil {
		return err
	}
	return w.log.syncFolder(".")
}

// remove takes back what the batch has made.
func (w *writing) remove() error {
	var errs []error
	slices.Sort(w.created) // what a folder holds stands behind it
	for _, name := range slices.Backward(w.created) {
		if err := w.log.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
