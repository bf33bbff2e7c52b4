package chat_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// vendorError holds an error in a vendor's terms, read from its own form.
type vendorError struct{ kind, code, param, message string }

// readVendorError reads an error of a client API, which must have the vendor's form:
// https://platform.openai.com/docs/guides/error-codes, https://platform.claude.com/docs/en/api/errors,
// https://google.aip.dev/193.
func readVendorError(t *testing.T, clientAPI string, r harness.Reply) (e vendorError) {
	t.Helper()
	switch clientAPI {
	case "anthropic":
		var body struct {
			Type      string
			RequestID string `json:"request_id"`
			Error     struct{ Type, Message string }
		}
		harness.Decode(t, r.Body, &body)
		e.kind, e.message = body.Error.Type, body.Error.Message
		e.param, _, _ = strings.Cut(e.message, ": ")
		if body.Type != "error" || body.RequestID != r.Header.Get("Request-Id") {
			t.Errorf("%s: not the vendor's shape", r.Body)
		}
	case "gemini":
		e = readGoogleError(t, r)
	default:
		var body struct {
			Error struct {
				Message, Type string
				Param, Code   *string
			}
		}
		harness.Decode(t, r.Body, &body)
		e = vendorError{kind: body.Error.Type, message: body.Error.Message}
		if body.Error.Param != nil {
			e.param = *body.Error.Param
		}
		if body.Error.Code != nil {
			e.code = *body.Error.Code
		}
		if len(harness.RawMembers(t, string(harness.RawMembers(t, r.Body)["error"]))) != 4 {
			t.Errorf("%s: not the vendor's shape", r.Body)
		}
	}
	if e.message == "" || r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s: no message, or of the type %q", r.Body, r.Header.Get("Content-Type"))
	}
	harness.WantCommonHeaders(t, r.Header)
	return e
}

func readGoogleError(t *testing.T, r harness.Reply) (e vendorError) {
	t.Helper()
	var body struct {
		Error struct {
			Code            int
			Message, Status string
			Details         []struct {
				Type       string                                `json:"@type"`
				Violations []struct{ Field, Description string } `json:"fieldViolations"`
			}
		}
	}
	if err := json.Unmarshal([]byte(r.Body), &body); err != nil || body.Error.Code != r.Status || len(body.Error.Details) == 0 {
		t.Errorf("%s: not the vendor's shape: %v", r.Body, err)
	}
	e.kind, e.message = body.Error.Status, body.Error.Message
	for _, d := range body.Error.Details {
		for _, v := range d.Violations {
			e.param = v.Field
		}
	}
	return e
}

// mistake describes a body that is invalid at a client API. MODEL stands for a model's name.
type mistake struct {
	body  string
	param string
	// left reports whether only a gateway that translates the body finds it: in the same wire format it is left to the
	// provider.
	left bool
}

// wrongBodies lists bodies that are invalid at every client API.
func wrongBodies(good string) map[string]string {
	return map[string]string{
		"not JSON": "hello", "array": "[]", "null": "null", "half": good[:len(good)-2], "trailing": good + "{}",
		"deep":      strings.Replace(good, "{", `{"x":`+strings.Repeat("[", 101)+strings.Repeat("]", 101)+",", 1),
		"not UTF-8": strings.Replace(good, "{", "{\"x\":\"\xff\",", 1),
	}
}

