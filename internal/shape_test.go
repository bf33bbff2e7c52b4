package internal_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/internal/must"
)

// The bounds of the product's code: lines of a function for nine in ten and for all, lines of a file, columns of a
// line, methods of an interface.
const (
	mostOfNine    = 30
	mostOfAll     = 60
	mostOfFile    = 400
	mostColumns   = 120
	mostOfOneType = 5
	mostStages    = 12
	mostMethods   = 30
	mostFields    = 30 // outside configuration

	tab = "    " // as it counts in a line
)

// neutral lists the packages that may not name a vendor.
var neutral = []string{"gateway", "config", "app", "api", "dashboard", "provider", "quote", "budget", "ledger", "report", "route"}

// vendorNames matches a literal that names a vendor: one of the catalogue, a wire format's, or the beginning of a
// vendor's header. Prose does not count, nor the full name of a model.
func vendorNames(t *testing.T) *regexp.Regexp {
	files, err := filepath.Glob("provider/catalog/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("the catalogue: %v, %v", files, err)
	}
	names := []string{"google", "goog", "amazon", "amz", "aws"}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".json"))
	}
	return regexp.MustCompile(`(?i)^["` + "`" + `][^\s/]*\b(` + strings.Join(names, "|") + `)\b[^\s/]*["` + "`" + `]$`)
}

// shape holds the figures of the product's code, without its tests.
type shape struct {
	functions, files []length
	wide             []length // lines over mostColumns, as file:line, with their columns
	types            map[string]*goType
	interfaces       []length
	vendors          map[string]int // literals that name a vendor, by package
	dependencies     int
	stages           map[int]string // by their number: how the row of each begins in ARCHITECTURE.md
}

// stageMark is how the comment of a function ends that is a stage of a streamed chat.
var stageMark = regexp.MustCompile(`(?m)^Stage (\d+): (.+)\.$`)

type length struct {
	name string
	n    int
}

type goType struct{ fields, methods int }

// TestShapeWithinBounds checks the bounds of functions, files and interfaces, and that no vendor is named outside its
// place. With -v it prints the figures of make shape.
func TestShapeWithinBounds(t *testing.T) {
	t.Parallel()
	vendors := vendorNames(t)
	s := shape{types: map[string]*goType{}, vendors: map[string]int{}, stages: map[int]string{}}
	for _, dir := range []string{".", "../cmd"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && !isTestSupport("weir/internal/"+filepath.ToSlash(filepath.Dir(path))) {
				s.addFile(t, path, vendors)
			}
			return err
		})
		must.Do(t, err)
	}
	mod := must.Get(os.ReadFile("../go.mod"))(t)
	s.dependencies = len(regexp.MustCompile(`(?m)^\t\S+ v\S+$`).FindAll(mod, -1))
	if testing.Verbose() { // make shape; otherwise they would hide the failures
		t.Log("\n" + s.String())
	}
	if nine := percentile(s.functions, 90); nine > mostOfNine {
		t.Errorf("nine in ten functions have up to %d lines, want %d", nine, mostOfNine)
	}
	for _, f := range s.functions {
		if f.n > mostOfAll {
			t.Errorf("%s has %d lines, want at most %d", f.name, f.n, mostOfAll)
		}
	}
	s.holdStages(t)
	for name, typ := range s.types {
		if typ.methods > mostMethods {
			t.Errorf("%s has %d methods, want at most %d", name, typ.methods, mostMethods)
		}
		if typ.fields > mostFields && !strings.HasPrefix(name, "config.") {
			t.Errorf("%s has %d fields, want at most %d", name, typ.fields, mostFields)
		}
	}
	for _, f := range s.files {
		if f.n > mostOfFile {
			t.Errorf("%s has %d lines, want at most %d", f.name, f.n, mostOfFile)
		}
	}
	for _, line := range s.wide {
		t.Errorf("%s has %d columns, want at most %d: break the line (a tab counts as %d)", line.name, line.n, mostColumns, len(tab))
	}
	for _, i := range s.interfaces {
		t.Errorf("the interface %s has %d methods, want at most %d", i.name, i.n, mostOfOneType)
	}
}

// holdStages checks that the stages of a streamed chat are marked in the code of the gateway from 1 on, each once, and
// that ARCHITECTURE.md names each with its file.
func (s *shape) holdStages(t *testing.T) {
	architecture := must.Get(os.ReadFile("../ARCHITECTURE.md"))(t)
	if len(s.stages) == 0 || len(s.stages) > mostStages {
		t.Errorf("a streamed chat has %d stages, want from 1 to %d", len(s.stages), mostStages)
	}
	for i := range len(s.stages) {
		if row := s.stages[i+1]; row == "" || !bytes.Contains(architecture, []byte(row)) {
			t.Errorf("ARCHITECTURE.md has no row of stage %d: %q", i+1, row)
		}
	}
}

