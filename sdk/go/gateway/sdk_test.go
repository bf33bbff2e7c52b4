package gateway_test

import (
	"context"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// sdk returns OpenAI's official client, unmodified except for its address.
func sdk(h *harness.Gateway, key string, options ...option.RequestOption) openai.Client {
	return openai.NewClient(append([]option.RequestOption{
		option.WithBaseURL(h.URL + "/v1"), option.WithAPIKey(key), option.WithMaxRetries(0), option.WithHTTPClient(h.Client),
	}, options...)...)
}

// sdkAsk returns a chat request of the SDK.
func sdkAsk(model string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Say it again, please")},
	}
}

// TestSDKRetries checks the SDK's own retries, which obey the gateway's headers.
func TestSDKRetries(t *testing.T) {
	t.Parallel()
	h, up := harness.OpenSimulated(t)
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	client := sdk(h, h.Key, option.WithMaxRetries(2))
	began := time.Now()
	got := must.Get(client.Chat.Completions.New(ctx, sdkAsk("house/echo:status=429,retry_after=1,once")))(t)
	if took := time.Since(began); took < time.Second {
		t.Errorf("needed %s, want the second in Retry-After", took)
	}
	if n := len(up.Records(t)); n != 2 || got.Choices[0].Message.Content == "" {
		t.Errorf("%d requests, want 2", n)
	}
}