// mistakes lists invalid bodies of each client API, with the named parameter. The gateway leaves a vendor's own ranges,
// such as temperature's, to the vendor.
func mistakes() map[string][]mistake {
	const (
		message = `,"messages":[{"role":"user","content":"Hi"}]}`
		claude  = `,"max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`
		input   = `,"input":"Hi"}`
		content = `,"contents":[{"parts":[{"text":"Hi"}]}]}`
	)
	return map[string][]mistake{
		"openai": {
			{body: `{"model":7` + message, param: "model"},
			{body: `{"model":""` + message, param: "model"},
			{body: `{"model":"MODEL","model":"MODEL"` + message, param: "model"},
			{body: `{"model":"MODEL","Model":"MODEL"` + message, param: "model"},
			{body: `{"model":"MODEL"}`, param: "messages", left: true},
			{body: `{"model":"MODEL","messages":null}`, param: "messages", left: true},
			{body: `{"model":"MODEL","messages":[]}`, param: "messages", left: true},
			{body: `{"model":"MODEL","messages":"Hi"}`, param: "messages", left: true},
			{body: `{"model":"MODEL","messages":["Hi"]}`, param: "messages[0]", left: true},
			{body: `{"model":"MODEL","messages":[{"content":"Hi"}]}`, param: "messages[0].role", left: true},
			{body: `{"model":"MODEL","messages":[{"role":"robot","content":"Hi"}]}`, param: "messages[0].role", left: true},
			{body: `{"model":"MODEL","messages":[{"role":"user"}]}`, param: "messages[0].content", left: true},
			{body: `{"model":"MODEL","messages":[{"role":"user","content":7}]}`, param: "messages[0].content", left: true},
			{body: `{"model":"MODEL","messages":[{"role":"user","content":["Hi"]}]}`, param: "messages[0].content[0]", left: true},
			{body: `{"model":"MODEL","stream":"yes"` + message, param: "stream"},
			{body: `{"model":"MODEL","stream":true,"stream_options":7` + message, param: "stream_options"},
			{body: `{"model":"MODEL","stream":true,"stream_options":{"include_usage":1}` + message, param: "stream_options.include_usage"},
			{body: `{"model":"MODEL","n":0` + message, param: "n"},
			{body: `{"model":"MODEL","n":"1"` + message, param: "n"},
			{body: `{"model":"MODEL","max_tokens":0` + message, param: "max_tokens"},
			{body: `{"model":"MODEL","max_tokens":-1` + message, param: "max_tokens"},
			{body: `{"model":"MODEL","max_tokens":"5"` + message, param: "max_tokens"},
			{body: `{"model":"MODEL","max_completion_tokens":1.5` + message, param: "max_completion_tokens"},
			{body: `{"model":"MODEL","MAX_TOKENS":5` + message, param: "max_tokens"},
			{body: `{"model":"MODEL","temperature":"1"` + message, param: "temperature", left: true},
			{body: `{"model":"MODEL","top_p":"1"` + message, param: "top_p", left: true},
			{body: `{"model":"MODEL","stop":7` + message, param: "stop", left: true},
			{body: `{"model":"MODEL","seed":"x"` + message, param: "seed", left: true},
			{body: `{"model":"MODEL","user":7` + message, param: "user", left: true},
			{body: `{"model":"MODEL","reasoning_effort":7` + message, param: "reasoning_effort", left: true},
			{body: `{"model":"MODEL","tools":{}` + message, param: "tools", left: true},
			{body: `{"model":"MODEL","tools":[7]` + message, param: "tools[0]", left: true},
			{body: `{"model":"MODEL","tools":[{"type":"function","function":{}}]` + message, param: "tools[0].function.name", left: true},
			{body: `{"model":"MODEL","tool_choice":"whatever"` + message, param: "tool_choice", left: true},
			{body: `{"model":"MODEL","tool_choice":7` + message, param: "tool_choice", left: true},
			{body: `{"model":"MODEL","parallel_tool_calls":"no"` + message, param: "parallel_tool_calls", left: true},
			{body: `{"model":"MODEL","response_format":"json"` + message, param: "response_format", left: true},
			{body: `{"model":"MODEL","response_format":{"type":"json_schema"}` + message, param: "response_format.json_schema", left: true},
		},
		"responses": {
			{body: `{"model":7` + input, param: "model"},
			{body: `{"model":""` + input, param: "model"},
			{body: `{"model":"MODEL","model":"MODEL"` + input, param: "model"},
			{body: `{"model":"MODEL","INPUT":"x"` + input, param: "input"},
			{body: `{"model":"MODEL"}`, param: "input", left: true},
			{body: `{"model":"MODEL","input":7}`, param: "input"},
			{body: `{"model":"MODEL","input":[]}`, param: "input", left: true},
			{body: `{"model":"MODEL","input":["Hi"]}`, param: "input[0]", left: true},
			{body: `{"model":"MODEL","input":[{"role":"robot","content":"Hi"}]}`, param: "input[0].role", left: true},
			{body: `{"model":"MODEL","input":[{"role":"user","content":7}]}`, param: "input[0].content", left: true},
			{body: `{"model":"MODEL","instructions":7` + input, param: "instructions", left: true},
			{body: `{"model":"MODEL","stream":1` + input, param: "stream"},
			{body: `{"model":"MODEL","max_output_tokens":0` + input, param: "max_output_tokens"},
			{body: `{"model":"MODEL","max_output_tokens":-1` + input, param: "max_output_tokens"},
			{body: `{"model":"MODEL","max_output_tokens":"5"` + input, param: "max_output_tokens"},
			{body: `{"model":"MODEL","temperature":"1"` + input, param: "temperature", left: true},
			{body: `{"model":"MODEL","tools":{}` + input, param: "tools", left: true},
			{body: `{"model":"MODEL","tools":[{"type":"function"}]` + input, param: "tools[0].name", left: true},
			{body: `{"model":"MODEL","tool_choice":"whatever"` + input, param: "tool_choice", left: true},
			{body: `{"model":"MODEL","text":"json"` + input, param: "text", left: true},
			{body: `{"model":"MODEL","text":{"format":"json"}` + input, param: "text.format", left: true},
			{body: `{"model":"MODEL","text":{"format":{"type":"json_schema","name":"n"}}` + input, param: "text.format.schema", left: true},
			{body: `{"model":"MODEL","reasoning":"low"` + input, param: "reasoning", left: true},
			{body: `{"model":"MODEL","reasoning":{"effort":7}` + input, param: "reasoning.effort", left: true},
		},
		"anthropic": {
			{body: `{"model":7` + claude, param: "model"},
			{body: `{"model":""` + claude, param: "model"},
			{body: `{"model":"MODEL","max_tokens":5` + claude, param: "max_tokens"},
			{body: `{"model":"MODEL","Model":"MODEL"` + claude, param: "model"},
			{body: `{"model":"MODEL","max_tokens":0` + message, param: "max_tokens", left: true},
			{body: `{"model":"MODEL","max_tokens":-1` + message, param: "max_tokens"},
			{body: `{"model":"MODEL","max_tokens":"5"` + message, param: "max_tokens"},
			{body: `{"model":"MODEL","max_tokens":9}`, param: "messages", left: true},
			{body: `{"model":"MODEL","max_tokens":9,"messages":"Hi"}`, param: "messages", left: true},
			{body: `{"model":"MODEL","max_tokens":9,"messages":[]}`, param: "messages", left: true},
			{body: `{"model":"MODEL","max_tokens":9,"messages":["Hi"]}`, param: "messages[0]", left: true},
			{body: `{"model":"MODEL","max_tokens":9,"messages":[{"content":"Hi"}]}`, param: "messages[0].role", left: true},
			{body: `{"model":"MODEL","max_tokens":9,"messages":[{"role":"robot","content":"Hi"}]}`, param: "messages[0].role", left: true},
			{body: `{"model":"MODEL","max_tokens":9,"messages":[{"role":"user","content":7}]}`, param: "messages[0].content", left: true},
			{body: `{"model":"MODEL","max_tokens":9,"messages":[{"role":"user","content":["Hi"]}]}`, param: "messages[0].content[0]", left: true},
			{body: `{"model":"MODEL","stream":"yes"` + claude, param: "stream"},
			{body: `{"model":"MODEL","system":7` + claude, param: "system", left: true},
			{body: `{"model":"MODEL","temperature":"1"` + claude, param: "temperature", left: true},
			{body: `{"model":"MODEL","top_k":"1"` + claude, param: "top_k", left: true},
			{body: `{"model":"MODEL","stop_sequences":"x"` + claude, param: "stop_sequences", left: true},
			{body: `{"model":"MODEL","stop_sequences":[7]` + claude, param: "stop_sequences[0]", left: true},
			{body: `{"model":"MODEL","tools":{}` + claude, param: "tools", left: true},
			{body: `{"model":"MODEL","tools":[{"input_schema":{}}]` + claude, param: "tools[0].name", left: true},
			{body: `{"model":"MODEL","tool_choice":"auto"` + claude, param: "tool_choice", left: true},
			{body: `{"model":"MODEL","tool_choice":{"type":"tool"}` + claude, param: "tool_choice.name", left: true},
			{body: `{"model":"MODEL","thinking":"yes"` + claude, param: "thinking", left: true},
			{body: `{"model":"MODEL","output_config":7` + claude, param: "output_config", left: true},
		},
		"gemini": {
			{body: `{"model":"MODEL"` + content, param: "model"},
			{body: `{"Contents":[]` + content, param: "contents"},
			{body: `{"generation_config":{},"generationConfig":{}` + content, param: "generationConfig"},
			{body: `{}`, param: "contents", left: true},
			{body: `{"contents":null}`, param: "contents", left: true},
			{body: `{"contents":7}`, param: "contents", left: true},
			{body: `{"contents":[]}`, param: "contents", left: true},
			{body: `{"contents":["Hi"]}`, param: "contents[0]", left: true},
			{body: `{"contents":[{"role":"robot","parts":[{"text":"Hi"}]}]}`, param: "contents[0].role", left: true},
			{body: `{"contents":[{"parts":7}]}`, param: "contents[0].parts", left: true},
			{body: `{"contents":[{"parts":["Hi"]}]}`, param: "contents[0].parts[0]", left: true},
			{body: `{"contents":[{"parts":[{"text":7}]}]}`, param: "contents[0].parts[0]", left: true},
			{body: `{"systemInstruction":7` + content, param: "systemInstruction", left: true},
			{body: `{"generationConfig":7` + content, param: "generationConfig"},
			{body: `{"generationConfig":{"candidateCount":0}` + content, param: "generationConfig.candidateCount"},
			{body: `{"generationConfig":{"maxOutputTokens":0}` + content, param: "generationConfig.maxOutputTokens"},
			{body: `{"generationConfig":{"maxOutputTokens":-1}` + content, param: "generationConfig.maxOutputTokens"},
			{body: `{"generationConfig":{"maxOutputTokens":"x"}` + content, param: "generationConfig.maxOutputTokens"},
			{body: `{"generationConfig":{"temperature":"x"}` + content, param: "generationConfig.temperature", left: true},
			{body: `{"generationConfig":{"stopSequences":7}` + content, param: "generationConfig.stopSequences", left: true},
			{body: `{"tools":7` + content, param: "tools", left: true},
			{body: `{"tools":[7]` + content, param: "tools[0]", left: true},
			{body: `{"tools":[{"functionDeclarations":[{}]}]` + content, param: "tools[0].functionDeclarations[0].name", left: true},
			{body: `{"toolConfig":7` + content, param: "toolConfig", left: true},
		},
	}
}

