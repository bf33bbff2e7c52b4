package app_test

import (
	"fmt"
	"strings"
)

// chatAPI is a client API at which models are asked, as the document and as its clients
// name it.
type chatAPI struct {
	path, streamed string // of the document
	wrong          string // the response of a method that the path does not take
	body           func(kind string, model string, stream bool) string
}

const cityTool = `{"type":"object","properties":{"city":{"type":"string"}}}`

func chatAPIs() []chatAPI {
	all := []chatAPI{
		{path: "/v1/chat", wrong: "MethodNotAllowed", body: nativeBody},
		{path: "/api/chat", wrong: "MethodNotAllowed", body: nativeBody},
		{path: "/v1/chat/completions", wrong: "OpenAIFailure", body: completionBody},
		{path: "/v1/responses", wrong: "OpenAIFailure", body: responseBody},
		{path: "/v1/messages", wrong: "AnthropicFailure", body: messageBody},
	}
	for _, path := range []string{
		"/v1beta/models/{model}", "/v1/models/{model}", "/v1beta1/publishers/{publisher}/models/{model}",
		"/v1/projects/{project}/locations/{location}/publishers/{publisher}/models/{model}",
		"/v1beta1/projects/{project}/locations/{location}/publishers/{publisher}/models/{model}",
	} {
		wrong := "GeminiFailure"
		if path == "/v1/models/{model}" {
			wrong = "MethodNotAllowed" // the path is the service's own, too
		}
		all = append(all, chatAPI{path: path + ":generateContent", streamed: path + ":streamGenerateContent", wrong: wrong, body: contentsBody})
	}
	return all
}

func nativeBody(_, model string, _ bool) string { return hello(model) }

func completionBody(kind, model string, stream bool) string {
	members := map[string]string{
		"tools":  `,"tools":[{"type":"function","function":{"name":"weather","parameters":` + cityTool + `}}]`,
		"schema": `,"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":` + cityTool + `}}`,
		"two":    `,"n":2`,
	}[kind]
	if stream {
		members += asksUsage
	}
	return completion(model, members)
}

func responseBody(kind, model string, stream bool) string {
	members := map[string]string{
		"tools":  `,"tools":[{"type":"function","name":"weather","parameters":` + cityTool + `}]`,
		"schema": `,"text":{"format":{"type":"json_schema","name":"n","schema":` + cityTool + `}}`,
	}[kind]
	return fmt.Sprintf(`{"model":%q,"input":"Say it again, please","stream":%t%s}`, model, stream, members)
}

func messageBody(kind, model string, stream bool) string {
	members := map[string]string{
		"tools":  `,"tools":[{"name":"weather","input_schema":` + cityTool + `}]`,
		"schema": `,"output_config":{"format":{"type":"json_schema","schema":` + cityTool + `}}`,
	}[kind]
	return fmt.Sprintf(`{"model":%q,"max_tokens":900,"messages":[{"role":"user","content":"Say it again, please"}],"stream":%t%s}`, model, stream, members)
}

func contentsBody(kind, _ string, _ bool) string {
	members := map[string]string{
		"tools":  `,"tools":[{"functionDeclarations":[{"name":"weather","parametersJsonSchema":` + cityTool + `}]}]`,
		"schema": `,"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":` + cityTool + `}`,
	}[kind]
	return `{"contents":[{"role":"user","parts":[{"text":"Say it again, please"}]}]` + members + `}`
}

// ask is a request at the front, and the path at which the document has it.
func (f *chatAPI) ask(kind, model string, stream bool) (ask, string) {
	a, path := ask{body: f.body(kind, model, stream)}, f.path
	if stream && f.streamed != "" {
		path = f.streamed
	}
	a.path = strings.NewReplacer("{model}", model, "{publisher}", "google", "{project}", "p", "{location}", "us").Replace(path)
	if stream {
		a.header = []string{"Accept", "text/event-stream"}
		if f.streamed != "" {
			a.path += "?alt=sse"
		}
	}
	return a, path
}
