package gateway_test

import (
	"testing"
	"time"

	"google.golang.org/genai"

	"weir/internal/e2e/harness"
	"weir/internal/gateway"
)

// TestGeminiChatRemembersAcrossSilence checks that a chat of the vendor's SDK stores an exchange in which the model was
// silent for long, before its first word and between words: its next request has the question and the answer.
func TestGeminiChatRemembersAcrossSilence(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL), Timing: gateway.Timing{KeepAlive: 50 * time.Millisecond}})
	client, err := geminiClient(sdkCall{ctx: t.Context(), url: h.URL, key: h.Key, client: h.Client})
	if err != nil {
		t.Fatal(err)
	}
	for _, model := range []string{"house/echo:ttft=400ms", "house/echo:pace=300ms"} {
		chat, err := client.Chats.Create(t.Context(), model, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for chunk, err := range chat.SendStream(t.Context(), genai.NewPartFromText("Say it again")) {
			if err != nil {
				t.Fatal(err)
			}
			text += chunk.Text()
		}
		sent := ""
		for _, content := range chat.History(true) {
			for _, part := range content.Parts {
				sent += part.Text
			}
		}
		if text != "Say it again" || sent != "Say it again"+text {
			t.Errorf("%s: heard %q, and the next request has %q, want the question and the answer", model, text, sent)
		}
	}
}
