package gateway

import (
	"testing"

	"weir/internal/llm"
)

// TestOnlyWholeAnswersFinishForTheCache lists the ends of answers. One that was filtered, broke off, or was cut by the
// cap of a budget is not stored; one with calls of tools is if tools are asked for.
func TestOnlyWholeAnswersFinishForTheCache(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		all           []llm.FinishReason
		tools, capped bool
		want          bool
	}{
		{nil, false, false, true}, // vectors
		{[]llm.FinishReason{llm.FinishStop, llm.FinishStop}, false, true, true},
		{[]llm.FinishReason{llm.FinishStop, llm.FinishContentFilter}, true, false, false},
		{[]llm.FinishReason{llm.FinishError}, true, false, false},
		{[]llm.FinishReason{llm.FinishLength}, false, false, true},
		{[]llm.FinishReason{llm.FinishLength}, false, true, false},
		{[]llm.FinishReason{llm.FinishToolCalls}, false, false, false},
		{[]llm.FinishReason{llm.FinishToolCalls}, true, false, true},
	} {
		c := caching{tools: test.tools}
		if got := c.finishes(test.all, test.capped); got != test.want {
			t.Errorf("%v, tools %t, capped %t: got %t, want %t", test.all, test.tools, test.capped, got, test.want)
		}
	}
}
