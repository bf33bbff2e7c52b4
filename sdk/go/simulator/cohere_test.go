package simulator_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	cohere "github.com/cohere-ai/cohere-go/v2"
	"github.com/cohere-ai/cohere-go/v2/option"
	coherev2 "github.com/cohere-ai/cohere-go/v2/v2"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/simulator"
)

// cohereSDK runs a check with Cohere's official client, unmodified except for its address, at a simulator reached in
// both ways.
func cohereSDK(t *testing.T, check func(t *testing.T, c *coherev2.Client, s *simulator.Server)) {
	t.Helper()
	eachWay(t, "co-right", func(t *testing.T, s *simulator.Server, base string, rt http.RoundTripper) {
		check(t, coherev2.NewClient(
			option.WithBaseURL(base), option.WithToken("co-right"), option.WithMaxAttempts(1),
			option.WithHTTPClient(&http.Client{Transport: recut{rt}}),
		), s)
	})
}

// recut returns the bytes of a stream unchanged, but each read ends after a data line: the client treats the end of a
// read as the end of an event, even in the middle of one or at the blank line after it.
type recut struct{ http.RoundTripper }

func (r recut) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.RoundTripper.RoundTrip(req)
	if err == nil && resp.Header.Get("Content-Type") == "text/event-stream" {
		resp.Body = &recutBody{src: resp.Body, lines: bufio.NewReader(resp.Body)}
	}
	return resp, err
}

type recutBody struct {
	src   io.Closer
	lines *bufio.Reader
	rest  []byte
	err   error
}

func (b *recutBody) Read(p []byte) (int, error) {
	for line := []byte(nil); len(b.rest) == 0 && b.err == nil; {
		for b.err == nil && !bytes.HasPrefix(line, []byte("data:")) {
			line, b.err = b.lines.ReadBytes('\n')
			b.rest = append(b.rest, line...)
		}
	}
	if len(b.rest) == 0 {
		return 0, b.err
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *recutBody) Close() error { return b.src.Close() }

func cohereUser(text string) *cohere.ChatMessageV2 {
	return &cohere.ChatMessageV2{Role: "user", User: &cohere.UserMessageV2{Content: &cohere.UserMessageV2Content{String: text}}}
}

func cohereAsk(model string) *cohere.V2ChatRequest {
	return &cohere.V2ChatRequest{Model: model, Messages: cohere.ChatMessages{cohereUser("Say it again, please")}}
}

func TestCohereSDKPlain(t *testing.T) {
	t.Parallel()
	cohereSDK(t, func(t *testing.T, c *coherev2.Client, s *simulator.Server) {
		got := must.Get(c.Chat(context.Background(), cohereAsk("echo")))(t)
		content := got.Message.Content
		if len(content) != 1 || content[0].Text.Text != "Say it again, please" || got.FinishReason != cohere.ChatFinishReasonComplete || got.Id == "" {
			t.Errorf("got %v", got)
		}
		checkCohereUsage(t, got.Usage, settled(t, s))
		if truth := settled(t, s).Usage; truth.OutputTokens() != 4 {
			t.Errorf("ledger %v, want 4 output tokens", truth)
		}
	})
}

func checkCohereUsage(t *testing.T, u *cohere.Usage, rec simulator.Record) {
	t.Helper()
	if u == nil || *u.BilledUnits.InputTokens != float64(rec.Usage.InputTokens()) || *u.BilledUnits.OutputTokens != float64(rec.Usage.OutputTokens()) {
		t.Errorf("usage %v, ledger %v", u, rec.Usage)
	}
}

// cohereAnswer holds the content of a stream of events.
type cohereAnswer struct {
	text, thinking, finish, failure string
	calls                           []cohere.ToolCallV2Function
	usage                           *cohere.Usage
}

func cohereStream(t *testing.T, c *coherev2.Client, r *cohere.V2ChatStreamRequest) (a cohereAnswer) {
	t.Helper()
	stream, err := c.ChatStream(context.Background(), r)
	must.Do(t, err)
	defer stream.Close()
	for {
		ev, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return a
		}
		must.Do(t, err)
		a.add(t, &ev)
	}
}

