package api

import (
	"net/http"

	"weir/internal/account"
	"weir/internal/conversation"
	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Responses answers requests for stored responses of the Responses API.
type Responses struct {
	replies      *replies
	dialect      *dialect.Dialect
	kept         *conversation.Service
	readCapacity func(*http.Request, string) (conversation.Capacity, func())
}

// Get answers GET /v1/responses/{id} in the format of https://platform.openai.com/docs/api-reference/responses/get.
func (h *Responses) Get(permission account.Permission) http.Handler {
	return h.replies.guardClientAPI(h.dialect, permission, func(r *request) ([]byte, error) {
		if stream, _ := rawjson.AsBool([]byte(r.URL.Query().Get("stream"))); stream {
			return nil, llm.Invalid("stream", "A stored response cannot be streamed. Leave stream out.")
		}
		return h.kept.Get(r.Context(), r.owner(), r.PathValue("id"), h.capacityOf(r))
	})
}

// Delete answers DELETE /v1/responses/{id}.
func (h *Responses) Delete(permission account.Permission) http.Handler {
	return h.replies.guardClientAPI(h.dialect, permission, func(r *request) ([]byte, error) {
		return h.kept.Delete(r.Context(), r.owner(), r.PathValue("id"))
	})
}

// Cancel answers POST /v1/responses/{id}/cancel.
func (h *Responses) Cancel(permission account.Permission) http.Handler {
	return h.replies.guardClientAPI(h.dialect, permission, func(r *request) ([]byte, error) {
		return nil, h.kept.Cancel(r.Context(), r.owner(), r.PathValue("id"))
	})
}

// InputItems answers GET /v1/responses/{id}/input_items.
func (h *Responses) InputItems(permission account.Permission) http.Handler {
	return h.replies.guardClientAPI(h.dialect, permission, func(r *request) ([]byte, error) {
		page, err := inputPage(r.URL.Query().Get)
		if err != nil {
			return nil, err
		}
		return h.kept.InputItems(r.Context(), r.owner(), r.PathValue("id"), page, h.capacityOf(r))
	})
}

// Default and maximum number of items of a page of input.
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

// owner returns the owner of the caller's responses.
func (r *request) owner() conversation.Owner {
	return conversation.Owner{
		Account: r.principal.Account().ID, Scope: r.principal.Key().ID, Token: llm.NewSecret(r.token),
	}
}

// capacityOf returns the caller's capacity for reading stored responses, until the reply is written.
func (h *Responses) capacityOf(r *request) (capacity conversation.Capacity) {
	capacity, r.done = h.readCapacity(r.Request, r.principal.Account().ID)
	return capacity
}
