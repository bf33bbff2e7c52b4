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

// tree is a parsed document.
type tree struct {
	source   []byte
	document ast.Node
}

// markdown returns the Markdown of the repository: CommonMark and tables
// (https://github.github.com/gfm/#tables-extension-). Cells are aligned by an attribute, because the pages' policy
// forbids inline styles.
func markdown() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.NewTable(
			extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(noHTML{}, 100))),
	)
}

// noHTML removes HTML from Markdown, except for superscript tags.
type noHTML struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (noHTML) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHTMLBlock, func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
		return ast.WalkSkipChildren, nil
	})
	r.Register(ast.KindRawHTML, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (
		ast.WalkStatus, error,
	) {
		if mark := string(n.(*ast.RawHTML).Segments.Value(source)); entering && (mark == "<sup>" || mark == "</sup>") {
			_, _ = w.WriteString(mark) // the writer stores its error
		}
		return ast.WalkSkipChildren, nil
	})
}

// render renders the document as HTML. Wide elements scroll separately, also with the keyboard. An empty header cell
// becomes a plain cell.
func (t *tree) render() (template.HTML, error) {
	var out bytes.Buffer
	if err := markdown().Renderer().Render(&out, t.source, t.document); err != nil {
		return "", err
	}
	text := strings.NewReplacer(
		"<table>", scrolls("div", "scroll", "Table")+"<table>", "</table>", "</table></div>",
		"<th></th>", "<td></td>", "</pre>", "</pre></div>",
	).Replace(out.String())
	text = regexp.MustCompile("<img [^>]*>").ReplaceAllString(text, scrolls("span", "drawing", "Drawing")+"$0</span>")
	text = regexp.MustCompile(`(?s)<h([2-4]) id="([^"]*)">(.*?)</h[2-4]>`).ReplaceAllString(text,
		`<h$1 id="$2">$3 <a class="anchor" href="#$2" aria-label="Link to this section">#</a></h$1>`)
	blocks := 0
	text = regexp.MustCompile("<pre>").ReplaceAllStringFunc(text, func(string) string {
		blocks++
		return fmt.Sprintf(codeBlock, blocks)
	})
	return template.HTML(text), nil // documents cannot contain HTML
}

// codeBlock is the start of a block of code, with a button that the script shows.
const codeBlock = `<div class="code"><button type="button" class="copy" data-copy="code-%[1]d" hidden>` +
	`<span data-label>Copy</span></button><pre tabindex="0" id="code-%[1]d">`

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

// identify sets the ids of headings that GitHub sets, which links use.
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

// slug converts a heading as GitHub does for links: lower case, hyphens for spaces, and only letters, marks, digits,
// hyphens and underscores (https://github.com/gjtorikian/html-pipeline/blob/v2.14.3/lib/html/pipeline/toc_filter.rb).
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

// headings returns the title of the document and its headings of the second level.
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

// resolve changes links to files into links to pages of the site. A link to another file of the repository becomes
// plain text.
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

// resolve returns the target of a file's link on the site, or false if there is none.
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

// unwrap replaces a node by its children.
func unwrap(n ast.Node) {
	parent := n.Parent()
	for child := n.FirstChild(); child != nil; child = n.FirstChild() {
		parent.InsertBefore(parent, n, child)
	}
	parent.RemoveChild(parent, n)
}

// plain returns the text of a node.
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
