package anthropic

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
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

// modelPageEnd holds the members after "data" of a page of Anthropic's list of models:
// https://platform.claude.com/docs/en/api/models/list.
type modelPageEnd struct {
	HasMore bool    `json:"has_more"` // in the direction of the page
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
}

// model is the vendor's model object. Nil stands for unknown data, and for data that the gateway does not report in
// this form.
type model struct {
	Type           string    `json:"type"`
	ID             string    `json:"id"`
	DisplayName    string    `json:"display_name"`
	CreatedAt      time.Time `json:"created_at"` // the day of the data; the epoch if all of it is the operator's
	MaxInputTokens *int64    `json:"max_input_tokens"`
	MaxTokens      *int64    `json:"max_tokens"` // of output
	Lifecycle      string    `json:"lifecycle"`  // active or deprecated
	DeprecatedAt   *string   `json:"deprecated_at"`
	RetiresAt      *string   `json:"retires_at"`
	Line           *string   `json:"line"`
	Capabilities   *struct{} `json:"capabilities"`
}

func listModels(query url.Values, models []dialect.Model, made [][]byte) ([]byte, error) {
	from, to, err := modelRange(query, models)
	if err != nil {
		return nil, err
	}
	page := modelPageEnd{HasMore: to < len(models)}
	if query.Get("before_id") != "" {
		page.HasMore = from > 0
	}
	if from < to {
		page.FirstID, page.LastID = &models[from].Name, &models[to-1].Name
	}
	end, err := json.Marshal(page)
	if err != nil {
		return nil, err
	}
	list := slices.Concat([]byte(`{"data":[`), bytes.Join(made[from:max(from, to)], []byte(",")), []byte(`],`))
	return append(list, end[1:]...), nil
}

// modelRange returns the requested range of the list. An unknown id still has its place in the order of names.
func modelRange(q url.Values, models []dialect.Model) (from, to int, err error) {
	limit, err := parse.QueryInt("limit", q.Get("limit"), modelPage, 1, maxModelPage)
	if err != nil {
		return 0, 0, err
	}
	after, before := q.Get("after_id"), q.Get("before_id")
	switch {
	case after != "" && before != "":
		return 0, 0, llm.Invalid("before_id", "Send only one of after_id and before_id.")
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
