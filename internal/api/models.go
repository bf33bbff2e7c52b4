package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/internal/account"
	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/route"
)

// Models answers the lists of models.
type Models struct {
	replies  *replies
	router   *route.Router
	dialects dialect.Set
	lists    *shares
}

// modelShape describes how the clients of one vendor request models, and the format of the answer.
type modelShape struct {
	// errors is the dialect of the errors and of the header of the API key.
	errors *dialect.Dialect
	// vendor is the provider whose models may be named without it.
	vendor string
	// list joins the encoded models into a list.
	list func(r *request, models []dialect.Model, made [][]byte) ([]byte, error)
	one  func(m *route.Model) ([]byte, error)
	// byQuery means that a list depends on the query.
	byQuery bool
	// charged is the shape for accounts with a price list, which have their own prices; nil for the same.
	charged *modelShape

	mu   sync.Mutex
	made *made
}

func (h *Models) own() *modelShape {
	charged := &modelShape{list: listModels, one: withoutPrices}
	return &modelShape{
		errors: h.replies.native, vendor: h.dialects.Usual().Vendor, list: listModels, one: oneModel, charged: charged,
	}
}

// modelsOf returns the shape of a wire format with its own list.
func modelsOf(d *dialect.Dialect) *modelShape {
	return &modelShape{
		errors: d, vendor: d.Vendor, byQuery: true,
		list: func(r *request, models []dialect.Model, made [][]byte) ([]byte, error) {
			return d.Models.List(r.URL.Query(), models, made)
		},
		one: func(m *route.Model) ([]byte, error) {
			model := describe(m)
			return d.Models.One(&model)
		},
	}
}

func describe(m *route.Model) dialect.Model {
	return dialect.Model{
		Name: m.Name, Context: m.Context, MaxOutput: m.MaxOutput, Deprecated: m.Deprecated, Day: checkedDay(m),
	}
}

// ModelList is a route at which clients list models.
type ModelList struct {
	Pattern string
	Handler http.Handler
	Dialect *dialect.Dialect // nil for the service's own
}

// Lists returns the routes of the lists of models. GET /v1/models answers the models that the caller's key may use,
// in the format of OpenAI's list (https://platform.openai.com/docs/api-reference/models/list) with more fields. Other
// lists are at the paths of the vendors' client APIs. Below each list is one model, by its full name, its alias or,
// without a slash, its name at the vendor's client API.
func (h *Models) Lists(permission account.Permission) []ModelList {
	own := h.own()
	all, one := h.list(permission, own), h.one(permission, own)
	var lists []ModelList
	for _, d := range h.dialects {
		if d.Models == nil {
			continue
		}
		shape := modelsOf(d)
		theirs, oneOfTheirs := h.list(permission, shape), h.one(permission, shape)
		if header := d.Models.Header; header != "" {
			all, one = byHeader(header, theirs, all), byHeader(header, oneOfTheirs, one)
		} else {
			lists = append(lists, listAt(d.Models.Path, theirs, oneOfTheirs, d)...)
		}
	}
	return append(lists, listAt("/v1/models", all, one, nil)...)
}

func listAt(path string, all, one http.Handler, d *dialect.Dialect) []ModelList {
	return []ModelList{{"GET " + path, all, d}, {"GET " + path + "/{target...}", one, d}}
}

// byHeader serves the clients of a wire format, which send that header, with own, and all others with others.
func byHeader(name string, own, others http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(name) != "" {
			own.ServeHTTP(w, r)
			return
		}
		others.ServeHTTP(w, r)
	})
}

func (h *Models) list(permission account.Permission, shape *modelShape) http.Handler {
	return h.replies.guardClientAPI(shape.errors, permission, func(r *request) ([]byte, error) {
		leave, err := h.lists.take(r.Context(), r.principal.Account().ID)
		if err != nil {
			return nil, err
		}
		r.done = leave // after the list has been written, because it is large
		shape := shape
		if shape.charged != nil && r.principal.Charged() {
			shape = shape.charged
		}
		m, err := shape.make(h.router.Models(h.replies.now()))
		if err != nil {
			return nil, err
		}
		if r.principal.UsesAll() {
			return shape.visible(r, m, nil)
		}
		return shape.visible(r, m, r.principal.Uses)
	})
}

