package harness

import (
	"fmt"
	"hash/crc32"
	"strings"
)

// ClientAPIs returns the protected operations, each with a valid request.
func ClientAPIs() []Ask {
	return []Ask{
		{Path: "/v1/chat", Body: Hello("house/echo")},
		{Path: "/api/chat", Body: Hello("house/echo")},
		{Path: "/v1/chat/completions", Body: `{"model":"house/echo","messages":[{"role":"user","content":"Hi"}]}`},
		{Path: "/v1/uses"},
		{Path: "/uses"},
		{Path: "/v1/models"},
	}
}

// StrangersKey returns a key of the right form and checksum that does not exist.
func StrangersKey() string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	key := "wk_" + strings.Repeat("Weir", 10)
	sum := ""
	for n := crc32.ChecksumIEEE([]byte(key)); len(sum) < 6; n /= 62 {
		sum = digits[n%62:n%62+1] + sum
	}
	return key + sum
}

// ChatAPI is a client API for chat, with its paths in the document and for clients.
type ChatAPI struct {
	Path, Streamed string // of the document
	Wrong          string // response to a method that the path does not support
	body           func(kind string, model string, stream bool) string
}

const (
	cityTool = `{"type":"object","properties":{"city":{"type":"string"}}}`
	// Anthropic's requirement
	closedCity = `{"type":"object","properties":{"city":{"type":"string"}},"additionalProperties":false}`
)

// ChatAPIs returns all of them.
func ChatAPIs() []ChatAPI {
	all := []ChatAPI{
		{Path: "/v1/chat", Wrong: "MethodNotAllowed", body: nativeBody},
		{Path: "/api/chat", Wrong: "MethodNotAllowed", body: nativeBody},
		{Path: "/v1/chat/completions", Wrong: "OpenAIFailure", body: completionBody},
		{Path: "/v1/responses", Wrong: "OpenAIFailure", body: ResponseBody},
		{Path: "/v1/messages", Wrong: "AnthropicFailure", body: messageBody},
	}
	for _, path := range []string{
		"/v1beta/models/{model}", "/v1/models/{model}", "/v1beta1/publishers/{publisher}/models/{model}",
		"/v1/projects/{project}/locations/{location}/publishers/{publisher}/models/{model}",
		"/v1beta1/projects/{project}/locations/{location}/publishers/{publisher}/models/{model}",
	} {
		wrong := "GeminiFailure"
		if path == "/v1/models/{model}" {
			wrong = "MethodNotAllowed" // the path is also the service's own
		}
		all = append(all, ChatAPI{
			Path: path + ":generateContent", Streamed: path + ":streamGenerateContent",
			Wrong: wrong, body: contentsBody,
		})
	}
	return all
}

func nativeBody(_, model string, _ bool) string { return Hello(model) }

func completionBody(kind, model string, stream bool) string {
	members := map[string]string{
		"tools":  `,"tools":[{"type":"function","function":{"name":"weather","parameters":` + cityTool + `}}]`,
		"schema": `,"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":` + cityTool + `}}`,
		"two":    `,"n":2`,
	}[kind]
	if stream {
		members += AsksUsage
	}
	return Completion(model, members)
}

// ResponseBody returns a body for OpenAI's Responses API: a question, or one for a tool or a schema.
func ResponseBody(kind, model string, stream bool) string {
	members := map[string]string{
		"tools":  `,"tools":[{"type":"function","name":"weather","parameters":` + cityTool + `}]`,
		"schema": `,"text":{"format":{"type":"json_schema","name":"n","schema":` + cityTool + `}}`,
	}[kind]
	return fmt.Sprintf(`{"model":%q,"input":"Say it again, please","stream":%t%s}`, model, stream, members)
}

func messageBody(kind, model string, stream bool) string {
	members := map[string]string{
		"tools":  `,"tools":[{"name":"weather","input_schema":` + cityTool + `}]`,
		"schema": `,"output_config":{"format":{"type":"json_schema","schema":` + closedCity + `}}`,
	}[kind]
	return fmt.Sprintf(`{"model":%q,"max_tokens":900,"messages":[{"role":"user","content":"Say it again, please"}],`+
		`"stream":%t%s}`, model, stream, members)
}

func contentsBody(kind, _ string, _ bool) string {
	members := map[string]string{
		"tools":  `,"tools":[{"functionDeclarations":[{"name":"weather","parametersJsonSchema":` + cityTool + `}]}]`,
		"schema": `,"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":` + cityTool + `}`,
	}[kind]
	return `{"contents":[{"role":"user","parts":[{"text":"Say it again, please"}]}]` + members + `}`
}

// Ask returns a request, and its path in the document.
func (f *ChatAPI) Ask(kind, model string, stream bool) (Ask, string) {
	a, path := Ask{Body: f.body(kind, model, stream)}, f.Path
	if stream && f.Streamed != "" {
		path = f.Streamed
	}
	a.Path = strings.NewReplacer("{model}", model, "{publisher}", "google", "{project}", "p", "{location}",
		"us").Replace(path)
	if stream {
		a.Header = []string{"Accept", "text/event-stream"}
		if f.Streamed != "" {
			a.Path += "?alt=sse"
		}
	}
	return a, path
}

// Completion returns a body for the vendor's client API.
func Completion(model, members string) string {
	return `{"model":"` + model + `","messages":[{"role":"user","content":"Say it again, please"}]` + members + `}`
}

// AsksUsage are OpenAI's members that request a stream with usage.
const AsksUsage = `,"stream":true,"stream_options":{"include_usage":true}`

// VendorAPI is a client API of a vendor, with a valid request.
type VendorAPI struct {
	Dialect, Path string
	// Body returns a request for a model; if the model is in the path, At has it.
	Body func(model, members string) string
	At   func(model string, stream bool) string
}

// VendorAPIs returns all of them.
func VendorAPIs() []VendorAPI {
	fixed := func(path string) func(string, bool) string { return func(string, bool) string { return path } }
	return []VendorAPI{
		{Dialect: "openai", Path: "/v1/chat/completions", Body: Completion, At: fixed("/v1/chat/completions")},
		{
			Dialect: "responses", Path: "/v1/responses", At: fixed("/v1/responses"),
			Body: func(model, members string) string {
				return `{"model":"` + model + `","input":"Say it again, please"` + members + `}`
			},
		},
		{
			Dialect: "anthropic", Path: "/v1/messages", At: fixed("/v1/messages"),
			Body: func(model, members string) string {
				return `{"model":"` + model + `","max_tokens":500,"messages":[{"role":"user","content":"Say it again,` +
					` please"}]` + members + `}`
			},
		},
		{
			Dialect: "gemini", Path: "/v1beta/models/house/echo:generateContent", At: geminiPath,
			Body: func(_, members string) string {
				return `{"contents":[{"role":"user","parts":[{"text":"Say it again, please"}]}]` + members + `}`
			},
		},
	}
}

func geminiPath(model string, stream bool) string {
	if stream {
		return "/v1beta/models/" + model + ":streamGenerateContent?alt=sse"
	}
	return "/v1beta/models/" + model + ":generateContent"
}

// Ask returns a valid request for a model.
func (d *VendorAPI) Ask(model string, stream bool) Ask {
	members := ""
	if stream && d.Dialect != "gemini" {
		members = `,"stream":true`
	}
	return Ask{Path: d.At(model, stream), Body: d.Body(model, members)}
}
