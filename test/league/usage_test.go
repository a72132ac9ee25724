package league_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// memoryOf runs a command below a shell and returns what it printed and the most memory that it held, in KiB. The shell stands between,
// because a program that is started by a large one is charged with that one's memory.
func memoryOf(t testing.TB, dir, bin string, args ...string) (string, int64) {
	t.Helper()
	status := filepath.Join(t.TempDir(), "status")
	script := `f=$1; shift; "$@" & p=$!
while kill -0 $p 2>/dev/null; do grep VmHWM /proc/$p/status >"$f.new" 2>/dev/null && mv "$f.new" "$f"; done
wait $p`
	c := exec.Command("sh", append([]string{"-c", script, "sh", status, bin}, args...)...)
	c.Dir = dir
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v", err)
	}
	text, err := os.ReadFile(status)
	if err != nil {
		return string(out), 0 // it was too fast to be seen
	}
	kib, _ := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	return string(out), kib
}

func unmarshal(text string, v any) error { return json.Unmarshal([]byte(text), v) }
