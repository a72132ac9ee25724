//go:build crash

package crash

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

// What a harness sets. A process in which neither is set passes its points.
const (
	at    = "ASSAY_CRASH_AT"    // the number of the point at which the process ends, from 1
	count = "ASSAY_CRASH_COUNT" // a file that holds the number of points that were passed
)

var state struct {
	mu     sync.Mutex
	once   sync.Once
	at     int64
	passed int64
	count  *os.File
}

func prepare() {
	state.at, _ = strconv.ParseInt(os.Getenv(at), 10, 64)
	if name := os.Getenv(count); name != "" {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			panic("crash: the file of the count cannot be written: " + err.Error())
		}
		state.count = f
	}
}

// Point counts, and ends the process at the point that the environment names. name says which moment this is.
func Point(name string) {
	state.once.Do(prepare)
	state.mu.Lock()
	defer state.mu.Unlock()
	state.passed++
	if state.count != nil {
		_, _ = state.count.WriteAt(fmt.Appendf(nil, "%019d\n", state.passed), 0)
	}
	if state.passed == state.at {
		fmt.Fprintf(os.Stderr, "crash: ended at point %d, %s\n", state.passed, name)
		end()
	}
}

// end kills this process and does not return: the lock is held, so that no other goroutine gets past a point.
func end() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		os.Exit(137)
	}
	select {}
}
