package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/managed"
	"weir/internal/people"
	"weir/internal/rawjson"
)

// adminConfig implements the calls about the managed configuration.
type adminConfig struct {
	config *admin.Configuration
	plans  *admin.Plans
}

// configRoutes returns the routes of the managed configuration.
func (ad *Admin) configRoutes(o *Options) []people.Route {
	const versions, object = "/config/versions", "/config/{section}/{name}"
	c := &adminConfig{o.Admin.Configuration, o.Admin.Plans}
	all := []people.Route{
		ad.route("GET /config", people.Operate, c.show),
		ad.make("POST /config", people.Operate, c.apply),
		ad.make("POST /config/test", people.Operate, c.test),
		ad.make("POST /config/plan", people.Operate, c.plan),
		ad.route("GET "+versions, people.Operate, c.versions, listing...),
		ad.make("POST "+versions+"/{seq}/restore", people.Operate, c.restore),
	}
	for path, ref := range map[string]func(*http.Request) managed.Ref{
		"/config/limits":    func(*http.Request) managed.Ref { return managed.Ref{Section: "limits"} },
		"/config/cors":      func(*http.Request) managed.Ref { return managed.Ref{Section: "cors"} },
		"/config/retention": func(*http.Request) managed.Ref { return managed.Ref{Section: "retention"} },
		object: func(r *http.Request) managed.Ref {
			return managed.Ref{Section: r.PathValue("section"), Name: r.PathValue("name")}
		},
	} {
		all = append(all, ad.route("PUT "+path, people.Operate, c.put(ref)),
			ad.route("DELETE "+path, people.Operate, c.remove(ref)))
	}
	return all
}

// configView holds the configuration in force.
type configView struct {
	Version int64              `json:"version"`          // newest; 0 for none
	InForce int64              `json:"version_in_force"` // on the answering node
	Problem *string            `json:"problem"`
	Objects []configObjectView `json:"objects"`
}

// configObjectView holds an object of the configuration and its source.
type configObjectView struct {
	Section   string         `json:"section"`
	Name      *string        `json:"name"`
	Value     any            `json:"value"`
	Source    managed.Source `json:"source"`
	File      *string        `json:"file"`
	Line      *int64         `json:"line"`
	Variables []string       `json:"variables"`
}

func (h *adminConfig) show(r *adminRequest) (answer, error) {
	s, err := h.config.State(r.Context())
	if err != nil {
		return answer{}, err
	}
	v := configView{s.Version, s.InForce, orNull(s.Problem), []configObjectView{}}
	for i := range s.Objects {
		o := &s.Objects[i]
		v.Objects = append(v.Objects, configObjectView{
			o.Section, orNull(o.Name), o.Value, o.Source, orNull(o.File), unlessZero(int64(o.Line)),
			append([]string{}, o.Variables...),
		})
	}
	a, err := found(v)
	a.ETag = etag(s.Version)
	return a, err
}

func etag(version int64) string { return strconv.Quote(strconv.FormatInt(version, 10)) }

// changedView holds the changes that were made, or would be made.
type changedView struct {
	Version int64              `json:"version"`
	Changes []configChangeView `json:"changes"`
}

// configChangeView holds the change of an object: null if it did not exist, or no longer exists.
type configChangeView struct {
	Section string  `json:"section"`
	Name    *string `json:"name"`
	Before  any     `json:"before"`
	After   any     `json:"after"`
}

func viewChanges(list []managed.Change) []configChangeView {
	all := []configChangeView{}
	for i := range list {
		c := &list[i]
		all = append(all, configChangeView{c.Section, orNull(c.Name), c.Before, c.After})
	}
	return all
}

// changed answers with the result of a change.
func changed(m managed.Result, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	a, err := found(changedView{m.Version, viewChanges(m.Changes)})
	a.ETag = etag(m.Version)
	return a, err
}

// expected returns the version in the header If-Match, or nil if there is none.
func expected(r *adminRequest) (*int64, error) {
	if err := llm.Once(r.Header, "If-Match"); err != nil {
		return nil, err
	}
	value := r.Header.Get("If-Match")
	if value == "" || value == "*" {
		return nil, nil
	}
	seq, err := strconv.ParseInt(strings.Trim(strings.TrimPrefix(value, "W/"), `"`), 10, 64)
	if err != nil {
		return nil, llm.Invalidf("If-Match", "%.100q is not the ETag of a version. Send the one of GET %s/config.",
			value, adminRoot)
	}
	return &seq, nil
}

func (h *adminConfig) apply(r *adminRequest) (answer, error) {
	var e managed.Edit
	var prune, dryRun *bool
	var version int64 = -1
	var remove []string
	err := readFields("", r.body,
		field{"document", func(at string, v []byte) error {
			if e.Text = v; rawjson.KindOf(v) != rawjson.Object {
				return wrongKind(at, "an object with the members providers, models, aliases, prices, limits, "+
					"cors or retention")
			}
			return nil
		}},
		field{"remove", texts(&remove)}, field{"prune", flag(&prune)}, field{"dry_run", flag(&dryRun)},
		field{"version", count(&version)},
	)
	if err == nil {
		e.After, err = expected(r)
	}
	if err != nil {
		return answer{}, err
	}
	for _, path := range remove {
		section, name, _ := strings.Cut(path, "/")
		e.Remove = append(e.Remove, managed.Ref{Section: section, Name: name})
	}
	if version >= 0 {
		e.After = &version
	}
	e.Prune, e.DryRun = prune != nil && *prune, dryRun != nil && *dryRun
	return changed(h.config.Edit(r.Context(), r.by(), e))
}

