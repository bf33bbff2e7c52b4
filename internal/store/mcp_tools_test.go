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
	"weir/internal/tool"
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
			o := backend(t)
			s := open(t, o)
			see := func(server, digest string) bool {
				t.Helper()
				tools := []mcp.Tool{listedTool("x", digest), listedTool("same", "1")}
				shelf, err := s.MCPTools.Seen(t.Context(), &tool.Seen{Server: server, Tools: tools, At: time.Now()})
				must.Do(t, err)
				if shelf.States["same"].Held {
					t.Error("an unchanged tool: got held")
				}
				if got := must.Get(s.MCPTools.Version(t.Context(), server))(t); got != shelf.Version || got == 0 {
					t.Errorf("got the version %d, want that of the states, %d", got, shelf.Version)
				}
				return shelf.States["x"].Held
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
			db := behind(t, o)
			defer func() { _ = db.Close() }()
			n := must.Get(scalar[int](t, db, "SELECT count(*) FROM events WHERE type = 'tools.held'"))(t)
			body := must.Get(scalar[string](t, db, "SELECT min(body) FROM events WHERE type = 'tools.held'"))(t)
			if n < 1 || n > 2 || !strings.Contains(body, `"server":"one","count":1,"tools":["x"]`) { // two if an hour has begun
				t.Errorf("got %d events, one of them %s; want one an hour, of the server that has changed", n, body)
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
		shelf, err := s.MCPTools.Seen(t.Context(), &tool.Seen{Server: "flood", Tools: tools, At: time.Now()})
		must.Do(t, err)
		for _, state := range shelf.States {
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
		seen := &tool.Seen{Server: server, Tools: tools, At: time.Now()}
		for name, state := range must.Get(s.MCPTools.Seen(t.Context(), seen))(t).States {
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

// TestNewToolIsHeldWhereEachHasToBeApproved follows a new tool through a change, its approval and its removal, on both
// engines. A server whose new tools are approved is the control.
func TestNewToolIsHeldWhereEachHasToBeApproved(t *testing.T) {
	t.Parallel()
	for name, backend := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, backend(t))
			see := func(server, digest string) bool {
				t.Helper()
				shelf := must.Get(s.MCPTools.Seen(t.Context(), &tool.Seen{
					Server: server, Tools: []mcp.Tool{listedTool("x", digest)}, HoldNew: server == "strict", At: time.Now(),
				}))(t)
				return shelf.States["x"].Held
			}
			if !see("strict", "1") || !see("strict", "2") || see("usual", "1") {
				t.Error("got a new tool that is not held, or one that is held without need")
			}
			d := must.Get(s.MCPTools.List(t.Context(), "strict"))(t)[0]
			if d.Approved != nil || d.Text != "" || d.HeldDigest != "2" {
				t.Errorf("got %+v, want the second definition held, and none approved", d)
			}
			must.Do(t, s.MCPTools.Approve(t.Context(), audit.Gateway(), "strict", "x", "2"))
			if see("strict", "2") || !see("strict", "1") {
				t.Error("after the approval: got the approved definition held, or the other one not held")
			}
			for _, step := range []struct {
				kept map[string]bool
				want int
			}{{map[string]bool{"x": true}, 0}, {nil, 1}, {nil, 0}} {
				before := must.Get(s.MCPTools.Version(t.Context(), "strict"))(t)
				n := must.Get(s.MCPTools.Forget(t.Context(), audit.Gateway(), "strict", step.kept))(t)
				must.Equal(t, n, step.want, "forgotten definitions with kept ones %v", step.kept)
				if after := must.Get(s.MCPTools.Version(t.Context(), "strict"))(t); (after != before) != (n > 0) {
					t.Errorf("%d forgotten: got the versions %d and %d", n, before, after)
				}
			}
			if !see("strict", "2") {
				t.Error("a forgotten tool: got approved, want held as a new one")
			}
			must.Equal(t, len(must.Get(s.MCPTools.List(t.Context(), "usual"))(t)), 1, "definitions of the other server")
		})
	}
}
