package gateway_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"google.golang.org/genai"

	"weir/internal/account"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// TestLimitSDKs checks that the vendors' own clients recognize a refusal.
func TestLimitSDKs(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	key := h.NewKey(account.KeyOptions{Account: "default", Limits: account.Limits{RPM: 1}})
	h.MustAnswer(h.Do(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Key: key}))

	client := sdk(h, key)
	_, err := client.Chat.Completions.New(t.Context(), sdkAsk("house/echo"))
	if e, ok := errors.AsType[*openai.Error](err); !ok || e.StatusCode != http.StatusTooManyRequests || e.Code != "rate_limit_exceeded" {
		t.Errorf("openai: got %v, want 429 rate_limit_exceeded", err)
	}
	claude := anthropic.NewClient(anthropicoption.WithBaseURL(h.URL), anthropicoption.WithAPIKey(key), anthropicoption.WithHTTPClient(h.Client), anthropicoption.WithMaxRetries(0))
	_, err = claude.Messages.New(t.Context(), anthropic.MessageNewParams{
		Model: "house/echo", MaxTokens: 50, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Hello"))},
	})
	if e, ok := errors.AsType[*anthropic.Error](err); !ok || e.StatusCode != http.StatusTooManyRequests || e.Type() != anthropic.ErrorTypeRateLimitError {
		t.Errorf("anthropic: got %v, want 429 rate_limit_error", err)
	}
	google, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: key, HTTPClient: h.Client, HTTPOptions: genai.HTTPOptions{BaseURL: h.URL},
	})
	must.Do(t, err)
	_, err = google.Models.GenerateContent(t.Context(), "house/echo", genai.Text("Hello"), nil)
	if e, ok := errors.AsType[genai.APIError](err); !ok || e.Code != http.StatusTooManyRequests || e.Status != "RESOURCE_EXHAUSTED" {
		t.Errorf("genai: got %v, want 429 RESOURCE_EXHAUSTED", err)
	}
}
