package simulator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/simulator"
)

// bedrockSDK runs a check with Amazon's official client, unmodified except for its address, at a simulator reached in
// both ways.
func bedrockSDK(t *testing.T, attempts int, check func(t *testing.T, c *bedrockruntime.Client, s *simulator.Server)) {
	t.Helper()
	eachWay(t, "", func(t *testing.T, s *simulator.Server, base string, rt http.RoundTripper) {
		check(t, bedrockruntime.New(bedrockruntime.Options{
			Region: "eu-central-1", BaseEndpoint: &base, RetryMaxAttempts: attempts, HTTPClient: &http.Client{Transport: ownBody{rt}},
			Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "secret"}, nil
			}),
		}), s)
	})
}

// ownBody passes the request to rt with a body of its own: the SDK closes its body as soon as the answer begins, which
// costs the connection if the transport has not reached the end of the body by then.
type ownBody struct{ rt http.RoundTripper }

func (o ownBody) RoundTrip(r *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(b))
	return o.rt.RoundTrip(r)
}

func userTurn(blocks ...types.ContentBlock) types.Message {
	return types.Message{Role: types.ConversationRoleUser, Content: blocks}
}

func converse(model string) *bedrockruntime.ConverseInput {
	return &bedrockruntime.ConverseInput{
		ModelId: &model, Messages: []types.Message{userTurn(&types.ContentBlockMemberText{Value: "Say it again, please"})},
	}
}

func converseStream(model string) *bedrockruntime.ConverseStreamInput {
	in := converse(model)
	return &bedrockruntime.ConverseStreamInput{ModelId: in.ModelId, Messages: in.Messages, RequestMetadata: map[string]string{"stream": "yes"}}
}

// bedrockAnswer holds the SDK's reading of a stream.
type bedrockAnswer struct {
	text, reasoning, call, arguments string
	stop                             types.StopReason
	usage                            *types.TokenUsage
	pieces                           int
}

func hear(stream *bedrockruntime.ConverseStreamEventStream) (a bedrockAnswer, err error) {
	defer stream.Close()
	for ev := range stream.Events() {
		switch ev := ev.(type) {
		case *types.ConverseStreamOutputMemberContentBlockStart:
			if start, ok := ev.Value.Start.(*types.ContentBlockStartMemberToolUse); ok {
				a.call += *start.Value.Name
			}
		case *types.ConverseStreamOutputMemberContentBlockDelta:
			a.pieces++
			switch d := ev.Value.Delta.(type) {
			case *types.ContentBlockDeltaMemberText:
				a.text += d.Value
			case *types.ContentBlockDeltaMemberToolUse:
				a.arguments += *d.Value.Input
			case *types.ContentBlockDeltaMemberReasoningContent:
				if text, ok := d.Value.(*types.ReasoningContentBlockDeltaMemberText); ok {
					a.reasoning += text.Value
				}
			}
		case *types.ConverseStreamOutputMemberMessageStop:
			a.stop = ev.Value.StopReason
		case *types.ConverseStreamOutputMemberMetadata:
			a.usage = ev.Value.Usage
		}
	}
	return a, stream.Err()
}

func hearStream(t *testing.T, c *bedrockruntime.Client, in *bedrockruntime.ConverseStreamInput) (bedrockAnswer, error) {
	t.Helper()
	out := must.Get(c.ConverseStream(t.Context(), in))(t)
	return hear(out.GetStream())
}

func blocksOf(out *bedrockruntime.ConverseOutput) []types.ContentBlock {
	return out.Output.(*types.ConverseOutputMemberMessage).Value.Content
}

func TestBedrockSDKPlain(t *testing.T) {
	t.Parallel()
	bedrockSDK(t, 1, func(t *testing.T, c *bedrockruntime.Client, s *simulator.Server) {
		got := must.Get(c.Converse(t.Context(), converse("echo:cached=2")))(t)
		text := blocksOf(got)[0].(*types.ContentBlockMemberText).Value
		truth := settled(t, s).Usage
		if text != "Say it again, please" || got.StopReason != types.StopReasonEndTurn || int64(*got.Usage.TotalTokens) != truth.TotalTokens() ||
			int64(*got.Usage.CacheReadInputTokens) != 2 || int64(*got.Usage.InputTokens) != truth[llm.Input] {
			t.Errorf("got %q, stop %s, usage %+v, ledger %v", text, got.StopReason, got.Usage, truth)
		}
	})
}

