package compose

import (
	"slices"

	"weir/internal/llm"
)

// CarryLogprobs returns the request for log probabilities of another API's client, if it can be sent; nil otherwise.
func (w *Writer) CarryLogprobs(r *llm.Request) *llm.Logprobs {
	if w.Own || r.Logprobs == nil || slices.Contains(w.Quirks.Drop, "logprobs") {
		return nil
	}
	w.carried = r.Logprobs.Fields
	return r.Logprobs
}

// Logprobs writes such a request in the form of Chat Completions and Ollama.
func (w *Writer) Logprobs(r *llm.Request) {
	l := w.CarryLogprobs(r)
	if l == nil {
		return
	}
	w.Raw("logprobs", []byte("true"))
	if l.Top > 0 {
		w.Integer("top_logprobs", &l.Top)
	}
}
