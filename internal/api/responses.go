package api

import (
	"net/http"

	"weir/internal/account"
	"weir/internal/conversation"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Response answers GET /v1/responses/{id} in the shape of
// https://platform.openai.com/docs/api-reference/responses/get.
func (s *Server) Response(permission account.Permission) http.Handler {
	return s.guardClientAPI(s.spoken, permission, func(r *request) ([]byte, error) {
		if stream, _ := rawjson.AsBool([]byte(r.URL.Query().Get("stream"))); stream {
			return nil, llm.Invalid("stream", "A response that is kept is not streamed again. Leave stream out.")
		}
		return s.kept.Get(r.Context(), r.owner(), r.PathValue("id"), s.capacityOf(r))
	})
}

// DeleteResponse answers DELETE /v1/responses/{id}.
func (s *Server) DeleteResponse(permission account.Permission) http.Handler {
	return s.guardClientAPI(s.spoken, permission, func(r *request) ([]byte, error) {
		return s.kept.Delete(r.Context(), r.owner(), r.PathValue("id"))
	})
}

// CancelResponse answers POST /v1/responses/{id}/cancel.
func (s *Server) CancelResponse(permission account.Permission) http.Handler {
	return s.guardClientAPI(s.spoken, permission, func(r *request) ([]byte, error) {
		return nil, s.kept.Cancel(r.Context(), r.owner(), r.PathValue("id"))
	})
}

// ResponseInput answers GET /v1/responses/{id}/input_items.
func (s *Server) ResponseInput(permission account.Permission) http.Handler {
	return s.guardClientAPI(s.spoken, permission, func(r *request) ([]byte, error) {
		page, err := inputPage(r.URL.Query().Get)
		if err != nil {
			return nil, err
		}
		return s.kept.InputItems(r.Context(), r.owner(), r.PathValue("id"), page, s.capacityOf(r))
	})
}

// How many items a page of input has, where the client does not say, and the
// most that it may ask for.
const (
	defaultItems = 20
	maxItems     = 100
)

func inputPage(param func(string) string) (conversation.Page, error) {
	p := conversation.Page{After: param("after")}
	switch order := param("order"); order {
	case "asc":
		p.Ascending = true
	case "", "desc":
	default:
		return p, llm.Invalid("order", "The order must be asc or desc.")
	}
	var err error
	p.Limit, err = parse.QueryInt("limit", param("limit"), defaultItems, 1, maxItems)
	return p, err
}

// owner is to whom the caller's responses belong.
func (r *request) owner() conversation.Owner {
	return conversation.Owner{
		Account: r.principal.Account().ID, Scope: r.principal.Key().ID,
		Token: llm.NewSecret(r.token),
	}
}

// capacityOf is what the caller has to read what is kept, until the reply is written.
func (s *Server) capacityOf(r *request) (capacity conversation.Capacity) {
	capacity, r.done = s.readCapacity(r.Request, r.principal.Account().ID)
	return capacity
}
