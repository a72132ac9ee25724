package league_test

import (
	"encoding/json"
	"os/exec"
	"syscall"
)

// maxRSS returns the most memory that a finished command used, in KiB.
func maxRSS(c *exec.Cmd) int64 {
	if u, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		return u.Maxrss
	}
	return 0
}

func unmarshal(text string, v any) error { return json.Unmarshal([]byte(text), v) }
