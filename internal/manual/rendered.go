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

// Everybody may search, without a key: so few searches are under way at once, one waits so long
// for its turn, and whoever is refused is to come back after so many seconds.
const (
	searchesAtOnce = 2
	searchWait     = 250 * time.Millisecond
	searchAgain    = "1"
)

// rendered is the pages that were shown, each made once for each theme.
type rendered struct {
	mu    sync.Mutex
	pages map[pageTheme]renderedPage
}

// pageTheme names a page, nil for what is not there, in a theme.
type pageTheme struct {
	page  *page
	theme string
}

type renderedPage struct {
	content []byte
	tag     string
	err     error
}

// get is a page, which render makes where nobody has asked for it.
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

// theme is that of whoever asks: one of three.
func (s *Server) theme(r *http.Request) string {
	if t := s.options.Theme(r); t == "light" || t == "dark" {
		return t
	}
	return ""
}

// show answers with a page, which depends on the cookie of the theme.
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
	http.Error(w, "This page cannot be shown. The log says why.", http.StatusInternalServerError)
}

// render makes a whole page.
func (s *Server) render(v *view, theme string, all *library) ([]byte, error) {
	s.fill(v, all)
	v.Theme = theme
	var out bytes.Buffer
	err := s.layout.Execute(&out, v)
	return out.Bytes(), err
}

// fill adds what all pages have.
func (s *Server) fill(v *view, all *library) {
	v.Version, v.Style, v.Icon, v.Root = s.options.Version, s.style, s.icon, root
	v.Groups, v.QueryMost, v.WordsMost, v.ResultsMost = all.groups, mostQuery, mostWords, mostResults
}

// here stands in the page of the search for what was found.
const here = "<!--found-->"

// search answers with what is found for a query.
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
		http.Error(w, "Too many people search the documents at this moment. Try again in a second.",
			http.StatusServiceUnavailable)
		return
	case r.Context().Err() != nil: // nobody reads the answer
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

// found is the part of the page of the search that tells what was found.
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

// takeTurn waits for a place among the searches under way.
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
