package harness

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/simulator"
)

// keptGateway is a gateway before a provider that records its requests.
type keptGateway struct {
	*Gateway
	yaml string

	mu     sync.Mutex
	Bodies []string
}

// Last returns the body of the provider's last request.
func (k *keptGateway) Last() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.Bodies) == 0 {
		return ""
	}
	return k.Bodies[len(k.Bodies)-1]
}

// OpenKept starts a gateway before a simulator that speaks the dialect.
func OpenKept(t *testing.T, speaks, more string, now func() time.Time) *keptGateway {
	t.Helper()
	k := &keptGateway{}
	sim := simulator.New(simulator.Options{Dialects: registrytest.All(), Seed: 1, Strict: true})
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		k.mu.Lock()
		k.Bodies = append(k.Bodies, string(body))
		k.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		sim.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		sim.Close()
		ts.CloseClientConnections()
		ts.Close()
	})
	k.yaml = strings.Replace(ProvidersYAML(ts.URL), "dialect: openai", "dialect: "+speaks, 1) + more
	k.Gateway = Open(t, Setup{YAML: k.yaml, Now: now})
	return k
}

// Another starts a second node on the same database.
func (k *keptGateway) Another(t *testing.T) *Gateway {
	t.Helper()
	return Open(t, Setup{YAML: k.yaml, Dir: k.Data, Key: k.Key, JournalDir: t.TempDir()})
}

// Respond sends a request to the Responses API.
func (h *Gateway) Respond(members string) Reply {
	h.T.Helper()
	return h.Do(Ask{Path: "/v1/responses", Body: `{` + members + `}`})
}

// Responded returns the response object of a successful reply, whole or streamed.
func Responded(t testing.TB, r Reply) (object string, id string) {
	t.Helper()
	object = r.Body
	for event := range strings.SplitSeq(r.Body, "\n\n") {
		_, data, ok := strings.Cut(event, "event: response.completed\ndata: ")
		if !ok {
			_, data, ok = strings.Cut(event, "event: response.incomplete\ndata: ")
		}
		if ok {
			var e struct{ Response json.RawMessage }
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatalf("event %s: %v", event, err)
			}
			object = string(e.Response)
		}
	}
	var o struct{ ID string }
	if err := json.Unmarshal([]byte(object), &o); err != nil || r.Status != http.StatusOK || o.ID == "" {
		t.Fatalf("status %d, %v: %s", r.Status, err, r.Body)
	}
	return object, o.ID
}
