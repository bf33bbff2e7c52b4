package simulator

import (
	"net/http"

	"weir/internal/llm"
)

// answered returns the record of the answer of that id, the newest if there are several.
func (l *Ledger) answered(id string) (found Record, ok bool) {
	for r := range l.Records(0) {
		if r.Reply == id && r.Outcome != Rejected {
			found, ok = r, true
		}
	}
	return found, ok
}

// tell returns data about the answer of that id, or 404.
func (s *Server) tell(w http.ResponseWriter, r *http.Request, id string, say func(*object, *Record)) {
	w.Header().Set("Content-Type", "application/json")
	rec, ok := s.ledger.answered(id)
	switch {
	case s.keys != nil && !s.keys[fingerprint(keyOf(r))]:
		w.WriteHeader(http.StatusUnauthorized)
	case !ok:
		w.WriteHeader(http.StatusNotFound)
	default:
		o := object{[]byte{'{'}}
		say(&o, &rec)
		_, _ = w.Write(append(o.b, '}'))
		return
	}
	_, _ = w.Write([]byte(`{"error":{"message":"There is no such answer."}}`))
}

// serveStored returns an answer like a stored one of the Responses API, without its output:
// https://developers.openai.com/api/reference/resources/responses/methods/retrieve (looked up 2026-11-22).
func (s *Server) serveStored(w http.ResponseWriter, r *http.Request) {
	s.tell(w, r, r.PathValue("id"), func(o *object, rec *Record) {
		o.text("id", rec.Reply)
		o.text("object", "response")
		o.text("model", rec.Model)
		o.raw("output", "[]")
		if rec.Tier != "" {
			o.text("service_tier", rec.Tier)
		}
		u := &rec.Usage
		switch rec.Outcome {
		case Open:
			o.text("status", "in_progress")
			o.raw("usage", "null")
			return
		case Served:
			o.text("status", "completed")
		default:
			o.text("status", "incomplete")
		}
		o.member("usage", func() {
			o.number("input_tokens", u.InputTokens())
			o.member("input_tokens_details", func() { o.number("cached_tokens", u[llm.CacheRead]) })
			o.number("output_tokens", u.OutputTokens())
			o.member("output_tokens_details", func() { o.number("reasoning_tokens", u[llm.Reasoning]) })
		})
		o.member("tool_usage", func() {
			o.member("web_search", func() { o.number("num_requests", u[llm.Searches]) })
		})
	})
}

// serveGeneration returns OpenRouter's record of an answer that has ended:
// https://openrouter.ai/docs/api-reference/generations/get-generation (2025-11-08).
func (s *Server) serveGeneration(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("id")
	if rec, ok := s.ledger.answered(id); ok && rec.Outcome == Open {
		id = ""
	}
	s.tell(w, r, id, func(o *object, rec *Record) {
		o.member("data", func() {
			u := &rec.Usage
			o.text("id", rec.Reply)
			o.text("model", rec.Model)
			o.truth("cancelled", rec.Canceled)
			o.number("native_tokens_prompt", u.InputTokens())
			o.number("native_tokens_cached", u[llm.CacheRead])
			o.number("native_tokens_completion", u.OutputTokens())
			o.number("native_tokens_reasoning", u[llm.Reasoning])
			o.number("num_search_results", u[llm.Searches])
			if rec.Cost != nil {
				o.raw("total_cost", rec.Cost.String())
			}
		})
	})
}

// member writes a member that is an object.
func (o *object) member(name string, write func()) {
	o.name(name)
	o.b = append(o.b, '{')
	write()
	o.b = append(o.b, '}')
}
