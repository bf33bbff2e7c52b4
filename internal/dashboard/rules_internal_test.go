package dashboard

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// document holds a page as a browser reads it, and the data of the rules.
type document struct {
	elements []*html.Node
	ids      map[string]int
	broken   []string
}

// Check returns the violations of the design's rules on a page.
func Check(text string) []string {
	d := document{ids: map[string]int{}}
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return []string{err.Error()}
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			d.elements = append(d.elements, n)
			if id := attr(n, "id"); id != "" {
				d.ids[id]++
			}
		}
	}
	if !strings.HasPrefix(text, "<!doctype html>") {
		d.fault("does not begin with a doctype")
	}
	d.whole()
	d.headings()
	for _, n := range d.elements {
		d.scripting(n)
		d.control(n)
		d.references(n)
		d.leading(n)
		d.table(n)
	}
	if got, want := strings.Count(text, "<form"), d.count("form"); got != want {
		d.fault("has %d forms in its text, of which %d are left: one stands in another", got, want)
	}
	return d.broken
}

func (d *document) fault(format string, a ...any) {
	d.broken = append(d.broken, fmt.Sprintf(format, a...))
}

func (d *document) count(tag string) int {
	n := 0
	for _, e := range d.elements {
		if e.Data == tag && e.Namespace == "" {
			n++
		}
	}
	return n
}

func (d *document) first(tag string) *html.Node {
	for _, e := range d.elements {
		if e.Data == tag && e.Namespace == "" {
			return e
		}
	}
	return nil
}

// whole checks the elements that a page has once.
func (d *document) whole() {
	if lang := attr(d.first("html"), "lang"); lang != "en" {
		d.fault("language: got %q, want en", lang)
	}
	if title := words(d.first("title")); !strings.HasSuffix(title, " · Weir") || strings.HasPrefix(title, " ") {
		d.fault("title: got %q, want words and · Weir", title)
	}
	for _, tag := range []string{"h1", "main", "title", "footer"} {
		if got := d.count(tag); got != 1 {
			d.fault("%s: got %d, want 1", tag, got)
		}
	}
	if d.ids["main"] != 1 {
		d.fault("the link over the navigation leads nowhere")
	}
	for id, n := range d.ids {
		if n > 1 {
			d.fault("id %q stands %d times", id, n)
		}
	}
}

// headings checks that headings descend by one level at a time within main, and have text.
func (d *document) headings() {
	last := 0
	for _, n := range d.elements {
		level := strings.Index("h1h2h3h4h5h6", n.Data)
		if len(n.Data) != 2 || level < 0 || !within(n, "main") {
			continue
		}
		level = level/2 + 1
		if level > last+1 {
			d.fault("%s %q comes after a heading of level %d", n.Data, words(n), last)
		}
		if words(n) == "" {
			d.fault("%s says nothing", n.Data)
		}
		last = level
	}
}

// scripting permits scripts and styles only as files of the gateway.
func (d *document) scripting(n *html.Node) {
	if n.Data == "style" || n.Data == "base" || n.Data == "iframe" || n.Data == "script" && (attr(n, "src") == "" || n.FirstChild != nil) {
		d.fault("<%s> inside the page", n.Data)
	}
	for _, a := range n.Attr {
		if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
			d.fault("<%s> has the attribute %s", n.Data, a.Key)
		}
		if strings.Contains(a.Val, "ZgotmplZ") {
			d.fault("<%s %s> was filtered by the template", n.Data, a.Key)
		}
	}
}

// control requires a name for every control.
func (d *document) control(n *html.Node) {
	switch n.Data {
	case "input", "select", "textarea":
		if attr(n, "type") == "hidden" || has(n, "hidden") {
			return
		}
		if !d.labelled(n) {
			d.fault("<%s name=%q> has no label", n.Data, attr(n, "name"))
		}
	case "button":
		if words(n) == "" {
			d.fault("a button says nothing")
		}
		if attr(n, "type") == "" {
			d.fault("the button %q has no type", words(n))
		}
	case "a":
		if words(n) == "" {
			d.fault("the link to %q says nothing", attr(n, "href"))
		}
	case "fieldset":
		if n.FirstChild == nil || d.child(n, "legend") == nil {
			d.fault("a fieldset has no legend")
		}
	case "nav", "section":
		if attr(n, "aria-label") == "" && attr(n, "aria-labelledby") == "" {
			d.fault("<%s> has no name", n.Data)
		}
	case "pre", "div", "span", "p":
		if attr(n, "aria-label") != "" && attr(n, "role") == "" {
			d.fault("<%s> has a name without a role", n.Data)
		}
	case "svg":
		if attr(n, "aria-hidden") != "true" && attr(n, "aria-label") == "" && !hiddenAbove(n) {
			d.fault("a picture is neither named nor hidden")
		}
	}
}

func (d *document) child(n *html.Node, tag string) *html.Node {
	for c := range n.ChildNodes() {
		if c.Data == tag {
			return c
		}
	}
	return nil
}

