package manual

import (
	"cmp"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// start is the file of the start page, which lists all other pages.
const start = "docs/README.md"

// library holds all documents.
type library struct {
	groups   []group
	pages    map[string]*page // by the path after /docs/; empty for the start page
	order    []*page          // in the order of the navigation; pages that are not in it are left out
	drawings map[string][]byte
	// searchPage represents the search page, which is not a document.
	searchPage *page
	sections   []section // of the pages, in order
	index      *index    // of the sections
}

// group holds the pages for one purpose, such as "Operate".
type group struct {
	Name  string
	Pages []*page
}

// page holds a document.
type page struct {
	File     string    // path in the repository
	Path     string    // path on the site, from its root
	Title    string    // first heading
	Label    string    // text in the navigation, by default the title
	Headings []heading // headings of the second level
	Below    []*page   // pages in the folder of the same name
	at       int       // position among all documents
	weight   int       // in the order of search results
	body     template.HTML
	sections []section
}

// heading is a heading of a page and its id.
type heading struct{ Text, ID string }

// readLibrary reads all documents, and adds the pages of the API's reference.
func readLibrary(documents fs.FS, api []byte) (*library, error) {
	l := &library{pages: map[string]*page{}, drawings: map[string][]byte{}, searchPage: &page{}}
	trees := map[*page]*tree{}
	add := func(file string, content []byte) {
		p := &page{File: file, Path: address(file), at: len(trees)}
		trees[p] = parse(content)
		p.Title, p.Headings = trees[p].headings()
		p.Label = strings.TrimPrefix(p.Title, apiTitle)
		l.pages[strings.TrimPrefix(strings.TrimPrefix(p.Path, root), "/")] = p
	}
	var operations string
	if api != nil {
		written, list, err := reference(api)
		if err != nil {
			return nil, fmt.Errorf("manual: %w", err)
		}
		for _, w := range written {
			add(w.file, []byte(w.content))
		}
		operations = list
	}
	err := fs.WalkDir(documents, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(documents, file)
		if err != nil {
			return err
		}
		if path.Ext(file) != ".md" {
			l.drawings[strings.TrimPrefix(file, "docs/")] = content
			return nil
		}
		if file == apiPage {
			content = append(slices.Clip(content), operations...)
		}
		add(file, content)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("manual: read: %w", err)
	}
	for p, t := range trees {
		t.resolve(p.File, l)
		if p.body, err = t.render(); err != nil {
			return nil, fmt.Errorf("manual: %s: %w", p.File, err)
		}
		p.sections = t.sections(p)
	}
	first := l.pages[""]
	if first == nil {
		return nil, fmt.Errorf("manual: there is no %s, which lists the pages", start)
	}
	l.arrange(first, trees[first])
	return l, nil
}

// address returns the path of a document on the site.
func address(file string) string {
	name := strings.TrimPrefix(strings.TrimSuffix(file, ".md"), "docs/")
	name = strings.TrimSuffix(strings.TrimSuffix(name, "README"), "/")
	return strings.TrimSuffix(root+"/"+name, "/")
}

// find returns the page of a file, or nil.
func (l *library) find(file string) *page {
	p := l.pages[strings.TrimPrefix(strings.TrimPrefix(address(file), root), "/")]
	if p == nil || p.File != file {
		return nil
	}
	return p
}

// arrange groups and orders the pages as on the start page: a heading of the second level is a group, and the first
// link of each list item is a page of it.
func (l *library) arrange(first *page, t *tree) {
	l.order = []*page{first}
	for n := t.document.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 2 {
				l.groups = append(l.groups, group{Name: plain(n, t.source)})
			}
		case *ast.List:
			for item := n.FirstChild(); item != nil && len(l.groups) > 0; item = item.NextSibling() {
				l.add(&l.groups[len(l.groups)-1], firstLink(item), t.source)
			}
		}
	}
	first.weight = weightGuide
	for _, g := range l.groups {
		for _, p := range g.Pages {
			p.weight = weightOther
			if slices.Contains(guides, g.Name) {
				p.weight = weightGuide
			}
			for _, below := range p.Below {
				below.weight = min(p.weight, weightBelow)
			}
			if p.File == "CHANGELOG.md" {
				p.weight = weightChanges
			}
		}
	}
	for _, p := range l.order {
		l.sections = append(l.sections, p.sections...)
	}
	l.index = newIndex(l.sections)
}

// add appends the page of a link to a group, and the pages below it.
func (l *library) add(g *group, link *ast.Link, source []byte) {
	if link == nil {
		return
	}
	p := l.pages[strings.TrimPrefix(strings.TrimPrefix(string(link.Destination), root), "/")]
	if p == nil || slices.Contains(l.order, p) {
		return
	}
	p.Label = plain(link, source)
	g.Pages = append(g.Pages, p)
	l.order = append(l.order, p)
	for _, below := range l.pages {
		if path.Dir(below.Path) == p.Path && below != p && p.Path != root {
			p.Below = append(p.Below, below)
		}
	}
	slices.SortFunc(p.Below, func(a, b *page) int { return cmp.Compare(a.at, b.at) })
	l.order = append(l.order, p.Below...)
}

func firstLink(n ast.Node) (found *ast.Link) {
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering {
			found = link
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	return found
}

// view returns the page at a path after /docs/, or a page that reports that there is none.
func (l *library) view(at string) view {
	p := l.pages[at]
	if p == nil {
		return view{Title: "Not found", Missing: true, status: http.StatusNotFound}
	}
	v := view{Title: p.Title, Page: p, Body: p.body, status: http.StatusOK}
	if i := slices.Index(l.order, p); i >= 0 {
		if i > 0 {
			v.Previous = l.order[i-1]
		}
		if i+1 < len(l.order) {
			v.Next = l.order[i+1]
		}
	}
	return v
}

// parse parses Markdown.
func parse(content []byte) *tree {
	t := &tree{source: content, document: markdown().Parser().Parse(text.NewReader(content))}
	t.identify()
	return t
}
