package mcp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"weir/internal/mcp"
	"weir/internal/must"
)

// lister returns a server whose lists have these results, by page.
func lister(t *testing.T, result func(page int) string) (address string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		m, _ := mcp.ParseMessage(text)
		answer := `{"supportedVersions":["2026-07-28"]}`
		if m.Method == mcp.MethodTools {
			answer = result(int(asked.Add(1)))
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// listing returns a client with the usual bounds.
func listing(t *testing.T, address string) *mcp.Client {
	t.Helper()
	c := must.Get(mcp.New(mcp.Options{Name: "peer", URL: address, AllowPrivate: true}))(t)
	t.Cleanup(c.Close)
	return c
}

// TestEndlessListsAreBounded checks lists without an end, in each of their sizes.
func TestEndlessListsAreBounded(t *testing.T) {
	t.Parallel()
	const most = 200 // pages
	large := strings.Repeat("x", 1<<20)
	for name, result := range map[string]func(page int) string{
		"empty pages": func(page int) string { return fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, page) },
		"tools": func(page int) string {
			var all []string
			for i := range 100 {
				all = append(all, fmt.Sprintf(`{"name":"t%d_%d","inputSchema":{"type":"object"}}`, page, i))
			}
			return fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d"}`, strings.Join(all, ","), page)
		},
		"large tools": func(page int) string {
			return fmt.Sprintf(`{"tools":[{"name":"t%d","description":"%s"}],"nextCursor":"%d"}`, page, large, page)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, asked := lister(t, result)
			_, err := listing(t, address).ListTools(t.Context(), "")
			if err == nil || !strings.Contains(err.Error(), "longer than the bound") || asked.Load() > most {
				t.Errorf("got %v after %d pages, want the bound", err, asked.Load())
			}
		})
	}
}

// TestLargeDefinitionHidesNoOther lists a tool with a schema that is too large between two others, and a cursor that
// leads to the page itself.
func TestLargeDefinitionHidesNoOther(t *testing.T) {
	t.Parallel()
	address, asked := lister(t, func(int) string {
		return fmt.Sprintf(`{"tools":[{"name":"a"},{"name":"large","inputSchema":{"x":"%s"}},{"name":"b"}],"nextCursor":"same"}`,
			strings.Repeat("x", mcp.MaxTool))
	})
	list, err := listing(t, address).ListTools(t.Context(), "")
	if err != nil || len(list.Tools) != 2 || !strings.Contains(list.Omitted["large"], "longer than") || asked.Load() != 2 {
		t.Errorf("got %+v, %v after %d pages; want the two others after two", list, err, asked.Load())
	}
}
