package gateway_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"weir/internal/account"
	"weir/internal/e2e/harness"
)

// sdk is OpenAI's official client, unmodified but for its address.
func sdk(h *harness.Gateway, key string, options ...option.RequestOption) openai.Client {
	return openai.NewClient(append([]option.RequestOption{
		option.WithBaseURL(h.URL + "/v1"), option.WithAPIKey(key), option.WithMaxRetries(0), option.WithHTTPClient(h.Client),
	}, options...)...)
}

// sdkAsk is a chat request of the SDK.
func sdkAsk(model string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Say it again, please")},
	}
}

func TestSDKStream(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	for _, usage := range []bool{true, false} {
		p := sdkAsk("house/chat:tokens=50,chunk=9,eol=crlf")
		if usage {
			p.StreamOptions.IncludeUsage = openai.Bool(true)
		}
		client := sdk(h, h.Key)
		stream := client.Chat.Completions.NewStreaming(t.Context(), p)
		acc, chunks := openai.ChatCompletionAccumulator{}, 0
		for stream.Next() {
			acc.AddChunk(stream.Current())
			if len(stream.Current().Choices) == 0 {
				chunks++
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		if acc.Choices[0].FinishReason != "stop" || len(acc.Choices[0].Message.Content) < 50 {
			t.Errorf("usage %v: finish %q, text %q", usage, acc.Choices[0].FinishReason, acc.Choices[0].Message.Content)
		}
		if usage != (chunks == 1) || usage && acc.Usage.CompletionTokens != 50 {
			t.Errorf("usage asked %v: %d usage chunks, %d tokens", usage, chunks, acc.Usage.CompletionTokens)
		}
	}
}

// TestSDKErrors is what the SDK raises: OpenAI's own class with OpenAI's own
// status, type and code.
func TestSDKErrors(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenHasty(t)
	onlyUses := h.NewKey(account.KeyOptions{Account: "default", Permissions: []account.Permission{account.Uses}})
	tests := []struct {
		name, key, model string
		status           int
		kind, code       string
		param            string
	}{
		{"bad key", "sk-wrong", "house/echo", 401, "invalid_request_error", "invalid_api_key", ""},
		{"no permission", onlyUses, "house/echo", 403, "invalid_request_error", "insufficient_permissions", ""},
		{"no such provider", h.Key, "nobody/x", 404, "invalid_request_error", "model_not_found", "model"},
		{"no such bare model", h.Key, "gpt-nothing", 404, "invalid_request_error", "model_not_found", "model"},
		{"bad request upstream", h.Key, "house/chat:fault=context-length", 400, "invalid_request_error", "context_length_exceeded", ""},
		{"rate limit upstream", h.Key, "house/chat:status=429,retry_after=1", 429, "rate_limit_error", "rate_limit_exceeded", ""},
		{"upstream's own credentials", h.Key, "house/chat:status=401", 502, "server_error", "provider_error", ""},
		{"upstream down", h.Key, "house/chat:status=503", 503, "server_error", "provider_unavailable", ""},
		{"upstream silent", h.Key, "house/chat:fault=silence", 504, "server_error", "provider_timeout", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client := sdk(h, test.key)
			_, err := client.Chat.Completions.New(t.Context(), sdkAsk(test.model))
			e, ok := errors.AsType[*openai.Error](err)
			if !ok {
				t.Fatalf("got %v, want an *openai.Error", err)
			}
			if e.StatusCode != test.status || e.Type != test.kind || e.Code != test.code || test.param != "" && e.Param != test.param || e.Message == "" {
				t.Errorf("got %d %q %q param %q, want %d %q %q %q", e.StatusCode, e.Type, e.Code, e.Param, test.status, test.kind, test.code, test.param)
			}
			stream := client.Chat.Completions.NewStreaming(t.Context(), sdkAsk(test.model))
			if stream.Next() {
				t.Error("a stream began")
			}
			if e, ok := errors.AsType[*openai.Error](stream.Err()); !ok || e.StatusCode != test.status {
				t.Errorf("a stream ended with %v, want status %d", stream.Err(), test.status)
			}
			harness.WantCommonHeaders(t, e.Response.Header)
		})
	}
}

// TestSDKRetries is the SDK's own retrying, which obeys the gateway's headers.
func TestSDKRetries(t *testing.T) {
	t.Parallel()
	h, up := harness.OpenSimulated(t)
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	client := sdk(h, h.Key, option.WithMaxRetries(2))
	began := time.Now()
	got, err := client.Chat.Completions.New(ctx, sdkAsk("house/echo:status=429,retry_after=1,once"))
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("took %s, want the second that Retry-After says", took)
	}
	if n := len(up.Records(t)); n != 2 || got.Choices[0].Message.Content == "" {
		t.Errorf("%d requests, want 2", n)
	}
}