func TestBedrockSDKStream(t *testing.T) {
	t.Parallel()
	bedrockSDK(t, 1, func(t *testing.T, c *bedrockruntime.Client, s *simulator.Server) {
		in := converseStream("chat:tokens=60,pace=1ms,chunk=7")
		in.InferenceConfig = &types.InferenceConfiguration{MaxTokens: aws.Int32(40)}
		got := must.Get(hearStream(t, c, in))(t)
		rec := settled(t, s)
		if got.stop != types.StopReasonMaxTokens || got.usage == nil || *got.usage.OutputTokens != 40 || got.pieces != 40 || rec.Usage[llm.Output] != 40 || !rec.Stream {
			t.Errorf("got %+v, ledger %+v", got, rec)
		}
	})
}

func TestBedrockSDKReasoning(t *testing.T) {
	t.Parallel()
	bedrockSDK(t, 1, func(t *testing.T, c *bedrockruntime.Client, _ *simulator.Server) {
		whole := must.Get(c.Converse(t.Context(), converse("reason")))(t)
		blocks := blocksOf(whole)
		thought, ok := blocks[0].(*types.ContentBlockMemberReasoningContent)
		if !ok || len(blocks) != 2 {
			t.Fatalf("blocks %+v, want thinking and words", blocks)
		}
		got, err := hearStream(t, c, converseStream("reason"))
		want := *thought.Value.(*types.ReasoningContentBlockMemberReasoningText).Value.Text
		if err != nil || got.reasoning == "" || got.text == "" || want == "" {
			t.Errorf("got %+v, %v, whole %q", got, err, want)
		}
	})
}

// weather returns the only tool of these tests.
func weather() *types.ToolConfiguration {
	return &types.ToolConfiguration{Tools: []types.Tool{&types.ToolMemberToolSpec{Value: types.ToolSpecification{
		Name: aws.String("weather"),
		InputSchema: &types.ToolInputSchemaMemberJson{Value: document.NewLazyDocument(map[string]any{
			"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"},
		})},
	}}}}
}

