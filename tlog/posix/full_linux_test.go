package posix_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"assay/core/fault"
	"assay/tlog/posix"
)

// A file system that is really full.
func TestARealFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=512k"); err != nil {
		t.Skipf("mounting a small file system needs root: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, 0) })
	dir := filepath.Join(disk, "log")
	l, err := posix.Open(dir, signer, origin, posix.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	size := 0
	for ; size < 100_000; size += 100 {
		if _, err = l.AppendAll(ctx, leaves(size, size+100)); err != nil {
			break
		}
	}
	if fault.Of(err) != posix.NoSpace {
		t.Fatalf("at %d: %v", size, err)
	}
	if l.Size() != int64(size) {
		t.Errorf("size %d, want %d", l.Size(), size)
	}
	check(t, dir, size)
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=8m"); err != nil {
		t.Fatal(err)
	}
	add(t, l, size, size+1000)
	check(t, dir, size+1000)
	if _, err := os.Stat(filepath.Join(dir, "checkpoint")); err != nil {
		t.Error(err)
	}
}
