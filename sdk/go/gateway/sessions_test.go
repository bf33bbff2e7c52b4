package gateway_test

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/realtime"
	"google.golang.org/genai"

	"weir/internal/e2e/harness"
	"weir/internal/must"
	"weir/internal/report"
)

// overTLS returns the address of a TLS proxy before the gateway, and a client that trusts it.
func overTLS(t *testing.T, h *harness.Gateway) (address string, client *http.Client) {
	t.Helper()
	to := must.Get(url.Parse(h.URL))(t)
	s := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(to))
	t.Cleanup(s.Close)
	return s.URL, s.Client()
}

// rowsOf returns the number of ended rows of a model.
func rowsOf(h *harness.Gateway, model string) (n int) {
	h.EachEntry(func(e *report.Exported) {
		if e.Model == model && e.Cost > 0 {
			n++
		}
	})
	return n
}

// TestRealtimeSDK talks by the Realtime class of openai-go over TLS, by a key and by a client secret.
func TestRealtimeSDK(t *testing.T) {
	t.Parallel()
	const model = "echo:sound=1s"
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL)})
	address, trusting := overTLS(t, h)
	client := openai.NewClient(option.WithBaseURL(address+"/v1"), option.WithAPIKey(h.Key), option.WithHTTPClient(trusting))
	secret := must.Get(client.Realtime.ClientSecrets.New(t.Context(), realtime.ClientSecretNewParams{
		Session: realtime.ClientSecretNewParamsSessionUnion{OfRealtime: &realtime.RealtimeSessionCreateRequestParam{
			Model: "house/" + model,
		}},
	}))(t)
	for i, key := range []string{h.Key, secret.Value} {
		c := must.Get(client.Realtime.Connect(t.Context(), realtime.RealtimeConnectionOptions{},
			option.WithAPIKey(key), option.WithQuery("model", "house/"+model)))(t)
		must.Do(t, c.Send(t.Context(), realtime.RealtimeClientEventUnionParam{
			OfResponseCreate: &realtime.ResponseCreateEventParam{},
		}))
		for {
			e := must.Get(c.Recv(t.Context()))(t)
			if e.Type == "error" {
				t.Fatalf("error: %s", e.RawJSON())
			}
			if e.Type == "response.done" {
				if got := e.AsResponseDoneEvent().Response.Usage.OutputTokenDetails.AudioTokens; got != 20 {
					t.Errorf("the usage has %d tokens of sound, want 20", got)
				}
				break
			}
		}
		must.Do(t, c.Close())
		harness.Await(t, "the row", func() bool { return rowsOf(h, model) == i+1 })
	}
}

// TestLiveSDK talks by the Live class of Google's SDK over TLS: by text, by sound with a detected turn, and with a
// function.
func TestLiveSDK(t *testing.T) { //nolint:paralleltest // the SDK has one dialer for all
	const model = "tools:sound=1s"
	up := harness.NewUpstream(t)
	yaml := strings.NewReplacer("dialect: openai", "dialect: gemini", "/v1\n", "/v1beta\n").
		Replace(harness.ProvidersYAML(up.URL))
	h := harness.Open(t, harness.Setup{YAML: yaml})
	address, trusting := overTLS(t, h)
	before := websocket.DefaultDialer.TLSClientConfig
	websocket.DefaultDialer.TLSClientConfig = &tls.Config{RootCAs: trusting.Transport.(*http.Transport).TLSClientConfig.RootCAs}
	t.Cleanup(func() { websocket.DefaultDialer.TLSClientConfig = before })
	client := must.Get(genai.NewClient(t.Context(), &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: h.Key, HTTPClient: trusting,
		HTTPOptions: genai.HTTPOptions{BaseURL: address},
	}))(t)
	s := must.Get(client.Live.Connect(t.Context(), "house/"+model, &genai.LiveConnectConfig{
		ResponseModalities: []genai.Modality{genai.ModalityAudio}, MaxOutputTokens: 500,
		SystemInstruction: genai.NewContentFromText("Be brief.", genai.RoleUser),
		Tools:             []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "weather"}}}},
	}))(t)
	defer s.Close()
	speech := make([]byte, 32*1600)
	for i := range 32 * 1000 {
		speech[i] = 7
	}
	must.Do(t, s.SendClientContent(genai.LiveClientContentInput{Turns: genai.Text("How is the weather?"), TurnComplete: genai.Ptr(true)}))
	calls, ends := 0, 0
	for ends < 2 {
		m := must.Get(s.Receive())(t)
		if m.ToolCall != nil {
			calls++
			must.Do(t, s.SendToolResponse(genai.LiveToolResponseInput{FunctionResponses: []*genai.FunctionResponse{{
				ID: m.ToolCall.FunctionCalls[0].ID, Name: "weather", Response: map[string]any{"output": "sunny"},
			}}}))
		}
		if m.ServerContent == nil || !m.ServerContent.TurnComplete {
			continue
		}
		if ends++; m.UsageMetadata == nil || m.UsageMetadata.ResponseTokenCount != 25 {
			text, _ := json.Marshal(m)
			t.Errorf("the end is %s, want 25 tokens", text)
		}
		if ends == 1 {
			must.Do(t, s.SendRealtimeInput(genai.LiveRealtimeInput{Audio: &genai.Blob{MIMEType: "audio/pcm;rate=16000", Data: speech}}))
		}
	}
	if calls != 2 {
		t.Errorf("%d calls, want 2", calls)
	}
	harness.Await(t, "the rows", func() bool { return rowsOf(h, model) == 4 })
}
