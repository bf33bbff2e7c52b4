package llm_test

import (
	"io"
	"testing"

	"weir/internal/llm"
)

func TestPlacedNamesParameter(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]llm.Error{
		"Why.":                    {Message: "Why."},
		"messages[0].role: Why.":  {Message: "Why.", Param: "messages[0].role"},
		"The n must be a number.": {Message: "The n must be a number.", Param: "n"},
	} {
		if got := e.Placed(); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
}

// TestErrorJoinsItsCause checks that the cause follows the message without the full stop of its sentence.
func TestErrorJoinsItsCause(t *testing.T) {
	err := &llm.Error{Code: llm.CodeProviderError, Message: "The connection broke.", Err: io.EOF}
	if got, want := err.Error(), "PROVIDER_ERROR: The connection broke: EOF"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err.Err = nil; err.Error() != "PROVIDER_ERROR: The connection broke." {
		t.Errorf("got %q without a cause", err.Error())
	}
}
