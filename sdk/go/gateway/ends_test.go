package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"

	"weir/internal/e2e/harness"
)

// callsBy requests a stream with a vendor's SDK, and returns the arguments of the calls in it by the names of their
// tools.
var callsBy = map[string]func(t *testing.T, h *harness.Gateway, model string) (map[string]string, error){
	"openai": func(t *testing.T, h *harness.Gateway, model string) (map[string]string, error) {
		c := openai.NewClient(option.WithBaseURL(h.URL+"/v1"), option.WithAPIKey(h.Key), option.WithMaxRetries(0))
		s := c.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{
			Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(question)},
		})
		var acc openai.ChatCompletionAccumulator
		for s.Next() {
			acc.AddChunk(s.Current())
		}
		got := map[string]string{}
		if s.Err() == nil {
			for _, call := range acc.Choices[0].Message.ToolCalls {
				got[call.Function.Name] = call.Function.Arguments
			}
		}
		return got, s.Err()
	},
	"responses": func(t *testing.T, h *harness.Gateway, model string) (map[string]string, error) {
		c := openai.NewClient(option.WithBaseURL(h.URL+"/v1"), option.WithAPIKey(h.Key), option.WithMaxRetries(0))
		s := c.Responses.NewStreaming(t.Context(), responses.ResponseNewParams{
			Model: model, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(question)},
		})
		got := map[string]string{}
		for s.Next() {
			if e := s.Current(); e.Type == "response.output_item.done" && e.Item.Type == "function_call" {
				call := e.Item.AsFunctionCall()
				got[call.Name] = call.Arguments
			}
		}
		return got, s.Err()
	},
	"anthropic": func(t *testing.T, h *harness.Gateway, model string) (map[string]string, error) {
		c := anthropic.NewClient(anthropicoption.WithBaseURL(h.URL), anthropicoption.WithAPIKey(h.Key), anthropicoption.WithMaxRetries(0))
		s := c.Messages.NewStreaming(t.Context(), anthropic.MessageNewParams{
			Model: anthropic.Model(model), MaxTokens: 100,
			Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(question))},
		})
		var message anthropic.Message
		for s.Next() {
			if err := message.Accumulate(s.Current()); err != nil {
				return nil, err
			}
		}
		got := map[string]string{}
		for _, block := range message.Content {
			if call, ok := block.AsAny().(anthropic.ToolUseBlock); ok {
				got[call.Name] = string(call.Input)
			}
		}
		return got, s.Err()
	},
	"gemini": func(t *testing.T, h *harness.Gateway, model string) (map[string]string, error) {
		c, err := geminiClient(sdkCall{ctx: t.Context(), url: h.URL, key: h.Key, client: h.Client})
		if err != nil {
			return nil, err
		}
		got := map[string]string{}
		for chunk, err := range c.Models.GenerateContentStream(t.Context(), model, genai.Text(question), nil) {
			if err != nil {
				return got, err
			}
			for _, call := range chunk.FunctionCalls() {
				arguments, _ := json.Marshal(call.Args)
				got[call.Name] = string(arguments)
			}
		}
		return got, nil
	},
}

// ending is a provider of OpenAI's format that interleaves calls of f and g, or calls f before it sends the name, and
// ends as the model's name says.
func ending(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	is := func(name string) bool { return strings.Contains(string(body), `"model":"`+name) }
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta, finish string) {
		_, _ = fmt.Fprintf(w, `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{%s},"finish_reason":%s}]}`+"\n\n", delta, finish)
		_ = http.NewResponseController(w).Flush()
	}
	call := func(members string) { send(`"role":"assistant","tool_calls":[{`+members+`}]`, "null") }
	if is("late") {
		call(`"index":0,"id":"t0","type":"function","function":{"arguments":"{\"a\""}`)
		call(`"index":0,"function":{"name":"f","arguments":":\"1\"}"}`)
	} else {
		call(`"index":0,"id":"t0","type":"function","function":{"name":"f","arguments":"{\"a\""}`)
		call(`"index":1,"id":"t1","type":"function","function":{"name":"g","arguments":"{\"a\""}`)
		call(`"index":0,"function":{"arguments":":\"1\"}"}`)
		call(`"index":1,"function":{"arguments":":\"2\"}"}`)
	}
	switch {
	case is("cut"):
		return
	case is("broken"):
		send("", `"insufficient_system_resource"`)
	case is("error"):
		_, _ = io.WriteString(w, `data: {"error":{"message":"no"}}`+"\n\n")
		return
	default:
		send("", `"tool_calls"`)
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// TestEndsBySDK checks that the vendors' SDKs receive the arguments of interleaved calls, and of calls with a late
// name, and that each of them raises an error if a stream fails.
func TestEndsBySDK(t *testing.T) {
	t.Parallel()
	ts := httptest.NewServer(http.HandlerFunc(ending))
	t.Cleanup(ts.Close)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(ts.URL)})
	both := map[string]string{"f": `{"a":"1"}`, "g": `{"a":"2"}`}
	for api, ask := range callsBy {
		for model, want := range map[string]map[string]string{
			"turns": both, "late": {"f": both["f"]}, "cut": nil, "broken": nil, "error": nil,
		} {
			if api == "openai" && model == "late" {
				continue // the bytes pass, and the SDK joins the name
			}
			got, err := ask(t, h, "house/"+model)
			if want == nil {
				if err == nil {
					t.Errorf("%s, %s: the SDK raises no error, and has %v", api, model, got)
				}
				continue
			}
			if diff := cmp.Diff(got, want); diff != "" || err != nil {
				t.Errorf("%s, %s: %v (-got +want)\n%s", api, model, err, diff)
			}
		}
	}
}
