package assay_test

import (
	"strings"
	"testing"
	"testing/fstest"
)

// planHouse is a small arch.txt for planted trees.
const planHouse = `
core :            # ground
rules : core
motor : core
motor/fast : core motor
door : *
third core : example.org/json
third tests : example.org/cmp
wall rules/worker -> rules/action
pure core rules
impure os context
allow core/secret -> os
say time.Now crypto/rand.Reader : door
`

// sound is a tree without a fault.
func sound() fstest.MapFS {
	return fstest.MapFS{
		"core/fault/fault.go":        {Data: []byte("// Package fault is ground.\npackage fault\nimport \"example.org/json/text\"\n")},
		"core/secret/secret.go":      {Data: []byte("// Package secret may.\npackage secret\nimport \"os\"\n")},
		"rules/action/action.go":     {Data: []byte("// Package action speaks.\npackage action\nimport \"m/core/fault\"\n")},
		"rules/worker/worker.go":     {Data: []byte("// Package worker works.\npackage worker\nimport \"time\"\nvar x time.Duration\n")},
		"rules/worker/z_test.go":     {Data: []byte("package worker_test\nimport (\n\"os\"\n\"time\"\n\"m/motor\"\n\"example.org/cmp\"\n)\nvar t = time.Now\n")},
		"motor/motor.go":             {Data: []byte("// Package motor moves.\npackage motor\nimport \"context\"\n")},
		"motor/fast/fast.go":         {Data: []byte("// Package fast is a driver.\npackage fast\nimport \"m/motor\"\n")},
		"door/main.go":               {Data: []byte("// Command door opens.\npackage main\nimport (\n\"time\"\n\"m/motor/fast\"\n\"m/rules/action\"\n)\nvar now = time.Now\n")},
		"rules/testdata/x/broken.go": {Data: []byte("not Go")},
		"notes.md":                   {Data: []byte("all done\n")},
	}
}

func TestArchitectureCheckerPassesASoundTree(t *testing.T) {
	if got := checkArchitecture(sound(), "m", planHouse); len(got) > 0 {
		t.Errorf("found in a sound tree:\n%s", strings.Join(got, "\n"))
	}
}

func TestArchitectureCheckerFindsPlantedFaults(t *testing.T) {
	for name, c := range map[string]struct{ file, src, want string }{
		"a floor broken": {"core/fault/up.go", "package fault\nimport \"m/motor\"\n",
			"core/fault stands on the floor of core and may not import motor"},
		"a driver is not its contract": {"rules/x/x.go", "// Package x.\npackage x\nimport \"m/motor/fast\"\n",
			"rules/x stands on the floor of rules and may not import motor/fast"},
		"a contract knows no driver": {"motor/pick.go", "package motor\nimport \"m/motor/fast\"\n",
			"motor stands on the floor of motor and may not import motor/fast"},
		"a wall broken directly": {"rules/worker/hear.go", "package worker\nimport \"m/rules/action\"\n",
			"there is a wall: rules/worker -> rules/action"},
		"a room without a floor": {"attic/attic.go", "// Package attic.\npackage attic\n", "attic stands on no floor of arch.txt"},
		"an impure import":       {"rules/action/read.go", "package action\nimport \"os\"\n", "rules/action/read.go is pure and imports os"},
		"a clock":                {"motor/tick.go", "package motor\nimport \"time\"\nfunc f() { _ = time.Now() }\n", "motor/tick.go says time.Now"},
		"a clock as a value":     {"motor/tick.go", "package motor\nimport t \"time\"\nvar now = t.Now\n", "motor/tick.go says time.Now"},
		"randomness":             {"motor/dice.go", "package motor\nimport \"crypto/rand\"\nvar r = rand.Reader\n", "motor/dice.go says crypto/rand.Reader"},
		"a module not listed": {"rules/action/x.go", "package action\nimport \"example.org/json\"\n",
			"rules/action/x.go imports example.org/json, which no third line of arch.txt allows"},
		"a test's module in code": {"motor/x.go", "package motor\nimport \"example.org/cmp\"\n",
			"motor/x.go imports example.org/cmp, which no third line of arch.txt allows"},
		"a test's module not listed": {"motor/x_test.go", "package motor\nimport \"example.org/mock\"\n",
			"motor/x_test.go imports example.org/mock, which no third line of arch.txt allows"},
		"no package comment": {"rules/bare/bare.go", "package bare\n", "rules/bare has no package comment in the file named like the package"},
		"a package comment elsewhere": {"rules/bare/other.go", "// Package bare.\npackage bare\n",
			"rules/bare has no package comment in the file named like the package"},
		"a long file": {"motor/long.go", "package motor\n" + strings.Repeat("\n", 500), "motor/long.go has 501 lines, more than 500"},
		"a word":      {"notes.md", "later: " + unfinished + "\n", "notes.md says " + unfinished},
	} {
		t.Run(name, func(t *testing.T) {
			tree := sound()
			tree[c.file] = &fstest.MapFile{Data: []byte(c.src)}
			if got := strings.Join(checkArchitecture(tree, "m", planHouse), "\n"); got != c.want {
				t.Errorf("found:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

func TestArchitectureCheckerNamesTheWayThroughAWall(t *testing.T) {
	tree := sound()
	tree["rules/a/a.go"] = &fstest.MapFile{Data: []byte("// Package a.\npackage a\nimport \"m/rules/b\"\n")}
	tree["rules/b/b.go"] = &fstest.MapFile{Data: []byte("// Package b.\npackage b\nimport (\n\"m/rules/a\"\n\"m/rules/action\"\n)\n")}
	tree["rules/worker/hear.go"] = &fstest.MapFile{Data: []byte("package worker\nimport \"m/rules/a\"\n")}
	want := "there is a wall: rules/worker -> rules/a -> rules/b -> rules/action"
	if got := strings.Join(checkArchitecture(tree, "m", planHouse), "\n"); got != want {
		t.Errorf("found:\n%s\nwant:\n%s", got, want)
	}
}

func TestArchitectureCheckerRefusesAnUnknownLine(t *testing.T) {
	got := checkArchitecture(sound(), "m", planHouse+"wall rules motor\n")
	if want := "arch.txt: not a line of it: wall rules motor"; len(got) != 1 || got[0] != want {
		t.Errorf("found %q, want %q", got, want)
	}
}
