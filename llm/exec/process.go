package exec

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"assay/core/fault"
)

// process is one run of the command, the leader of its own process group.
type process struct {
	cmd *exec.Cmd
	in  *os.File // its standard input
	out *os.File // its standard output
	buf *bufio.Reader

	guard *exec.Cmd // kills the group when we are gone
	held  *os.File  // tells guard that we are there, by being open

	reaped chan struct{} // closed when it has ended and how is known
	done   chan struct{} // closed when it is reaped, its group is killed and its standard error is drained
}

// past is a deadline that ends a read or write at once.
var past = time.Unix(1, 0)

// grace is how long a process may take to end by itself once its input is closed, and its last words on standard error to arrive.
const grace = 250 * time.Millisecond

// patience is how long a process whose output has ended may take to end by itself: the end of a pipe is seen before the exit.
const patience = 500 * time.Millisecond

func start(argv []string, o Options) (*process, error) {
	var pipes [3][2]*os.File
	closeAll := func(which int) {
		for _, p := range pipes {
			if p[which] != nil {
				_ = p[which].Close()
			}
		}
	}
	for i := range pipes {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(0)
			closeAll(1)
			return nil, err
		}
		if i == 0 {
			r, w = w, r
		}
		pipes[i] = [2]*os.File{r, w} // ours, theirs
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = o.Dir, o.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0][1], pipes[1][1], pipes[2][1]
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err := cmd.Start()
	closeAll(1)
	if err != nil {
		closeAll(0)
		return nil, err
	}
	p := &process{cmd: cmd, in: pipes[0][0], out: pipes[1][0], reaped: make(chan struct{}), done: make(chan struct{})}
	p.buf = bufio.NewReaderSize(p.out, 64<<10)
	if err := p.watch(); err != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		closeAll(0)
		return nil, err
	}
	go p.wait(pipes[2][0], o.Stderr)
	return p, nil
}

// watch starts the group's guard, which waits for the end of a pipe that only we hold open. Where we are killed and can end
// nothing any more, a Conductor that does not read would never notice. The kernel's own signal at a parent's death would reach
// a command's shell and not the command; this reaches all that stays in the group, on every Unix.
func (p *process) watch() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	p.guard, p.held = exec.Command("/bin/sh", "-c", "read -r _; kill -KILL 0"), w
	p.guard.Stdin = r
	p.guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: p.cmd.Process.Pid}
	if err := p.guard.Start(); err != nil {
		return errors.Join(err, w.Close())
	}
	return nil
}

// wait reaps the process. What it leaves behind in its group is killed, so that nobody keeps its pipes open.
func (p *process) wait(stderr *os.File, to io.Writer) {
	defer close(p.done)
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		if to == nil {
			to = io.Discard
		}
		_, err := io.Copy(to, stderr)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			_, _ = io.Copy(io.Discard, stderr) // a writer that fails must not stop the Conductor
		}
	}()
	_ = p.cmd.Wait()
	close(p.reaped)
	p.signal(syscall.SIGKILL)
	_ = p.guard.Wait() // it was in the group
	_ = p.held.Close()
	p.settle()
	cut := time.AfterFunc(grace, func() { _ = stderr.SetReadDeadline(past) }) // someone outside the group may hold the pipe
	<-copied
	cut.Stop()
	_ = stderr.Close()
}

// signal reaches the whole group. It is not called once the group is known to be gone: its number may be another's by then.
func (p *process) signal(s syscall.Signal) {
	select {
	case <-p.done:
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, s)
	}
}

// settle gives the killed rest of the group a moment to die. It is bounded, because a member that its new parent has not
// reaped still counts.
func (p *process) settle() {
	for range 50 {
		if syscall.Kill(-p.cmd.Process.Pid, 0) != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// kill ends the group at once and waits for it.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	p.release()
}

// finish closes the input, which a Conductor takes as the end, and kills what has not ended soon after.
func (p *process) finish() {
	_ = p.in.Close()
	t := time.AfterFunc(grace, func() { p.signal(syscall.SIGKILL) })
	defer t.Stop()
	p.release()
}

func (p *process) release() {
	<-p.done
	_ = p.in.Close()
	_ = p.out.Close()
}

// exchange writes one line and reads one line.
func (p *process) exchange(ctx context.Context, line []byte) ([]byte, error) {
	stop := context.AfterFunc(ctx, func() {
		_ = p.in.SetWriteDeadline(past)
		_ = p.out.SetReadDeadline(past)
	})
	defer stop() // where the deadline already struck, the caller drops the process
	// A write that fails because the process is gone is no answer yet: its last line may say why.
	if _, err := p.in.Write(line); errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, TimedOut.With()
	}
	out, err := p.readLine()
	switch {
	case err == nil && ctx.Err() != nil:
		return nil, TimedOut.With() // the deadline has marked the pipes; an answer at the very edge is late
	case err == nil && p.buf.Buffered() > 0:
		return nil, AnsweredTwice.With()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, TimedOut.With()
	case errors.Is(err, errTooLong):
		return nil, Flooded.With(fault.Int("limit", maxLine))
	case err != nil:
		return nil, p.exited()
	}
	return out, nil
}

var errTooLong = errors.New("line too long")

func (p *process) readLine() ([]byte, error) {
	var long []byte
	for {
		part, err := p.buf.ReadSlice('\n')
		switch {
		case len(long)+len(part) > maxLine+1:
			return nil, errTooLong
		case err == nil:
			return bytes.TrimRight(append(long, part...), "\r\n"), nil
		case err != bufio.ErrBufferFull:
			return nil, err // also a last line without its end: the process died while it wrote
		}
		long = append(long, part...)
	}
}

// exited says how the process ended whose output did. It must not kill first, or what it reads is its own signal.
func (p *process) exited() error {
	select {
	case <-p.reaped:
	case <-time.After(patience):
		p.kill()
		return Exited.Because(errors.New("it closed its standard output and went on running"))
	}
	p.kill()
	s, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && s.Signaled() {
		return Exited.With(fault.Str("signal", s.Signal().String()))
	}
	return Exited.With(fault.Int("exit", int64(p.cmd.ProcessState.ExitCode())))
}

// unasked looks, without waiting, whether the process wrote something that nobody asked for.
func (p *process) unasked() bool {
	if p.buf.Buffered() > 0 {
		return true
	}
	raw, err := p.out.SyscallConn()
	if err != nil {
		return false
	}
	var b [1]byte
	var n int
	err = raw.Read(func(fd uintptr) bool {
		n, _ = syscall.Read(int(fd), b[:])
		return true
	})
	return err == nil && n > 0
}
