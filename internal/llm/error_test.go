package llm_test

import (
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
