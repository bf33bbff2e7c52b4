package dashboard

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"weir/internal/dialect"
	"weir/internal/people"
)

// site holds the shared state of all pages: how they are rendered, and how errors become pages.
type site struct {
	assets    *assets
	templates map[string]func() (*template.Template, error) // parsed once, when the page is first shown
	cookies   cookies
	version   string
	now       func() time.Time
	log       *slog.Logger
}

// view holds the data of a template.
type view struct {
	Frame Frame
	Page  any
}

// Frame holds the data of the frame of a page.
type Frame struct {
	Title    string // title of the page, and start of the window's title
	Account  string // name of the page's account; empty for none
	Path     string // path of the page, to return to
	Bare     bool   // whether it has no navigation, like the sign-in pages
	Theme    string // light, dark, or "" for the browser's preference
	Themes   []Choice
	Accounts []Link // of the visitor
	Finds    bool   // whether the visitor may search all accounts
	Nav      []NavGroup
	Name     string // of the visitor
	Email    string // of the visitor; empty if nobody is signed in
	Version  string
	Done     string   // confirmation of the last action
	Scripts  []string // names of modules among the assets
}

// FullTitle returns the window's title.
func (f Frame) FullTitle() string {
	if f.Account != "" {
		return f.Title + " · " + f.Account + " · Weir"
	}
	return f.Title + " · Weir"
}

// page holds the data that a handler shows.
type page struct {
	name    string   // of the template
	title   string   // of the window
	bare    bool     // without navigation
	status  int      // 0 for 200
	scripts []string // besides copy.js
	leads   string   // another site to which the answers of its forms may lead; empty for none
	data    any
}

// show answers with a page. It sends nothing before the page is complete.
func (s *site) show(w http.ResponseWriter, r *http.Request, v *people.Visit, p page) error {
	text, err := s.execute(p.name, "layout", view{Frame: s.frame(r, v, p), Page: p.data})
	if err != nil {
		return err
	}
	guard(w.Header())
	if p.leads != "" {
		w.Header().Set("Content-Security-Policy", strings.Replace(policy, "form-action 'self'", "form-action 'self' "+
			p.leads, 1))
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if p.status != 0 {
		w.WriteHeader(p.status)
	}
	dialect.WriteBody(w, text, writeLimit)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // the connection's next answer has its own deadline
	return nil
}

// execute executes a template of a page.
func (s *site) execute(name, template string, v any) ([]byte, error) {
	parsed, ok := s.templates[name]
	if !ok {
		return nil, fmt.Errorf("dashboard: there is no page %q", name)
	}
	var out bytes.Buffer
	t, err := parsed()
	if err == nil {
		err = t.ExecuteTemplate(&out, template, v)
	}
	if err != nil {
		return nil, fmt.Errorf("dashboard: page %s: %w", name, err)
	}
	return out.Bytes(), nil
}

func (s *site) frame(r *http.Request, v *people.Visit, p page) Frame {
	f := Frame{
		Title: p.title, Path: r.URL.Path, Bare: p.bare, Version: s.version, Theme: s.theme(r),
		Done: done[r.URL.Query().Get("done")], Scripts: append([]string{"copy.js"}, p.scripts...),
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		f.Path = "/" // the answer to a form is not a page to return to
	}
	f.Themes = themes(f.Theme)
	if v == nil || v.User() == nil || p.bare {
		return f
	}
	f.Name, f.Email = v.User().Name, v.User().Email
	if v.Account != nil {
		f.Account = v.Account.Name
	}
	f.Accounts, f.Nav = navigation(r.URL.Path, v)
	f.Finds = v.Operator()
	return f
}

// pages returns the pages, each of which is parsed together with parts/ when it is first shown, because parsing takes
// longer than the rest of the start.
func (s *site) pages() (map[string]func() (*template.Template, error), error) {
	parts := sync.OnceValues(func() (*template.Template, error) {
		return template.New("").Funcs(s.functions()).ParseFS(files, "parts/*.html")
	})
	names, err := fs.Glob(files, "pages/*.html")
	if err != nil {
		return nil, err
	}
	all := map[string]func() (*template.Template, error){}
	for _, name := range names {
		all[strings.TrimSuffix(path.Base(name), ".html")] = sync.OnceValues(func() (*template.Template, error) {
			t, err := parts()
			if err == nil {
				t, err = t.Clone()
			}
			if err != nil {
				return nil, err
			}
			return t.ParseFS(files, name)
		})
	}
	return all, nil
}

func (s *site) functions() template.FuncMap {
	return template.FuncMap{
		"asset": s.assets.path, "icon": icon, "gauge": gauge, "moment": moment, "rfc3339": rfc3339,
		"ago":   func(t time.Time) string { return between(s.now(), t) },
		"empty": func(icon, title, text string) Empty { return Empty{Icon: icon, Title: title, Text: text} },
		"badge": func(kind, text string) Badge { return Badge{kind, text} }, "day": day, "number": number,
		"dollars": dollars, "dollarsTo": dollarsTo,
		"modelName": modelName, "clock": clock, "inc": func(i int) int { return i + 1 },
	}
}
