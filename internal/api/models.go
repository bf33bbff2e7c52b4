package api

import (
	"encoding/json"
	"net/http"
	"time"

	"weir/internal/account"
	"weir/internal/ledger"
	"weir/internal/route"
)

// Models answers GET /v1/models: what the caller's key may use, in the shape
// of OpenAI's list (https://platform.openai.com/docs/api-reference/models/list)
// with sizes in tokens beside it.
func (s *Server) Models(permission account.Permission) http.Handler {
	return s.guard(permission, s.listModels)
}

type modelList struct {
	Object string       `json:"object"`
	Data   []modelEntry `json:"data"`
}

type modelEntry struct {
	ID            string   `json:"id"`
	Object        string   `json:"object"`
	Created       int64    `json:"created"`
	OwnedBy       string   `json:"owned_by"`
	ContextWindow int64    `json:"context_window,omitempty"`
	MaxOutput     int64    `json:"max_output_tokens,omitempty"`
	Targets       []string `json:"targets,omitempty"`
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
		ID: m.Name, Object: "model", OwnedBy: m.Provider,
		ContextWindow: m.Context, MaxOutput: m.MaxOutput, Targets: m.Targets,
	}
	if e.OwnedBy == "" {
		e.OwnedBy = "alias"
	}
	if day, err := time.Parse(ledger.DateLayout, m.Checked); err == nil {
		e.Created = day.Unix()
	}
	return e
}
