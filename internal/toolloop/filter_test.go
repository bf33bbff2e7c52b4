package toolloop_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/internal/toolloop"
)

// TestFiltersAreReadOnce offers a server of many tools with long filters, many times.
func TestFiltersAreReadOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, saying)
	f.use(func(context.Context, *toolloop.Caller, string) (all []toolloop.Tool, err error) {
		for i := range 500 {
			name := fmt.Sprintf("tool-%d", i)
			all = append(all, toolloop.Tool{Name: name, Definition: []byte(`{"name":"` + name + `"}`)})
		}
		return all, nil
	})
	names := `["tool-0"` + strings.Repeat(`,"x"`, 12_000) + `]`
	server := `{"type":"mcp","server_label":"files","require_approval":"never","allowed_tools":` + names + `}`
	began := time.Now()
	f.want(`{"model":"m","input":"Hi","tools":[` + server + strings.Repeat(","+server, 31) + `]}`)
	f.dialect, f.script = "anthropic", []string{`{"type":"message","role":"assistant","content":[],"stop_reason":"end_turn"}`}
	configs := `{"x":{}` + strings.Repeat(`,"x":{}`, 8_000) + `}`
	toolset := `{"type":"mcp_toolset","mcp_server_name":"files","configs":` + configs + `}`
	f.want(`{"model":"m","messages":[],"tools":[` + toolset + strings.Repeat(","+toolset, 31) + `]}`)
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("got an answer after %s, want it at once", took)
	}
}
