package assay_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write docs/problems.md again")

// problem is one declared refusal.
type problem struct{ name, kind, sentence string }

// actors says who can do something about a kind.
var actors = map[string]string{
	"Internal": "us: it is a bug, or a broken promise of an endpoint", "Invalid": "who made the input", "Unauthenticated": "who signed",
	"Forbidden": "who asked", "NotFound": "who named it", "NotAllowed": "who made the artifact", "Conflict": "who came second",
	"TooLarge": "who made the input", "Exhausted": "who funds it", "Unready": "nobody: try again", "Uncertain": "the operator: reconcile",
}

// codeName is how a refusal is named: the room, a dot, what was refused.
var codeName = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$`)

// TestProblems keeps refusals unique and docs/problems.md complete. Run with -rewrite after declaring a refusal.
func TestProblems(t *testing.T) {
	problems := declared(t)
	for i, p := range problems {
		if i > 0 && p.name == problems[i-1].name {
			t.Errorf("the code %s is declared twice", p.name)
		}
		if !codeName.MatchString(p.name) {
			t.Errorf("a refusal is named room.what, not %q", p.name)
		}
		if p.sentence == "" {
			t.Errorf("%s has no fixed sentence of one line", p.name)
		}
	}
	var b strings.Builder
	b.WriteString("# Problems\n\nEvery refusal by its code. Generated from the declarations: `go test . -run TestProblems -rewrite`.\n\n" +
		"Exit codes of the command line: 0 done, 1 failed, 2 usage, 3 refused or verification failed, 4 not ready.\n\n" +
		"| code | what it says | kind | who acts |\n|---|---|---|---|\n")
	for _, p := range problems {
		who, ok := actors[p.kind]
		if !ok {
			t.Errorf("%s: nobody acts on kind %s", p.name, p.kind)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", p.name, p.sentence, p.kind, who)
	}
	const file = "docs/problems.md"
	if *rewrite {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != b.String() {
		t.Errorf("%s is not what the declarations say (%v): go test . -run TestProblems -rewrite", file, err)
	}
}

// declared finds every fault.NewCode in the tree, by name.
func declared(t *testing.T) []problem {
	t.Helper()
	var out []problem
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return skipOr(err)
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if p, ok := asProblem(n); ok {
				out = append(out, p)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(out, func(a, b problem) int { return strings.Compare(a.name, b.name) })
	if len(out) < 2 {
		t.Fatal("no refusal was found")
	}
	return out
}

func skipOr(err error) error {
	if err != nil {
		return err
	}
	return filepath.SkipDir
}

// asProblem reads fault.NewCode("room.word", fault.Kind, "sentence"). A computed name is no declaration.
func asProblem(n ast.Node) (problem, bool) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 3 {
		return problem{}, false
	}
	if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "NewCode" {
		return problem{}, false
	}
	name, ok1 := literal(call.Args[0])
	kind, ok2 := call.Args[1].(*ast.SelectorExpr)
	sentence, _ := literal(call.Args[2]) // "" for a computed one, which the test refuses
	if !ok1 || !ok2 {
		return problem{}, false
	}
	return problem{name, kind.Sel.Name, sentence}, true
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}
