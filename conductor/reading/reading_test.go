package reading_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/conductor/profile"
	"assay/conductor/reading"
	"assay/core/text"
)

var both = []profile.Profile{profile.Strict, profile.Compat}

// parsed is a reply read: the call as a worker is shown it, with its start, or "answer".
func parsed(reply string, p profile.Profile) string {
	c, ok := reading.Parse(reply, p)
	if !ok {
		return "answer"
	}
	return fmt.Sprintf("%s|%s|%s", c.Name, c.Arg, c.Start)
}

func TestBehaviourT_Grammar(t *testing.T) {
	const answer = "answer"
	for _, c := range []struct {
		name    string
		replies []string
		want    string
	}{
		{"T1 read with a start", []string{"READ a/b.py 10", "let me look\n\nREAD a/b.py 10\n\n", "  READ a/b.py  10  ", "READ a/b.py\t10"}, "READ|a/b.py|10"},
		{"T1 read without a start", []string{"READ a/b.py", "text\r\nREAD a/b.py\r\n", "x\vREAD a/b.py"}, "READ|a/b.py|1"},
		{"T2 list the root", []string{"LIST ."}, "LIST|.|1"},
		{"T2 list a directory", []string{"LIST src", "READ a\nLIST src"}, "LIST|src|1"},
		{"T2 list takes no start", []string{"LIST src 3"}, answer},
		{"T3 find keeps inner blanks", []string{"FIND def  broken(x)", "FIND    def  broken(x)   "}, "FIND|def  broken(x)|1"},
		{"T4 verbs in upper case only", []string{"read x", "Read x", "find x", "list ."}, answer},
		{"T4 one blank separates", []string{"READ\tx", "READ\u00a0x", "LIST\u3000.", "READ\tx y"}, answer},
		{"T5 a start is a whole number from 1", []string{"READ x 0", "READ x 000", "READ x -3", "READ x 1.5", "READ x +1", "READ x \u0663", "READ x \uff11", "READ x 1e2"}, answer},
		{"T5a leading zeros", []string{"READ a 007"}, "READ|a|7"},
		{"T5a two blanks", []string{"READ  a"}, "READ|a|1"},
		{"T5a outer blanks of an argument", []string{"FIND   x  "}, "FIND|x|1"},
		{"T6 wrong number of words", []string{"READ", "FIND", "LIST", "READ ", "FIND  ", "READ a b c", "READ a 1 2", "READ a b", "LIST a b"}, answer},
		{"T7 longest argument", []string{"FIND " + strings.Repeat("x", 512)}, "FIND|" + strings.Repeat("x", 512) + "|1"},
		{"T7 longest argument in bytes", []string{"READ " + strings.Repeat("ü", 256)}, "READ|" + strings.Repeat("ü", 256) + "|1"},
		{"T7 too long", []string{"FIND " + strings.Repeat("x", 513), "READ " + strings.Repeat("ü", 256) + "x", "LIST " + strings.Repeat("x", 513)}, answer},
		{"T8 a diff's context line misfires", []string{"--- a/setup.py\n+++ b/setup.py\n@@ -1,2 +1,2 @@\n READ setup.py"}, "READ|setup.py|1"},
		{"no call above the last line", []string{"READ a\nthe answer", "", "\n\n", "   ", "READ a\nno.", "SHELL ls"}, answer},
		{"no NUL", []string{"READ a\x00b", "FIND \x00"}, answer},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, reply := range c.replies {
				for _, p := range both {
					want := c.want
					if p.Strict() && text.LastLine(reply) != text.Trim(reply) {
						want = answer // a call stands alone
					}
					if got := parsed(reply, p); got != want {
						t.Errorf("%v: %q reads as %q, want %q", p, reply, got, want)
					}
				}
			}
		})
	}
}

// T8 is a known misfire: under strict a diff stays the answer that it is.
func TestBehaviourT8_ADiffIsAnAnswerUnderStrict(t *testing.T) {
	const diff = "--- a/setup.py\n+++ b/setup.py\n@@ -1,2 +1,2 @@\n-x\n+y\n READ setup.py"
	if got := parsed(diff, profile.Compat); got != "READ|setup.py|1" {
		t.Errorf("compat: %s", got)
	}
	if got := parsed(diff, profile.Strict); got != "answer" {
		t.Errorf("strict: %s", got)
	}
	for _, alone := range []string{"READ setup.py", "\n\n READ setup.py \r\n\n"} {
		if got := parsed(alone, profile.Strict); got != "READ|setup.py|1" {
			t.Errorf("strict: %q reads as %s", alone, got)
		}
	}
}

func TestAStartBeyond64BitsIsACompatAccident(t *testing.T) {
	const huge = "READ a 99999999999999999999"
	if got := parsed(huge, profile.Compat); got != "READ|a|99999999999999999999" {
		t.Errorf("compat: %s", got)
	}
	if got := parsed(huge, profile.Strict); got != "answer" {
		t.Errorf("strict: %s", got)
	}
	if got := parsed("READ a 9223372036854775807", profile.Strict); got != "READ|a|9223372036854775807" {
		t.Errorf("strict refuses the largest start of 64 bits: %s", got)
	}
}

