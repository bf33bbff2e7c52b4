package dashboard

import (
	"os"
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/refusal"
)

// TestRemedyIsInDocumentation checks that each error code of a refused request has a section of the documentation.
func TestRemedyIsInDocumentation(t *testing.T) {
	t.Parallel()
	page := string(must.Get(os.ReadFile("../../docs/troubleshooting.md"))(t))
	for _, code := range []llm.Code{
		llm.CodeInvalidRequest, llm.CodeAuthentication, llm.CodeBudgetExceeded, refusal.CodePriceUnknown, llm.CodeForbidden,
		llm.CodeNotFound, llm.CodeModelNotFound, llm.CodeMethodNotAllowed, llm.CodeIdempotencyConflict, llm.CodeRequestTooLarge,
		llm.CodeUnsupportedMedia, llm.CodeRateLimited, llm.CodeProviderUnavailable, llm.CodeOverloaded, llm.CodeInternal,
	} {
		_, anchor, _ := strings.Cut(remedyOf(code), "#")
		status, name, _ := strings.Cut(anchor, "-")
		if heading := "### " + status + " " + strings.ToUpper(name) + "\n"; !strings.Contains(page, heading) {
			t.Errorf("%s: the page has no heading %q", code, heading)
		}
	}
}
