package simulator_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/shared"

	"weir/internal/llm"
	"weir/internal/simulator"
)

// claude is Anthropic's official client, unmodified but for its address, at a
// simulator reached in both ways.
func claude(t *testing.T, check func(t *testing.T, c anthropic.Client, s *simulator.Server)) {
	t.Helper()
	eachWay(t, "sk-right", func(t *testing.T, s *simulator.Server, base string, rt http.RoundTripper) {
		check(t, anthropic.NewClient(
			option.WithoutEnvironmentDefaults(),
			option.WithBaseURL(base), option.WithAPIKey("sk-right"), option.WithMaxRetries(0),
			option.WithHTTPClient(&http.Client{Transport: rt}),
		), s)
	})
}

func askClaude(model string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: model, MaxTokens: 1000,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Say it again, please"))},
	}
}

// told is the usage that the client read, in the classes that the simulator
// counts.
func told(u *anthropic.Usage) llm.Usage {
	thinking := u.OutputTokensDetails.ThinkingTokens
	return llm.Usage{
		llm.Input: u.InputTokens, llm.CacheRead: u.CacheReadInputTokens, llm.CacheWrite: u.CacheCreationInputTokens,
		llm.Output: u.OutputTokens - thinking, llm.Reasoning: thinking,
	}
}

// streamed reads a stream to its end, and how many pieces it had.
func streamed(t *testing.T, c anthropic.Client, p anthropic.MessageNewParams) (m anthropic.Message, pieces int, err error) {
	t.Helper()
	s := c.Messages.NewStreaming(context.Background(), p)
	defer s.Close()
	for s.Next() {
		if err := m.Accumulate(s.Current()); err != nil {
			t.Errorf("an event does not fit: %v: %s", err, s.Current().RawJSON())
		}
		if s.Current().Type == "content_block_delta" {
			pieces++
		}
	}
	return m, pieces, s.Err()
}

func TestClaudeSDKPlain(t *testing.T) {
	t.Parallel()
	claude(t, func(t *testing.T, c anthropic.Client, s *simulator.Server) {
		p := askClaude("echo:prompt=100,cached=40")
		p.System = []anthropic.TextBlockParam{{Text: "Be brief.", CacheControl: anthropic.NewCacheControlEphemeralParam()}}
		got, err := c.Messages.New(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Content) != 1 || got.Content[0].AsText().Text != "Say it again, please" || got.StopReason != anthropic.StopReasonEndTurn {
			t.Errorf("got %+v, stop %q", got.Content, got.StopReason)
		}
		if got.ID == "" || got.Role != "assistant" || got.Type != "message" || got.Model != "echo:prompt=100,cached=40" {
			t.Errorf("got id %q, role %q, type %q, model %q", got.ID, got.Role, got.Type, got.Model)
		}
		if u, truth := told(&got.Usage), settled(t, s).Usage; u != truth || u[llm.CacheRead] != 40 || u[llm.Output] != 4 {
			t.Errorf("usage %v, ledger %v", u, truth)
		}
	})
}

func TestClaudeSDKStream(t *testing.T) {
	t.Parallel()
	claude(t, func(t *testing.T, c anthropic.Client, s *simulator.Server) {
		p := askClaude("chat:tokens=60,prompt=100,cached=40,pace=1ms,chunk=7,comments")
		m, pieces, err := streamed(t, c, p)
		if err != nil {
			t.Fatal(err)
		}
		rec := settled(t, s)
		if m.StopReason != anthropic.StopReasonEndTurn || len(m.Content) != 1 || pieces != 60 || rec.Outcome != simulator.Served || !rec.EndMarker {
			t.Errorf("stop %q, %d pieces, content %+v, ledger %+v", m.StopReason, pieces, m.Content, rec)
		}
		if u := told(&m.Usage); u != rec.Usage || rec.Reported == nil || u != *rec.Reported {
			t.Errorf("usage %v, ledger %+v", u, rec)
		}
	})
}

