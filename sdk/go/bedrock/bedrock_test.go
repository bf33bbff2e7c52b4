// Package bedrock_test tests the codec of Amazon Bedrock with Amazon's SDK for Go.
package bedrock_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/google/go-cmp/cmp"

	"weir/internal/dialect/bedrock"
	"weir/internal/dialect/bedrock/bedrocktest"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/must"
)

// client API answers every request with a fixed answer.
type clientAPI struct {
	t      *testing.T
	reply  *llm.Reply
	events []llm.Event
	err    *llm.Error
	late   bool // the error arrives in mid-stream
	head   llm.Head
	got    *llm.Request
}

func (s *clientAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		s.head, err = bedrocktest.Scan(body, r)
	}
	if err == nil {
		s.got, err = bedrocktest.DecodeRequest(body)
	}
	if err != nil {
		s.t.Errorf("the SDK's request: %v: %s", err, body)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case s.err != nil && !s.late:
		w.WriteHeader(registrytest.All().Named(bedrock.Name).Status(s.err.Code))
		_, _ = w.Write(bedrocktest.EncodeError(nil, s.err, "req-1"))
	case s.head.Stream:
		w.Header().Set("Content-Type", bedrock.ContentType)
		_, _ = w.Write(s.stream())
	default:
		_, _ = w.Write(bedrocktest.EncodeReply(nil, s.reply))
	}
}

func (s *clientAPI) stream() (out []byte) {
	enc := bedrocktest.NewEncoder(llm.Meta{IncludeUsage: s.head.IncludeUsage})
	for i := range s.events {
		out = enc.Append(out, &s.events[i])
	}
	if s.late {
		return enc.Fail(out, s.err)
	}
	return enc.Finish(out, &llm.Final{Finish: []llm.FinishReason{s.reply.Choices[0].Finish}, Usage: s.reply.Usage, Reported: true})
}

func client(t *testing.T, s *clientAPI) *sdk.Client {
	t.Helper()
	s.t = t
	mux := http.NewServeMux()
	mux.Handle("POST /model/{target...}", s)
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return sdk.New(sdk.Options{
		Region: "eu-central-1", BaseEndpoint: &srv.URL, RetryMaxAttempts: 1, HTTPClient: &http.Client{Transport: ownBody{srv.Client().Transport}},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "secret"}, nil
		}),
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

const model = "arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0"

// everything returns a request with all types of the SDK.
func everything() *sdk.ConverseInput {
	user := func(blocks ...types.ContentBlock) types.Message {
		return types.Message{Role: types.ConversationRoleUser, Content: blocks}
	}
	text := func(s string) types.ContentBlock { return &types.ContentBlockMemberText{Value: s} }
	return &sdk.ConverseInput{
		ModelId: aws.String(model),
		System: []types.SystemContentBlock{
			&types.SystemContentBlockMemberText{Value: "Be brief."},
			&types.SystemContentBlockMemberCachePoint{Value: types.CachePointBlock{Type: types.CachePointTypeDefault, Ttl: types.CacheTTLOneHour}},
		},
		Messages: []types.Message{
			user(text("See"),
				&types.ContentBlockMemberImage{Value: types.ImageBlock{Format: types.ImageFormatPng, Source: &types.ImageSourceMemberBytes{Value: []byte("png")}}},
				&types.ContentBlockMemberDocument{Value: types.DocumentBlock{
					Format: types.DocumentFormatTxt, Name: aws.String("facts"),
					Source: &types.DocumentSourceMemberText{Value: "Rain."}, Citations: &types.CitationsConfig{Enabled: aws.Bool(true)},
				}},
			),
			{Role: types.ConversationRoleAssistant, Content: []types.ContentBlock{
				&types.ContentBlockMemberReasoningContent{Value: &types.ReasoningContentBlockMemberReasoningText{Value: types.ReasoningTextBlock{Text: aws.String("Hm."), Signature: aws.String("sig")}}},
				&types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{ToolUseId: aws.String("t1"), Name: aws.String("f"), Input: document.NewLazyDocument(map[string]any{"x": 1})}},
			}},
			user(&types.ContentBlockMemberToolResult{Value: types.ToolResultBlock{
				ToolUseId: aws.String("t1"), Status: types.ToolResultStatusError,
				Content: []types.ToolResultContentBlock{
					&types.ToolResultContentBlockMemberText{Value: "no"},
					&types.ToolResultContentBlockMemberJson{Value: document.NewLazyDocument(map[string]any{"a": true})},
				},
			}}, text("And now?")),
		},
		InferenceConfig: &types.InferenceConfiguration{MaxTokens: aws.Int32(9), Temperature: aws.Float32(0.5), TopP: aws.Float32(1), StopSequences: []string{"END"}},
		ToolConfig: &types.ToolConfiguration{
			Tools: []types.Tool{&types.ToolMemberToolSpec{Value: types.ToolSpecification{
				Name: aws.String("f"), Description: aws.String("d"), Strict: aws.Bool(true),
				InputSchema: &types.ToolInputSchemaMemberJson{Value: document.NewLazyDocument(map[string]any{"type": "object"})},
			}}},
			ToolChoice: &types.ToolChoiceMemberTool{Value: types.SpecificToolChoice{Name: aws.String("f")}},
		},
		OutputConfig: &types.OutputConfig{TextFormat: &types.OutputFormat{
			Type:      types.OutputFormatTypeJsonSchema,
			Structure: &types.OutputFormatStructureMemberJsonSchema{Value: types.JsonSchemaDefinition{Schema: aws.String(`{"type":"object"}`), Name: aws.String("n")}},
		}},
		AdditionalModelRequestFields: document.NewLazyDocument(map[string]any{"top_k": 5}),
		RequestMetadata:              map[string]string{"team": "a"},
		ServiceTier:                  &types.ServiceTier{Type: types.ServiceTierTypeFlex},
	}
}

