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

// site is what all pages share: how they are drawn, and how errors become pages.
type site struct {
	assets    *assets
	templates map[string]func() (*template.Template, error) // parsed once, when the page is first shown
	has       map[string]bool                               // patterns of routes that there are
	cookies   cookies
	version   string
	now       func() time.Time
	log       *slog.Logger
}

// view is what a template sees.
type view struct {
	Frame Frame
	Page  any
}

// Frame is what stands around a page.
type Frame struct {
	Title    string // of the page, the first words of the window's
	Account  string // name of the account that the page is of; empty for none
	Path     string // of the page, to come back to
	Bare     bool   // without navigation: a way in
	Theme    string // light, dark, or empty for what the browser prefers
	Themes   []Choice
	Accounts []Link // of the visitor
	Nav      []NavGroup
	Name     string // of the visitor
	Email    string // of the visitor; empty for nobody
	Version  string
	Done     string   // what was done just now
	Scripts  []string // names of modules among the assets
}

// FullTitle is the window's title.
func (f Frame) FullTitle() string {
	if f.Account != "" {
		return f.Title + " · " + f.Account + " · Weir"
	}
	return f.Title + " · Weir"
}

// page is what a handler has to show.
type page struct {
	name    string   // of the template
	title   string   // of the window
	bare    bool     // without navigation
	status  int      // 0 for 200
	scripts []string // beside copy.js
	data    any
}

// show answers with a page. Nothing is sent before all of it is there.
func (s *site) show(w http.ResponseWriter, r *http.Request, v *people.Visit, p page) error {
	text, err := s.execute(p.name, "layout", view{Frame: s.frame(r, v, p), Page: p.data})
	if err != nil {
		return err
	}
	guard(w.Header())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if p.status != 0 {
		w.WriteHeader(p.status)
	}
	dialect.WriteBody(w, text, writeLimit)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // the connection's next answer has its own
	return nil
}

// execute executes a template of those that a page has.
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
		f.Path = "/" // what a form answered is not there to come back to
	}
	f.Themes = themes(f.Theme)
	if v == nil || v.User() == nil || p.bare {
		return f
	}
	f.Name, f.Email = v.User().Name, v.User().Email
	if v.Account != nil {
		f.Account = v.Account.Name
	}
	f.Accounts, f.Nav = s.navigation(r.URL.Path, v)
	return f
}

// parse reads the templates of parts/. Each of pages/ is read when it is first shown, with all of parts/: to read them all
// takes longer than the rest of a start.
func (s *site) parse() (map[string]func() (*template.Template, error), error) {
	parts, err := template.New("").Funcs(s.functions()).ParseFS(files, "parts/*.html")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(files, "pages/*.html")
	if err != nil {
		return nil, err
	}
	all := map[string]func() (*template.Template, error){}
	for _, name := range names {
		all[strings.TrimSuffix(path.Base(name), ".html")] = sync.OnceValues(func() (*template.Template, error) {
			t, err := parts.Clone()
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
		"dollars": dollars, "modelName": modelName, "clock": clock, "inc": func(i int) int { return i + 1 },
	}
}