func (d *document) labelled(n *html.Node) bool {
	if attr(n, "aria-label") != "" || within(n, "label") {
		return true
	}
	return slices.ContainsFunc(d.elements, func(l *html.Node) bool {
		return l.Data == "label" && attr(l, "for") != "" && attr(l, "for") == attr(n, "id") && words(l) != ""
	})
}

// references requires references to existing ids.
func (d *document) references(n *html.Node) {
	for _, key := range []string{"aria-describedby", "aria-labelledby", "for", "popovertarget", "data-copy"} {
		for id := range strings.FieldsSeq(attr(n, key)) {
			if d.ids[id] == 0 {
				d.fault("<%s %s=%q> leads nowhere", n.Data, key, id)
			}
		}
	}
	if id, ok := strings.CutPrefix(attr(n, "href"), "#"); ok && d.ids[id] == 0 {
		d.fault("the link to #%s leads nowhere", id)
	}
}

// leading requires links and forms to stay on this site.
func (d *document) leading(n *html.Node) {
	for _, key := range []string{"href", "src", "action"} {
		value := attr(n, key)
		u, err := url.Parse(value)
		if err != nil || u.Scheme != "" || u.Host != "" || u.Path != "" && u.Path[0] != '/' {
			d.fault("<%s %s=%q> leads elsewhere", n.Data, key, value)
		}
	}
	if m := attr(n, "method"); n.Data == "form" && m != "post" && m != "get" {
		d.fault("a form has the method %q", m)
	}
}

// table requires a caption, and a scope for every head.
func (d *document) table(n *html.Node) {
	if n.Data == "table" && d.child(n, "caption") == nil {
		d.fault("a table has no caption")
	}
	if n.Data == "th" && (attr(n, "scope") == "" || words(n) == "") {
		d.fault("the head %q of a table has no scope, or says nothing", words(n))
	}
}

func attr(n *html.Node, key string) string {
	if n != nil {
		for _, a := range n.Attr {
			if a.Key == key {
				return a.Val
			}
		}
	}
	return ""
}

func has(n *html.Node, key string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
}

func within(n *html.Node, tag string) bool {
	for p := range n.Ancestors() {
		if p.Data == tag {
			return true
		}
	}
	return false
}

func hiddenAbove(n *html.Node) bool {
	for p := range n.Ancestors() {
		if attr(p, "aria-hidden") == "true" {
			return true
		}
	}
	return false
}

// words returns the text of an element, as it is read.
func words(n *html.Node) string {
	if n == nil {
		return ""
	}
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// TestRulesFindEachFault breaks every rule once, and checks that the fault is found.
func TestRulesFindEachFault(t *testing.T) {
	t.Parallel()
	const whole = `<!doctype html><html lang="en"><head><title>Keys · Weir</title></head><body><main id="main"><h1>Keys</h1>%s</main><footer></footer></body></html>`
	if got := Check(fmt.Sprintf(whole, `<p>Nothing wrong.</p>`)); len(got) > 0 {
		t.Fatalf("a page without a fault: got %q", got)
	}
	for _, inside := range []string{
		`<h1>Again</h1>`, `<h3>Too deep</h3>`, `<h2> </h2>`, `<p style="color:red">x</p>`, `<style>p{}</style>`, `<script>x</script>`,
		`<p onclick="x">x</p>`, `<input name="x">`, `<label for="y">Y</label>`, `<select name="x"></select>`, `<button type="submit"></button>`,
		`<button>x</button>`, `<a href="/x"></a>`, `<a href="//x.example">x</a>`, `<a href="https://x.example">x</a>`, `<a href="#x">x</a>`, `<a href="x">x</a>`,
		`<a href="javascript:x">x</a>`, `<form action="/x"></form>`, `<form method="post"><form method="post"></form></form>`, `<table><tr><th scope="col">x</th></tr></table>`,
		`<table><caption>x</caption><tr><th>x</th></tr></table>`, `<i id="x"></i><i id="x"></i>`, `<i aria-describedby="x"></i>`, `<svg></svg>`,
		`<nav></nav>`, `<section></section>`, `<fieldset></fieldset>`, `<pre aria-label="x">x</pre>`, `<main></main>`, `<iframe></iframe>`, `<a href="#ZgotmplZ" id="ZgotmplZ">x</a>`,
	} {
		if got := Check(fmt.Sprintf(whole, inside)); len(got) == 0 {
			t.Errorf("%s: got no fault", inside)
		}
	}
	for _, page := range []string{"", "<p>x", fmt.Sprintf(whole, "")[1:], strings.Replace(fmt.Sprintf(whole, ""), `lang="en"`, "", 1), strings.Replace(fmt.Sprintf(whole, ""), " · Weir", "", 1)} {
		if got := Check(page); len(got) == 0 {
			t.Errorf("%s: got no fault", page)
		}
	}
}
