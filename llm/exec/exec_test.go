package exec_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"assay/core/fault"
	"assay/llm/exec"
)

// childMode names what this test binary does when it runs as a Conductor.
const childMode = "ASSAY_TEST_CONDUCTOR"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		child(mode)
		return
	}
	goleak.VerifyTestMain(m)
}

// child is a Conductor that keeps or breaks the protocol.
func child(mode string) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<22)
	switch mode {
	case "sleep":
		linger()
	case "deaf":
		withGrandchild()
	case "parent":
		c := exec.Command([]string{os.Args[0]}, exec.Options{Env: append(os.Environ(), childMode+"=deaf"), Stderr: os.Stderr})
		_, _ = c.Prompt(context.Background(), exec.Turn{})
	case "closes its output":
		_ = os.Stdout.Close()
		linger()
	case "exits later":
		_ = os.Stdout.Close()
		<-time.After(20 * time.Millisecond) // the end of the output is seen long before that of the process
		os.Exit(7)
	case "quits at once":
		os.Exit(3)
	}
	for in.Scan() {
		var t struct {
			Prompt string
			TaskID string `json:"task_id"`
			Step   int
		}
		if err := json.Unmarshal(in.Bytes(), &t); err != nil {
			fmt.Printf(`{"error":%q}`+"\n", err)
			return
		}
		reply(mode, t.Prompt, t.TaskID, t.Step)
	}
}

// linger keeps a child alive for longer than any test. An empty select would be a deadlock and end it.
func linger() { <-time.After(time.Hour) }

// withGrandchild starts a process that holds the answer's pipe open, tells both pids and lingers.
func withGrandchild() {
	grandchild := osexec.Command(os.Args[0])
	grandchild.Env = append(os.Environ(), childMode+"=sleep")
	grandchild.Stdout = os.Stdout
	if err := grandchild.Start(); err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stderr, os.Getpid(), grandchild.Process.Pid)
	linger()
}

func reply(mode, prompt, task string, step int) {
	say := func(text string) {
		b, _ := json.Marshal(text)
		fmt.Printf("{\"text\":%s,\"tokens\":%d,\"task_id\":%q,\"step\":%d}\n", b, len(text), task, step)
	}
	switch mode {
	case "echo":
		say(prompt)
	case "thrice":
		if step == 4 {
			os.Exit(7)
		}
		say(prompt)
	case "once":
		say(prompt)
		os.Exit(7)
	case "twice":
		fmt.Print("{\"text\":\"a\"}\n{\"text\":\"b\"}\n")
	case "late":
		say("a")
		if step == 1 {
			say("b")
			fmt.Fprintln(os.Stderr, "said twice")
		}
	case "other":
		say2 := fmt.Sprintf("{\"text\":\"a\",\"step\":%d}\n", step+1)
		fmt.Print(say2)
	case "hang":
		withGrandchild()
	case "cut":
		fmt.Print(`{"text":"a"`)
		os.Exit(0)
	case "killed":
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		linger()
	case "flood":
		for {
			if _, err := os.Stdout.Write(bytes.Repeat([]byte{'x'}, 1<<16)); err != nil {
				os.Exit(1)
			}
		}
	default:
		fmt.Print(mode + "\n") // the mode is the line itself
	}
}

