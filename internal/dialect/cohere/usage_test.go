package cohere_test

import (
	"testing"

	"weir/internal/dialect/cohere"
	"weir/internal/llm"
)

// TestImageTokens checks that the tokens of images are billed in addition to those of texts.
func TestImageTokens(t *testing.T) {
	t.Parallel()
	r, err := cohere.DecodeVectors([]byte(`{"embeddings":{"float":[[0.5]]},"meta":{"billed_units":`+
		`{"images":1,"image_tokens":1536,"input_tokens":3}}}`), nil)
	if want := (llm.Usage{llm.Input: 3, llm.ImageIn: 1536}); err != nil || r.Usage != want || !r.Reported {
		t.Errorf("got %+v, %v, want %v", r, err, want)
	}
}
