package exec_test

import (
	"fmt"
	"os"
	osexec "os/exec"
	"runtime"
	"testing"
)

func TestAConductorThatDoesNotReadDiesWithAKilledParent(t *testing.T) {
	parent := osexec.Command(os.Args[0])
	parent.Env = append(os.Environ(), childMode+"=parent")
	stderr, err := parent.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	_, err = fmt.Fscan(stderr, &pid) // the Conductor's own, so it runs by now
	if kerr := parent.Process.Kill(); kerr != nil {
		t.Fatal(kerr)
	}
	_ = parent.Wait() // killed
	if err != nil {
		t.Fatalf("the Conductor's pid did not come: %v", err)
	}
	for alive(pid) { // the kill is on its way; a Conductor that escaped it would spin until the test's time is out
		runtime.Gosched()
	}
}
