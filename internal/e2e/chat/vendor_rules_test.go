package chat_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"weir/internal/e2e/harness"
)

// toVendor holds a request that is valid at its client API, and the vendor's requirements for it.
type toVendor struct {
	name, provider, model, path, body string

	sent    []string // parts of the provider's request
	unsent  []string // texts that the provider must not receive
	dropped string   // the names in X-Weir-Dropped; not checked if empty
	status  int      // 0 for 200
	says    string   // text of the answer
}

// The conversations that most cases are about.
const (
	messagesCall = `"max_tokens":99,"tools":[{"name":"%[1]s","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"call it"},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"%[2]s","name":"%[1]s","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"%[2]s","content":"done"}]}]`
	chatCall = `"tools":[{"type":"function","function":{"name":"%[1]s","parameters":{"type":"object"}}}],"messages":[{"role":"user","content":"call it"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"%[2]s","type":"function","function":{"name":"%[1]s","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"%[2]s","content":"done"}]`
	geminiCalls = `"contents":[{"role":"user","parts":[{"text":"call it"}]},{"role":"model","parts":[{"text":"I do"},%s,{"functionCall":{"name":"g","args":{}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}},{"functionResponse":{"name":"g","response":{}}}]}]`
	twice = `"contents":[{"role":"user","parts":[{"text":"call it"}]},{"role":"model","parts":[{"functionCall":{"id":"c1","name":"f","args":{}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"f","response":{"output":"first"}}},{"functionResponse":{"id":"c1","name":"f","response":{"output":"second"}}}]}]`
	between = `"contents":[{"role":"user","parts":[{"text":"call"}]},{"role":"model","parts":[{"functionCall":{"id":"c1","name":"f","args":{}}},{"functionCall":{"id":"c2","name":"f","args":{}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"f","response":{}}},{"inlineData":{"mimeType":"image/png","data":"iVBORw0K"}},{"functionResponse":{"id":"c2","name":"f","response":{}}}]}]`
)

