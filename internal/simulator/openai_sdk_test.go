package simulator_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"weir/internal/llm"
	"weir/internal/simulator"
)

// sdk is OpenAI's official client, unmodified but for its address, at a
// simulator reached in both ways.
func sdk(t *testing.T, check func(t *testing.T, c openai.Client, s *simulator.Server)) {
	t.Helper()
	for i, name := range []string{"socket", "memory"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSimulator(t, simulator.Options{APIKeys: []string{"sk-right"}})
			w := ways(t, s)[i]
			check(t, openai.NewClient(
				option.WithBaseURL(w.base+"/v1"), option.WithAPIKey("sk-right"), option.WithMaxRetries(0),
				option.WithHTTPClient(&http.Client{Transport: w.rt}),
			), s)
		})
	}
}

func ask(model string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Say it again, please")},
	}
}

func TestSDKPlain(t *testing.T) {
	t.Parallel()
	sdk(t, func(t *testing.T, c openai.Client, s *simulator.Server) {
		got, err := c.Chat.Completions.New(context.Background(), ask("echo"))
		if err != nil {
			t.Fatal(err)
		}
		if text := got.Choices[0].Message.Content; text != "Say it again, please" || got.Choices[0].FinishReason != "stop" {
			t.Errorf("got %q, finish %q", text, got.Choices[0].FinishReason)
		}
		truth := settled(t, s).Usage
		if got.Usage.PromptTokens != truth.InputTokens() || got.Usage.CompletionTokens != truth.OutputTokens() || truth.OutputTokens() != 4 {
			t.Errorf("usage %d + %d, ledger %v", got.Usage.PromptTokens, got.Usage.CompletionTokens, truth)
		}
	})
}

func TestSDKStream(t *testing.T) {
	t.Parallel()
	sdk(t, func(t *testing.T, c openai.Client, s *simulator.Server) {
		for _, usage := range []bool{false, true} {
			p := ask("chat:tokens=60,pace=1ms,chunk=7,comments,eol=crlf")
			if usage {
				p.StreamOptions.IncludeUsage = openai.Bool(true)
			}
			stream := c.Chat.Completions.NewStreaming(context.Background(), p)
			acc := openai.ChatCompletionAccumulator{}
			for stream.Next() {
				acc.AddChunk(stream.Current())
			}
			if err := stream.Err(); err != nil {
				t.Fatal(err)
			}
			rec := settled(t, s)
			if acc.Choices[0].FinishReason != "stop" || rec.Usage[llm.Output] != 60 || rec.Outcome != simulator.Served {
				t.Errorf("usage %v: finish %q, ledger %+v", usage, acc.Choices[0].FinishReason, rec)
			}
			if told := acc.Usage.CompletionTokens; told != 60 && usage || told != 0 && !usage {
				t.Errorf("usage %v: told %d output tokens", usage, told)
			}
		}
	})
}

func TestSDKTools(t *testing.T) {
	t.Parallel()
	sdk(t, func(t *testing.T, c openai.Client, _ *simulator.Server) {
		p := ask("tools")
		p.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: "weather",
			Parameters: shared.FunctionParameters{
				"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"},
			},
		})}
		first, err := c.Chat.Completions.New(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		calls := first.Choices[0].Message.ToolCalls
		if len(calls) != 1 || calls[0].Function.Name != "weather" || calls[0].ID == "" || first.Choices[0].FinishReason != "tool_calls" {
			t.Fatalf("tool calls %+v, finish %q", calls, first.Choices[0].FinishReason)
		}
		var args struct{ City *string }
		if err := json.Unmarshal([]byte(calls[0].Function.Arguments), &args); err != nil || args.City == nil {
			t.Errorf("arguments %q do not fit the schema: %v", calls[0].Function.Arguments, err)
		}
		p.Messages = append(p.Messages, first.Choices[0].Message.ToParam(), openai.ToolMessage("rain", calls[0].ID))
		second, err := c.Chat.Completions.New(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := second.Choices[0].Message.Content, "The tool said: rain"; got != want {
			t.Errorf("after the tool's result: got %q, want %q", got, want)
		}
	})
}

func TestSDKStructuredOutput(t *testing.T) {
	t.Parallel()
	sdk(t, func(t *testing.T, c openai.Client, _ *simulator.Server) {
		p := ask("json")
		p.ResponseFormat = openai.ChatCompletionNewParamsResponseFormatUnion{
			OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
				Name: "place", Strict: openai.Bool(true),
				Schema: map[string]any{
					"type": "object", "additionalProperties": false, "required": []string{"name", "height"},
					"properties": map[string]any{"name": map[string]any{"type": "string"}, "height": map[string]any{"type": "integer", "minimum": 100}},
				},
			}},
		}
		got, err := c.Chat.Completions.New(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		var place struct {
			Name   string
			Height int
		}
		if err := json.Unmarshal([]byte(got.Choices[0].Message.Content), &place); err != nil || place.Name == "" || place.Height < 100 {
			t.Errorf("got %q (%v), want a name and a height from 100", got.Choices[0].Message.Content, err)
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
			{"chat:status=500", "sk-right", 500, ""},
		} {
			_, err := c.Chat.Completions.New(context.Background(), ask(tt.model), option.WithAPIKey(tt.key))
			var got *openai.Error
			if !errors.As(err, &got) {
				t.Errorf("%s: got %v, want an error of the API", tt.model, err)
				continue
			}
			if got.StatusCode != tt.status || tt.code != "" && got.Code != tt.code || got.Message == "" {
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

func TestSDKBrokenStreams(t *testing.T) {
	t.Parallel()
	sdk(t, func(t *testing.T, c openai.Client, _ *simulator.Server) {
		for _, model := range []string{"chat:fault=cut", "chat:fault=cut-reset", "chat:fault=malformed", "chat:fault=error-event"} {
			stream := c.Chat.Completions.NewStreaming(context.Background(), ask(model))
			pieces := 0
			for stream.Next() {
				pieces++
			}
			if stream.Err() == nil || pieces == 0 {
				t.Errorf("%s: %d pieces, error %v; want some pieces and an error", model, pieces, stream.Err())
			}
			stream.Close()
		}
	})
}

func TestSDKAbort(t *testing.T) {
	t.Parallel()
	sdk(t, func(t *testing.T, c openai.Client, s *simulator.Server) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		p := ask("chat:tokens=1000,pace=5ms")
		p.MaxTokens = param.NewOpt[int64](500)
		stream := c.Chat.Completions.NewStreaming(ctx, p)
		defer stream.Close()
		for range 4 {
			if !stream.Next() {
				t.Fatal(stream.Err())
			}
		}
		left := time.Now()
		cancel()
		for stream.Next() {
		}
		rec := settled(t, s)
		if !errors.Is(stream.Err(), context.Canceled) || rec.Outcome != simulator.ClientGone || rec.Ended.Sub(left) > 2*time.Second {
			t.Errorf("error %v, ledger %+v", stream.Err(), rec)
		}
	})
}
