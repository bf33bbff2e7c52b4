package api

import (
	"encoding/json"
	"sort"
	"time"

	"weir/internal/llm"
	"weir/internal/route"
)

const (
	anthropicPage    = 20
	maxAnthropicPage = 1000
)

// anthropicList is a page of Anthropic's list of models:
// https://platform.claude.com/docs/en/api/models/list.
type anthropicList struct {
	Data    []anthropicModel `json:"data"`
	HasMore bool             `json:"has_more"` // in the direction of the page
	FirstID *string          `json:"first_id"`
	LastID  *string          `json:"last_id"`
}

// anthropicModel is its model object. Nil stands for what nobody knows, or what
// this gateway does not say in these words.
type anthropicModel struct {
	Type           string    `json:"type"`
	ID             string    `json:"id"`
	DisplayName    string    `json:"display_name"`
	CreatedAt      time.Time `json:"created_at"` // of the day of the data; the epoch where the operator says it all
	MaxInputTokens *int64    `json:"max_input_tokens"`
	MaxTokens      *int64    `json:"max_tokens"` // of output
	Lifecycle      string    `json:"lifecycle"`  // active or deprecated
	DeprecatedAt   *string   `json:"deprecated_at"`
	RetiresAt      *string   `json:"retires_at"`
	Line           *string   `json:"line"`
	Capabilities   *struct{} `json:"capabilities"`
}

func listAnthropicModels(r *request, visible []route.Model) ([]byte, error) {
	from, to, err := anthropicRange(r, visible)
	if err != nil {
		return nil, err
	}
	list := anthropicList{Data: make([]anthropicModel, 0, to-from), HasMore: to < len(visible)}
	if r.URL.Query().Get("before_id") != "" {
		list.HasMore = from > 0
	}
	for i := from; i < to; i++ {
		list.Data = append(list.Data, anthropicModelOf(&visible[i]))
	}
	if n := len(list.Data); n > 0 {
		list.FirstID, list.LastID = &list.Data[0].ID, &list.Data[n-1].ID
	}
	return json.Marshal(list)
}

// anthropicRange is the part of the list that is asked for. An id that is
// gone, or never was, still has its place in the order of names.
func anthropicRange(r *request, visible []route.Model) (from, to int, err error) {
	q := r.URL.Query()
	limit, err := readInt("limit", q.Get("limit"), anthropicPage, 1, maxAnthropicPage)
	if err != nil {
		return 0, 0, err
	}
	after, before := q.Get("after_id"), q.Get("before_id")
	switch {
	case after != "" && before != "":
		return 0, 0, llm.Invalid("before_id", "Give after_id or before_id, not both.")
	case before != "":
		to = sort.Search(len(visible), func(i int) bool { return visible[i].Name >= before })
		return max(0, to-limit), to, nil
	case after != "":
		from = modelsUpTo(visible, after)
	}
	return from, min(len(visible), from+limit), nil
}

// modelsUpTo is how many of the models, sorted by name, have that name or one
// before it.
func modelsUpTo(sorted []route.Model, name string) int {
	return sort.Search(len(sorted), func(i int) bool { return sorted[i].Name > name })
}

func oneAnthropicModel(m *route.Model) ([]byte, error) { return json.Marshal(anthropicModelOf(m)) }

func anthropicModelOf(m *route.Model) anthropicModel {
	e := anthropicModel{
		Type: "model", ID: m.Name, DisplayName: m.Name, CreatedAt: time.Unix(0, 0).UTC(),
		Lifecycle: "active",
	}
	if day := checkedDay(m); !day.IsZero() {
		e.CreatedAt = day
	}
	if m.Context > 0 {
		e.MaxInputTokens = &m.Context
	}
	if m.MaxOutput > 0 {
		e.MaxTokens = &m.MaxOutput
	}
	if m.Deprecated {
		e.Lifecycle = "deprecated"
	}
	return e
}