// with returns the body for a model.
func (m *mistake) with(model string) string {
	return strings.ReplaceAll(m.body, "MODEL", model)
}

// badGateway opens a gateway whose providers are unreachable: one with a wire format of no client API, and one for each
// client API with the same format.
func badGateway(t *testing.T) *harness.Gateway {
	t.Helper()
	yaml := "max_body: 64KiB\nproviders:" + harness.SpokenBy("other", "cohere", "http://127.0.0.1:1", "/v2")
	for _, d := range harness.VendorAPIs() {
		yaml += harness.SpokenBy("same-"+d.Dialect, d.Dialect, "http://127.0.0.1:1", harness.Spoken()[d.Dialect])
	}
	return harness.Open(t, harness.Setup{YAML: yaml})
}

// invalid returns the client API's type of invalid requests.
func invalid(clientAPI string) string {
	if clientAPI == "gemini" {
		return "INVALID_ARGUMENT"
	}
	return "invalid_request_error"
}

// TestBadInput checks invalid bodies at each vendor's client API: the answer is its own 400, which names the parameter.
// Values that only the provider can judge are forwarded to it if it has the same wire format.
func TestBadInput(t *testing.T) {
	t.Parallel()
	h := badGateway(t)
	for _, clientAPI := range harness.VendorAPIs() {
		for _, m := range mistakes()[clientAPI.Dialect] {
			for _, provider := range []string{"other", "same-" + clientAPI.Dialect} {
				model := provider + "/m"
				r := h.Do(harness.Ask{Path: clientAPI.At(model, false), Body: m.with(model)})
				e := readVendorError(t, clientAPI.Dialect, r)
				if m.left && provider != "other" {
					if r.Status < 500 { // the provider is unreachable
						t.Errorf("%s, %s at %s: %d %s; want it to be the provider's to judge", clientAPI.Path, m.body, provider, r.Status, r.Body)
					}
					continue
				}
				if r.Status != http.StatusBadRequest || e.kind != invalid(clientAPI.Dialect) || e.param != m.param {
					t.Errorf("%s, %s at %s: got %d %q, param %q; want 400 that names %q: %s", clientAPI.Path, m.body, provider, r.Status, e.kind, e.param, m.param, r.Body)
				}
			}
		}
		for name, body := range wrongBodies(clientAPI.Body("other/m", "")) {
			r := h.Do(harness.Ask{Path: clientAPI.At("other/m", false), Body: body})
			if e := readVendorError(t, clientAPI.Dialect, r); r.Status != http.StatusBadRequest || e.kind != invalid(clientAPI.Dialect) {
				t.Errorf("%s, %s: %d %s", clientAPI.Path, name, r.Status, r.Body)
			}
		}
	}
}
