package manual

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Bounds of searches, which everyone may use without a key: the searches at once, the time that another one waits,
// and the seconds after which a refused client should retry.
const (
	searchesAtOnce = 2
	searchWait     = 250 * time.Millisecond
	searchAgain    = "1"
)

// rendered caches the shown pages, each once per theme.
type rendered struct {
	mu    sync.Mutex
	pages map[pageTheme]renderedPage
}

// pageTheme identifies a page in a theme; the page is nil for unknown paths.
type pageTheme struct {
	page  *page
	theme string
}

type renderedPage struct {
	content []byte
	tag     string
	err     error
}

// get returns a page from the cache; on the first request render renders it.
func (c *rendered) get(of pageTheme, render func() ([]byte, error)) renderedPage {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.pages[of]
	if !ok {
		p.content, p.err = render()
		p.tag = tagOf(p.content)
		if c.pages == nil {
			c.pages = map[pageTheme]renderedPage{}
		}
		c.pages[of] = p
	}
	return p
}

// theme returns the client's theme: light, dark or "".
func (s *Server) theme(r *http.Request) string {
	if t := s.options.Theme(r); t == "light" || t == "dark" {
		return t
	}
	return ""
}

// show answers with a page, which depends on the theme's cookie.
func (s *Server) show(w http.ResponseWriter, r *http.Request, v view, all *library) {
	theme := s.theme(r)
	p := s.pages.get(pageTheme{v.Page, theme}, func() ([]byte, error) { return s.render(&v, theme, all) })
	if p.err != nil {
		s.fail(w, r, p.err)
		return
	}
	w.Header().Set("Vary", "Cookie")
	sendTagged(w, r, "text/html; charset=utf-8", p.content, p.tag, v.status)
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	s.options.Log.ErrorContext(r.Context(), "page of the documents failed", "path", r.URL.Path, "err", err)
	http.Error(w, "This page cannot be shown. See the log for the reason.", http.StatusInternalServerError)
}

// render renders a whole page.
func (s *Server) render(v *view, theme string, all *library) ([]byte, error) {
	s.fill(v, all)
	v.Theme = theme
	var out bytes.Buffer
	err := s.layout.Execute(&out, v)
	return out.Bytes(), err
}

// fill adds the data that all pages have.
func (s *Server) fill(v *view, all *library) {
	v.Version, v.Style, v.Icon, v.Root = s.options.Version, s.style, s.icon, root
	v.Script = s.script
	v.Groups, v.QueryMost, v.WordsMost, v.ResultsMost = all.groups, mostQuery, mostWords, mostResults
}

// here marks the place of the results in the search page.
const here = "<!--found-->"

// search answers a query with its results.
func (s *Server) search(w http.ResponseWriter, r *http.Request, all *library) {
	theme := s.theme(r)
	frame := s.pages.get(pageTheme{all.searchPage, theme}, func() ([]byte, error) {
		return s.render(&view{Title: "Search", Body: here}, theme, all)
	})
	if frame.err != nil {
		s.fail(w, r, frame.err)
		return
	}
	v, article, err := s.found(r, all)
	switch {
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", searchAgain)
		http.Error(w, "Too many searches are running. Try again in a second.",
			http.StatusServiceUnavailable)
		return
	case r.Context().Err() != nil: // the client has disconnected
		return
	case err != nil:
		s.fail(w, r, err)
		return
	}
	before, after, _ := bytes.Cut(frame.content, []byte(here))
	w.Header().Set("Vary", "Cookie")
	send(w, r, "text/html; charset=utf-8", slices.Concat(before, article, after), v.status)
}

var errBusy = errors.New("manual: too many searches at once")

// found renders the results for the search page.
func (s *Server) found(r *http.Request, all *library) (v view, article []byte, err error) {
	if err := s.takeTurn(r.Context()); err != nil {
		return v, nil, err
	}
	defer func() { <-s.searching }()
	v = all.search(r.URL.Query().Get("q"))
	s.fill(&v, all)
	var out bytes.Buffer
	err = s.layout.ExecuteTemplate(&out, "found", v)
	return v, out.Bytes(), err
}

// takeTurn waits for a place among the running searches.
func (s *Server) takeTurn(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	timer := time.NewTimer(searchWait)
	defer timer.Stop()
	select {
	case s.searching <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return errBusy
	}
}
