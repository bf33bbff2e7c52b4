package chat_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// responseMembers lists the members that the schema ResponseResource of Open Responses requires of every response, and
// the permitted kinds of their values: o(bject), a(rray), s(tring), n(umber), b(oolean), - for null
// (https://github.com/openresponses/openresponses, public/openapi/openapi.json of 2026).
var responseMembers = map[string]string{
	"id": "s", "object": "s", "created_at": "n", "completed_at": "n-", "status": "s", "incomplete_details": "o-", "model": "s",
	"previous_response_id": "s-", "instructions": "s-", "output": "a", "error": "o-", "tools": "a", "tool_choice": "so",
	"truncation": "s", "parallel_tool_calls": "b", "text": "o", "top_p": "n", "presence_penalty": "n", "frequency_penalty": "n",
	"top_logprobs": "n", "temperature": "n", "reasoning": "o-", "usage": "o-", "max_output_tokens": "n-", "max_tool_calls": "n-",
	"store": "b", "background": "b", "service_tier": "s", "metadata": "o", "safety_identifier": "s-", "prompt_cache_key": "s-",
}

func kindOf(v any) string {
	switch v.(type) {
	case map[string]any:
		return "o"
	case []any:
		return "a"
	case string:
		return "s"
	case float64:
		return "n"
	case bool:
		return "b"
	}
	return "-"
}

// wantResource checks that an object is a response of Open Responses.
func wantResource(t *testing.T, object map[string]any) {
	t.Helper()
	for name, kinds := range responseMembers {
		v, ok := object[name]
		if !ok || !strings.Contains(kinds, kindOf(v)) {
			t.Errorf("%s is %v, want one of the kinds %q", name, v, kinds)
		}
	}
	output, _ := object["output"].([]any)
	if object["status"] != "completed" || object["object"] != "response" || len(output) == 0 {
		t.Errorf("got status %v, object %v and %d items, want a completed response with output", object["status"], object["object"], len(output))
	}
}

// openResponses has the cases of the compliance suite over plain HTTP, in our own words; the seventh, of a response's
// own phases, requires nothing of a server.
var openResponses = map[string]struct{ model, members, output string }{
	"text":        {"chat", `"input":[{"type":"message","role":"user","content":"Greet me in three words."}]`, `"output_text"`},
	"stream":      {"chat", `"stream":true,"input":[{"type":"message","role":"user","content":"Count to five."}]`, ""},
	"system":      {"chat", `"input":[{"type":"message","role":"system","content":"Talk like a sailor."},{"type":"message","role":"user","content":"Greet me."}]`, `"output_text"`},
	"tools":       {"tools", `"input":[{"type":"message","role":"user","content":"How is the weather in Bern?"}],"tools":[{"type":"function","name":"weather","description":"The weather of a place","parameters":{"type":"object","properties":{"place":{"type":"string"}},"required":["place"]}}]`, `"function_call"`},
	"image":       {"chat", `"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"What is this?"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}]}]`, `"output_text"`},
	"turns":       {"chat", `"input":[{"type":"message","role":"user","content":"I am Eva."},{"type":"message","role":"assistant","content":"Hello Eva!"},{"type":"message","role":"user","content":"Who am I?"}]`, `"output_text"`},
	"phases":      {"chat", `"input":[{"type":"message","role":"assistant","phase":"commentary","content":"I look for the number."},{"type":"message","role":"assistant","phase":"final_answer","content":"It is four."},{"type":"message","role":"user","content":"The number alone."}]`, `"output_text"`},
	"what I sent": {"chat", `"temperature":0.25,"top_p":0.5,"input":"Hi"`, `"temperature":0.25`},
}

// TestOpenResponses sends the compliance suite's requests, with a provider of each wire format.
func TestOpenResponses(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	for _, wire := range []string{"openai", "anthropic", "gemini", "bedrock", "cohere", "ollama"} {
		h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.SpokenBy("house", wire, up.URL, harness.Spoken()[wire]) + harness.PricesYAML})
		for name, c := range openResponses {
			t.Run(wire+" "+name, func(t *testing.T) {
				got := h.Do(harness.Ask{Path: "/v1/responses", Body: fmt.Sprintf(`{"model":"house/%s",%s}`, c.model, c.members)})
				if got.Status != http.StatusOK || !strings.Contains(got.Body, c.output) {
					t.Fatalf("%d %s, want %s", got.Status, got.Body, c.output)
				}
				object := map[string]any{}
				if name == "stream" {
					object = streamedResource(t, got.Body)
				} else if err := json.Unmarshal([]byte(got.Body), &object); err != nil {
					t.Fatal(err)
				}
				wantResource(t, object)
			})
		}
	}
}

// streamedResource checks that events are numbered in order and named by their types, and returns the last one's
// response.
func streamedResource(t *testing.T, body string) (object map[string]any) {
	t.Helper()
	number := 0
	for event := range strings.SplitSeq(strings.TrimSpace(body), "\n\n") {
		name, data, ok := strings.Cut(event, "\ndata: ")
		var e struct {
			Type     string
			Number   int            `json:"sequence_number"`
			Response map[string]any `json:"response"`
		}
		if err := json.Unmarshal([]byte(data), &e); !ok || err != nil || name != "event: "+e.Type || e.Number != number {
			t.Fatalf("event %d: %v in %s", number, err, event)
		}
		number++
		if object = e.Response; e.Type == "response.created" {
			for name, kinds := range responseMembers {
				if v, ok := object[name]; !ok || !strings.Contains(kinds, kindOf(v)) {
					t.Errorf("at its begin, %s is %v", name, v)
				}
			}
		}
	}
	return object
}
