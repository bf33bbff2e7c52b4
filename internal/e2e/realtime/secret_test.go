package realtime_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/e2e/harness"
	"weir/internal/websocket"
)

// secret creates a client secret.
func secret(t *testing.T, h *harness.Gateway, body string) (value string, status int) {
	t.Helper()
	r := h.Do(harness.Ask{Method: http.MethodPost, Path: "/v1/realtime/client_secrets", Body: body})
	var answer struct {
		Value     string
		ExpiresAt int64 `json:"expires_at"`
		Session   map[string]any
	}
	if r.Status == http.StatusOK {
		harness.Decode(t, r.Body, &answer)
	}
	return answer.Value, r.Status
}

// bySecret opens a session as a browser does.
func bySecret(t *testing.T, h *harness.Gateway, query, secret string) (*talk, *http.Response, error) {
	t.Helper()
	return dial(t, h, query, http.Header{}, "realtime", "openai-insecure-api-key."+secret)
}

// TestClientSecretOpensSessionOfItsKey checks a session by a client secret: its settings are in force, its responses are
// the key's, and it ends with the key.
func TestClientSecretOpensSessionOfItsKey(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	value, status := secret(t, h, `{"expires_after":{"anchor":"created_at","seconds":60},"session":{"type":"realtime",`+
		`"model":"house/echo:tokens=5","output_modalities":["text"],"max_output_tokens":2}}`)
	if status != http.StatusOK || !strings.HasPrefix(value, "ek_") || strings.Contains(value, h.Key) {
		t.Fatalf("%d %s", status, value)
	}
	s, res, err := bySecret(t, h, "", value)
	if err != nil {
		t.Fatalf("%v %+v", err, res)
	}
	settings := s.await("session.updated")["session"].(map[string]any)
	found := settings["audio"].(map[string]any)["input"].(map[string]any)["turn_detection"].(map[string]any)
	if fmt.Sprint(settings["output_modalities"]) != "[text]" || found["create_response"] != true {
		t.Errorf("the settings are %v", settings)
	}
	s.say("Hello")
	if got := s.await("response.done")["response"].(map[string]any)["status"]; got != "incomplete" {
		t.Errorf("a response beyond the secret's cap is %v, want incomplete", got)
	}
	h.SettledSession(s.id, 1)
	h.Administer(func(ctx context.Context, a *account.Service) error {
		_, err := a.Suspend(ctx, audit.Gateway(), account.DefaultName)
		return err
	})
	if _, err := s.next("response.done"); websocket.CodeOf(err) != websocket.Refused {
		t.Errorf("the session ended with %v, want %d", err, websocket.Refused)
	}
}

// TestClientSecretIsBounded checks requests for secrets, and secrets, that are refused.
func TestClientSecretIsBounded(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	for body, want := range map[string]int{
		`{}`:                                  200,
		`{"expires_after":{"seconds":9}}`:     400,
		`{"expires_after":{"seconds":7201}}`:  400,
		`{"session":{"model":"nobody/echo"}}`: 404,
		`{"session":{"instructions":"` + strings.Repeat("x", 5000) + `"}}`:   400,
		`{"session":{"type":"realtime","type":"transcription"}}`:             400,
		`{"session":{"instructions":"` + strings.Repeat("x", 70_000) + `"}}`: 413,
		`[]`: 400,
	} {
		if _, got := secret(t, h, body); got != want {
			t.Errorf("%.60s: %d, want %d", body, got, want)
		}
	}
	tied, _ := secret(t, h, `{"session":{"type":"realtime","model":"house/echo"}}`)
	for name, try := range map[string]struct {
		query, secret string
		status        int
	}{
		"another model":      {"?model=house/chat", tied, 400},
		"a changed secret":   {"", tied[:len(tied)-3] + "AAA", 401},
		"no secret":          {"", "ek_", 401},
		"no model at all":    {"", func() string { v, _ := secret(t, h, `{}`); return v }(), 400},
		"a secret of a call": {"?call_id=rtc_1", tied, 400},
	} {
		s, res, err := bySecret(t, h, try.query, try.secret)
		if err == nil {
			s.conn.Abort()
			t.Errorf("%s: a session began", name)
		} else if res == nil || res.StatusCode != try.status {
			t.Errorf("%s: %v %+v, want %d", name, err, res, try.status)
		}
	}
	if r := h.Do(harness.Ask{Method: http.MethodPost, Path: "/v1/realtime/calls", Body: "v=0"}); r.Status != 400 {
		t.Errorf("a call is answered by %d, want 400", r.Status)
	}
}

// TestTranscriptionSessionHasNoResponses checks a session that only transcribes, with the provider of its default model.
func TestTranscriptionSessionHasNoResponses(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: strings.Replace(priced(up), "house:", "openai:", 1) +
		"  openai/*: {context: 4000}\n"})
	s := open(t, h, "?intent=transcription", nil)
	s.await("session.created")
	s.send(`{"type":"session.update","session":{"type":"transcription","audio":{"input":{"transcription":{"model":` +
		`"gpt-4o-transcribe"}}}}}`)
	s.await("session.updated")
	s.speak(2000, 600)
	s.await("conversation.item.input_audio_transcription.completed")
	s.conn.Abort()
	rows := h.SettledSession(s.id, 1)
	if rows[0].Model != "gpt-4o-transcribe" || rows[0].Usage.IsZero() {
		t.Errorf("the row is of %s with %v", rows[0].Model, rows[0].Usage)
	}
}