func TestSDKRequest(t *testing.T) {
	t.Parallel()
	s := &clientAPI{reply: &llm.Reply{Choices: []llm.Choice{{Finish: llm.FinishStop}}}}
	must.Get(client(t, s).Converse(t.Context(), everything()))(t)
	if diff := cmp.Diff(s.head.Model, model); diff != "" || s.head.MaxOutput != 9 || s.head.Stream {
		t.Errorf("head %+v (-got +want)\n%s", s.head, diff)
	}
	got, _, err := bedrock.EncodeRequest(s.got, nil)
	must.Do(t, err)
	const want = `{"system":[{"text":"Be brief."},{"cachePoint":{"type":"default","ttl":"1h"}}],"messages":[` +
		`{"role":"user","content":[{"text":"See"},{"image":{"format":"png","source":{"bytes":"cG5n"}}},{"document":{"citations":{"enabled":true},"format":"txt","name":"facts","source":{"text":"Rain."}}}]},` +
		`{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"sig"}}},{"toolUse":{"toolUseId":"t1","name":"f","input":{"x":1}}}]},` +
		`{"role":"user","content":[{"toolResult":{"toolUseId":"t1","content":[{"text":"no"},{"json":{"a":true}}],"status":"error"}},{"text":"And now?"}]}],` +
		`"toolConfig":{"tools":[{"toolSpec":{"name":"f","description":"d","inputSchema":{"json":{"type":"object"}},"strict":true}}],"toolChoice":{"tool":{"name":"f"}}},` +
		`"inferenceConfig":{"maxTokens":9,"temperature":0.5,"topP":1,"stopSequences":["END"]},"additionalModelRequestFields":{"top_k":5},` +
		`"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":"{\"type\":\"object\"}","name":"n"}}}},` +
		`"requestMetadata":{"team":"a"},"serviceTier":{"type":"flex"}}`
	must.Equal(t, string(got), want, "the SDK's decoded request")
}

// view holds the official SDK's reading of an answer.
type view struct {
	Text, Reasoning, Signature, Redacted string
	Call, Arguments                      string
	Stop                                 types.StopReason
	Input, Output, Total, Read, Written  int32
	Hour                                 int32
}

var wanted = view{
	Text: "Hello", Reasoning: "Hm.", Signature: "sig", Redacted: "enc", Call: "t1 f", Arguments: `{"x":1}`, Stop: types.StopReasonToolUse,
	Input: 4, Output: 5, Total: 18, Read: 6, Written: 3, Hour: 1,
}

func answer() *clientAPI {
	return &clientAPI{
		reply: &llm.Reply{
			Reported: true, Tier: "flex",
			Usage: llm.Usage{llm.Input: 4, llm.CacheRead: 6, llm.CacheWrite: 2, llm.CacheWrite1h: 1, llm.Output: 3, llm.Reasoning: 2},
			Choices: []llm.Choice{{Finish: llm.FinishToolCalls, Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
				{Kind: llm.PartReasoning, Text: "Hm.", Signature: "sig"},
				{Kind: llm.PartReasoning, Redacted: "ZW5j"},
				{Kind: llm.PartText, Text: "Hello"},
				{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "t1", Name: "f", Arguments: `{"x":1}`}},
			}}}},
		},
		events: []llm.Event{
			{Kind: llm.EventStart},
			{Kind: llm.EventReasoning, Text: "Hm"},
			{Kind: llm.EventReasoning, Text: "."},
			{Kind: llm.EventReasoning, Signature: "sig"},
			{Kind: llm.EventReasoning, Redacted: "ZW5j"},
			{Kind: llm.EventText, Text: "Hel"},
			{Kind: llm.EventText, Text: "lo"},
			{Kind: llm.EventToolCall, Tool: llm.ToolDelta{ID: "t1", Name: "f"}},
			{Kind: llm.EventToolCall, Text: `{"x":`},
			{Kind: llm.EventToolCall, Text: `1}`},
		},
	}
}