func conductor(t *testing.T, mode string, o exec.Options) *exec.Prompter {
	t.Helper()
	o.Env = append(os.Environ(), childMode+"="+mode)
	c := exec.Command([]string{os.Args[0]}, o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestTurnsPassThroughUntouched(t *testing.T) {
	c := conductor(t, "echo", exec.Options{})
	for i, prompt := range []string{"", "STOP", "größe \u2028 \x00 \"\\\n\r 😀", strings.Repeat("catalog\n", 20_000)} {
		got, err := c.Prompt(t.Context(), exec.Turn{Prompt: prompt, TaskID: `t"1`, Step: i + 1})
		if err != nil || got.Text != prompt || got.Tokens != len(prompt) {
			t.Fatalf("prompt of %d bytes: error %v, text of %d bytes, %d tokens", len(prompt), err, len(got.Text), got.Tokens)
		}
	}
}

func TestBrokenConductorsAreNamed(t *testing.T) {
	for mode, want := range map[string]fault.Code{
		"quits at once":                         exec.Exited,
		"cut":                                   exec.Exited,
		"killed":                                exec.Exited,
		"exits later":                           exec.Exited,
		"closes its output":                     exec.Exited,
		"flood":                                 exec.Flooded,
		"twice":                                 exec.AnsweredTwice,
		"other":                                 exec.OutOfTurn,
		"STOP":                                  exec.NotJSON,
		"[1]":                                   exec.NotJSON,
		"null":                                  exec.NotJSON,
		`{"text":"a"} {"text":"b"}`:             exec.NotJSON,
		`{"text":"a","text":"b"}`:               exec.NotJSON,
		`{}`:                                    exec.NoText,
		`{"text":null}`:                         exec.NoText,
		`{"text":7}`:                            exec.NoText,
		"{\"text\":\"\xff\"}":                   exec.NotUTF8,
		`{"error":"no GPU"}`:                    exec.Reported,
		`{"error":"no GPU","text":"STOP"}`:      exec.Reported,
		`{"text":"a","task_id":"other"}`:        exec.OutOfTurn,
		`{"text":"a","task_id":7}`:              exec.NotJSON,
		"\x1f\x8b\x01\xfe\xed binary":           exec.NotUTF8,
		strings.Repeat("[", 100_000) + `"deep"`: exec.NotJSON,
	} {
		name := mode[:min(len(mode), 40)]
		t.Run(name, func(t *testing.T) {
			c := conductor(t, mode, exec.Options{})
			got, err := c.Prompt(t.Context(), exec.Turn{Prompt: "p", TaskID: "t", Step: 1})
			if fault.Of(err) != want || got != (exec.Text{}) {
				t.Errorf("got %+v, %v; want nothing and %s", got, err, want.Name())
			}
		})
	}
	for mode, want := range map[string]string{
		"quits at once": "exit 3", "exits later": "exit 7", "killed": `signal "killed"`, "closes its output": "went on running",
		`{"error":"no GPU"}`: "no GPU",
	} {
		_, err := conductor(t, mode, exec.Options{}).Prompt(t.Context(), exec.Turn{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it to say %q", mode, err, want)
		}
	}
}

func TestOddButGoodAnswers(t *testing.T) {
	for line, want := range map[string]exec.Text{
		`{"text":""}`:                        {Text: "", Tokens: exec.Unknown},
		`{"text":" STOP ","tokens":2,"x":1}`: {Text: " STOP ", Tokens: 2},
		`{"text":"a","tokens":-1}`:           {Text: "a", Tokens: exec.Unknown},
		`{"text":"a","tokens":1.5}`:          {Text: "a", Tokens: exec.Unknown},
		`{"text":"\ud83d","error":null}`:     {Text: "\ufffd", Tokens: exec.Unknown},
		"{\"text\":\"a\"}\r":                 {Text: "a", Tokens: exec.Unknown},
	} {
		got, err := conductor(t, line, exec.Options{}).Prompt(t.Context(), exec.Turn{Prompt: "p"})
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", line, got, err, want)
		}
	}
}

func TestATurnThatTakesTooLongEnds(t *testing.T) {
	c := conductor(t, "sleep", exec.Options{Timeout: 20 * time.Millisecond})
	if _, err := c.Prompt(t.Context(), exec.Turn{Prompt: "p"}); fault.Of(err) != exec.TimedOut {
		t.Errorf("error %v, want timed out", err)
	}
	// A process that does not even read: the prompt is longer than a pipe holds.
	if _, err := c.Prompt(t.Context(), exec.Turn{Prompt: strings.Repeat("x", 1<<20)}); fault.Of(err) != exec.TimedOut {
		t.Errorf("error %v, want timed out", err)
	}
}

// lineWriter hands each write to a function.
type lineWriter func(string)

func (f lineWriter) Write(p []byte) (int, error) { f(string(p)); return len(p), nil }

func TestCancellingEndsTheWholeProcessGroup(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var pids [2]int
	c := conductor(t, "hang", exec.Options{Stderr: lineWriter(func(s string) {
		if _, err := fmt.Sscan(s, &pids[0], &pids[1]); err != nil {
			t.Error(err)
		}
		cancel()
	})})
	_, err := c.Prompt(ctx, exec.Turn{Prompt: "p"})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want the caller's", err)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pids[0])); !os.IsNotExist(err) {
		t.Errorf("process %d was not reaped", pids[0])
	}
	for alive(pids[1]) { // the kill is on its way; a grandchild that escaped it would spin until the test's time is out
		runtime.Gosched()
	}
}

// alive reports whether a process runs; one that is dead but not reaped by its new parent does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && state[0] != 'Z' && state[0] != 'X'
}

