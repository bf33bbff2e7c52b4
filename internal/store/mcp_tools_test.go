package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/managed"
	"weir/internal/mcp"
	"weir/internal/must"
)

func listedTool(name, digest string) mcp.Tool {
	return mcp.Tool{Name: name, Digest: digest, Definition: []byte(`{"name":"` + name + `","v":"` + digest + `"}`)}
}

// TestChangedDefinitionIsHeldUntilApproved follows a tool through a change, its return, another change and its approval,
// on both engines. Another tool and another server are the controls.
func TestChangedDefinitionIsHeldUntilApproved(t *testing.T) {
	t.Parallel()
	for name, backend := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, backend(t))
			see := func(server, digest string) bool {
				t.Helper()
				tools := []mcp.Tool{listedTool("x", digest), listedTool("same", "1")}
				states, err := s.MCPTools.Seen(t.Context(), server, tools, time.Now())
				must.Do(t, err)
				if states["same"].Held {
					t.Error("an unchanged tool: got held")
				}
				return states["x"].Held
			}
			for i, step := range []struct {
				server, digest string
				held           bool
			}{
				{"one", "1", false},
				{"one", "2", true},
				{"one", "2", true},
				{"two", "2", false},
				{"one", "1", false},
				{"one", "3", true},
			} {
				if got := see(step.server, step.digest); got != step.held {
					t.Errorf("step %d, %s of %s: got held %v, want %v", i, step.digest, step.server, got, step.held)
				}
			}
			approve := func(digest string) error {
				return s.MCPTools.Approve(t.Context(), audit.Gateway(), "one", "x", digest)
			}
			if err := approve("2"); !errors.Is(err, managed.ErrChanged) {
				t.Errorf("approve another definition than the held one: got %v, want %v", err, managed.ErrChanged)
			}
			must.Do(t, approve("3"))
			if err := approve("3"); !errors.Is(err, managed.ErrUnknown) {
				t.Errorf("approve again: got %v, want %v", err, managed.ErrUnknown)
			}
			if see("one", "3") || !see("one", "1") {
				t.Error("after the approval: got the approved definition held, or the former one not held")
			}
		})
	}
}

// TestServerWithEverNewToolsFillsNoDatabase checks that the stored definitions of a server are bounded, and that tools
// beyond the bound are held.
func TestServerWithEverNewToolsFillsNoDatabase(t *testing.T) {
	t.Parallel()
	s := open(t, engines()["SQLite"](t))
	see := func(round int) (held int) {
		t.Helper()
		tools := make([]mcp.Tool, mcp.MaxTools)
		for i := range tools {
			tools[i] = listedTool(fmt.Sprintf("tool-%d-%d", round, i), "1")
		}
		states, err := s.MCPTools.Seen(t.Context(), "flood", tools, time.Now())
		must.Do(t, err)
		for _, state := range states {
			if state.Held {
				held++
			}
		}
		return held
	}
	for round, want := range []int{0, 0, mcp.MaxTools} {
		if got := see(round); got != want {
			t.Errorf("round %d: got %d held tools, want %d", round, got, want)
		}
	}
	all, err := s.MCPTools.List(t.Context(), "flood")
	must.Do(t, err)
	if len(all) != 2*mcp.MaxTools {
		t.Errorf("got %d stored definitions, want %d", len(all), 2*mcp.MaxTools)
	}
}

// TestStoredDefinitionsOfServerAreBounded lists ever new large tools, as a hostile server does. The first ones are
// still known, another server has its own room, and a change beyond the bound is held.
func TestStoredDefinitionsOfServerAreBounded(t *testing.T) {
	t.Parallel()
	s := open(t, engines()["SQLite"](t))
	listed := func(round int) (tools []mcp.Tool) {
		for i := range 48 {
			name := fmt.Sprintf("%d-%d", round, i)
			text := `{"name":"` + name + `","description":"` + strings.Repeat("x", 255<<10) + `"}`
			tools = append(tools, mcp.Tool{Name: name, Digest: name, Definition: []byte(text)})
		}
		return tools
	}
	see := func(server string, tools []mcp.Tool) map[string]bool {
		held := map[string]bool{}
		for name, state := range must.Get(s.MCPTools.Seen(t.Context(), server, tools, time.Now()))(t) {
			held[name] = state.Held
		}
		return held
	}
	for round := range 8 {
		see("hostile", listed(round))
	}
	stored := 0
	for _, d := range must.Get(s.MCPTools.List(t.Context(), "hostile"))(t) {
		stored += len(d.Text) + len(d.Held)
	}
	if stored < 60<<20 || stored > 64<<20 {
		t.Errorf("got %d stored bytes, want almost 64 MiB", stored)
	}
	changed := listed(0)[0]
	changed.Digest = "other"
	for name, test := range map[string]struct {
		server string
		tool   mcp.Tool
		held   bool
	}{
		"the first": {"hostile", listed(0)[0], false}, "a change": {"hostile", changed, true},
		"the last": {"hostile", listed(7)[0], true}, "another server": {"good", listed(7)[0], false},
	} {
		if held := see(test.server, []mcp.Tool{test.tool}); held[test.tool.Name] != test.held {
			t.Errorf("%s: got held %v, want %v", name, held[test.tool.Name], test.held)
		}
	}
}
