//go:build !linux

package exec

import "syscall"

// attributes puts a process at the head of a group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
