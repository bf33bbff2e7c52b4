package manual

import (
	"bytes"
	"fmt"
	"html/template"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// tree is a document, parsed.
type tree struct {
	source   []byte
	document ast.Node
}

// markdown is the Markdown of the repository: CommonMark and tables
// (https://github.github.com/gfm/#tables-extension-). The policy of the pages takes no
// styles in the text, so that cells are aligned by an attribute.
func markdown() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.NewTable(
			extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(noHTML{}, 100))),
	)
}

// noHTML leaves HTML in Markdown out, but for the marks of a superior figure.
type noHTML struct{}

// RegisterFuncs is renderer.NodeRenderer's.
func (noHTML) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHTMLBlock, func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
		return ast.WalkSkipChildren, nil
	})
	r.Register(ast.KindRawHTML, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if mark := string(n.(*ast.RawHTML).Segments.Value(source)); entering && (mark == "<sup>" || mark == "</sup>") {
			_, _ = w.WriteString(mark) // the writer keeps its error
		}
		return ast.WalkSkipChildren, nil
	})
}

// render is the document as HTML. What is wider than a phone scrolls by itself, with the
// keyboard too; a cell without words heads no column.
func (t *tree) render() (template.HTML, error) {
	var out bytes.Buffer
	if err := markdown().Renderer().Render(&out, t.source, t.document); err != nil {
		return "", err
	}
	text := strings.NewReplacer(
		"<table>", scrolls("div", "scroll", "Table")+"<table>", "</table>", "</table></div>",
		"<pre>", `<pre tabindex="0">`, "<th></th>", "<td></td>",
	).Replace(out.String())
	text = regexp.MustCompile("<img [^>]*>").ReplaceAllString(text, scrolls("span", "drawing", "Drawing")+"$0</span>")
	return template.HTML(text), nil // no HTML of a document is in it
}

func scrolls(element, class, label string) string {
	return fmt.Sprintf(`<%s class="%s" tabindex="0" role="group" aria-label="%s">`, element, class, label)
}

// walk calls do with each node, the outer one first.
func walk[N ast.Node](t *tree, do func(N)) {
	_ = ast.Walk(t.document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if node, ok := n.(N); ok && entering {
			do(node)
		}
		return ast.WalkContinue, nil
	})
}

// identify gives headings the ids that GitHub gives them, by which links find them.
func (t *tree) identify() {
	seen := map[string]int{}
	walk(t, func(h *ast.Heading) {
		id := slug(plain(h, t.source))
		n := seen[id]
		if seen[id]++; n > 0 {
			id += "-" + strconv.Itoa(n)
		}
		h.SetAttributeString("id", []byte(id))
	})
}

// slug is a heading as GitHub writes it into a link: in lower case, hyphens for spaces, and
// nothing for what is neither a letter, a mark, a digit, a hyphen nor an underscore
// (https://github.com/gjtorikian/html-pipeline/blob/v2.14.3/lib/html/pipeline/toc_filter.rb).
func slug(heading string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == ' ':
			return '-'
		case c == '-' || c == '_' || unicode.In(c, unicode.L, unicode.M, unicode.Nd, unicode.Pc):
			return unicode.ToLower(c)
		}
		return -1
	}, heading)
}

func id(n ast.Node) string {
	value, _ := n.AttributeString("id")
	text, _ := value.([]byte)
	return string(text)
}

// headings are the title of the document and its headings of the second level.
func (t *tree) headings() (title string, second []heading) {
	walk(t, func(h *ast.Heading) {
		switch text := plain(h, t.source); {
		case h.Level == 1 && title == "":
			title = text
		case h.Level == 2:
			second = append(second, heading{text, id(h)})
		}
	})
	return title, second
}

// resolve has links lead to pages of the site. What leads to a file of the repository that
// is none of them becomes its words.
func (t *tree) resolve(file string, l *library) {
	var links []*ast.Link
	var images []*ast.Image
	walk(t, func(n *ast.Link) { links = append(links, n) })
	walk(t, func(n *ast.Image) { images = append(images, n) })
	for _, n := range links {
		lead(n, &n.Destination, file, l)
	}
	for _, n := range images {
		lead(n, &n.Destination, file, l)
	}
}

func lead(n ast.Node, destination *[]byte, file string, l *library) {
	to, ok := l.resolve(file, string(*destination))
	if !ok {
		unwrap(n)
		return
	}
	*destination = []byte(to)
}

// resolve is where a link of a file leads on the site; false for nowhere.
func (l *library) resolve(file, to string) (string, bool) {
	if strings.Contains(to, ":") || strings.HasPrefix(to, "#") || strings.HasPrefix(to, "/") {
		return to, true
	}
	name, fragment, hasFragment := strings.Cut(to, "#")
	if hasFragment {
		fragment = "#" + fragment
	}
	name = path.Join(path.Dir(file), name)
	if p := l.find(name); p != nil {
		return p.Path + fragment, true
	}
	drawing := strings.TrimPrefix(name, "docs/")
	if _, ok := l.drawings[drawing]; ok {
		return root + "/" + drawing, true
	}
	return "", false
}

// unwrap puts what is in a node in its place.
func unwrap(n ast.Node) {
	parent := n.Parent()
	for child := n.FirstChild(); child != nil; child = n.FirstChild() {
		parent.InsertBefore(parent, n, child)
	}
	parent.RemoveChild(parent, n)
}

// plain is the words of a node.
func plain(n ast.Node, source []byte) string {
	var out strings.Builder
	writePlain(&out, n, source)
	return strings.Join(strings.Fields(out.String()), " ")
}

func writePlain(out *strings.Builder, n ast.Node, source []byte) {
	switch n := n.(type) {
	case *ast.Text:
		out.Write(util.UnescapePunctuations(n.Segment.Value(source)))
		if n.SoftLineBreak() || n.HardLineBreak() {
			out.WriteByte(' ')
		}
	case *ast.String:
		out.Write(n.Value)
	case *ast.AutoLink:
		out.Write(n.Label(source))
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		out.Write(n.Lines().Value(source))
	}
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		writePlain(out, child, source)
	}
	if n.Type() == ast.TypeBlock {
		out.WriteByte(' ')
	}
}
