package api

import (
	"encoding/json"

	"weir/internal/route"
)

const (
	geminiPage    = 50
	maxGeminiPage = 1000
)

// geminiList is a page of Gemini's list of models:
// https://ai.google.dev/api/models#method:-models.list.
type geminiList struct {
	Models []geminiModel `json:"models"`
	Next   string        `json:"nextPageToken,omitempty"`
}

// geminiModel is its model object.
type geminiModel struct {
	Name        string   `json:"name"` // "models/" and the model's full name or alias
	DisplayName string   `json:"displayName"`
	InputLimit  int64    `json:"inputTokenLimit,omitempty"`
	OutputLimit int64    `json:"outputTokenLimit,omitempty"`
	Methods     []string `json:"supportedGenerationMethods"`
}

// listGeminiModels answers with a page. The token of the next one is the name
// behind which it begins.
func listGeminiModels(r *request, visible []route.Model) ([]byte, error) {
	q := r.URL.Query()
	size, err := readInt("pageSize", q.Get("pageSize"), geminiPage, 0, maxOffset)
	if err != nil {
		return nil, err
	}
	if size == 0 {
		size = geminiPage
	}
	from := 0
	if token := q.Get("pageToken"); token != "" {
		from = modelsUpTo(visible, token)
	}
	to := min(len(visible), from+min(size, maxGeminiPage))
	list := geminiList{Models: make([]geminiModel, 0, to-from)}
	for i := from; i < to; i++ {
		list.Models = append(list.Models, geminiModelOf(&visible[i]))
	}
	if to < len(visible) && to > from {
		list.Next = visible[to-1].Name
	}
	return json.Marshal(list)
}

func oneGeminiModel(m *route.Model) ([]byte, error) { return json.Marshal(geminiModelOf(m)) }

func geminiModelOf(m *route.Model) geminiModel {
	return geminiModel{
		Name: "models/" + m.Name, DisplayName: m.Name, InputLimit: m.Context, OutputLimit: m.MaxOutput,
		Methods: []string{"generateContent", "streamGenerateContent"},
	}
}
