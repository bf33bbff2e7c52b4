package realtime_test

import (
	"net/http"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/ledger"
)

// TestAzurePathsOpenSessions checks Azure's paths of clients, with Azure as the provider and with another one: an
// api-version selects the beta, whose sessions have no type, and each response is metered.
func TestAzurePathsOpenSessions(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + "  azure: {base_url: \"" + up.URL +
		"/openai/v1\", allow_private: true, api_keys: [one]}\nprices:\n  house/*: " + rates + "\n  azure/*: " + rates +
		"\nmodels:\n  house/*: {context: 4000, max_output: 1000}\n  azure/*: {context: 4000, max_output: 1000}\n"})
	const dated = "/openai/realtime?api-version=2025-04-01-preview&deployment="
	for path, beta := range map[string]bool{
		"/openai/v1/realtime?model=azure/echo:tokens=2": false, "/openai/v1/realtime?model=house/echo:tokens=2": false,
		dated + "azure/echo:tokens=2": true, dated + "house/echo:tokens=2": true,
	} {
		s := open(t, h, path, http.Header{"Api-Key": {h.Key}})
		session, _ := s.await("session.created")["session"].(map[string]any)
		if _, typed := session["type"]; typed == beta {
			t.Errorf("%s: the session is %v, want one of the beta: %v", path, session, beta)
		}
		s.send(`{"type":"response.create"}`)
		s.await("response.done")
		s.conn.Abort()
		row := h.SettledSession(s.id, 1)[0]
		if row.Provenance != ledger.Exact || row.Cost != costOf(&served(up, s.id)[0].Usage) {
			t.Errorf("%s: %s, %v", path, row.Provenance, row.Cost)
		}
	}
}

// TestBrowsersSendKeys checks the forms in which browsers send a key: in xAI's subprotocol, which the answer has to have,
// and in the query at Azure's paths alone.
func TestBrowsersSendKeys(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	secret, _ := secret(t, h, `{}`)
	protocol := "xai-client-secret." + secret
	_, res, err := dial(t, h, "?model=house/echo", http.Header{}, protocol)
	if err != nil || res.Header.Get("Sec-Websocket-Protocol") != protocol {
		t.Errorf("by xAI's subprotocol: %v, %+v", err, res)
	}
	if _, _, err := dial(t, h, "/openai/v1/realtime?model=house/echo&api-key="+h.Key, http.Header{}); err != nil {
		t.Errorf("by the query of Azure's path: %v", err)
	}
	_, res, err = dial(t, h, "?model=house/echo&api-key="+h.Key, http.Header{})
	if err == nil || res == nil || res.StatusCode != http.StatusUnauthorized {
		t.Errorf("by the query of OpenAI's path: %v, %+v, want %d", err, res, http.StatusUnauthorized)
	}
}