func TestBedrockSDKTools(t *testing.T) {
	t.Parallel()
	bedrockSDK(t, 1, func(t *testing.T, c *bedrockruntime.Client, _ *simulator.Server) {
		in := converse("tools")
		in.ToolConfig = weather()
		first := must.Get(c.Converse(t.Context(), in))(t)
		call, ok := blocksOf(first)[0].(*types.ContentBlockMemberToolUse)
		if !ok || *call.Value.Name != "weather" || *call.Value.ToolUseId == "" || first.StopReason != types.StopReasonToolUse {
			t.Fatalf("blocks %+v, stop %s", blocksOf(first), first.StopReason)
		}
		var args struct{ City *string }
		if err := call.Value.Input.UnmarshalSmithyDocument(&args); err != nil {
			t.Error(err)
		}
		in.Messages = append(in.Messages, first.Output.(*types.ConverseOutputMemberMessage).Value,
			userTurn(&types.ContentBlockMemberToolResult{Value: types.ToolResultBlock{
				ToolUseId: call.Value.ToolUseId, Content: []types.ToolResultContentBlock{&types.ToolResultContentBlockMemberText{Value: "rain"}},
			}}))
		second := must.Get(c.Converse(t.Context(), in))(t)
		if got, want := blocksOf(second)[0].(*types.ContentBlockMemberText).Value, "The tool said: rain"; got != want {
			t.Errorf("after the tool's result: got %q, want %q", got, want)
		}
		streamed := converseStream("tools")
		streamed.ToolConfig = weather()
		got, err := hearStream(t, c, streamed)
		if err != nil || got.call != "weather" || got.stop != types.StopReasonToolUse || json.Unmarshal([]byte(got.arguments), &args) != nil || args.City == nil {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestBedrockSDKStructuredOutput(t *testing.T) {
	t.Parallel()
	bedrockSDK(t, 1, func(t *testing.T, c *bedrockruntime.Client, _ *simulator.Server) {
		in := converse("json")
		const schema = `{"type":"object","additionalProperties":false,"required":["name","height"],"properties":{"name":{"type":"string"},"height":{"type":"integer","minimum":100}}}`
		in.OutputConfig = &types.OutputConfig{TextFormat: &types.OutputFormat{
			Type:      types.OutputFormatTypeJsonSchema,
			Structure: &types.OutputFormatStructureMemberJsonSchema{Value: types.JsonSchemaDefinition{Schema: aws.String(schema)}},
		}}
		got := must.Get(c.Converse(t.Context(), in))(t)
		var place struct {
			Name   string
			Height int
		}
		text := blocksOf(got)[0].(*types.ContentBlockMemberText).Value
		if err := json.Unmarshal([]byte(text), &place); err != nil || place.Name == "" || place.Height < 100 {
			t.Errorf("got %q (%v), want a name and a height from 100", text, err)
		}
	})
}

func TestBedrockSDKErrors(t *testing.T) {
	t.Parallel()
	bedrockSDK(t, 1, func(t *testing.T, c *bedrockruntime.Client, _ *simulator.Server) {
		for model, want := range map[string]string{
			"chat:fault=context-length": "ValidationException",
			"gpt-5":                     "ResourceNotFoundException",
			"chat:status=429":           "ThrottlingException",
			"chat:status=500":           "InternalServerException",
			"chat:status=503":           "ServiceUnavailableException",
			"chat:fault=quota":          "ServiceQuotaExceededException",
		} {
			_, whole := c.Converse(t.Context(), converse(model))
			_, streamed := c.ConverseStream(t.Context(), converseStream(model))
			for _, err := range []error{whole, streamed} {
				var got interface {
					ErrorCode() string
					ErrorMessage() string
				}
				if !errors.As(err, &got) || !strings.HasPrefix(got.ErrorCode(), want) || got.ErrorMessage() == "" {
					t.Errorf("%s: got %v, want %s", model, err, want)
				}
			}
		}
	})
}

// TestBedrockSDKRetries checks that the client's own retries succeed after a single fault.
func TestBedrockSDKRetries(t *testing.T) {
	t.Parallel()
	bedrockSDK(t, 3, func(t *testing.T, c *bedrockruntime.Client, s *simulator.Server) {
		must.Get(c.Converse(t.Context(), converse("chat:status=503,once")))(t)
		if got := s.Ledger().Totals(); got.Requests != 2 || got.Outcomes[simulator.Served] != 1 {
			t.Errorf("the records are %+v, want one failure and one answer", got)
		}
	})
}

func TestBedrockSDKBrokenStreams(t *testing.T) {
	t.Parallel()
	bedrockSDK(t, 1, func(t *testing.T, c *bedrockruntime.Client, _ *simulator.Server) {
		// The SDK reads a stream that ends in the middle of a frame as ended: only the stop reason is missing.
		for model, raises := range map[string]bool{"chat:fault=cut": false, "chat:fault=cut-reset": true, "chat:fault=error-event": true} {
			got, err := hearStream(t, c, converseStream(model))
			if err == nil && raises || got.pieces == 0 || got.stop != "" || got.usage != nil {
				t.Errorf("%s: %+v, error %v; want some pieces and no end", model, got, err)
			}
		}
	})
}

func TestBedrockSDKAbort(t *testing.T) {
	t.Parallel()
	bedrockSDK(t, 1, func(t *testing.T, c *bedrockruntime.Client, s *simulator.Server) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		out := must.Get(c.ConverseStream(ctx, converseStream("chat:tokens=1000,pace=5ms")))(t)
		stream := out.GetStream()
		defer stream.Close()
		for range 4 {
			<-stream.Events()
		}
		cancel()
		if rec := settled(t, s); rec.Outcome != simulator.ClientGone {
			t.Errorf("ledger %+v", rec)
		}
	})
}
