// Package manual is the documents of the repository as pages, below /docs: for everybody,
// without a session, a script or a database.
//
// A page is a file of Markdown. All of them are read when the first one is asked for, and
// kept (pages.go); what Markdown becomes is in markdown.go, the search in search.go. The
// list of pages, in its groups and its order, is docs/README.md.
package manual

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/internal/dialect"
)

//go:embed layout.html manual.css
var files embed.FS

// root is the path of the start page; all others are below it.
const root = "/docs"

// writeWithin is how long a client may take for a piece of a page.
const writeWithin = 30 * time.Second

// policy lets a page have what is of this site, without scripts (Content Security Policy
// Level 3). Drawings have styles of their own inside, and may load nothing.
const (
	policy        = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	drawingPolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
)

// Options is what a Server is made of.
type Options struct {
	// Documents are the files, by their paths in the repository.
	Documents fs.FS
	// StyleSheet and Icon are what the pages share with others of the site: CSS, and SVG.
	StyleSheet, Icon []byte
	// Theme is light, dark, or empty for what the browser prefers.
	Theme   func(*http.Request) string
	Version string
	Log     *slog.Logger
}

// Server serves the documents. It may be called at once.
type Server struct {
	options Options
	layout  *template.Template
	assets  map[string]asset // by the name in their path
	style   string           // path of the style sheet
	icon    string
	read    func() (*library, error)
	pages   rendered
	// searching has a place for each search under way.
	searching chan struct{}
}

// asset is a file that pages load, which browsers may keep for ever: a hash of it is in
// its path.
type asset struct {
	kind    string
	content []byte
}

// New makes a server. It reads no document yet.
func New(o Options) (*Server, error) {
	layout, err := template.ParseFS(files, "layout.html")
	if err != nil {
		return nil, fmt.Errorf("manual: layout: %w", err)
	}
	own, err := files.ReadFile("manual.css")
	if err != nil {
		return nil, fmt.Errorf("manual: style: %w", err)
	}
	s := &Server{
		options: o, layout: layout, assets: map[string]asset{},
		read:      sync.OnceValues(func() (*library, error) { return readLibrary(o.Documents) }),
		searching: make(chan struct{}, searchesAtOnce),
	}
	s.style = s.keep("css", "text/css; charset=utf-8", slices.Concat(o.StyleSheet, own))
	s.icon = s.keep("svg", "image/svg+xml", o.Icon)
	return s, nil
}

// keep adds an asset and returns its path.
func (s *Server) keep(extension, kind string, content []byte) string {
	name := hash(content) + "." + extension
	s.assets[name] = asset{kind, content}
	return root + "/assets/" + name
}

func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}

// view is what the template sees.
type view struct {
	Title             string
	Theme, Version    string
	Style, Icon, Root string
	Groups            []group
	Page              *page // nil for the search and for what is not there
	Body              template.HTML
	Previous, Next    *page
	Missing           bool
	Query             string
	Searched, TooLong bool
	Dropped           bool // words of the query were not looked for
	Count             int  // of results
	Results           template.HTML
	QueryMost         int // characters of a query
	WordsMost         int
	ResultsMost       int
	status            int
}

// Current reports whether the page is the one that is shown.
func (v view) Current(p *page) bool { return v.Page == p }

// Within reports whether the pages below a page are listed: it is shown, or one of them is.
func (v view) Within(p *page) bool { return v.Page == p || slices.Contains(p.Below, v.Page) }

// ServeHTTP answers a path below /docs.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	path := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, root), "/")
	if name, ok := strings.CutPrefix(path, "assets/"); ok {
		s.serveAsset(w, r, name)
		return
	}
	all, err := s.read()
	if err != nil {
		s.options.Log.ErrorContext(r.Context(), "documents cannot be read", "err", err)
		http.Error(w, "The documents cannot be read. The log says why.", http.StatusInternalServerError)
		return
	}
	switch drawing, isDrawing := all.drawings[path]; {
	case isDrawing:
		h.Set("Content-Security-Policy", drawingPolicy)
		send(w, r, "image/svg+xml", drawing, http.StatusOK)
	case path == "search":
		s.search(w, r, all)
	default:
		s.show(w, r, all.view(path), all)
	}
}

func (s *Server) serveAsset(w http.ResponseWriter, r *http.Request, name string) {
	a, ok := s.assets[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	write(w, a.kind, a.content, http.StatusOK)
}

// send answers with what a browser may keep, and asks for again by its ETag
// (RFC 9110, section 8.8.3).
func send(w http.ResponseWriter, r *http.Request, kind string, content []byte, status int) {
	sendTagged(w, r, kind, content, tagOf(content), status)
}

func tagOf(content []byte) string { return `"` + hash(content) + `"` }

func sendTagged(w http.ResponseWriter, r *http.Request, kind string, content []byte, tag string, status int) {
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "no-cache")
	// a list of tags, which are too long to be part of another
	if status == http.StatusOK && strings.Contains(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	write(w, kind, content, status)
}

func write(w http.ResponseWriter, kind string, content []byte, status int) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	w.WriteHeader(status)
	dialect.WriteBody(w, content, writeWithin)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // the connection's next answer has its own
}
