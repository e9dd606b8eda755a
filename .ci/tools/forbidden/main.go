// Command forbidden reports what the rules of the engines do not allow, and ends with status 1 if there is anything:
// clocks, randomness that is not keyed, printing, floats, and maps that are ranged over.
//
//	go run ./forbidden DIR
//
// DIR is the root of the module to check. Tests are not checked. A range over a map whose order cannot matter has a
// comment that begins with //ordered, on its line or the one above, and says why.
package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// rule is one thing that is not allowed, and the files in which it is.
type rule struct {
	name   string
	exempt *regexp.Regexp // of paths relative to the root
}

// Exempt are the files whose names say that no recorded result depends on them, and the parts that do I/O.
var (
	clock   = rule{"a clock", regexp.MustCompile(`^host[a-z_]*\.go$`)}
	random  = rule{"randomness without a key", regexp.MustCompile(`^fair/draw\.go$|(statistics|simulate|simulation|edge|rating|league)[a-z_]*\.go$`)}
	prints  = rule{"printing", nil}
	floats  = rule{"a float", regexp.MustCompile(`(statistics|simulate|simulation|edge|rating|league|report)[a-z_]*\.go$`)}
	ordered = rule{"a map in its own order", nil}
)

// checked are the packages that results depend on.
var checked = regexp.MustCompile(`^(\.|fair|ledger|battle|mystery|truco|poker|race|internal)(/|$)`)

// unchecked are support for tests, and what talks to databases.
var unchecked = regexp.MustCompile(`^(ledger/(ledgertest|sqlstore)|internal/machinetest)(/|$)`)

var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: forbidden DIR")
		os.Exit(2)
	}
	found, err := check(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "forbidden:", err)
		os.Exit(2)
	}
	for _, f := range found {
		fmt.Println(f)
	}
	if len(found) > 0 {
		os.Exit(1)
	}
}

func check(dir string) ([]string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	mode := packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps
	pkgs, err := packages.Load(&packages.Config{Mode: mode, Dir: dir}, "./...")
	if err != nil {
		return nil, err
	}
	c := checker{root: dir}
	for _, p := range pkgs {
		for _, e := range p.Errors {
			return nil, e
		}
		if len(p.GoFiles) == 0 {
			continue
		}
		rel, err := filepath.Rel(dir, filepath.Dir(p.GoFiles[0]))
		if err != nil {
			return nil, err
		}
		if checked.MatchString(rel) && !unchecked.MatchString(rel) {
			c.pkg(p)
		}
	}
	slices.SortFunc(c.found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.text, b.text))
	})
	var out []string
	for _, f := range slices.Compact(c.found) {
		out = append(out, fmt.Sprintf("%s:%d: %s", f.file, f.line, f.text))
	}
	return out, nil
}

type finding struct {
	file string
	line int
	text string
}

type checker struct {
	root   string
	p      *packages.Package
	file   string
	marked map[int]bool // lines with //ordered
	found  []finding
}

func (c *checker) add(r rule, pos token.Pos, what string) {
	if r.exempt == nil || !r.exempt.MatchString(c.file) {
		c.found = append(c.found, finding{c.file, c.line(pos), r.name + ": " + what})
	}
}

func (c *checker) line(pos token.Pos) int { return c.p.Fset.Position(pos).Line }

func (c *checker) pkg(p *packages.Package) {
	c.p = p
	for _, f := range p.Syntax {
		rel, err := filepath.Rel(c.root, p.Fset.Position(f.Pos()).Filename)
		if err != nil {
			continue
		}
		c.file, c.marked = filepath.ToSlash(rel), map[int]bool{}
		for _, g := range f.Comments {
			for _, m := range g.List {
				if strings.HasPrefix(m.Text, "//ordered") {
					c.marked[c.line(m.Pos())] = true
				}
			}
		}
		sorted := map[ast.Node]bool{}
		ast.Inspect(f, func(n ast.Node) bool { return c.node(n, sorted) })
	}
}

func (c *checker) node(n ast.Node, sorted map[ast.Node]bool) bool {
	switch n := n.(type) {
	case *ast.RangeStmt:
		if _, ok := c.p.TypesInfo.TypeOf(n.X).Underlying().(*types.Map); ok && !c.isMarked(n.Pos()) {
			c.add(ordered, n.Pos(), "range over a map")
		}
	case *ast.CallExpr:
		c.call(n, sorted)
	case *ast.Ident:
		c.ident(n)
	case ast.Expr:
		if isFloat(c.p.TypesInfo.TypeOf(n)) {
			c.add(floats, n.Pos(), "float arithmetic")
		}
	}
	return true
}

func (c *checker) isMarked(pos token.Pos) bool {
	return c.marked[c.line(pos)] || c.marked[c.line(pos)-1]
}

// call judges an iterator over a map: only sorted at once, or marked, it has an order.
func (c *checker) call(n *ast.CallExpr, sorted map[ast.Node]bool) {
	pkg, name := c.callee(n)
	if pkg == "slices" && strings.HasPrefix(name, "Sorted") && len(n.Args) > 0 {
		sorted[n.Args[0]] = true
	}
	if pkg == "maps" && (name == "Keys" || name == "Values" || name == "All") && !sorted[n] && !c.isMarked(n.Pos()) {
		c.add(ordered, n.Pos(), "maps."+name+" without slices.Sorted")
	}
}

func (c *checker) callee(n *ast.CallExpr) (pkg, name string) {
	sel, ok := n.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if o := c.p.TypesInfo.Uses[sel.Sel]; o != nil && o.Pkg() != nil {
		return o.Pkg().Path(), o.Name()
	}
	return "", ""
}

// ident judges the use of a name of another package.
func (c *checker) ident(n *ast.Ident) {
	o := c.p.TypesInfo.Uses[n]
	if o == nil {
		return
	}
	if b, ok := o.(*types.Builtin); ok && strings.HasPrefix(b.Name(), "print") {
		c.add(prints, n.Pos(), b.Name())
	}
	if t, ok := o.(*types.TypeName); ok && isFloat(t.Type()) {
		c.add(floats, n.Pos(), t.Name())
	}
	if o.Pkg() == nil || o.Parent() != o.Pkg().Scope() {
		return
	}
	what := o.Pkg().Name() + "." + o.Name()
	switch path := o.Pkg().Path(); path {
	case "time":
		if slices.Contains(clocks, o.Name()) {
			c.add(clock, n.Pos(), what)
		}
	case "math/rand", "math/rand/v2", "crypto/rand":
		c.add(random, n.Pos(), what)
	case "fmt":
		if strings.HasPrefix(o.Name(), "Print") {
			c.add(prints, n.Pos(), what)
		}
	case "os", "log", "log/slog":
		c.add(prints, n.Pos(), what)
	}
}

func isFloat(t types.Type) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsFloat|types.IsComplex) != 0
}