func (s *shape) addFile(t *testing.T, path string, vendors *regexp.Regexp) {
	text := must.Get(os.ReadFile(path))(t)
	set := token.NewFileSet()
	file := must.Get(parser.ParseFile(set, path, text, parser.SkipObjectResolution|parser.ParseComments))(t)
	s.files = append(s.files, length{path, bytes.Count(text, []byte("\n"))})
	for i, line := range strings.Split(string(text), "\n") {
		columns := len([]rune(strings.ReplaceAll(line, "\t", tab)))
		if columns > mostColumns && !strings.Contains(line, "https://") { // an address stays whole
			s.wide = append(s.wide, length{fmt.Sprintf("%s:%d", path, i+1), columns})
		}
	}
	dir := filepath.ToSlash(filepath.Dir(path))
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			lines := set.Position(n.End()).Line - set.Position(n.Pos()).Line + 1
			if !isTable(n) {
				s.functions = append(s.functions, length{dir + "." + receiver(n) + n.Name.Name, lines})
			}
			if m := stageMark.FindStringSubmatch(n.Doc.Text()); m != nil {
				number, _ := strconv.Atoi(m[1])
				if s.stages[number] != "" {
					t.Errorf("there are two stages %d: %s and %s", number, s.stages[number], m[2])
				}
				s.stages[number] = fmt.Sprintf("| %d %s | `%s` |", number, m[2], filepath.Base(path))
			}
			if r := receiver(n); r != "" {
				s.typeOf(dir+"."+strings.TrimSuffix(r, ".")).methods++
			}
		case *ast.TypeSpec:
			s.addType(dir, n)
		case *ast.BasicLit:
			if n.Kind == token.STRING && slices.Contains(neutral, dir) && vendors.MatchString(n.Value) {
				s.vendors[dir]++
				t.Errorf("%s: %s names a vendor: only its wire format or the catalogue may", set.Position(n.Pos()), n.Value)
			}
		}
		return true
	})
}

// isTable reports whether a function only returns a literal, so that its length is the number of rows.
func isTable(f *ast.FuncDecl) bool {
	if f.Body == nil || len(f.Body.List) != 1 {
		return false
	}
	r, ok := f.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(r.Results) != 1 {
		return false
	}
	_, ok = r.Results[0].(*ast.CompositeLit)
	return ok
}

func (s *shape) addType(dir string, n *ast.TypeSpec) {
	switch typ := n.Type.(type) {
	case *ast.StructType:
		s.typeOf(dir + "." + n.Name.Name).fields = typ.Fields.NumFields()
	case *ast.InterfaceType:
		if methods := typ.Methods.NumFields(); methods > mostOfOneType {
			s.interfaces = append(s.interfaces, length{dir + "." + n.Name.Name, methods})
		}
	}
}

func (s *shape) typeOf(name string) *goType {
	if s.types[name] == nil {
		s.types[name] = &goType{}
	}
	return s.types[name]
}

// receiver returns the name of a method's type and a dot; empty for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	typ := f.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.Ident:
			return t.Name + "."
		default:
			return "?."
		}
	}
}

func percentile(all []length, percent int) int {
	slices.SortFunc(all, func(a, b length) int { return cmp.Compare(a.n, b.n) })
	return all[(len(all)-1)*percent/100].n
}

// String formats the figures of make shape.
func (s *shape) String() string {
	var b strings.Builder
	lines := 0
	for _, f := range s.files {
		lines += f.n
	}
	fmt.Fprintf(&b, "lines of the product: %d in %d files\n", lines, len(s.files))
	fmt.Fprintf(&b, "lines of a function: median %d, p90 %d, max %d\n", percentile(s.functions, 50), percentile(s.functions, 90), percentile(s.functions, 100))
	fmt.Fprintf(&b, "lines of a file: p90 %d, max %d\n", percentile(s.files, 90), percentile(s.files, 100))
	fmt.Fprintf(&b, "lines over %d columns: %d\n", mostColumns, len(s.wide))
	largest := func(what string, of func(*goType) int) {
		names := slices.SortedFunc(maps.Keys(s.types), func(x, y string) int { return cmp.Or(cmp.Compare(of(s.types[y]), of(s.types[x])), cmp.Compare(x, y)) })
		fmt.Fprintf(&b, "%s of the largest types:", what)
		for _, name := range names[:5] {
			fmt.Fprintf(&b, " %s %d", name, of(s.types[name]))
		}
		b.WriteByte('\n')
	}
	largest("fields", func(t *goType) int { return t.fields })
	largest("methods", func(t *goType) int { return t.methods })
	fmt.Fprintf(&b, "interfaces of more than %d methods: %v\n", mostOfOneType, s.interfaces)
	fmt.Fprintf(&b, "stages of a streamed chat: %d\n", len(s.stages))
	fmt.Fprintf(&b, "direct dependencies, those of tests included: %d\n", s.dependencies)
	fmt.Fprintf(&b, "vendors named outside dialects: %v\n", s.vendors)
	return b.String()
}
