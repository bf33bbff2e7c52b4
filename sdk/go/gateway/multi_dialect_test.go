package gateway_test

import (
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// TestMultiDialectFallback rescues an answer that one provider began in the client's own wire format, and the other
// continues in its default one.
func TestMultiDialectFallback(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	one := strings.Replace(harness.ProviderYAML("one", up.URL), "dialect: openai\n", "dialect: openai\n    also: [responses]\n", 1)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + one + harness.ProviderYAML("two", up.URL) + "aliases:\n  tale: {targets: [\"one/story:fault=cut,at=9\", \"two/story\"]}\n  safe: {targets: [\"two/story\"]}\n"})
	want, _, err := storyClients["responses"](t, h, "safe")
	must.Do(t, err)
	got, _, err := storyClients["responses"](t, h, "tale")
	if err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}
