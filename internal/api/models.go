package api

import (
	"cmp"
	"encoding/json"
	"net/http"
	"time"

	"weir/internal/account"
	"weir/internal/ledger"
	"weir/internal/route"
)

// Models answers GET /v1/models: what the caller's key may use, in the shape
// of OpenAI's list (https://platform.openai.com/docs/api-reference/models/list)
// with more fields beside it.
func (s *Server) Models(permission account.Permission) http.Handler {
	return s.guard(permission, s.listModels)
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

func (s *Server) listModels(r *request) ([]byte, error) {
	list := modelList{Object: "list", Data: []modelEntry{}}
	for _, m := range s.router.Table().Models(s.now()) {
		if r.principal.MayUse(m.Name) == nil {
			list.Data = append(list.Data, modelEntryOf(&m))
		}
	}
	return json.Marshal(list)
}

func modelEntryOf(m *route.Model) modelEntry {
	e := modelEntry{
		ID: m.Name, Object: "model", OwnedBy: cmp.Or(m.Provider, "alias"),
		ContextWindow: m.Context, MaxOutput: m.MaxOutput, View: m.View(),
	}
	if day, err := time.Parse(ledger.DateLayout, m.Checked); err == nil {
		e.Created = day.Unix()
	}
	return e
}