// put returns the call that replaces the object of a request.
func (h *adminConfig) put(ref func(*http.Request) managed.Ref) adminCall {
	return func(r *adminRequest) (answer, error) {
		after, err := expected(r)
		if err != nil {
			return answer{}, err
		}
		put := ref(r.Request)
		return changed(h.config.Edit(r.Context(), r.by(), managed.Edit{Put: &put, Value: r.body, After: after}))
	}
}

// remove returns the call that removes it.
func (h *adminConfig) remove(ref func(*http.Request) managed.Ref) adminCall {
	return func(r *adminRequest) (answer, error) {
		after, err := expected(r)
		if err != nil {
			return answer{}, err
		}
		gone := []managed.Ref{ref(r.Request)}
		return changed(h.config.Edit(r.Context(), r.by(), managed.Edit{Remove: gone, After: after}))
	}
}

// versionView holds a version of the managed configuration and its changes; null if these are no longer stored.
type versionView struct {
	Version int64              `json:"version"`
	At      time.Time          `json:"at"`
	By      string             `json:"by"`
	Changes []configChangeView `json:"changes"`
}

func viewVersion(v *managed.Version) versionView {
	view := versionView{Version: v.Seq, At: v.At, By: v.By}
	if v.Changes != nil {
		view.Changes = viewChanges(v.Changes)
	}
	return view
}

// mostVersions bounds the versions of a page, because each is unsealed and compared.
const mostVersions = 100

func (h *adminConfig) versions(r *adminRequest) (answer, error) {
	var before int64
	var err error
	if r.query.cursor != "" {
		if before, err = strconv.ParseInt(r.query.cursor, 10, 64); err != nil || before < 1 {
			return answer{}, badCursor()
		}
	}
	r.query.limit = min(r.query.limit, mostVersions)
	list, err := h.config.Versions(r.Context(), before, r.query.limit+1)
	if err != nil {
		return answer{}, err
	}
	place := func(v *managed.Version) string { return strconv.FormatInt(v.Seq, 10) }
	return found(firstPage(r.query, list, place, viewVersion))
}

func (h *adminConfig) restore(r *adminRequest) (answer, error) {
	seq, err := strconv.ParseInt(r.PathValue("seq"), 10, 64)
	if err != nil || seq < 1 {
		return answer{}, llm.Errorf(llm.CodeNotFound, "%.100q is not a version: GET %s/config/versions lists them.",
			r.PathValue("seq"), adminRoot)
	}
	if err := readFields("", r.body); err != nil {
		return answer{}, err
	}
	after, err := expected(r)
	if err != nil {
		return answer{}, err
	}
	return changed(h.config.Restore(r.Context(), r.by(), seq, after))
}

// Finding holds the result of a provider's test.
type Finding struct {
	Provider     string       `json:"provider"`
	Dialect      string       `json:"dialect"`
	BaseURL      string       `json:"base_url"`
	OK           bool         `json:"ok"`
	Problem      *string      `json:"problem"`
	BaseURLFound *string      `json:"base_url_found"`
	Models       []string     `json:"models"` // null if the provider did not list any
	LatencyMS    *int64       `json:"latency_ms"`
	Answers      []answerView `json:"answers"`
}

// answerView holds the result of a short request to a model.
type answerView struct {
	What      string  `json:"what"`
	Works     bool    `json:"works"`
	Problem   *string `json:"problem"`
	LatencyMS int64   `json:"latency_ms"`
	CostUSD   *string `json:"cost_usd"`
}

func (h *adminConfig) test(r *adminRequest) (answer, error) {
	var t managed.Trial
	err := readFields("", r.body, field{"name", text(&t.Name)}, field{"model", text(&t.Model)},
		field{"provider", func(at string, v []byte) error {
			if t.Value = v; rawjson.KindOf(v) != rawjson.Object {
				return wrongKind(at, "an object as in providers of weir.yaml")
			}
			return nil
		}})
	if err != nil {
		return answer{}, err
	}
	f, err := h.config.Test(r.Context(), r.by(), t)
	return shown(f, err, FindingOf)
}

// FindingOf returns the result of a test in the administration's format.
func FindingOf(f *managed.Finding) Finding {
	v := Finding{
		Provider: f.Provider, Dialect: f.Dialect, BaseURL: f.BaseURL, OK: f.Problem == "", Problem: orNull(f.Problem),
		BaseURLFound: orNull(f.BaseURLFound), LatencyMS: unlessZero(f.Latency.Milliseconds()), Answers: []answerView{},
	}
	if f.Listed {
		v.Models = append([]string{}, f.Models...)
	}
	for _, a := range f.Answers {
		v.Answers = append(v.Answers, answerView{
			a.What, a.Works, orNull(a.Said), a.Latency.Milliseconds(), orNull(a.Cost),
		})
		v.OK = v.OK && (a.Works || a.What != managed.Streaming)
	}
	return v
}
