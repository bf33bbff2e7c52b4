package meter_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/e2e/harness"
)

// told is a provider's cost, in every place of an answer: a figure that the account must not see. It is long because
// ids of requests can have any four digits.
const told = "0.42424242"

// shapes lists members of answers in which vendors and gateways report a cost, at the top, in a choice or block, and in
// the message of a choice.
var shapes = map[string][3]string{
	"NanoGPT":                  {`"x_nanogpt_pricing":{"amount":0.42424242,"currency":"USD","cost":0.42424242,"costUsd":0.42424242},`},
	"Vercel AI Gateway":        {2: `"provider_metadata":{"gateway":{"cost":"0.42424242","marketCost":"0.42424242"}},`},
	"a choice":                 {1: `"cost":0.42424242,"usage":{"cost":0.42424242},`},
	"a balance":                {`"remainingBalance":0.42424242,"credits_used":0.42424242,"billing":{"amount":0.42424242},"spend":0.42424242,`},
	"another object":           {`"inference_status":{"runtime_ms":5,"cost":0.42424242},`},
	"deep":                     {`"a":[[[[[[[[[{"b":[{"total_price":0.42424242}]}]]]]]]]]],`},
	"escaped, in upper case":   {`"C\u006fST":0.42424242,`},
	"within what tells usage":  {`"providerMetadata":{"metadata":{"input":{"cost":0.42424242}}},`},
	"beside, in comments":      {},
	"in the name of an event":  {},
	"in an event of its own":   {},
	"behind the end of stream": {},
}

