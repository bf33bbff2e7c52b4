package anthropic

import (
	"encoding/json"
	"net/url"
	"sort"
	"time"

	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
)

const (
	modelPage    = 20
	maxModelPage = 1000
)

// modelList is a page of Anthropic's list of models:
// https://platform.claude.com/docs/en/api/models/list.
type modelList struct {
	Data    []model `json:"data"`
	HasMore bool    `json:"has_more"` // in the direction of the page
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
}

// model is its model object. Nil stands for what nobody knows, or what
// this gateway does not say in these words.
type model struct {
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

func listModels(query url.Values, models []dialect.Model) ([]byte, error) {
	from, to, err := modelRange(query, models)
	if err != nil {
		return nil, err
	}
	list := modelList{Data: make([]model, 0, to-from), HasMore: to < len(models)}
	if query.Get("before_id") != "" {
		list.HasMore = from > 0
	}
	for i := from; i < to; i++ {
		list.Data = append(list.Data, modelOf(&models[i]))
	}
	if n := len(list.Data); n > 0 {
		list.FirstID, list.LastID = &list.Data[0].ID, &list.Data[n-1].ID
	}
	return json.Marshal(list)
}

// modelRange is the part of the list that is asked for. An id that is
// gone, or never was, still has its place in the order of names.
func modelRange(q url.Values, models []dialect.Model) (from, to int, err error) {
	limit, err := parse.QueryInt("limit", q.Get("limit"), modelPage, 1, maxModelPage)
	if err != nil {
		return 0, 0, err
	}
	after, before := q.Get("after_id"), q.Get("before_id")
	switch {
	case after != "" && before != "":
		return 0, 0, llm.Invalid("before_id", "Give after_id or before_id, not both.")
	case before != "":
		to = sort.Search(len(models), func(i int) bool { return models[i].Name >= before })
		return max(0, to-limit), to, nil
	case after != "":
		from = dialect.ModelsUpTo(models, after)
	}
	return from, min(len(models), from+limit), nil
}

func oneModel(m *dialect.Model) ([]byte, error) { return json.Marshal(modelOf(m)) }

func modelOf(m *dialect.Model) model {
	e := model{
		Type: "model", ID: m.Name, DisplayName: m.Name, CreatedAt: time.Unix(0, 0).UTC(),
		Lifecycle: "active",
	}
	if !m.Day.IsZero() {
		e.CreatedAt = m.Day
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