func (h *Models) one(permission account.Permission, shape *modelShape) http.Handler {
	return h.replies.guardClientAPI(shape.errors, permission, func(r *request) ([]byte, error) {
		m, err := h.find(r, shape.vendor)
		if err != nil {
			return nil, err
		}
		now := h.replies.now()
		charged := m.Charged(r.principal.Terms(m.Provider, m.Model(), now))
		return shape.one(&charged)
	})
}

// find finds the model of a request: one of the list, or one that an alias with an asterisk resolves to.
func (h *Models) find(r *request, vendor string) (*route.Model, error) {
	now, name := h.replies.now(), r.PathValue("target")
	all := h.router.Models(now).Models
	alias, ok := h.router.Table().Answer(name, now)
	if ok && modelNamed(all, name) == nil && mayUse(r.principal, &alias) {
		return &alias, nil
	}
	return findModel(all, r.principal, name, vendor)
}

// mayUse reports whether the key may use an alias by its name, or all of its targets.
func mayUse(p *account.Principal, m *route.Model) bool {
	return p.Uses(m.Name) || !slices.ContainsFunc(m.Targets, func(target string) bool { return !p.Uses(target) })
}

// findModel finds one of the models by name. A model that the key may not use counts as missing.
func findModel(all []route.Model, p *account.Principal, id, vendor string) (*route.Model, error) {
	if m := modelNamed(all, id); m != nil && p.Uses(m.Name) {
		return m, nil
	}
	if id == "" || strings.Contains(id, "/") {
		return nil, noModel(id)
	}
	if m := modelNamed(all, vendor+"/"+id); m != nil && p.Uses(m.Name) {
		return m, nil
	}
	return soleModel(all, p, id)
}

func modelNamed(sorted []route.Model, name string) *route.Model {
	i, ok := slices.BinarySearchFunc(sorted, name, func(m route.Model, name string) int {
		return cmp.Compare(m.Name, name)
	})
	if !ok {
		return nil
	}
	return &sorted[i]
}

// soleModel returns the model of that name if exactly one provider has it.
func soleModel(all []route.Model, p *account.Principal, id string) (*route.Model, error) {
	var found *route.Model
	var names []string
	for i := range all {
		if _, model, _ := strings.Cut(all[i].Name, "/"); model == id && p.Uses(all[i].Name) {
			found = &all[i]
			names = append(names, found.Name)
		}
	}
	switch len(names) {
	case 0:
		return nil, noModel(id)
	case 1:
		return found, nil
	}
	return nil, llm.Invalidf("model", "%.200q is ambiguous: choose one of %s.", id, strings.Join(names, ", "))
}

func noModel(id string) error {
	return llm.Errorf(llm.CodeModelNotFound, "The model %.200q does not exist, or this key may not use it. The same "+
		"path without the model lists the available models.", id).At("model")
}

// modelEntry holds OpenAI's model object, with more fields.
type modelEntry struct {
	ID            string `json:"id"`
	Object        string `json:"object"`
	Created       int64  `json:"created"` // Unix seconds of the day of the data; 0 if the operator configured all of it
	OwnedBy       string `json:"owned_by"`
	ContextWindow int64  `json:"context_window,omitempty"`    // tokens
	MaxOutput     int64  `json:"max_output_tokens,omitempty"` // tokens
	route.View
}

func listModels(_ *request, _ []dialect.Model, made [][]byte) ([]byte, error) {
	return slices.Concat([]byte(`{"object":"list","data":[`), bytes.Join(made, []byte(",")), []byte("]}")), nil
}

func oneModel(m *route.Model) ([]byte, error) { return json.Marshal(modelEntryOf(m)) }

// withoutPrices returns a model of a list for an account with a price list. Its own prices are in the answer for a
// single model.
func withoutPrices(m *route.Model) ([]byte, error) {
	e := modelEntryOf(m)
	e.Created, e.Prices, e.PriceTiers, e.Unpriced, e.Source, e.Checked = 0, nil, nil, false, "", ""
	return json.Marshal(e)
}

func modelEntryOf(m *route.Model) modelEntry {
	e := modelEntry{
		ID: m.Name, Object: "model", OwnedBy: cmp.Or(m.Provider, "alias"),
		ContextWindow: m.Context, MaxOutput: m.MaxOutput, View: m.View(),
	}
	if day := checkedDay(m); !day.IsZero() {
		e.Created = day.Unix()
	}
	return e
}

// checkedDay returns the day of the model's data, or zero.
func checkedDay(m *route.Model) time.Time {
	day, err := time.Parse(time.DateOnly, m.Checked)
	if err != nil {
		return time.Time{}
	}
	return day
}
