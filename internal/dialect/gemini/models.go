package gemini

import (
	"bytes"
	"encoding/json"
	"net/url"

	"weir/internal/dialect"
	"weir/internal/dialect/parse"
)

const (
	modelPage    = 50
	maxModelPage = 1000
)

// model is the vendor's model object.
type model struct {
	Name        string   `json:"name"` // "models/" and the model's full name or alias
	DisplayName string   `json:"displayName"`
	InputLimit  int64    `json:"inputTokenLimit,omitempty"`
	OutputLimit int64    `json:"outputTokenLimit,omitempty"`
	Methods     []string `json:"supportedGenerationMethods"`
}

// listModels returns a page of Gemini's list of models (https://ai.google.dev/api/models#method:-models.list). The
// token of the next page is the last name of this one.
func listModels(q url.Values, models []dialect.Model, made [][]byte) ([]byte, error) {
	size, err := parse.QueryInt("pageSize", q.Get("pageSize"), modelPage, 0, 1<<40)
	if err != nil {
		return nil, err
	}
	if size == 0 {
		size = modelPage
	}
	from := 0
	if token := q.Get("pageToken"); token != "" {
		from = dialect.ModelsUpTo(models, token)
	}
	to := min(len(models), from+min(size, maxModelPage))
	list := append([]byte(`{"models":[`), bytes.Join(made[from:to], []byte(","))...)
	list = append(list, ']')
	if to < len(models) && to > from {
		next, err := json.Marshal(models[to-1].Name)
		if err != nil {
			return nil, err
		}
		list = append(append(list, `,"nextPageToken":`...), next...)
	}
	return append(list, '}'), nil
}

func oneModel(m *dialect.Model) ([]byte, error) { return json.Marshal(modelOf(m)) }

func modelOf(m *dialect.Model) model {
	return model{
		Name: modelsPrefix + m.Name, DisplayName: m.Name, InputLimit: m.Context, OutputLimit: m.MaxOutput,
		Methods: []string{methodWhole, methodStream, CountSuffix[1:]},
	}
}