// The first event says what went in, so that it is known should the rest not
// come.
func TestClaudeSDKStart(t *testing.T) {
	t.Parallel()
	claude(t, func(t *testing.T, c anthropic.Client, _ *simulator.Server) {
		s := c.Messages.NewStreaming(context.Background(), askClaude("chat:prompt=100,cached=40"))
		defer s.Close()
		if !s.Next() {
			t.Fatal(s.Err())
		}
		start := s.Current().AsMessageStart().Message
		if start.Usage.InputTokens != 60 || start.Usage.CacheReadInputTokens != 40 || start.Usage.OutputTokens != 0 || start.StopReason != "" {
			t.Errorf("the stream begins with %s", s.Current().RawJSON())
		}
	})
}

func TestClaudeSDKLength(t *testing.T) {
	t.Parallel()
	claude(t, func(t *testing.T, c anthropic.Client, _ *simulator.Server) {
		p := askClaude("chat:tokens=60")
		p.MaxTokens = 5
		got, err := c.Messages.New(context.Background(), p)
		if err != nil || got.StopReason != anthropic.StopReasonMaxTokens || got.Usage.OutputTokens != 5 {
			t.Errorf("whole: stop %q, %d tokens, error %v", got.StopReason, got.Usage.OutputTokens, err)
		}
		m, _, err := streamed(t, c, p)
		if err != nil || m.StopReason != anthropic.StopReasonMaxTokens || m.Usage.OutputTokens != 5 {
			t.Errorf("streamed: stop %q, %d tokens, error %v", m.StopReason, m.Usage.OutputTokens, err)
		}
		m, _, err = streamed(t, c, askClaude("chat:fault=content-filter"))
		if err != nil || m.StopReason != anthropic.StopReasonRefusal {
			t.Errorf("filtered: stop %q, error %v", m.StopReason, err)
		}
	})
}

func weatherTool() []anthropic.ToolUnionParam {
	return []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
		Name: "weather", Description: anthropic.String("The weather of a city"),
		InputSchema: anthropic.ToolInputSchemaParam{
			Properties: map[string]any{"city": map[string]any{"type": "string"}}, Required: []string{"city"},
		},
	}}}
}