func (a *cohereAnswer) add(t *testing.T, ev *cohere.V2ChatStreamResponse) {
	t.Helper()
	switch ev.Type {
	case "content-delta":
		content := ev.ContentDelta.Delta.Message.Content
		if content.Text != nil {
			a.text += *content.Text
		}
		if content.Thinking != nil {
			a.thinking += *content.Thinking
		}
	case "tool-call-start":
		call := ev.ToolCallStart.Delta.Message.ToolCalls
		if *call.Id == "" || *ev.ToolCallStart.Index != len(a.calls) {
			t.Errorf("call %v at %d", call, *ev.ToolCallStart.Index)
		}
		a.calls = append(a.calls, cohere.ToolCallV2Function{Name: call.Function.Name, Arguments: new("")})
	case "tool-call-delta":
		*a.calls[*ev.ToolCallDelta.Index].Arguments += *ev.ToolCallDelta.Delta.Message.ToolCalls.Function.Arguments
	case "message-end":
		a.finish, a.usage = string(*ev.MessageEnd.Delta.FinishReason), ev.MessageEnd.Delta.Usage
		if ev.MessageEnd.Delta.Error != nil {
			a.failure = *ev.MessageEnd.Delta.Error
		}
	case "message-start", "content-start", "content-end", "tool-call-end":
	default:
		t.Errorf("an event of type %q", ev.Type)
	}
}

func TestCohereSDKStream(t *testing.T) {
	t.Parallel()
	cohereSDK(t, func(t *testing.T, c *coherev2.Client, s *simulator.Server) {
		a := cohereStream(t, c, &cohere.V2ChatStreamRequest{Model: "reason:tokens=60,reasoning=20,pace=1ms", Messages: cohereAsk("").Messages})
		rec := settled(t, s)
		if a.finish != "COMPLETE" || a.text == "" || a.thinking == "" || rec.Outcome != simulator.Served {
			t.Errorf("got %+v, ledger %+v", a, rec)
		}
		if rec.Usage[llm.Output] != 60 || rec.Usage[llm.Reasoning] != 20 {
			t.Errorf("ledger %v, want 60 words and 20 thoughts", rec.Usage)
		}
		checkCohereUsage(t, a.usage, rec)
	})
}

func cohereTools() []*cohere.ToolV2 {
	return []*cohere.ToolV2{{Type: new("function"), Function: &cohere.ToolV2Function{
		Name: "weather",
		Parameters: map[string]any{
			"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"},
		},
	}}}
}

func TestCohereSDKTools(t *testing.T) {
	t.Parallel()
	cohereSDK(t, func(t *testing.T, c *coherev2.Client, _ *simulator.Server) {
		r := cohereAsk("tools")
		r.Tools, r.StrictTools = cohereTools(), cohere.Bool(true)
		r.ToolChoice = cohere.V2ChatRequestToolChoiceRequired.Ptr()
		first := must.Get(c.Chat(context.Background(), r))(t)
		calls := first.Message.ToolCalls
		if len(calls) != 1 || calls[0].Function.Name == nil || *calls[0].Function.Name != "weather" || *calls[0].Id == "" || first.FinishReason != cohere.ChatFinishReasonToolCall {
			t.Fatalf("tool calls %v, finish %q", calls, first.FinishReason)
		}
		var args struct{ City *string }
		if err := json.Unmarshal([]byte(*calls[0].Function.Arguments), &args); err != nil || args.City == nil {
			t.Errorf("arguments %q do not fit the schema: %v", *calls[0].Function.Arguments, err)
		}
		r.Messages = append(
			r.Messages,
			&cohere.ChatMessageV2{Role: "assistant", Assistant: &cohere.AssistantMessage{ToolCalls: calls, ToolPlan: first.Message.ToolPlan}},
			&cohere.ChatMessageV2{Role: "tool", Tool: &cohere.ToolMessageV2{ToolCallId: *calls[0].Id, Content: &cohere.ToolMessageV2Content{String: "rain"}}},
		)
		second := must.Get(c.Chat(context.Background(), r))(t)
		if got, want := second.Message.Content[0].Text.Text, "The tool said: rain"; got != want {
			t.Errorf("after the tool's result: got %q, want %q", got, want)
		}
	})
}

func TestCohereSDKStreamedTools(t *testing.T) {
	t.Parallel()
	cohereSDK(t, func(t *testing.T, c *coherev2.Client, _ *simulator.Server) {
		a := cohereStream(t, c, &cohere.V2ChatStreamRequest{Model: "tools:calls=2", Messages: cohereAsk("").Messages, Tools: cohereTools()})
		if len(a.calls) != 2 || a.finish != "TOOL_CALL" || a.calls[1].Name == nil || *a.calls[1].Name != "weather" {
			t.Fatalf("got %+v", a)
		}
		for _, call := range a.calls {
			if !strings.Contains(*call.Arguments, `"city":`) || !json.Valid([]byte(*call.Arguments)) {
				t.Errorf("arguments %q", *call.Arguments)
			}
		}
	})
}