func toVendors() []toVendor {
	long := strings.Repeat("mcp__a_server__", 8) // 120 characters
	return []toVendor{
		{
			name: "the id of another vendor's call", provider: "mistral", path: "/v1/messages",
			body: fmt.Sprintf(messagesCall, "f", "toolu_01A09q90qw90lq917835lq9"), unsent: []string{"toolu_01A09q90qw90lq917835lq9"},
		},
		{
			name: "the same from a client of the same wire format", provider: "mistral", path: "/v1/chat/completions",
			body: fmt.Sprintf(chatCall, "f", "call_abcdefgh"), unsent: []string{"call_abcdefgh"},
		},
		{
			name: "a conversation that the assistant begins", provider: "bedrock", path: "/v1/chat/completions",
			body: `"messages":[{"role":"assistant","content":"What can I do?"},{"role":"user","content":"Hi"}]`,
			sent: []string{`"messages":[{"role":"user","content":[{"text":"Hello."}]},{"role":"assistant"`}, dropped: "assistant message first",
		},
		{
			name: "a question behind a result", provider: "mistral", path: "/v1/chat/completions",
			body: strings.TrimSuffix(fmt.Sprintf(chatCall, "f", "aB3dE6gH9"), "]") + `,{"role":"user","content":"and now?"}]`,
			sent: []string{`{"role":"assistant","content":"OK."},{"role":"user"`}, dropped: "user message after tool results",
		},
		{
			name: "white space that ends the beginning of an answer", provider: "bedrock", path: "/v1/chat/completions",
			body: `"messages":[{"role":"user","content":"Count."},{"role":"assistant","content":"one, two, "}]`,
			sent: []string{`[{"text":"one, two,"}]`}, dropped: "trailing white space",
		},
		{
			name: "ids that fit, which go as they came", provider: "mistral", path: "/v1/chat/completions",
			body: fmt.Sprintf(chatCall, "f", "aB3dE6gH9"), sent: []string{fmt.Sprintf(chatCall, "f", "aB3dE6gH9")},
		},
		{
			name: "a developer", provider: "deepseek", path: "/v1/chat/completions",
			body: `"messages":[{"role":"developer","content":"Be brief."},{"role":"user","content":"Hi"}]`, sent: []string{`"role":"system"`}, unsent: []string{"developer"},
		},
		{
			name: "the word developer elsewhere", provider: "deepseek", path: "/v1/chat/completions",
			body: `"messages":[{"role":"user","content":"I am a \"developer\""}],"user":"u1"`, sent: []string{`"user":"u1"`},
		},
		{
			name: "the user behind a result", provider: "mistral", path: "/v1/messages",
			body: strings.Replace(fmt.Sprintf(messagesCall, "f", "aB3dE6gH9"), `"content":"done"}]}`, `"content":"done"},{"type":"text","text":"and now?"}]}`, 1),
			sent: []string{`{"role":"assistant","content":"OK."},{"role":"user","content":"and now?"}`},
		},
		{
			name: "a picture in a tool's result", provider: "mistral", path: "/v1/messages",
			body: strings.Replace(fmt.Sprintf(messagesCall, "f", "aB3dE6gH9"), `"content":"done"`,
				`"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0K"}}]`, 1),
			sent: []string{`{"role":"assistant","content":"OK."},{"role":"user","content":[{"type":"text","text":"What the tool call aB3dE6gH9`, "iVBORw0K"},
		},
		{
			name: "a prefill", provider: "mistral", path: "/v1/messages",
			body: `"max_tokens":99,"messages":[{"role":"user","content":"count"},{"role":"assistant","content":"one,"}]`, sent: []string{`"prefix":true`},
		},
		{
			name: "thinking that has to come back", provider: "deepseek", path: "/v1/messages",
			body: strings.Replace(fmt.Sprintf(messagesCall, "f", "call_1aB"), `[{"type":"tool_use"`,
				`[{"type":"thinking","thinking":"it is to be called","signature":"weir1.openai.0.0."},{"type":"tool_use"`, 1),
			sent: []string{`"reasoning_content":"it is to be called"`},
		},
		{
			name: "a call of another model, which did not think", provider: "deepseek", path: "/v1/responses",
			body: `"input":[{"role":"user","content":"Hi"},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"x"}]`,
			sent: []string{`"reasoning_content":""`},
		},
		{
			name: "the same from a client of the same wire format", provider: "deepseek", path: "/v1/chat/completions",
			body: fmt.Sprintf(chatCall, "f", "call_abcdefgh"), sent: []string{`"reasoning_content":""`},
		},
		{
			name: "the same where thinking is off", provider: "deepseek", path: "/v1/chat/completions",
			body: `"thinking":{"type":"disabled"},` + fmt.Sprintf(chatCall, "f", "call_abcdefgh"), unsent: []string{"reasoning_content"},
		},
		{
			name: "thinking and null members of another vendor's answer", provider: "mistral", path: "/v1/chat/completions",
			body: `"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hi.","reasoning_content":"greet","refusal":null,"annotations":[]},{"role":"user","content":"So?"}]`,
			sent: []string{`"content":"Hi."`}, unsent: []string{"greet", "refusal", "annotations"},
		},
		{
			name: "the same elsewhere", provider: "groq", path: "/v1/chat/completions",
			body: `"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hi.","reasoning_content":"greet","refusal":null,"annotations":[]},{"role":"user","content":"So?"}]`,
			sent: []string{`"content":"Hi."`}, unsent: []string{"greet", "refusal", "annotations"},
		},
		{
			name: "a sound", provider: "mistral", path: "/v1beta/models/{model}:generateContent",
			body: `"contents":[{"parts":[{"inlineData":{"mimeType":"audio/wav","data":"UklGRg=="}}]}]`, sent: []string{`{"type":"input_audio","input_audio":"UklGRg=="}`},
		},
		{
			name: "the same of a client of the same wire format", provider: "mistral", path: "/v1/chat/completions",
			body: `"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}]}]`,
			sent: []string{`{"type":"input_audio","input_audio":"UklGRg=="}`},
		},
		{
			name: "the same in the vendor's own form, beside a name", provider: "mistral", path: "/v1/chat/completions",
			body: `"messages":[{"role":"user","name":"ann","content":[{"type":"input_audio","input_audio":"UklGRg=="}]}]`,
			sent: []string{`{"type":"input_audio","input_audio":"UklGRg=="}`}, dropped: "name",
		},
		{
			name: "a sound where there are none", provider: "groq", path: "/v1beta/models/{model}:generateContent",
			body: `"contents":[{"parts":[{"inlineData":{"mimeType":"audio/wav","data":"UklGRg=="}}]}]`, status: 400, says: "does not accept audio",
		},
		{
			name: "a sound that an earlier question was about", provider: "cerebras", path: "/v1/chat/completions",
			body: `"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}]},{"role":"assistant","content":"Hi."},{"role":"user","content":"And?"}]`,
			sent: []string{"Hi."}, unsent: []string{"UklGRg=="}, dropped: "sounds",
		},
		{
			name: "a custom tool", provider: "groq", model: "tools", path: "/v1/chat/completions",
			body: `"tools":[{"type":"custom","custom":{"name":"patch"}}],"messages":[{"role":"user","content":"Hi"}]`,
			sent: []string{`{"type":"function","function":{"name":"patch"`}, says: `"type":"custom","custom":{"name":"patch","input":`,
		},
		{
			name: "a custom tool that has to be called", provider: "openrouter", model: "tools", path: "/v1/chat/completions",
			body: `"tools":[{"type":"function","function":{"name":"f"}},{"type":"custom","custom":{"name":"patch","format":{"type":"grammar","grammar":{"syntax":"lark","definition":"start: /x/"}}}}],` +
				`"tool_choice":{"type":"custom","custom":{"name":"patch"}},"messages":[{"role":"user","content":"Hi"}]`,
			sent: []string{`start: /x/`, `"tool_choice":{"type":"function","function":{"name":"patch"}}`}, unsent: []string{`"custom"`},
			says: `"type":"custom","custom":{"name":"patch","input":`,
		},
		{
			name: "a call of a custom tool", provider: "openrouter", path: "/v1/chat/completions",
			body: `"messages":[{"role":"user","content":"Hi"},{"role":"assistant","tool_calls":[{"id":"c1","type":"custom","custom":{"name":"patch","input":"a b"}}]},{"role":"tool","tool_call_id":"c1","content":"done"}]`,
			sent: []string{`"function":{"name":"patch","arguments":"{\"input\":\"a b\"}"}`, `"tool_call_id":"c1"`},
		},
		{
			name: "functions of the time before tools", provider: "mistral", model: "tools", path: "/v1/chat/completions",
			body:   `"functions":[{"name":"f","parameters":{"type":"object"}}],"function_call":{"name":"f"},"messages":[{"role":"user","content":"Hi"}]`,
			sent:   []string{`"tools":[{"type":"function"`, `"tool_choice":{"type":"function","function":{"name":"f"}}`, `"parallel_tool_calls":false`},
			unsent: []string{`"functions"`, `"function_call"`}, says: `"function_call":{"name":"f","arguments":`,
		},
		{
			name: "the end of such an answer", provider: "cerebras", model: "tools", path: "/v1/chat/completions",
			body: `"functions":[{"name":"f"}],"messages":[{"role":"user","content":"Hi"}]`, says: `"finish_reason":"function_call"`,
		},
		{
			name: "such functions in a request that another rule changes", provider: "xai", model: "grok-4.3/tools", path: "/v1/chat/completions",
			body:   `"functions":[{"name":"f"}],"presence_penalty":0.5,"messages":[{"role":"user","content":"Hi"}]`,
			unsent: []string{`"functions"`}, says: `"function_call":{"name":"f","arguments":`, dropped: "presence_penalty",
		},
		{
			name: "a call of the time before tools", provider: "openrouter", path: "/v1/chat/completions",
			body: `"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"done"}]`,
			sent: []string{`"tool_calls":[{"id":`, `"role":"tool"`}, unsent: []string{"function_call", `"role":"function"`},
		},
		{
			name: "a refusal as a part", provider: "openrouter", path: "/v1/chat/completions",
			body: `"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]},{"role":"user","content":"So?"}]`,
			sent: []string{`"content":null,"refusal":"No."`},
		},
		{
			name: "the same where refusals are text", provider: "cerebras", path: "/v1/chat/completions",
			body: `"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]},{"role":"user","content":"So?"}]`,
			sent: []string{`"content":"No."`}, unsent: []string{"refusal"},
		},
		{
			name: "what Cerebras does not know", provider: "cerebras", path: "/v1/chat/completions",
			body: `"reasoning_effort":"xhigh","metadata":{"k":"v"},"messages":[{"role":"user","content":"Hi"}]`,
			sent: []string{`"reasoning_effort":"high"`}, unsent: []string{"metadata"},
		},
		{
			name: "a long name beside a tool that waits", provider: "deepseek", path: "/v1/messages",
			body:   `"max_tokens":99,"tools":[{"name":"` + long + `","input_schema":{"type":"object"}},{"name":"late","defer_loading":true,"input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"Hi"}]`,
			unsent: []string{long, "late"},
		},
		{
			name: "what Google signed", provider: "openai", path: "/v1/chat/completions",
			body: strings.Replace(fmt.Sprintf(chatCall, "f", "call_1"), `"arguments":"{}"}}]`, `"arguments":"{}"},"extra_content":{"google":{"thought_signature":"weir1.gemini.0.4.QUJD"}}}]`, 1),
			sent: []string{`"id":"call_1"`}, unsent: []string{"extra_content", "QUJD"},
		},
		{
			name: "a PDF in a tool's result", provider: "deepseek", path: "/v1/messages",
			body: strings.Replace(fmt.Sprintf(messagesCall, "f", "call_1aB"), `"content":"done"`,
				`"content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}]`, 1),
			status: 400, says: "does not accept documents",
		},
		{
			name: "the same of a client of the same wire format", provider: "deepseek", path: "/v1/chat/completions",
			body:   `"messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="}}]}]`,
			status: 400, says: "does not accept documents",
		},
		{
			name: "a PDF that an earlier question was about", provider: "deepseek", path: "/v1/messages",
			body: `"max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","title":"a.pdf","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="},"citations":{"enabled":true}},` +
				`{"type":"text","text":"What is it?"}]},{"role":"assistant","content":"A page."},{"role":"user","content":"And?"}]`,
			sent: []string{"a.pdf", "What is it?", "A page."}, unsent: []string{"JVBERi0="}, dropped: "citations, documents",
		},
		{
			name: "the same of a client of the same wire format", provider: "groq", path: "/v1/chat/completions",
			body: `"messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="}}]},{"role":"assistant","content":"A page."},{"role":"user","content":"And?"}]`,
			sent: []string{"a.pdf", "A page."}, unsent: []string{"JVBERi0="}, dropped: "documents",
		},
		{
			name: "a PDF of the last question, behind which a tool is called", provider: "deepseek", path: "/v1/messages",
			body: `"max_tokens":9,"tools":[{"name":"f","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}},{"type":"text","text":"Read it."}]},` +
				`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"done"}]}]`,
			status: 400, says: "does not accept documents",
		},
		{
			name: "an image as a file in the vendor's own form", provider: "deepseek", path: "/v1/chat/completions",
			body: `"messages":[{"role":"user","content":[{"type":"file","filename":"a.png","file_data":"data:image/png;base64,iVBORw0K"}]}]`,
			sent: []string{`{"type":"file","filename":"a.png","file_data":"data:image/png;base64,iVBORw0K"}`},
		},
		{
			name: "a document that is text", provider: "deepseek", path: "/v1/messages",
			body: `"max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","title":"notes","source":{"type":"text","media_type":"text/plain","data":"plain"}}]}]`,
			sent: []string{"plain"}, unsent: []string{`"file"`},
		},
		{
			name: "thinking that stands where it has to, which goes as it came", provider: "deepseek", path: "/v1/chat/completions",
			body: strings.Replace(fmt.Sprintf(chatCall, "f", "call_1aB"), `"content":null`, `"content" :null,"reasoning_content":"it is to be called"`, 1),
			sent: []string{`"content" :null,"reasoning_content":"it is to be called"`},
		},
		{
			name: "an end user of 150 characters", provider: "openrouter", path: "/v1/messages",
			body: `"max_tokens":9,"metadata":{"user_id":"` + strings.Repeat("user_0a1b2", 15) + `"},"messages":[{"role":"user","content":"Hi"}]`, unsent: []string{"user_0a1b2"}, sent: []string{`"user":"`},
		},
		{
			name: "tools for a model that thinks", provider: "openai", model: "gpt-5.6-terra/echo", path: "/v1/messages",
			body: fmt.Sprintf(messagesCall, "f", "toolu_1"), sent: []string{`"input":[`, "/v1/responses"},
		},
		{
			name: "sampling of a model that thinks", provider: "openai", model: "gpt-5-mini/echo", path: "/v1/messages",
			body:   `"max_tokens":99,"temperature":0.2,"stop_sequences":["END"],"messages":[{"role":"user","content":"Hi"}]`,
			unsent: []string{"temperature", "END"}, dropped: "temperature, stop",
		},
		{
			name: "a temperature of 1", provider: "openai", model: "gpt-5-mini/echo", path: "/v1/messages",
			body: `"max_tokens":99,"temperature":1,"messages":[{"role":"user","content":"Hi"}]`, sent: []string{`"temperature":1`},
		},
		{
			name: "penalties and stops of a Grok that reasons", provider: "xai", model: "grok-4.3/echo", path: "/v1/chat/completions",
			body:   `"presence_penalty":0,"frequency_penalty":0.5,"stop":["END"],"messages":[{"role":"user","content":"Hi"}]`,
			unsent: []string{"_penalty", "END"}, dropped: "presence_penalty, frequency_penalty, stop",
		},
		{
			name: "the stop of a client of another format", provider: "xai", model: "grok-3-mini/echo", path: "/v1/messages",
			body:   `"max_tokens":99,"stop_sequences":["END"],"messages":[{"role":"user","content":"Hi"}]`,
			unsent: []string{"END"}, dropped: "stop",
		},
		{
			name: "the same of a Grok that does not reason", provider: "xai", model: "grok-4-1-fast-non-reasoning/echo", path: "/v1/chat/completions",
			body:   `"presence_penalty":0,"stop":["END"],"messages":[{"role":"user","content":"Hi"}]`,
			unsent: []string{"_penalty"}, sent: []string{`"stop":["END"]`}, dropped: "presence_penalty",
		},
		{
			name: "the same of an older one, which goes as it came", provider: "xai", model: "grok-3/echo", path: "/v1/chat/completions",
			body: `"presence_penalty":0,"stop":["END"],"messages":[{"role":"user","content":"Hi"}]`, sent: []string{`"presence_penalty":0,"stop":["END"]`},
		},
		{
			name: "one token", provider: "responses", path: "/v1/messages",
			body: `"max_tokens":1,"messages":[{"role":"user","content":"Hi"}]`, sent: []string{`"max_output_tokens":16`}, dropped: "output cap below 16",
		},
		{
			name: "a long name", provider: "openai", model: "tools", path: "/v1/messages",
			body:   `"max_tokens":99,"tools":[{"name":"` + long + `","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"Hi"}]`,
			unsent: []string{long}, says: `"name":"` + long + `"`,
		},
		{
			name: "a name with dots", provider: "bedrock", model: "tools", path: "/v1beta/models/{model}:generateContent",
			body:   `"tools":[{"functionDeclarations":[{"name":"a.b:c","parameters":{"type":"OBJECT"}}]}],"contents":[{"role":"user","parts":[{"text":"Hi"}]}]`,
			unsent: []string{"a.b:c"}, says: `"name":"a.b:c"`,
		},
		{
			name: "a name that begins with a digit", provider: "gemini", model: "tools", path: "/v1/chat/completions",
			body:   `"tools":[{"type":"function","function":{"name":"9lives","parameters":{"type":"object"}}}],"messages":[{"role":"user","content":"Hi"}]`,
			unsent: []string{`"9lives"`}, says: `"name":"9lives"`,
		},
		{
			name: "calls of another vendor's model in a client's own format", provider: "gemini", model: "gemini-3.8-flash/echo", path: "/v1beta/models/{model}:generateContent",
			body: fmt.Sprintf(geminiCalls, `{"functionCall":{"name":"f","args":{}}}`),
			sent: []string{fmt.Sprintf(geminiCalls, `{"thoughtSignature":"skip_thought_signature_validator","functionCall":{"name":"f","args":{}}}`)},
		},
		{
			name: "calls that the model signed, which go as they came", provider: "gemini", model: "gemini-3.8-flash/echo", path: "/v1beta/models/{model}:generateContent",
			body: fmt.Sprintf(geminiCalls, `{"function_call":{"name":"f","args":{}},"thought_signature":"c2ln"}`),
			sent: []string{fmt.Sprintf(geminiCalls, `{"function_call":{"name":"f","args":{}},"thought_signature":"c2ln"}`)},
		},
		{
			name: "calls for a model that asks for no signature", provider: "gemini", model: "gemini-2.5-flash/echo", path: "/v1beta/models/{model}:generateContent",
			body: fmt.Sprintf(geminiCalls, `{"functionCall":{"name":"f","args":{}}}`), sent: []string{fmt.Sprintf(geminiCalls, `{"functionCall":{"name":"f","args":{}}}`)},
		},
		{
			name: "calls of another vendor's model from a client of another format", provider: "gemini", model: "gemini-3.8-flash/echo", path: "/v1/messages",
			body: fmt.Sprintf(messagesCall, "f", "toolu_1"), sent: []string{`"thoughtSignature":"skip_thought_signature_validator"`},
		},
		{
			name: "results that come twice, as resumed sessions have them", provider: "anthropic", path: "/v1beta/models/{model}:generateContent",
			body: twice, unsent: []string{"second"}, sent: []string{"first"}, dropped: "repeated tool results",
		},
		{
			name: "the same at another vendor", provider: "bedrock", path: "/v1beta/models/{model}:generateContent",
			body: twice, unsent: []string{"second"}, sent: []string{"first"}, dropped: "repeated tool results",
		},
		{
			name: "results that come twice in messages of their own", provider: "gemini", path: "/v1/chat/completions",
			body:   strings.Replace(fmt.Sprintf(chatCall, "f", "call_1"), `"content":"done"}]`, `"content":"done"},{"role":"tool","tool_call_id":"call_1","content":"second"}]`, 1),
			unsent: []string{"second"}, sent: []string{"done"}, dropped: "repeated tool results",
		},
		{
			name: "a picture between results in one turn, which goes as it came", provider: "gemini", path: "/v1beta/models/{model}:generateContent",
			body: between, sent: []string{between},
		},
		{
			name: "a temperature above 1", provider: "bedrock", path: "/v1/chat/completions",
			body: `"temperature":1.5,"messages":[{"role":"user","content":"Hi"}]`, sent: []string{`"temperature":1}`}, dropped: "temperature above 1",
		},
		{
			name: "sampling for a Claude that refuses it", provider: "bedrock", model: "us.anthropic.claude-opus-4-7/echo", path: "/v1/chat/completions",
			body:   `"temperature":0.5,"top_p":0.9,"messages":[{"role":"user","content":"Hi"}]`,
			unsent: []string{"temperature", "topP"}, dropped: "temperature, top_p",
		},
		{
			name: "the same by Anthropic", provider: "anthropic", model: "claude-opus-4-7/echo", path: "/v1beta/models/{model}:generateContent",
			body:   `"contents":[{"parts":[{"text":"Hi"}]}],"generationConfig":{"temperature":0.5,"topP":0.9,"topK":9}`,
			unsent: []string{"temperature", "top_p", "top_k"}, dropped: "temperature, top_p, top_k",
		},
		{
			name: "both ways to sample for a Claude that takes one", provider: "bedrock", model: "us.anthropic.claude-sonnet-4-5/echo", path: "/v1/messages",
			body: `"max_tokens":9,"temperature":0.5,"top_p":0.9,"messages":[{"role":"user","content":"Hi"}]`,
			sent: []string{`"temperature":0.5`}, unsent: []string{"topP"}, dropped: "top_p",
		},
		{
			name: "both ways for one before it", provider: "bedrock", model: "us.anthropic.claude-3-7-sonnet/echo", path: "/v1/messages",
			body: `"max_tokens":9,"temperature":0.5,"top_p":0.9,"messages":[{"role":"user","content":"Hi"}]`, sent: []string{`"temperature":0.5,"topP":0.9`},
		},
		{
			name: "an answer that is begun, for a Claude that goes on with none", provider: "bedrock", model: "us.anthropic.claude-opus-4-6/echo", path: "/v1/messages",
			body:   `"max_tokens":9,"messages":[{"role":"user","content":"count"},{"role":"assistant","content":"one,"}]`,
			status: 400, says: "does not continue an assistant message",
		},
		{
			name: "an answer that is begun with white space at its end", provider: "anthropic", model: "claude-sonnet-4-5/echo", path: "/v1/chat/completions",
			body: `"messages":[{"role":"user","content":"count"},{"role":"assistant","content":"one, "}]`, sent: []string{`"content":"one,"`},
		},
		{
			name: "a greeting before the first question", provider: "bedrock", path: "/v1/chat/completions",
			body: `"messages":[{"role":"system","content":"Be kind."},{"role":"assistant","content":"What can I do?"},{"role":"user","content":"Hi"}]`,
			sent: []string{`{"role":"user","content":[{"text":"Hello."}]},{"role":"assistant","content":[{"text":"What can I do?"}]}`},
		},
		{
			name: "bounds of another vendor", provider: "cohere", path: "/v1/chat/completions",
			body:    `"temperature":1.5,"top_p":1,"frequency_penalty":-1,"seed":-1,"messages":[{"role":"user","content":"Hi"}]`,
			sent:    []string{`"temperature":1,"p":0.99,"frequency_penalty":0`},
			dropped: "temperature above 1, top_p above 0.99, frequency_penalty below 0, seed",
		},
		{
			name: "white space alone before a question", provider: "bedrock", path: "/v1/responses",
			body: `"input":[{"role":"user","content":" "},{"role":"user","content":"Hi"}]`, sent: []string{`"content":[{"text":"Hi"}]`},
		},
		{
			name: "a long id", provider: "responses", path: "/v1/chat/completions",
			body: fmt.Sprintf(chatCall, "f", strings.Repeat("call.", 17)), unsent: []string{strings.Repeat("call.", 17)},
		},
		{
			name: "five stop sequences", provider: "openai", path: "/v1/messages",
			body: `"max_tokens":9,"stop_sequences":["a","b","c","d","e"],"messages":[{"role":"user","content":"Hi"}]`, status: 400, says: "at most 4 stop sequences",
		},
		{
			name: "a message between call and result", provider: "deepseek", path: "/v1/responses",
			body: `"input":[{"role":"user","content":"Hi"},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"role":"user","content":"quick"},` +
				`{"type":"function_call_output","call_id":"c1","output":"x"}]`,
			sent: []string{`"tool_call_id":"c1","content":"x"},{"role":"user","content":"quick"}`},
		},
		{
			name: "a schema with bounds", provider: "anthropic", model: "claude-sonnet-5/json", path: "/v1/chat/completions",
			body: `"messages":[{"role":"user","content":"Hi"}],"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":` +
				`{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"]}}}`,
			sent: []string{`"additionalProperties":false`, `"description":"{minimum: 1}"`}, dropped: "schema keywords",
		},
	}
}

