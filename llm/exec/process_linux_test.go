package exec_test

import (
	"fmt"
	"os"
	osexec "os/exec"
	"runtime"
	"testing"
)

func TestAConductorThatDoesNotReadAndItsChildDieWithAKilledParent(t *testing.T) {
	parent := osexec.Command(os.Args[0])
	parent.Env = append(os.Environ(), childMode+"=parent")
	stderr, err := parent.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pids [2]int
	_, err = fmt.Fscan(stderr, &pids[0], &pids[1]) // told by the Conductor, so both run by now
	if kerr := parent.Process.Kill(); kerr != nil {
		t.Fatal(kerr)
	}
	_ = parent.Wait() // killed
	if err != nil {
		t.Fatalf("the Conductor's pids did not come: %v", err)
	}
	for alive(pids[0]) || alive(pids[1]) { // the kill is on its way; who escaped it would spin until the test's time is out
		runtime.Gosched()
	}
}
