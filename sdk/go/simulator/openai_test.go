package simulator_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"weir/internal/simulator"
)

// sdk is OpenAI's official client, unmodified but for its address, at a
// simulator reached in both ways.
func sdk(t *testing.T, check func(t *testing.T, c openai.Client, s *simulator.Server)) {
	t.Helper()
	eachWay(t, "sk-right", func(t *testing.T, s *simulator.Server, base string, rt http.RoundTripper) {
		check(t, openai.NewClient(
			option.WithBaseURL(base+"/v1"), option.WithAPIKey("sk-right"), option.WithMaxRetries(0),
			option.WithHTTPClient(&http.Client{Transport: rt}),
		), s)
	})
}

func ask(model string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Say it again, please")},
	}
}

// TestSDKUsage holds what the client reads of tokens by class.
func TestSDKUsage(t *testing.T) {
	t.Parallel()
	sdk(t, func(t *testing.T, c openai.Client, s *simulator.Server) {
		got, err := c.Chat.Completions.New(context.Background(), ask("reason:prompt=100,cached=60,tokens=5,reasoning=9"))
		if err != nil {
			t.Fatal(err)
		}
		u := got.Usage
		if u.PromptTokens != 100 || u.PromptTokensDetails.CachedTokens != 60 || u.CompletionTokens != 14 || u.CompletionTokensDetails.ReasoningTokens != 9 {
			t.Errorf("usage %s, ledger %v", u.RawJSON(), settled(t, s).Usage)
		}
	})
}

func TestSDKErrors(t *testing.T) {
	t.Parallel()
	sdk(t, func(t *testing.T, c openai.Client, _ *simulator.Server) {
		for _, tt := range []struct {
			model, key string
			status     int
			code       string
		}{
			{"chat:fault=context-length", "sk-right", 400, "context_length_exceeded"},
			{"chat", "sk-wrong", 401, "invalid_api_key"},
			{"gpt-5", "sk-right", 404, "model_not_found"},
			{"chat:status=429", "sk-right", 429, "rate_limit_exceeded"},
			{"chat:fault=quota", "sk-right", 429, "insufficient_quota"},
			{"chat:status=500", "sk-right", 500, "internal_error"},
		} {
			_, err := c.Chat.Completions.New(context.Background(), ask(tt.model), option.WithAPIKey(tt.key))
			var got *openai.Error
			if !errors.As(err, &got) {
				t.Errorf("%s: got %v, want an error of the API", tt.model, err)
				continue
			}
			if got.StatusCode != tt.status || got.Code != tt.code || got.Message == "" {
				t.Errorf("%s: got %d %q %q, want %d %q", tt.model, got.StatusCode, got.Code, got.Message, tt.status, tt.code)
			}
		}
	})
}

// The client's own retries get past a fault that comes once.
func TestSDKRetries(t *testing.T) {
	t.Parallel()
	sdk(t, func(t *testing.T, c openai.Client, s *simulator.Server) {
		for _, model := range []string{"chat:status=503,once", "chat:fault=reset,once"} {
			s.Reset()
			if _, err := c.Chat.Completions.New(context.Background(), ask(model), option.WithMaxRetries(2)); err != nil {
				t.Errorf("%s: %v", model, err)
			}
			if got := s.Ledger().Totals(); got.Requests != 2 || got.Outcomes[simulator.Served] != 1 {
				t.Errorf("%s: ledger says %+v, want one failure and one answer", model, got)
			}
		}
	})
}