// TestVendorRules checks that requests that are valid at a client API reach a vendor that refuses violations of its
// rules, whole and streamed, and that answers name the client's own tools.
func TestVendorRules(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	var last struct {
		sync.Mutex
		path, body string
	}
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		last.Lock()
		last.path, last.body = r.URL.Path, string(body)
		last.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		up.ServeHTTP(w, r)
	}))
	t.Cleanup(ts.Close)
	yaml := "providers:"
	for _, name := range []string{"mistral", "groq", "deepseek", "openrouter", "xai", "openai", "cerebras"} {
		yaml += harness.ProviderYAML(name, ts.URL)
	}
	yaml = strings.Replace(yaml, "  openai:\n", "  openai:\n    also: [responses]\n", 1)
	spoken := harness.Spoken()
	for _, name := range []string{"responses", "bedrock", "gemini", "anthropic", "cohere"} {
		yaml += harness.SpokenBy(name, name, ts.URL, spoken[name])
	}
	h := harness.Open(t, harness.Setup{YAML: yaml})
	for _, tt := range toVendors() {
		for _, stream := range []bool{false, true} {
			model := tt.model
			if model == "" {
				model = "echo"
			}
			if tt.provider != "responses" {
				model += ":vendor=" + tt.provider
			}
			r := h.Do(tt.ask(tt.provider+"/"+model, stream))
			status := tt.status
			if status == 0 {
				status = http.StatusOK
			}
			what := fmt.Sprintf("%s to %s, streamed %v", tt.name, tt.provider, stream)
			if r.Status != status || !strings.Contains(r.Body, tt.says) {
				t.Errorf("%s: got %d %s, want %d and %q", what, r.Status, r.Body, status, tt.says)
				continue
			}
			last.Lock()
			got := last.path + " " + last.body
			last.Unlock()
			for _, sent := range tt.sent {
				if !strings.Contains(got, sent) {
					t.Errorf("%s: the provider got %s, want %s in it", what, got, sent)
				}
			}
			for _, unsent := range tt.unsent {
				if strings.Contains(got, unsent) {
					t.Errorf("%s: the provider got %s, want no %s", what, got, unsent)
				}
			}
			if dropped := r.Header.Get("X-Weir-Dropped"); tt.dropped != "" && dropped != tt.dropped {
				t.Errorf("%s: X-Weir-Dropped is %q, want %q", what, dropped, tt.dropped)
			}
		}
	}
}

func (v *toVendor) ask(model string, stream bool) harness.Ask {
	if path, more, ok := strings.Cut(v.path, "{model}"); ok {
		if stream {
			more = ":streamGenerateContent?alt=sse"
		}
		return harness.Ask{Path: path + model + more, Body: "{" + v.body + "}"}
	}
	return harness.Ask{Path: v.path, Body: fmt.Sprintf(`{"model":%q,"stream":%v,%s}`, model, stream, v.body)}
}
