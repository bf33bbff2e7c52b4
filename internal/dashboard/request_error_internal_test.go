package dashboard

import (
	"strings"
	"testing"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/tool"
)

// TestErrorOfToolIsExplained checks that the page of a call explains a tool's failure, and leaves codes without words as
// they are.
func TestErrorOfToolIsExplained(t *testing.T) {
	t.Parallel()
	if got := errorText(tool.CodeFailed, ledger.OutcomeOK, 200); !strings.Contains(got, "TOOL_ERROR: the result says") {
		t.Errorf("got %q, want that the result says so", got)
	}
	if got := errorText(llm.CodeConflict, ledger.OutcomeOK, 200); got != "CONFLICT" {
		t.Errorf("got %q, want the code alone", got)
	}
}
