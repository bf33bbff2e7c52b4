package compose

import (
	"slices"

	"weir/internal/llm"
)

// CarryLogprobs returns the wish of another API's client for log probabilities, which is to be written; nil for none.
func (w *Writer) CarryLogprobs(r *llm.Request) *llm.Logprobs {
	if w.Own || r.Logprobs == nil || slices.Contains(w.Quirks.Drop, "logprobs") {
		return nil
	}
	w.carried = r.Logprobs.Fields
	return r.Logprobs
}

// Logprobs writes that wish as Chat Completions and Ollama have it.
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