// teller answers in the wire formats of OpenAI and Anthropic, and reports a cost in the shape that the model names.
func teller(t *testing.T) string {
	t.Helper()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_, rest, _ := strings.Cut(string(b), `"model":"`)
		name, _, _ := strings.Cut(rest, `"`)
		h := w.Header()
		h.Set("X-Litellm-Response-Cost", told)
		if name == "refused" {
			h.Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"error":{"message":"Budget has been exceeded! Current cost: %s, Max budget: 1","type":"budget_exceeded","param":"cost %s"}}`, told, told)
			return
		}
		shape := shapes[strings.ReplaceAll(name, "_", " ")]
		whole, events := openAIAnswer(shape)
		if strings.HasSuffix(r.URL.Path, "/messages") {
			whole, events = anthropicAnswer(shape)
		}
		if !strings.Contains(string(b), `"stream":true`) {
			h.Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, whole)
			return
		}
		h.Set("Content-Type", "text/event-stream")
		switch name {
		case "beside,_in_comments":
			for i := range events {
				events[i] = ": cost " + told + "\nid: " + told + "\nretry: 42424242\nx-cost: " + told + "\n" + events[i]
			}
		case "in_the_name_of_an_event":
			events[0] = "event: cost=" + told + "\n" + events[0][strings.Index(events[0], "data:"):]
		case "in_an_event_of_its_own":
			events = append([]string{events[0], `data: {"cost":` + told + "}\n\n"}, events[1:]...)
		case "behind_the_end_of_stream":
			events = append(events, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[],\"cost\":"+told+"}\n\n", ": "+told+"\n\n")
		}
		_, _ = io.WriteString(w, strings.Join(events, ""))
	}))
	t.Cleanup(up.Close)
	return up.URL
}

const toolCall = `{"name":"buy","arguments":"{\"price\":7,\"cost\":8}"}`

func openAIAnswer(s [3]string) (whole string, events []string) {
	whole = `{` + s[0] + `"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{` + s[1] + `"index":0,"message":{` + s[2] +
		`"role":"assistant","content":"The price is 7","tool_calls":[{"id":"c","type":"function","function":` + toolCall + `}]},"finish_reason":"tool_calls"}],` +
		`"usage":{"prompt_tokens":5,"completion_tokens":5,"total_tokens":10,"cost":` + told + `}}`
	event := `data: {` + s[0] + `"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{` + s[1] + `"index":0,"delta":{` + s[2] + `%s},"finish_reason":%s}]%s}` + "\n\n"
	return whole, []string{
		fmt.Sprintf(event, `"role":"assistant","content":"The price is 7"`, "null", ""),
		fmt.Sprintf(event, `"tool_calls":[{"index":0,"id":"c","type":"function","function":`+toolCall+`}]`, "null", ""),
		fmt.Sprintf(event, "", `"tool_calls"`, `,"usage":{"prompt_tokens":5,"completion_tokens":5,"total_tokens":10,"cost":`+told+`}`),
		"data: [DONE]\n\n",
	}
}

func anthropicAnswer(s [3]string) (whole string, events []string) {
	whole = `{` + s[0] + `"id":"1","type":"message","role":"assistant","model":"m","content":[{` + s[1] + `"type":"text","text":"The price is 7"},` +
		`{"type":"tool_use","id":"c","name":"buy","input":{"price":7,"cost":8}}],"stop_reason":"tool_use","stop_sequence":null,` +
		s[2] + `"usage":{"input_tokens":5,"output_tokens":5,"cost":` + told + `}}`
	event := func(kind, fields string) string {
		return "event: " + kind + "\ndata: {" + s[0] + `"type":"` + kind + `"` + fields + "}\n\n"
	}
	return whole, []string{
		event("message_start", `,"message":{`+s[0]+s[2]+`"id":"1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":1,"cost":`+told+`}}`),
		event("content_block_start", `,"index":0,"content_block":{`+s[1]+`"type":"text","text":""}`),
		event("content_block_delta", `,"index":0,"delta":{`+s[2]+`"type":"text_delta","text":"The price is 7"}`),
		event("content_block_stop", `,"index":0`),
		event("content_block_start", `,"index":1,"content_block":{"type":"tool_use","id":"c","name":"buy","input":{}}`),
		event("content_block_delta", `,"index":1,"delta":{"type":"input_json_delta","partial_json":"{\"price\":7,\"cost\":8}"}`),
		event("content_block_stop", `,"index":1`),
		event("message_delta", `,"delta":{`+s[2]+`"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":5,"cost":`+told+`}`),
		event("message_stop", ""),
	}
}

// TestPurchaseCostIsHidden has providers report a cost in all shapes: an account with a price list sees none of it, in
// any client API, and receives the text of the model and tools unchanged.
func TestPurchaseCostIsHidden(t *testing.T) {
	t.Parallel()
	up := teller(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up) +
		fmt.Sprintf("  speaks: {dialect: anthropic, base_url: %q, allow_private: true, api_keys: [k]}\n", up) +
		"prices:\n  house/*: {input: \"2\", output: \"4\"}\n  speaks/*: {input: \"2\", output: \"4\"}\n"})
	key := h.KeyOfNew("charged")
	setPriceList(h, "charged", account.PriceList{Markup: 2500})
	for _, api := range []struct{ path, provider, body string }{
		{"/v1/chat/completions", "house", `"messages":[{"role":"user","content":"Hi"}]`},
		{"/v1/messages", "speaks", `"max_tokens":9,"messages":[{"role":"user","content":"Hi"}]`},
		{"/v1/responses", "house", `"input":"Hi"`},
		{"/v1/chat", "house", `"messages":[{"role":"user","prompt":"Hi"}]`},
	} {
		for shape := range shapes {
			for _, stream := range []bool{false, true} {
				model := api.provider + "/" + strings.ReplaceAll(shape, " ", "_")
				body := fmt.Sprintf(`{"model":%q,"stream":%t,%s}`, model, stream, api.body)
				ask := harness.Ask{Path: api.path, Key: key, Body: body, Header: []string{"Idempotency-Key", fmt.Sprint(api.path, shape, stream)}}
				if api.path == "/v1/chat" && stream {
					ask.Header = append(ask.Header, "Accept", "text/event-stream")
				}
				for _, what := range []string{"first", "replayed"} {
					if r := h.Do(ask); what == "first" || !stream {
						checkUntold(t, fmt.Sprint(what, " ", body), &r)
					}
				}
			}
		}
		refused := h.Do(harness.Ask{Path: api.path, Key: key, Body: fmt.Sprintf(`{"model":"%s/refused",%s}`, api.provider, api.body)})
		if refused.Status != http.StatusBadRequest || strings.Contains(refused.Body, told) || strings.Contains(refused.Body, "Budget") {
			t.Errorf("%s refused: got %d, %s, want 400 without the provider's words", api.path, refused.Status, refused.Body)
		}
	}
	plain := h.KeyOfNew("plain")
	if r := h.Do(harness.Ask{Path: "/v1/chat/completions", Key: plain, Body: `{"model":"house/NanoGPT","messages":[{"role":"user","content":"Hi"}]}`}); !strings.Contains(r.Body, `"costUsd":`+told) {
		t.Errorf("an account without a price list: got %s, want all as the provider sent it", r.Body)
	}
}

// checkUntold checks that an answer has no cost of the provider's, and all of the model's text.
func checkUntold(t *testing.T, what string, r *harness.Reply) {
	t.Helper()
	all := fmt.Sprint(r.Header, r.Body)
	if r.Status != http.StatusOK || strings.Contains(all, "42424242") || strings.Contains(strings.ToLower(all), "x_nanogpt") {
		t.Errorf("%s: got %d, %s, want no cost of the provider's", what, r.Status, all)
	}
	if !strings.Contains(r.Body, "The price is 7") {
		t.Errorf("%s: got %s, want the model's text", what, r.Body)
	}
	said := strings.ReplaceAll(strings.ReplaceAll(r.Body, `\`, ""), " ", "")
	if !strings.Contains(what, `"prompt"`) && !strings.Contains(said, `"price":7,"cost":8`) {
		t.Errorf("%s: got %s, want the tool's arguments as they were", what, r.Body)
	}
}
