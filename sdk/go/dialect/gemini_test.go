// Package dialect_test tests codecs with the vendors' SDKs for Go.
package dialect_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"weir/internal/dialect"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/must"
)

// geminiServer answers at Gemini's routes with a fixed answer, and records its requests.
func geminiServer(t *testing.T, answer *llm.Reply, failure *llm.Error) (*genai.Client, *[]*llm.Request) {
	t.Helper()
	all, asked := registrytest.All(), &[]*llm.Request{}
	d := all[slices.IndexFunc(all, func(d *dialect.Dialect) bool { return d.Name == "gemini" })]
	mux := http.NewServeMux()
	for _, route := range d.Routes {
		mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			head, err := d.Scan(body, r)
			if err == nil {
				var request *llm.Request
				request, err = d.DecodeRequest(body)
				*asked = append(*asked, request)
			}
			if err == nil && failure != nil {
				err = failure
			}
			if err != nil {
				e := llm.AsError(err)
				w.WriteHeader(d.Status(e.Code))
				_, _ = w.Write(d.EncodeError(nil, e, "req-1"))
				return
			}
			if !head.Stream {
				_, _ = w.Write(d.EncodeReply(nil, answer))
				return
			}
			w.Header().Set("Content-Type", d.Framing.ContentType)
			_, _ = w.Write(streamed(d, answer))
		})
	}
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	client, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: "k", HTTPClient: srv.Client(), HTTPOptions: genai.HTTPOptions{BaseURL: srv.URL},
	})
	must.Do(t, err)
	return client, asked
}

// streamed encodes a whole answer as a stream.
func streamed(d *dialect.Dialect, r *llm.Reply) (out []byte) {
	enc := d.NewEncoder(llm.Meta{ID: r.ID, Model: r.Model})
	calls := 0
	for i := range r.Choices[0].Message.Parts {
		p := &r.Choices[0].Message.Parts[i]
		ev := llm.Event{Kind: llm.EventText, Text: p.Text, Signature: p.Signature}
		if p.Kind == llm.PartReasoning {
			ev.Kind = llm.EventReasoning
		}
		if p.Call != nil {
			ev.Kind, ev.Text, ev.Tool = llm.EventToolCall, p.Call.Arguments, llm.ToolDelta{Index: calls, ID: p.Call.ID, Name: p.Call.Name}
			calls++
		}
		out = enc.Append(out, &ev)
	}
	return enc.Finish(out, &llm.Final{Finish: []llm.FinishReason{r.Choices[0].Finish}, Usage: r.Usage, Reported: r.Reported, Attempts: 1})
}

// TestGeminiSDKSignatures checks that Google's own client stores the signatures, and returns them unchanged.
func TestGeminiSDKSignatures(t *testing.T) {
	t.Parallel()
	answer := &llm.Reply{
		ID: "r1", Model: "gemini-x", Created: 1700000000, Reported: true,
		Usage: llm.Usage{llm.Input: 4, llm.CacheRead: 6, llm.AudioIn: 5, llm.Output: 3, llm.Reasoning: 2},
		Choices: []llm.Choice{{Finish: llm.FinishToolCalls, Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
			{Kind: llm.PartReasoning, Text: "Hm.", Signature: "QUJD", Maker: "gemini"},
			{Kind: llm.PartText, Text: "Let me look.", Signature: "REVG", Maker: "gemini"},
			{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "x7", Name: "f", Arguments: `{"a":1}`}, Signature: "R0hJ", Maker: "gemini"},
			{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "x8", Name: "f", Arguments: `{}`}},
		}}}},
	}
	client, asked := geminiServer(t, answer, nil)
	for _, stream := range []bool{false, true} {
		chat, err := client.Chats.Create(context.Background(), "gemini-x", nil, nil)
		must.Do(t, err)
		var usage *genai.GenerateContentResponseUsageMetadata
		if stream {
			for r, err := range chat.SendStream(context.Background(), genai.NewPartFromText("Hi")) {
				must.Do(t, err)
				usage = r.UsageMetadata
			}
		} else {
			r := must.Get(chat.Send(context.Background(), genai.NewPartFromText("Hi")))(t)
			usage = r.UsageMetadata
		}
		if usage.PromptTokenCount != 15 || usage.CachedContentTokenCount != 6 || usage.CandidatesTokenCount != 3 || usage.ThoughtsTokenCount != 2 || usage.TotalTokenCount != 20 {
			t.Errorf("stream %t: usage %+v", stream, usage)
		}
		must.Get(chat.Send(context.Background(), genai.NewPartFromFunctionResponse("f", map[string]any{"output": "fine"})))(t)
		var got []llm.Part
		for _, m := range (*asked)[len(*asked)-1].Messages {
			if m.Role == llm.RoleAssistant {
				got = append(got, m.Parts...)
			}
		}
		must.Equal(t, got, answer.Choices[0].Message.Parts, "stream %t: the returned parts", stream)
	}
}

func TestGeminiSDKErrorDetails(t *testing.T) {
	t.Parallel()
	client, _ := geminiServer(t, nil, &llm.Error{Code: llm.CodeRateLimited, Message: "Why.", Param: "contents[0]", RetryAfter: 1500 * time.Millisecond})
	_, err := client.Models.GenerateContent(context.Background(), "gemini-x", genai.Text("Hi"), nil)
	got, ok := errors.AsType[genai.APIError](err)
	want := genai.APIError{Code: 429, Message: "Why.", Status: "RESOURCE_EXHAUSTED", Details: []map[string]any{
		{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "RATE_LIMITED", "domain": "weir"},
		{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": []any{map[string]any{"field": "contents[0]", "description": "Why."}}},
		{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2s"},
		{"@type": "type.googleapis.com/google.rpc.RequestInfo", "requestId": "req-1"},
	}}
	if diff := cmp.Diff(got, want); !ok || diff != "" {
		t.Errorf("%v (-got +want)\n%s", err, diff)
	}
}