func (v *view) usage(u *types.TokenUsage) {
	if u == nil {
		return
	}
	v.Input, v.Output, v.Total = *u.InputTokens, *u.OutputTokens, *u.TotalTokens
	v.Read, v.Written = *u.CacheReadInputTokens, *u.CacheWriteInputTokens
	for _, d := range u.CacheDetails {
		if d.Ttl == types.CacheTTLOneHour {
			v.Hour = *d.InputTokens
		}
	}
}

func TestSDKReply(t *testing.T) {
	t.Parallel()
	got, err := client(t, answer()).Converse(t.Context(), everything())
	must.Do(t, err)
	v := view{Stop: got.StopReason}
	v.usage(got.Usage)
	for _, b := range got.Output.(*types.ConverseOutputMemberMessage).Value.Content {
		switch b := b.(type) {
		case *types.ContentBlockMemberText:
			v.Text += b.Value
		case *types.ContentBlockMemberToolUse:
			v.Call += *b.Value.ToolUseId + " " + *b.Value.Name
			input, err := b.Value.Input.MarshalSmithyDocument()
			if err != nil {
				t.Error(err)
			}
			v.Arguments += string(input)
		case *types.ContentBlockMemberReasoningContent:
			switch r := b.Value.(type) {
			case *types.ReasoningContentBlockMemberReasoningText:
				v.Reasoning, v.Signature = *r.Value.Text, *r.Value.Signature
			case *types.ReasoningContentBlockMemberRedactedContent:
				v.Redacted = string(r.Value)
			}
		default:
			t.Errorf("a block that the SDK does not know: %T", b)
		}
	}
	if diff := cmp.Diff(v, wanted); diff != "" || got.ServiceTier.Type != types.ServiceTierTypeFlex || got.Metrics == nil {
		t.Errorf("tier %v (-got +want)\n%s", got.ServiceTier, diff)
	}
}

// streamInput returns everything for a stream.
func streamInput() *sdk.ConverseStreamInput {
	in := everything()
	return &sdk.ConverseStreamInput{ModelId: in.ModelId, System: in.System, Messages: in.Messages, ToolConfig: in.ToolConfig, InferenceConfig: in.InferenceConfig}
}

// accumulate reads a stream to its end.
func accumulate(t *testing.T, c *sdk.Client) (v view, err error) {
	t.Helper()
	out, err := c.ConverseStream(t.Context(), streamInput())
	if err != nil {
		return v, err
	}
	stream := out.GetStream()
	defer stream.Close()
	for ev := range stream.Events() {
		switch ev := ev.(type) {
		case *types.ConverseStreamOutputMemberMessageStart:
			if ev.Value.Role != types.ConversationRoleAssistant {
				t.Errorf("role %q", ev.Value.Role)
			}
		case *types.ConverseStreamOutputMemberContentBlockStart:
			if start, ok := ev.Value.Start.(*types.ContentBlockStartMemberToolUse); ok {
				v.Call += *start.Value.ToolUseId + " " + *start.Value.Name
			}
		case *types.ConverseStreamOutputMemberContentBlockDelta:
			v.delta(t, ev.Value.Delta)
		case *types.ConverseStreamOutputMemberContentBlockStop:
		case *types.ConverseStreamOutputMemberMessageStop:
			v.Stop = ev.Value.StopReason
		case *types.ConverseStreamOutputMemberMetadata:
			v.usage(ev.Value.Usage)
		default:
			t.Errorf("an event that the SDK does not know: %T", ev)
		}
	}
	return v, stream.Err()
}

func (v *view) delta(t *testing.T, d types.ContentBlockDelta) {
	t.Helper()
	switch d := d.(type) {
	case *types.ContentBlockDeltaMemberText:
		v.Text += d.Value
	case *types.ContentBlockDeltaMemberToolUse:
		v.Arguments += *d.Value.Input
	case *types.ContentBlockDeltaMemberReasoningContent:
		switch r := d.Value.(type) {
		case *types.ReasoningContentBlockDeltaMemberText:
			v.Reasoning += r.Value
		case *types.ReasoningContentBlockDeltaMemberSignature:
			v.Signature += r.Value
		case *types.ReasoningContentBlockDeltaMemberRedactedContent:
			v.Redacted += string(r.Value)
		}
	default:
		t.Errorf("a delta that the SDK does not know: %T", d)
	}
}

func TestSDKStream(t *testing.T) {
	t.Parallel()
	got := must.Get(accumulate(t, client(t, answer())))(t)
	must.Equal(t, got, wanted, "the SDK's reading of the stream")
}
