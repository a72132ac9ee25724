package assay_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// codeName is how a refusal is named: the room, a dot, what was refused.
var codeName = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$`)

// Every refusal has a name of its own in the whole house, and a sentence that fits into one.
func TestRefusalsHaveNamesOfTheirOwn(t *testing.T) {
	where := map[string]string{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && calls(call, "fault", "NewCode") && len(call.Args) == 3 {
				if _, fixed := call.Args[0].(*ast.BasicLit); fixed { // others name what is compared with vectors
					checkCode(t, where, name, text(call.Args[0]), text(call.Args[2]))
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(where) < 50 {
		t.Errorf("only %d refusals found: the test does not see them", len(where))
	}
}

func calls(call *ast.CallExpr, pkg, fn string) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg && s.Sel.Name == fn
}

// text returns a string literal's value, "" for anything else.
func text(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		return ""
	}
	s, _ := strconv.Unquote(lit.Value)
	return s
}

func checkCode(t *testing.T, where map[string]string, file, name, public string) {
	t.Helper()
	if !codeName.MatchString(name) {
		t.Errorf("%s: a refusal is named %q", file, name)
	}
	if other, taken := where[name]; taken {
		t.Errorf("%s and %s both name a refusal %q", file, other, name)
	}
	where[name] = file
	if public == "" || strings.HasSuffix(public, ".") || strings.ContainsAny(public, "\n%") {
		t.Errorf("%s: %s reads %q: it must be one constant clause without a full stop", file, name, public)
	}
}
