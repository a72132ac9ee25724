package assay_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestArchitecture(t *testing.T) {
	text, err := os.ReadFile("arch.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range checkArchitecture(os.DirFS("."), "assay", string(text)) {
		t.Error(v)
	}
}

// maxFile is the longest Go file in lines.
const maxFile = 500

// house is what arch.txt says. Rooms are folders; a room covers what lies below it.
type house struct {
	floors, third map[string][]string
	allow         map[string]bool // "room -> import"
	walls         [][2]string
	pure, impure  []string
	say           map[string][]string // word to the rooms that may say it
}

func parseHouse(text string) (h house, flaws []string) {
	h = house{floors: map[string][]string{}, third: map[string][]string{}, allow: map[string]bool{}, say: map[string][]string{}}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		colon := slices.Index(words, ":")
		switch {
		case words[0] == "wall" && len(words) == 4 && words[2] == "->":
			h.walls = append(h.walls, [2]string{words[1], words[3]})
		case words[0] == "allow" && len(words) == 4 && words[2] == "->":
			h.allow[words[1]+" -> "+words[3]] = true
		case words[0] == "pure":
			h.pure = append(h.pure, words[1:]...)
		case words[0] == "impure":
			h.impure = append(h.impure, words[1:]...)
		case words[0] == "third" && colon == 2:
			h.third[words[1]] = words[3:]
		case words[0] == "say" && colon > 1:
			for _, w := range words[1:colon] {
				h.say[w] = words[colon+1:]
			}
		case colon > 0:
			for _, room := range words[:colon] {
				h.floors[room] = words[colon+1:]
			}
		default:
			flaws = append(flaws, "arch.txt: not a line of it: "+strings.TrimSpace(line))
		}
	}
	return h, flaws
}

// within reports whether a package lies in a room.
func within(pkg, room string) bool { return pkg == room || strings.HasPrefix(pkg, room+"/") }

func withinAny(pkg string, rooms []string) bool {
	return slices.ContainsFunc(rooms, func(r string) bool { return within(pkg, r) })
}

// floor returns the longest line of arch.txt that fits a package.
func (h house) floor(pkg string) (room string) {
	for r := range h.floors {
		if within(pkg, r) && len(r) > len(room) {
			room = r
		}
	}
	return room
}

// checker walks a tree and gathers what breaks the rules.
type checker struct {
	house
	module  string
	imports map[string][]string // package to packages of ours, from files that are no tests
	doc     map[string]bool     // package has its comment in the file named like it
	found   []string
}

// checkArchitecture returns what in the tree breaks the rules of arch.txt, in order.
func checkArchitecture(tree fs.FS, module, text string) []string {
	c := &checker{module: module, imports: map[string][]string{}, doc: map[string]bool{}}
	c.house, c.found = parseHouse(text)
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (base == "bin" || base == "testdata" || base[0] == '.' && base != ".ci"):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		return c.file(tree, name)
	})
	if err != nil {
		c.report("%v", err)
	}
	for pkg, ours := range c.imports {
		c.rooms(pkg, ours)
	}
	for _, w := range c.walls {
		for pkg := range c.imports {
			if within(pkg, w[0]) {
				if way := c.way(pkg, w[1], map[string]bool{}); way != nil {
					c.report("there is a wall: %s", strings.Join(way, " -> "))
				}
			}
		}
	}
	slices.Sort(c.found)
	return slices.Compact(c.found)
}

func (c *checker) report(format string, a ...any) {
	c.found = append(c.found, fmt.Sprintf(format, a...))
}

// unfinished is the word that no file of ours says. It is put together here because this is one of them.
var unfinished = "TO" + "DO"

// file looks at one file: its words, and for Go its length, package comment and imports.
func (c *checker) file(tree fs.FS, name string) error {
	ext := path.Ext(name)
	if ext != ".go" && ext != ".md" && path.Base(name) != "Makefile" && !within(name, ".ci") {
		return nil
	}
	src, err := fs.ReadFile(tree, name)
	if err != nil {
		return err
	}
	if strings.Contains(string(src), unfinished) {
		c.report("%s says %s", name, unfinished)
	}
	if ext != ".go" {
		return nil
	}
	if n := strings.Count(string(src), "\n"); n > maxFile {
		c.report("%s has %d lines, more than %d", name, n, maxFile)
	}
	f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	c.goFile(name, f)
	return nil
}

func (c *checker) goFile(name string, f *ast.File) {
	pkg, test := path.Dir(name), strings.HasSuffix(name, "_test.go")
	if home := f.Name.Name + ".go"; !test {
		c.doc[pkg] = c.doc[pkg] || f.Doc != nil && path.Base(name) == home
		c.imports[pkg] = append(c.imports[pkg], pkg) // a package is known even if it imports nothing
	}
	words := map[string]string{} // what a file calls an import
	for _, spec := range f.Imports {
		imp, _ := strconv.Unquote(spec.Path.Value)
		words[path.Base(imp)] = imp
		if spec.Name != nil {
			words[spec.Name.Name] = imp
			if spec.Name.Name == "." {
				c.report("%s hides where its words come from: it imports %s with a dot", name, imp)
			}
		}
		c.foreign(name, pkg, imp, test)
		if ours, ok := strings.CutPrefix(imp, c.module+"/"); ok && !test {
			c.imports[pkg] = append(c.imports[pkg], ours)
		}
		if !test && withinAny(pkg, c.pure) && slices.Contains(c.impure, imp) && !c.allow[pkg+" -> "+imp] {
			c.report("%s is pure and imports %s", name, imp)
		}
	}
	if test {
		return
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				word := words[x.Name] + "." + s.Sel.Name
				if rooms, ok := c.say[word]; ok && !withinAny(pkg, rooms) && !c.allow[pkg+" -> "+word] {
					c.report("%s says %s", name, word)
				}
			}
		}
		return true
	})
}

// foreign refuses a third-party module that no line names for the package.
func (c *checker) foreign(name, pkg, imp string, test bool) {
	if first, _, _ := strings.Cut(imp, "/"); !strings.Contains(first, ".") {
		return
	}
	for room, modules := range c.third {
		if (within(pkg, room) || test && room == "tests") && withinAny(imp, modules) {
			return
		}
	}
	c.report("%s imports %s, which no third line of arch.txt allows", name, imp)
}

// rooms checks a package's floor and its comment.
func (c *checker) rooms(pkg string, ours []string) {
	room := c.floor(pkg)
	if room == "" {
		c.report("%s stands on no floor of arch.txt", pkg)
		return
	}
	if !c.doc[pkg] {
		c.report("%s has no package comment in the file named like the package", pkg)
	}
	for _, imp := range ours {
		may := c.floors[room]
		if to := c.floor(imp); to != room && !slices.Contains(may, to) && !slices.Contains(may, "*") {
			c.report("%s stands on the floor of %s and may not import %s", pkg, room, imp)
		}
	}
}

// way returns a chain of imports from a package into a room, or nil.
func (c *checker) way(pkg, room string, seen map[string]bool) []string {
	if within(pkg, room) {
		return []string{pkg}
	}
	if seen[pkg] {
		return nil
	}
	seen[pkg] = true
	for _, next := range c.imports[pkg] {
		if rest := c.way(next, room, seen); rest != nil {
			return append([]string{pkg}, rest...)
		}
	}
	return nil
}
