package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"weir/internal/mcp"
	"weir/internal/must"
)

// sessions is a server with sessions that answers tools/list, and continues its streams, by functions.
func sessions(t *testing.T, list func(w http.ResponseWriter, id []byte), resume http.HandlerFunc) *mcp.Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			resume(w, r)
			return
		}
		text, _ := io.ReadAll(r.Body)
		m, _ := mcp.ParseMessage(text)
		switch m.Method {
		case mcp.MethodDiscover:
			w.WriteHeader(http.StatusNotFound)
		case mcp.MethodInitialize:
			w.Header().Set("Mcp-Session-Id", "s1")
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25"}}`, m.ID)
		case mcp.MethodTools:
			list(w, m.ID)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(s.Close)
	return open(t, s.URL)
}

// TestStreamThatServerEndsEarlyIsContinued checks a server that ends the stream of an answer before its result
// (revision 2025-11-25, "SSE polling"), once and without end.
func TestStreamThatServerEndsEarlyIsContinued(t *testing.T) {
	t.Parallel()
	var asked []byte
	begin := func(w http.ResponseWriter, id []byte) {
		asked = id
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: e1\nretry: 1\ndata:\n\n")
	}
	client := sessions(t, begin, func(w http.ResponseWriter, r *http.Request) {
		must.Equal(t, r.Header.Get("Last-Event-ID")+r.Header.Get("Mcp-Session-Id"), "e1s1", "the continued stream")
		write(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}`, asked))
	})
	got, err := client.Do(t.Context(), &mcp.Request{Method: mcp.MethodTools})
	must.Do(t, err)
	must.Equal(t, string(got), `{"tools":[]}`, "result")

	resumed := 0
	endless := sessions(t, begin, func(w http.ResponseWriter, _ *http.Request) {
		resumed++
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: e2\ndata:\n\n")
	})
	if got, err := endless.Do(t.Context(), &mcp.Request{Method: mcp.MethodTools}); err == nil || resumed != 10 {
		t.Errorf("a stream that never has a result: got %s, %v after %d, want an error after 10", got, err, resumed)
	}
}

// TestRefusedRevisionIsTriedAgain checks a server that refuses the first request but supports its revision.
func TestRefusedRevisionIsTriedAgain(t *testing.T) {
	t.Parallel()
	requests := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		m, _ := mcp.ParseMessage(text)
		w.Header().Set("Content-Type", "application/json")
		answer := map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(m.ID)}
		supported := map[string]any{"supported": []string{mcp.Stateless}, "supportedVersions": []string{mcp.Stateless}}
		if requests++; requests == 1 {
			w.WriteHeader(http.StatusBadRequest)
			answer["error"] = map[string]any{"code": mcp.CodeRevision, "message": "no", "data": supported}
		} else {
			answer["result"] = supported
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(s.Close)
	client := open(t, s.URL)
	_, err := client.Do(t.Context(), &mcp.Request{Method: mcp.MethodTools})
	must.Do(t, err)
	must.Equal(t, client.Revision(), mcp.Stateless, "revision after %d requests", requests)
}
