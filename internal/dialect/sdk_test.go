package dialect_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"weir/internal/llm"
)

// client API answers every request at OpenAI's client API with a fixed answer.
type clientAPI struct {
	t     *testing.T
	reply *llm.Reply
	err   *llm.Error
	late  bool // the error comes in mid-stream
	got   *llm.Request
}

func (s *clientAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d := byName(s.t, "openai")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	head, err := d.Scan(body, r)
	if err == nil {
		s.got, err = d.DecodeRequest(body)
	}
	if err != nil {
		s.t.Errorf("what the SDK sent: %v: %s", err, body)
		return
	}
	if s.err != nil && !s.late {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(d.Status(s.err.Code))
		_, _ = w.Write(d.EncodeError(nil, s.err, "req-1"))
		return
	}
	if !head.Stream {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(d.EncodeReply(nil, s.reply))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	enc := d.NewEncoder(llm.Meta{ID: s.reply.ID, Created: s.reply.Created, Model: s.reply.Model, IncludeUsage: head.IncludeUsage})
	var out []byte
	for _, ev := range []llm.Event{
		{Kind: llm.EventStart},
		{Kind: llm.EventText, Text: "Hel"},
		{Kind: llm.EventText, Text: "lo"},
		{Kind: llm.EventToolCall, Tool: llm.ToolDelta{ID: "c1", Name: "f"}},
		{Kind: llm.EventToolCall, Text: `{"x":`},
		{Kind: llm.EventToolCall, Text: `1}`},
	} {
		out = enc.Append(out, &ev)
	}
	if s.late {
		out = enc.Fail(out, s.err)
	} else {
		out = enc.Finish(out, &llm.Final{Finish: []llm.FinishReason{llm.FinishToolCalls}, Usage: s.reply.Usage, Reported: true})
	}
	_, _ = w.Write(out)
}

func sdkAnswer() *llm.Reply {
	return &llm.Reply{
		ID: "r1", Created: 1700000000, Model: "openai/gpt", Reported: true,
		Usage: llm.Usage{llm.Input: 4, llm.CacheRead: 6, llm.Output: 3, llm.Reasoning: 2},
		Choices: []llm.Choice{{Finish: llm.FinishToolCalls, Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
			{Kind: llm.PartText, Text: "Hello"},
			{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "c1", Name: "f", Arguments: `{"x":1}`}},
		}}}},
	}
}

func sdkClient(t *testing.T, s *clientAPI) sdk.Client {
	t.Helper()
	s.t = t
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return sdk.NewClient(option.WithBaseURL(srv.URL+"/v1"), option.WithAPIKey("k"), option.WithMaxRetries(0))
}

var sdkParams = sdk.ChatCompletionNewParams{
	Model:               "gpt",
	Messages:            []sdk.ChatCompletionMessageParamUnion{sdk.SystemMessage("Be brief."), sdk.UserMessage("Hi")},
	MaxCompletionTokens: sdk.Int(9),
	Tools: []sdk.ChatCompletionToolUnionParam{sdk.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name: "f", Parameters: shared.FunctionParameters{"type": "object"},
	})},
}

// sdkView is what the official SDK reads of an answer.
type sdkView struct {
	ID, Model, Text, Call, Arguments, Finish string
	Prompt, Completion, Cached, Reasoning    int64
}

func viewOf(c *sdk.ChatCompletion) (v sdkView) {
	v = sdkView{
		ID: c.ID, Model: c.Model, Prompt: c.Usage.PromptTokens, Completion: c.Usage.CompletionTokens,
		Cached: c.Usage.PromptTokensDetails.CachedTokens, Reasoning: c.Usage.CompletionTokensDetails.ReasoningTokens,
	}
	if len(c.Choices) == 1 && len(c.Choices[0].Message.ToolCalls) == 1 {
		m := c.Choices[0].Message
		v.Text, v.Finish = m.Content, c.Choices[0].FinishReason
		v.Call, v.Arguments = m.ToolCalls[0].ID+" "+m.ToolCalls[0].Function.Name, m.ToolCalls[0].Function.Arguments
	}
	return v
}

var sdkWant = sdkView{
	ID: "r1", Model: "openai/gpt", Text: "Hello", Call: "c1 f", Arguments: `{"x":1}`, Finish: "tool_calls",
	Prompt: 10, Completion: 5, Cached: 6, Reasoning: 2,
}

func TestOfficialSDK(t *testing.T) {
	t.Parallel()
	s := &clientAPI{reply: sdkAnswer()}
	client := sdkClient(t, s)
	got, err := client.Chat.Completions.New(context.Background(), sdkParams)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(viewOf(got), sdkWant); diff != "" {
		t.Errorf("whole answer (-got +want)\n%s", diff)
	}
	if len(s.got.Messages) != 2 || s.got.Messages[0].Role != llm.RoleSystem || *s.got.MaxOutput != 9 || s.got.Tools[0].Name != "f" {
		t.Errorf("request as decoded: %+v", s.got)
	}

	params := sdkParams
	params.StreamOptions = sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)}
	stream := client.Chat.Completions.NewStreaming(context.Background(), params)
	var acc sdk.ChatCompletionAccumulator
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			t.Errorf("a chunk does not fit: %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(viewOf(&acc.ChatCompletion), sdkWant); diff != "" {
		t.Errorf("streamed answer (-got +want)\n%s", diff)
	}
}

func TestOfficialSDKErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		code   llm.Code
		status int
		word   string
	}{
		{llm.CodeInvalidRequest, 400, ""},
		{llm.CodeAuthentication, 401, "invalid_api_key"},
		{llm.CodeForbidden, 403, "insufficient_permissions"},
		{llm.CodeModelNotFound, 404, "model_not_found"},
		{llm.CodeRateLimited, 429, "rate_limit_exceeded"},
		{llm.CodeBudgetExceeded, 429, "insufficient_quota"},
		{llm.CodeInternal, 500, "internal_error"},
	}
	for _, tt := range tests {
		client := sdkClient(t, &clientAPI{err: &llm.Error{Code: tt.code, Message: "Why.", Param: "p"}})
		_, err := client.Chat.Completions.New(context.Background(), sdkParams)
		e, ok := errors.AsType[*sdk.Error](err)
		if !ok || e.StatusCode != tt.status || e.Code != tt.word || e.Message != "Why." || e.Param != "p" || e.Type == "" {
			t.Errorf("%s: the SDK raises %v, want status %d and code %q", tt.code, err, tt.status, tt.word)
		}
	}
	client := sdkClient(t, &clientAPI{reply: sdkAnswer(), late: true, err: &llm.Error{Code: llm.CodeProviderError, Message: "Why."}})
	stream := client.Chat.Completions.NewStreaming(context.Background(), sdkParams)
	pieces := 0
	for stream.Next() {
		pieces++
	}
	if stream.Err() == nil || pieces == 0 {
		t.Errorf("an error in mid-stream: %d pieces and error %v, want some and one", pieces, stream.Err())
	}
}
