// Package manual serves the documents of the repository as pages below /docs: to everyone, without a session or a
// database. Its only script copies text.
//
// A page is a file of Markdown. The first request reads all of them into memory (pages.go). markdown.go renders
// Markdown, search.go searches. docs/README.md lists the pages, in groups and in order. reference.go writes the
// reference of the API as Markdown, from the OpenAPI document.
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

// root is the path of the start page; all other pages are below it.
const root = "/docs"

// writeWithin bounds the time in which a client accepts a piece of a page.
const writeWithin = 30 * time.Second

// policy allows a page only resources of this site (Content Security Policy Level 3). A drawing may have inline styles,
// but may not load anything.
const (
	policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; " +
		"base-uri 'none'; frame-ancestors 'none'"
	drawingPolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
)

// Options holds the options of New.
type Options struct {
	// Documents holds the files, by their paths in the repository.
	Documents fs.FS
	// API returns the OpenAPI document, as JSON, from which the reference of the API is made; nil for none.
	API func() ([]byte, error)
	// StyleSheet (CSS), Script (JavaScript, for buttons that copy) and Icon (SVG) are shared with the other pages of
	// the site.
	StyleSheet, Script, Icon []byte
	// Theme returns light, dark, or "" for the browser's preference.
	Theme   func(*http.Request) string
	Version string
	Log     *slog.Logger
}

// Server serves the documents. It is safe for concurrent use.
type Server struct {
	options Options
	layout  *template.Template
	assets  map[string]asset // by the name in their path
	style   string           // path of the style sheet
	script  string
	icon    string
	read    func() (*library, error)
	pages   rendered
	// searching has a place for each running search.
	searching chan struct{}
}

// asset is a file that pages load. Browsers may cache it for ever, because its path contains a hash of it.
type asset struct {
	kind    string
	content []byte
}

// New creates a server. It does not read the documents yet.
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
		read:      sync.OnceValues(o.library),
		searching: make(chan struct{}, searchesAtOnce),
	}
	s.style = s.keep("css", "text/css; charset=utf-8", slices.Concat(o.StyleSheet, own))
	s.script = s.keep("js", "text/javascript; charset=utf-8", o.Script)
	s.icon = s.keep("svg", "image/svg+xml", o.Icon)
	return s, nil
}

// library reads the documents and the API's description.
func (o *Options) library() (*library, error) {
	var api []byte
	if o.API != nil {
		var err error
		if api, err = o.API(); err != nil {
			return nil, err
		}
	}
	return readLibrary(o.Documents, api)
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

// view holds the data of the template.
type view struct {
	Title             string
	Theme, Version    string
	Style, Script     string
	Icon, Root        string
	Groups            []group
	Page              *page // nil for the search and for unknown pages
	Body              template.HTML
	Previous, Next    *page
	Missing           bool
	Query             string
	Searched, TooLong bool
	Dropped           bool // some words of the query were ignored
	Partial           bool // no section has all words
	Corrected         string
	Count             int // number of results
	Results           template.HTML
	QueryMost         int // maximum characters of a query
	WordsMost         int
	ResultsMost       int
	status            int
}

// Current reports whether the page is the shown one.
func (v view) Current(p *page) bool { return v.Page == p }

// Within reports whether the page or one below it is shown: then the pages below it are listed.
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
		http.Error(w, "The documents cannot be read. See the log for the reason.", http.StatusInternalServerError)
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

// send answers with content that a browser may cache and revalidates by its ETag (RFC 9110, section 8.8.3).
func send(w http.ResponseWriter, r *http.Request, kind string, content []byte, status int) {
	sendTagged(w, r, kind, content, tagOf(content), status)
}

func tagOf(content []byte) string { return `"` + hash(content) + `"` }

func sendTagged(w http.ResponseWriter, r *http.Request, kind string, content []byte, tag string, status int) {
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "no-cache")
	// The header is a list of tags; one tag cannot be part of another, because all have the same length.
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
	// because the next answer on the connection has its own deadline
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
}