func TestAConductorThatEndsInMidRunIsNotReplacedInSilence(t *testing.T) {
	for mode, last := range map[string]int{"once": 1, "thrice": 3} { // one ends behind its answer, one instead of it
		c := conductor(t, mode, exec.Options{})
		for i := 1; i <= last; i++ {
			if got, err := c.Prompt(t.Context(), exec.Turn{Prompt: "p", Step: i}); err != nil || got.Text != "p" {
				t.Fatalf("%s: turn %d: %+v, %v", mode, i, got, err)
			}
		}
		_, err := c.Prompt(t.Context(), exec.Turn{Prompt: "p", Step: last + 1})
		if fault.Of(err) != exec.Exited || !strings.Contains(err.Error(), "exit 7") {
			t.Errorf("%s: %v, want its exit status", mode, err)
		}
	}
}

func TestBehaviourV9_AConductorThatDiedIsServedAgainOnTheNextTurn(t *testing.T) {
	for mode, want := range map[string]fault.Code{"quits at once": exec.Exited, "twice": exec.AnsweredTwice} {
		c := conductor(t, mode, exec.Options{})
		for range 2 { // once the fault was told, it is not remembered
			if _, err := c.Prompt(t.Context(), exec.Turn{}); fault.Of(err) != want {
				t.Errorf("%s: %v", mode, err)
			}
		}
	}
	c := conductor(t, "thrice", exec.Options{})
	for i, want := range []fault.Code{{}, exec.Exited, {}} {
		if _, err := c.Prompt(t.Context(), exec.Turn{Step: 1 + 3*(i%2)}); fault.Of(err) != want {
			t.Errorf("turn %d: %v", i, err)
		}
	}
}

func TestALateSecondAnswerIsNotTakenForTheNextTurns(t *testing.T) {
	said := make(chan struct{}, 1)
	c := conductor(t, "late", exec.Options{Stderr: lineWriter(func(string) { said <- struct{}{} })})
	_, err := c.Prompt(t.Context(), exec.Turn{Prompt: "p", Step: 1})
	if err == nil { // the second line came after the first was taken
		<-said
		_, err = c.Prompt(t.Context(), exec.Turn{Prompt: "p", Step: 2})
	}
	if fault.Of(err) != exec.AnsweredTwice {
		t.Errorf("error %v, want answered twice", err)
	}
	if got, err := c.Prompt(t.Context(), exec.Turn{Prompt: "p", Step: 2}); err != nil || got.Text != "a" {
		t.Errorf("after it: %+v, %v", got, err)
	}
}

func TestTurnsAreSerialised(t *testing.T) {
	c := conductor(t, "echo", exec.Options{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 10 {
				want := fmt.Sprintf("%d/%d", i, j)
				if got, err := c.Prompt(t.Context(), exec.Turn{Prompt: want, TaskID: want, Step: j}); err != nil || got.Text != want {
					t.Errorf("%s: %+v, %v", want, got, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestWaitingForATurnHeedsTheContext(t *testing.T) {
	started := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	c := conductor(t, "hang", exec.Options{Stderr: lineWriter(func(string) { close(started) })})
	first := make(chan error)
	go func() {
		_, err := c.Prompt(ctx, exec.Turn{})
		first <- err
	}()
	<-started
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := c.Prompt(ended, exec.Turn{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestClose(t *testing.T) {
	for _, mode := range []string{"echo", "once"} {
		c := conductor(t, mode, exec.Options{})
		if _, err := c.Prompt(t.Context(), exec.Turn{Prompt: "p"}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := c.Close(); err != nil {
				t.Errorf("%s: %v", mode, err)
			}
		}
		if _, err := c.Prompt(t.Context(), exec.Turn{}); fault.Of(err) != exec.Closed {
			t.Errorf("%s: %v, want closed", mode, err)
		}
	}
	if err := conductor(t, "echo", exec.Options{}).Close(); err != nil {
		t.Errorf("never asked: %v", err)
	}
}

func TestOpenRefusesWhatItCannotRun(t *testing.T) {
	for _, spec := range []string{"", "exec:", "exec:  ", "module", "a:b:c", "../x:y", "a b:c", ":x", "x:", "a:-b", "exec:a\x00b"} {
		if _, err := exec.Open(spec, exec.Options{}); fault.Of(err) != exec.BadSpec {
			t.Errorf("Open(%q) = %v, want bad spec", spec, err)
		}
	}
	if _, err := exec.Open("a:b", exec.Options{Python: "no-such-python"}); fault.Of(err) != exec.NotStarted {
		t.Errorf("no python: %v", err)
	}
	c := exec.Command([]string{"/nonexistent/conductor"}, exec.Options{})
	if _, err := c.Prompt(t.Context(), exec.Turn{}); fault.Of(err) != exec.NotStarted {
		t.Errorf("no program: %v", err)
	}
}