func TestBehaviourT23_Compose(t *testing.T) {
	read := reading.Observation{Call: reading.Call{Name: reading.Read, Arg: "a", Start: "1"}, Output: "     1\tx"}
	list := reading.Observation{Call: reading.Call{Name: reading.List, Arg: ".", Start: "1"}, Output: "a\nb", Truncated: true}
	find := reading.Observation{Call: reading.Call{Name: reading.Find, Arg: "def  x", Start: "1"}}
	const prompt = "Fix it.\n"
	for _, c := range []struct {
		name string
		seen []reading.Observation
		want string
	}{
		{"no observation", nil, prompt},
		{"one", []reading.Observation{read}, prompt + "\n\n--- INSPECTION RESULTS ---\n$ READ a 1\n     1\tx\n--- END OF INSPECTION RESULTS ---\n" +
			"You may inspect 2 more time(s). Reply with one inspection line, or with your final answer.\n"},
		{"two", []reading.Observation{read, list}, prompt + "\n\n--- INSPECTION RESULTS ---\n$ READ a 1\n     1\tx\n\n$ LIST .\na\nb\n[truncated]\n" +
			"--- END OF INSPECTION RESULTS ---\nYou may inspect 1 more time(s). Reply with one inspection line, or with your final answer.\n"},
		{"three", []reading.Observation{read, list, find}, prompt + "\n\n--- INSPECTION RESULTS ---\n$ READ a 1\n     1\tx\n\n$ LIST .\na\nb\n[truncated]\n\n" +
			"$ FIND def  x\n\n--- END OF INSPECTION RESULTS ---\nYou have no inspections left. Reply with your final answer.\n"},
	} {
		if got := reading.Compose(prompt, c.seen); got != c.want {
			t.Errorf("%s:\n%q, want\n%q", c.name, got, c.want)
		}
	}
}

// T24 as far as the channel itself goes: without a declared verb nothing is read, so nothing is added to the statement. That a
// window refuses a statement which ends in an invitation without verbs is tested where windows are verified.
func TestBehaviourT24_TheStatementIsSentAsItIs(t *testing.T) {
	for _, prompt := range []string{"", "x", "x\n\n", "--- INSPECTION RESULTS ---\n", "ends in READ a 1"} {
		if got := reading.Compose(prompt, nil); got != prompt {
			t.Errorf("%q is sent as %q", prompt, got)
		}
	}
}

func TestAnObservationIsPublishedAsTheCallThatAWorkerReads(t *testing.T) {
	for want, c := range map[string]reading.Call{
		"READ a/b.py 10": {Name: reading.Read, Arg: "a/b.py", Start: "10"},
		"LIST src":       {Name: reading.List, Arg: "src", Start: "1"},
		"FIND def f":     {Name: reading.Find, Arg: "def f", Start: "1"},
	} {
		if c.String() != want {
			t.Errorf("%+v is shown as %q, want %q", c, c, want)
		}
	}
}

// FuzzParse reads any reply. A call that is read is one line of the limits, and reads back from how it is shown.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"READ a/b.py 10", "LIST .", "FIND def  broken(x)", "READ a 007", "READ a 99999999999999999999999", "answer\nREAD x\r\n", "FIND a\x1fb",
		" READ setup.py", "READ\tx", "FIND \u2028", "READ \xff 1", "LIST " + strings.Repeat("x", 513), "READ  . 775\u2029\u2029",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		c, ok := reading.Parse(reply, profile.Compat)
		strict, strictOK := reading.Parse(reply, profile.Strict)
		if strictOK && (!ok || strict != c) {
			t.Fatalf("strict reads %q as %v, compat as %v %v", reply, strict, c, ok)
		}
		if !ok {
			return
		}
		if c.Arg == "" || len(c.Arg) > reading.MaxArgument || strings.ContainsRune(c.Arg, 0) || len(text.Lines(c.Arg)) != 1 || text.Trim(c.Arg) != c.Arg {
			t.Fatalf("%q gives the argument %q", reply, c.Arg)
		}
		if c.Start == "" || c.Start[0] < '1' || c.Start[0] > '9' || strings.Trim(c.Start, "0123456789") != "" {
			t.Fatalf("%q gives the start %q", reply, c.Start)
		}
		if back, ok := reading.Parse(c.String(), profile.Compat); !ok || back != c {
			t.Fatalf("%v is shown as %q, which reads back as %v", c, c, back)
		}
	})
}

// What a worker is sent grows by each observation and never changes what stood before its footer.
func TestProperty_compose_only_appends(t *testing.T) {
	line := rapid.StringMatching(`[a-zA-Z0-9 $\-]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		prompt := line.Draw(t, "prompt")
		var seen []reading.Observation
		for range rapid.IntRange(0, reading.MaxReads).Draw(t, "reads") {
			seen = append(seen, reading.Observation{
				Call:   reading.Call{Name: rapid.SampledFrom([]string{reading.Read, reading.List, reading.Find}).Draw(t, "verb"), Arg: "a", Start: "1"},
				Output: line.Draw(t, "output"), Truncated: rapid.Bool().Draw(t, "truncated"),
			})
		}
		before := prompt
		for n := range len(seen) + 1 {
			body, _, _ := strings.Cut(reading.Compose(prompt, seen[:n]), "\n--- END OF INSPECTION RESULTS ---\n")
			if !strings.HasPrefix(body, before) {
				t.Fatalf("observation %d changed what stood before: %q, then %q", n, before, body)
			}
			before = body
		}
	})
}

func BenchmarkParse(b *testing.B) {
	answer := strings.Repeat("a line of an answer of some length\n", 200) + "Answer: C"
	b.SetBytes(int64(len(answer)))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := reading.Parse(answer, profile.Strict); ok {
			b.Fatal("an answer was read as a call")
		}
	}
}
