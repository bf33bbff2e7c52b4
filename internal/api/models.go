package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/dialect"
	"weir/internal/dialect/anthropic"
	"weir/internal/dialect/openai"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/route"
)

// Models answers which models there are.
type Models struct {
	replies           *replies
	router            *route.Router
	anthropic, gemini *dialect.Dialect
}

// modelShape is how the clients of one vendor ask for models, and read what
// they get.
type modelShape struct {
	// errors is the dialect of its errors, and of where its clients put a key.
	errors *dialect.Dialect
	// vendor is the provider whose models may be named without it.
	vendor string
	list   func(r *request, visible []route.Model) ([]byte, error)
	one    func(m *route.Model) ([]byte, error)
}

func (h *Models) own() *modelShape {
	return &modelShape{errors: h.replies.native, vendor: openai.Name, list: listModels, one: oneModel}
}

func (h *Models) forAnthropic() *modelShape {
	return &modelShape{
		errors: h.anthropic, vendor: h.anthropic.Vendor, list: listAnthropicModels,
		one: oneAnthropicModel,
	}
}

func (h *Models) forGemini() *modelShape {
	return &modelShape{errors: h.gemini, vendor: h.gemini.Vendor, list: listGeminiModels, one: oneGeminiModel}
}

// List answers GET /v1/models: what the caller's key may use, in the shape
// of OpenAI's list (https://platform.openai.com/docs/api-reference/models/list)
// with more fields beside it, or in Anthropic's for its clients.
func (h *Models) List(permission account.Permission) http.Handler {
	return byVersion(h.list(permission, h.forAnthropic()), h.list(permission, h.own()))
}

// One answers GET /v1/models/{target...}: one of those that List lists, by its
// full name, its alias or, without a slash, as at the vendor's client API.
func (h *Models) One(permission account.Permission) http.Handler {
	return byVersion(h.one(permission, h.forAnthropic()), h.one(permission, h.own()))
}

// ListGemini answers GET /v1beta/models, which is Gemini's list.
func (h *Models) ListGemini(permission account.Permission) http.Handler {
	return h.list(permission, h.forGemini())
}

// OneGemini answers GET /v1beta/models/{target...}, one of that list.
func (h *Models) OneGemini(permission account.Permission) http.Handler {
	return h.one(permission, h.forGemini())
}

// byVersion tells Anthropic's clients from others by the header that each of
// their requests has.
func byVersion(anthropics, others http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(anthropic.VersionHeader) != "" {
			anthropics.ServeHTTP(w, r)
			return
		}
		others.ServeHTTP(w, r)
	})
}

func (h *Models) list(permission account.Permission, shape *modelShape) http.Handler {
	return h.replies.guardClientAPI(shape.errors, permission, func(r *request) ([]byte, error) {
		return shape.list(r, h.visible(r.principal))
	})
}

func (h *Models) one(permission account.Permission, shape *modelShape) http.Handler {
	return h.replies.guardClientAPI(shape.errors, permission, func(r *request) ([]byte, error) {
		m, err := findModel(h.visible(r.principal), r.PathValue("target"), shape.vendor)
		if err != nil {
			return nil, err
		}
		return shape.one(m)
	})
}

// visible are the models that the caller may use, by name.
func (h *Models) visible(p *account.Principal) []route.Model {
	all := h.router.Table().Models(h.replies.now())
	return slices.DeleteFunc(all, func(m route.Model) bool { return p.MayUse(m.Name) != nil })
}

// findModel finds one of the models by name. What a key may not use is not
// among them, and so is told from what does not exist by nobody.
func findModel(visible []route.Model, id, vendor string) (*route.Model, error) {
	if m := modelNamed(visible, id); m != nil {
		return m, nil
	}
	if id == "" || strings.Contains(id, "/") {
		return nil, noModel(id)
	}
	if m := modelNamed(visible, vendor+"/"+id); m != nil {
		return m, nil
	}
	return soleModel(visible, id)
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

// soleModel is the model of that name of the one provider that has it.
func soleModel(visible []route.Model, id string) (*route.Model, error) {
	var found *route.Model
	var names []string
	for i := range visible {
		if _, model, _ := strings.Cut(visible[i].Name, "/"); model == id {
			found = &visible[i]
			names = append(names, found.Name)
		}
	}
	switch len(names) {
	case 0:
		return nil, noModel(id)
	case 1:
		return found, nil
	}
	return nil, llm.Invalid("model", fmt.Sprintf("%.200q is ambiguous: choose one of %s.", id,
		strings.Join(names, ", ")))
}

func noModel(id string) error {
	return &llm.Error{
		Code: llm.CodeModelNotFound, Param: "model",
		Message: fmt.Sprintf(
			"The model %.200q does not exist, or this key may not use it. The same path without the model lists "+
				"those that it may use.", id),
	}
}

type modelList struct {
	Object string       `json:"object"`
	Data   []modelEntry `json:"data"`
}

// modelEntry is OpenAI's model object, and what this gateway knows besides.
type modelEntry struct {
	ID            string `json:"id"`
	Object        string `json:"object"`
	Created       int64  `json:"created"` // Unix seconds of the day of the data; 0 where the operator says it all
	OwnedBy       string `json:"owned_by"`
	ContextWindow int64  `json:"context_window,omitempty"`    // tokens
	MaxOutput     int64  `json:"max_output_tokens,omitempty"` // tokens
	route.View
}

func listModels(_ *request, visible []route.Model) ([]byte, error) {
	list := modelList{Object: "list", Data: make([]modelEntry, 0, len(visible))}
	for i := range visible {
		list.Data = append(list.Data, modelEntryOf(&visible[i]))
	}
	return json.Marshal(list)
}

func oneModel(m *route.Model) ([]byte, error) { return json.Marshal(modelEntryOf(m)) }

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

// checkedDay is the day of what is known of the model; zero for none.
func checkedDay(m *route.Model) time.Time {
	day, err := time.Parse(ledger.DateLayout, m.Checked)
	if err != nil {
		return time.Time{}
	}
	return day
}