func TestCohereSDKStructuredOutput(t *testing.T) {
	t.Parallel()
	cohereSDK(t, func(t *testing.T, c *coherev2.Client, _ *simulator.Server) {
		r := cohereAsk("json")
		r.ResponseFormat = &cohere.ResponseFormatV2{Type: "json_object", JsonObject: &cohere.JsonResponseFormatV2{JsonSchema: map[string]any{
			"type": "object", "required": []string{"name", "height"},
			"properties": map[string]any{"name": map[string]any{"type": "string"}, "height": map[string]any{"type": "integer", "minimum": 100}},
		}}}
		got := must.Get(c.Chat(context.Background(), r))(t)
		var place struct {
			Name   string
			Height int
		}
		text := got.Message.Content[0].Text.Text
		if err := json.Unmarshal([]byte(text), &place); err != nil || place.Name == "" || place.Height < 100 {
			t.Errorf("got %q (%v), want a name and a height from 100", text, err)
		}
	})
}

func TestCohereSDKReasoning(t *testing.T) {
	t.Parallel()
	cohereSDK(t, func(t *testing.T, c *coherev2.Client, s *simulator.Server) {
		r := cohereAsk("reason:reasoning=5")
		r.Thinking = &cohere.Thinking{Type: cohere.ThinkingTypeEnabled, TokenBudget: cohere.Int(100)}
		r.MaxTokens = cohere.Int(8)
		got := must.Get(c.Chat(context.Background(), r))(t)
		content := got.Message.Content
		if len(content) != 2 || content[0].Thinking.Thinking == "" || content[1].Text.Text == "" || got.FinishReason != cohere.ChatFinishReasonMaxTokens {
			t.Errorf("content %v, finish %q", content, got.FinishReason)
		}
		checkCohereUsage(t, got.Usage, settled(t, s))
	})
}

func TestCohereSDKErrors(t *testing.T) {
	t.Parallel()
	cohereSDK(t, func(t *testing.T, c *coherev2.Client, _ *simulator.Server) {
		for _, tt := range []struct {
			model, key string
			is         func(err error) (body any, ok bool)
		}{
			{"chat:fault=context-length", "co-right", func(err error) (any, bool) {
				e, ok := errors.AsType[*cohere.BadRequestError](err)
				return e.Body, ok
			}},
			{"chat", "co-wrong", func(err error) (any, bool) {
				e, ok := errors.AsType[*cohere.UnauthorizedError](err)
				return e.Body, ok
			}},
			{"command-a", "co-right", func(err error) (any, bool) {
				e, ok := errors.AsType[*cohere.NotFoundError](err)
				return e.Body, ok
			}},
			{"chat:status=429", "co-right", func(err error) (any, bool) {
				e, ok := errors.AsType[*cohere.TooManyRequestsError](err)
				return e.Body, ok
			}},
			{"chat:status=500", "co-right", func(err error) (any, bool) {
				e, ok := errors.AsType[*cohere.InternalServerError](err)
				return e.Body, ok
			}},
			{"chat:status=503", "co-right", func(err error) (any, bool) {
				e, ok := errors.AsType[*cohere.ServiceUnavailableError](err)
				return e.Body, ok
			}},
		} {
			_, err := c.Chat(context.Background(), cohereAsk(tt.model), option.WithToken(tt.key))
			if body, ok := tt.is(err); !ok || body.(map[string]any)["message"] == "" || body.(map[string]any)["id"] == "" {
				t.Errorf("%s: got %T %v, want the vendor's own type with a message and an id", tt.model, err, err)
			}
		}
	})
}

func TestCohereSDKErrorInStream(t *testing.T) {
	t.Parallel()
	cohereSDK(t, func(t *testing.T, c *coherev2.Client, _ *simulator.Server) {
		stream, err := c.ChatStream(context.Background(), &cohere.V2ChatStreamRequest{Model: "chat:fault=error-event", Messages: cohereAsk("").Messages})
		must.Do(t, err)
		defer stream.Close()
		var a cohereAnswer
		for {
			ev, err := stream.Recv()
			if err != nil {
				break
			}
			a.add(t, &ev)
		}
		if a.text == "" || a.finish != "ERROR" || a.failure == "" {
			t.Errorf("got %+v, want some text, then the failure", a)
		}
	})
}