func TestClaudeSDKTools(t *testing.T) {
	t.Parallel()
	claude(t, func(t *testing.T, c anthropic.Client, _ *simulator.Server) {
		p := askClaude("tools:calls=2")
		p.Tools = weatherTool()
		p.ToolChoice = anthropic.ToolChoiceUnionParam{OfAny: &anthropic.ToolChoiceAnyParam{}}
		whole, err := c.Messages.New(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		acc, _, err := streamed(t, c, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []*anthropic.Message{whole, &acc} {
			if len(m.Content) != 2 || m.StopReason != anthropic.StopReasonToolUse {
				t.Fatalf("got %+v, stop %q", m.Content, m.StopReason)
			}
			var results []anthropic.ContentBlockParamUnion
			for _, b := range m.Content {
				use := b.AsToolUse()
				var input struct{ City *string }
				if err := json.Unmarshal(use.Input, &input); err != nil || input.City == nil || use.Name != "weather" || use.ID == "" {
					t.Errorf("call %+v: input %s, %v", use, use.Input, err)
				}
				results = append(results, anthropic.NewToolResultBlock(use.ID, "rain", false))
			}
			next := p
			next.ToolChoice = anthropic.ToolChoiceUnionParam{}
			next.Messages = append(next.Messages, m.ToParam(), anthropic.NewUserMessage(results...))
			second, err := c.Messages.New(context.Background(), next)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := second.Content[0].AsText().Text, "The tool said: rain"; got != want {
				t.Errorf("after the tool's result: got %q, want %q", got, want)
			}
		}
		p.ToolChoice = anthropic.ToolChoiceUnionParam{OfAuto: &anthropic.ToolChoiceAutoParam{DisableParallelToolUse: anthropic.Bool(true)}}
		if one, err := c.Messages.New(context.Background(), p); err != nil || len(one.Content) != 1 {
			t.Errorf("one call at a time: %+v, %v", one, err)
		}
		p.ToolChoice = anthropic.ToolChoiceUnionParam{OfNone: &anthropic.ToolChoiceNoneParam{}}
		if none, err := c.Messages.New(context.Background(), p); err != nil || none.Content[0].Type != "text" {
			t.Errorf("no call: %+v, %v", none, err)
		}
	})
}

func TestClaudeSDKThinking(t *testing.T) {
	t.Parallel()
	claude(t, func(t *testing.T, c anthropic.Client, s *simulator.Server) {
		p := askClaude("reason")
		p.MaxTokens = 4096
		p.Thinking = anthropic.ThinkingConfigParamOfEnabled(2048)
		whole, err := c.Messages.New(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		acc, _, err := streamed(t, c, p)
		if err != nil {
			t.Fatal(err)
		}
		truth := settled(t, s).Usage
		for _, m := range []*anthropic.Message{whole, &acc} {
			if len(m.Content) != 2 || m.Content[0].AsThinking().Thinking == "" || m.Content[1].AsText().Text == "" {
				t.Fatalf("got %+v", m.Content)
			}
			if u := told(&m.Usage); u != truth || u[llm.Reasoning] != 16 {
				t.Errorf("usage %v, ledger %v", u, truth)
			}
		}
		// What was thought goes back in the next turn.
		p.Messages = append(p.Messages, whole.ToParam(), anthropic.NewUserMessage(anthropic.NewTextBlock("Go on")))
		if _, err := c.Messages.New(context.Background(), p); err != nil {
			t.Error(err)
		}
	})
}

// TestClaudeSDKContent sends every kind of content that the client has.
func TestClaudeSDKContent(t *testing.T) {
	t.Parallel()
	claude(t, func(t *testing.T, c anthropic.Client, s *simulator.Server) {
		p := askClaude("echo")
		p.Messages = []anthropic.MessageParam{anthropic.NewUserMessage(
			anthropic.NewImageBlockBase64("image/png", "AAAA"),
			anthropic.NewImageBlock(anthropic.URLImageSourceParam{URL: "https://example.com/a.png"}),
			anthropic.NewDocumentBlock(anthropic.Base64PDFSourceParam{Data: "JVBERi0="}),
			anthropic.NewDocumentBlock(anthropic.PlainTextSourceParam{Data: "Plain"}),
			anthropic.NewDocumentBlock(anthropic.URLPDFSourceParam{URL: "https://example.com/a.pdf"}),
			anthropic.NewTextBlock("Hi"),
		)}
		p.Tools = append(weatherTool(), anthropic.ToolUnionParam{OfWebSearchTool20250305: &anthropic.WebSearchTool20250305Param{}})
		p.Metadata = anthropic.MetadataParam{UserID: anthropic.String("u-1")}
		p.StopSequences, p.TopK, p.Temperature = []string{"END"}, anthropic.Int(5), anthropic.Float(0.5)
		p.OutputConfig.Effort = anthropic.OutputConfigEffortLow
		p.Thinking = anthropic.ThinkingConfigParamUnion{OfAdaptive: &anthropic.ThinkingConfigAdaptiveParam{}}
		got, err := c.Messages.New(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		if text := got.Content[0].AsText().Text; text != "Hi" || settled(t, s).Usage[llm.Input] < 5*85 {
			t.Errorf("got %q, usage %v", text, settled(t, s).Usage)
		}
	})
}

func TestClaudeSDKErrors(t *testing.T) {
	t.Parallel()
	claude(t, func(t *testing.T, c anthropic.Client, _ *simulator.Server) {
		for _, tt := range []struct {
			model, key string
			status     int
			kind       shared.ErrorType
		}{
			{"chat:fault=context-length", "sk-right", 400, shared.ErrorTypeInvalidRequestError},
			{"chat:fault=quota", "sk-right", 402, shared.ErrorTypeBillingError},
			{"chat", "sk-wrong", 401, shared.ErrorTypeAuthenticationError},
			{"chat:status=403", "sk-right", 403, shared.ErrorTypePermissionError},
			{"claude-haiku-4-5", "sk-right", 404, shared.ErrorTypeNotFoundError},
			{"chat:status=413", "sk-right", 413, "request_too_large"},
			{"chat:status=429", "sk-right", 429, shared.ErrorTypeRateLimitError},
			{"chat:status=500", "sk-right", 500, shared.ErrorTypeAPIError},
			{"chat:status=504", "sk-right", 504, shared.ErrorTypeTimeoutError},
			{"chat:status=529", "sk-right", 529, shared.ErrorTypeOverloadedError},
		} {
			_, err := c.Messages.New(context.Background(), askClaude(tt.model), option.WithAPIKey(tt.key))
			got, ok := errors.AsType[*anthropic.Error](err)
			if !ok {
				t.Errorf("%s: got %v, want an error of the API", tt.model, err)
				continue
			}
			var body struct {
				Type      string
				RequestID string `json:"request_id"`
				Error     struct{ Message string }
			}
			if err := json.Unmarshal([]byte(got.RawJSON()), &body); err != nil || body.Type != "error" || body.RequestID == "" || body.Error.Message == "" {
				t.Errorf("%s: body %s, %v", tt.model, got.RawJSON(), err)
			}
			if got.StatusCode != tt.status || got.Type() != tt.kind {
				t.Errorf("%s: got %d %q, want %d %q", tt.model, got.StatusCode, got.Type(), tt.status, tt.kind)
			}
		}
	})
}

// The client's own retries get past a fault that comes once.
func TestClaudeSDKRetries(t *testing.T) {
	t.Parallel()
	claude(t, func(t *testing.T, c anthropic.Client, s *simulator.Server) {
		for _, model := range []string{"chat:status=529,once", "chat:status=429,retry_after=0,once", "chat:fault=reset,once"} {
			s.Reset()
			if _, err := c.Messages.New(context.Background(), askClaude(model), option.WithMaxRetries(2)); err != nil {
				t.Errorf("%s: %v", model, err)
			}
			if got := s.Ledger().Totals(); got.Requests != 2 || got.Outcomes[simulator.Served] != 1 {
				t.Errorf("%s: ledger says %+v, want one failure and one answer", model, got)
			}
		}
	})
}

func TestClaudeSDKBrokenStreams(t *testing.T) {
	t.Parallel()
	claude(t, func(t *testing.T, c anthropic.Client, _ *simulator.Server) {
		for _, model := range []string{"chat:fault=cut-reset", "chat:fault=malformed", "chat:fault=error-event"} {
			_, pieces, err := streamed(t, c, askClaude(model))
			if err == nil || pieces == 0 {
				t.Errorf("%s: %d pieces, error %v; want some pieces and an error", model, pieces, err)
			}
			if e, ok := errors.AsType[*anthropic.Error](err); model == "chat:fault=error-event" && (!ok || e.Type() != shared.ErrorTypeAPIError) {
				t.Errorf("%s: error %v, want one of the API", model, err)
			}
		}
		// This client takes a stream without its last event for a whole one: the
		// answer has no stop reason all the same.
		for _, model := range []string{"chat:fault=eof", "chat:fault=no-choices"} {
			if m, _, _ := streamed(t, c, askClaude(model)); m.StopReason != "" {
				t.Errorf("%s: stop reason %q, want none", model, m.StopReason)
			}
		}
	})
}

// TestClaudeSDKUsage holds what the ledger says the client was told, where the
// simulator tells its usage wrongly.
func TestClaudeSDKUsage(t *testing.T) {
	t.Parallel()
	claude(t, func(t *testing.T, c anthropic.Client, s *simulator.Server) {
		for _, tt := range []struct {
			variant  string
			output   int64
			reported bool
		}{
			{"missing", 0, false},
			{"none", 0, false},
			{"zero", 0, true},
			{"nodetails", 5, false}, // told, but in other words
			{"over", 1_000_005, true},
			{"twice", 5, true},
			{"decreasing", 5, true},
		} {
			for _, stream := range []bool{false, true} {
				p := askClaude("chat:tokens=5,prompt=9,usage=" + tt.variant)
				var got anthropic.Message
				var err error
				if stream {
					got, _, err = streamed(t, c, p)
				} else if m, fault := c.Messages.New(context.Background(), p); fault == nil {
					got = *m
				} else {
					err = fault
				}
				rec := settled(t, s)
				if err != nil || got.Usage.OutputTokens != tt.output || (rec.Reported != nil) != tt.reported {
					t.Errorf("usage=%s, stream %t: told %d output tokens, error %v, ledger %+v", tt.variant, stream, got.Usage.OutputTokens, err, rec)
				}
			}
		}
	})
}
