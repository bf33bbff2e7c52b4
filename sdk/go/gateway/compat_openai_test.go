package gateway_test

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"
)

// placeSchema returns the schema of structured answers.
func placeSchema() map[string]any {
	return map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"name", "height"},
		"properties": map[string]any{
			"name": map[string]any{"type": "string"}, "height": map[string]any{"type": "integer", "enum": []int{100, 200}},
		},
	}
}

// weatherSchema returns the parameters of the tool "weather".
func weatherSchema() map[string]any {
	return map[string]any{
		"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"},
	}
}

// weatherResult is the tool's result.
const weatherResult = "rain"

func openaiSDK() *sdkClient {
	return &sdkClient{clientAPI: "openai", ask: askOpenAI, embed: embedOpenAI, raised: raisedOpenAI, words: openaiWords()}
}

// openaiWords returns those of https://platform.openai.com/docs/guides/error-codes.
func openaiWords() map[string]raised {
	const invalid, server = "invalid_request_error", "server_error"
	return map[string]raised{
		"too long":         {status: 400, kind: invalid},
		"bad key":          {status: 401, kind: invalid, code: "invalid_api_key"},
		"no permission":    {status: 403, kind: invalid, code: "insufficient_permissions"},
		"no such model":    {status: 404, kind: invalid, code: "model_not_found", param: "model"},
		"too many":         {status: 429, kind: "rate_limit_error", code: "rate_limit_exceeded"},
		"provider's 500":   {status: 502, kind: server, code: "provider_error"},
		"provider's 503":   {status: 503, kind: server, code: "provider_unavailable"},
		"provider's key":   {status: 502, kind: server, code: "provider_error"},
		"no such upstream": {status: 404, kind: invalid, code: "model_not_found"},
	}
}

func openaiClient(c sdkCall) openai.Client {
	return openai.NewClient(
		option.WithBaseURL(c.url+"/v1"), option.WithAPIKey(c.key), option.WithMaxRetries(c.retries), option.WithHTTPClient(c.client),
	)
}

func openaiParams(q sdkQuestion) openai.ChatCompletionNewParams {
	content := []openai.ChatCompletionContentPartUnionParam{openai.TextContentPart(firstWords)}
	if q.image != "" {
		content = append(content, openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: q.image}))
	}
	p := openai.ChatCompletionNewParams{Model: q.model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(content)}}
	if q.tool {
		p.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: "weather", Parameters: weatherSchema(),
		})}
	}
	if q.schema {
		p.ResponseFormat.OfJSONSchema = &openai.ResponseFormatJSONSchemaParam{
			JSONSchema: openai.ResponseFormatJSONSchemaJSONSchemaParam{Name: "place", Strict: openai.Bool(true), Schema: placeSchema()},
		}
	}
	if q.think {
		p.ReasoningEffort = shared.ReasoningEffortLow
	}
	if q.after != nil {
		p.Messages = append(p.Messages, q.after.turn.(openai.ChatCompletionMessageParamUnion))
		for _, call := range q.after.calls {
			p.Messages = append(p.Messages, openai.ToolMessage(weatherResult, call.id))
		}
		if len(q.after.calls) == 0 {
			p.Messages = append(p.Messages, openai.UserMessage("Go on"))
		}
	}
	return p
}

func askOpenAI(c sdkCall, q sdkQuestion) (heard, error) {
	if q.stream {
		return streamOpenAI(c, q)
	}
	client := openaiClient(c)
	whole, err := client.Chat.Completions.New(c.ctx, openaiParams(q))
	if err != nil {
		return heard{}, err
	}
	h := heardOpenAI(whole)
	message := whole.Choices[0].Message
	// Members for which the SDK has no field, as programs that show thinking send them.
	h.turn = param.Override[openai.ChatCompletionMessageParamUnion](json.RawMessage(message.RawJSON()))
	h.thought = textOf(message.JSON.ExtraFields["reasoning_content"].Raw())
	h.cost = whole.Usage.JSON.ExtraFields["cost"].Raw()
	return h, nil
}

func streamOpenAI(c sdkCall, q sdkQuestion) (h heard, err error) {
	p := openaiParams(q)
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	client := openaiClient(c)
	stream := client.Chat.Completions.NewStreaming(c.ctx, p)
	defer stream.Close()
	var acc openai.ChatCompletionAccumulator
	var text, thought, cost string
	var details []json.RawMessage
	pieces := 0
	for stream.Next() {
		chunk := stream.Current()
		if !acc.AddChunk(chunk) {
			return h, errors.New("the SDK's accumulator refuses " + chunk.RawJSON())
		}
		if raw := chunk.Usage.JSON.ExtraFields["cost"].Raw(); raw != "" {
			cost = raw
		}
		for _, choice := range chunk.Choices {
			thought += textOf(choice.Delta.JSON.ExtraFields["reasoning_content"].Raw())
			details = append(details, listOf(choice.Delta.JSON.ExtraFields["reasoning_details"].Raw())...)
			if text += choice.Delta.Content; choice.Delta.Content != "" {
				pieces++
				q.piece()
			}
		}
	}
	if len(acc.Choices) > 0 {
		h = heardOpenAI(&acc.ChatCompletion)
		h.turn = withThought(acc.Choices[0].Message.ToParam(), thought, details)
	}
	if h.text != text {
		return h, errors.New("the SDK accumulated " + h.text + ", the pieces say " + text)
	}
	h.pieces, h.thought, h.cost = pieces, thought, cost
	return h, stream.Err()
}

func heardOpenAI(m *openai.ChatCompletion) heard {
	choice := m.Choices[0]
	h := heard{text: choice.Message.Content, finish: choice.FinishReason, in: m.Usage.PromptTokens, out: m.Usage.CompletionTokens}
	for _, call := range choice.Message.ToolCalls {
		h.calls = append(h.calls, called{call.ID, call.Function.Name, call.Function.Arguments})
	}
	return h
}

func embedOpenAI(c sdkCall, model string, texts []string) (e embedded, err error) {
	client := openaiClient(c)
	got, err := client.Embeddings.New(c.ctx, openai.EmbeddingNewParams{
		Model: model, Dimensions: openai.Int(3), Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: texts},
	})
	if err != nil {
		return e, err
	}
	for _, v := range got.Data {
		e.vectors = append(e.vectors, v.Embedding)
	}
	e.in, e.cost = got.Usage.PromptTokens, got.Usage.JSON.ExtraFields["cost"].Raw()
	return e, nil
}

// withThought adds the members for which the SDK has no field.
func withThought(m openai.ChatCompletionMessageParamUnion, thought string, details []json.RawMessage) openai.ChatCompletionMessageParamUnion {
	extra := map[string]any{}
	if thought != "" {
		extra["reasoning_content"] = thought
	}
	if details != nil {
		extra["reasoning_details"] = details
	}
	if len(extra) > 0 {
		m.OfAssistant.SetExtraFields(extra)
	}
	return m
}

// listOf returns a JSON array's elements; nil for any other value.
func listOf(raw string) (list []json.RawMessage) {
	if json.Unmarshal([]byte(raw), &list) != nil {
		return nil
	}
	return list
}

// textOf returns a JSON string's text; empty for any other value.
func textOf(raw string) (s string) {
	if json.Unmarshal([]byte(raw), &s) != nil {
		return ""
	}
	return s
}

// piece reports that a piece of text has arrived.
func (q *sdkQuestion) piece() {
	if q.perPiece != nil {
		q.perPiece()
	}
}

func raisedOpenAI(err error) (raised, bool) {
	e, ok := errors.AsType[*openai.Error](err)
	if !ok {
		return raised{}, false
	}
	r := raised{status: e.StatusCode, kind: e.Type, code: e.Code, param: e.Param, message: e.Message, header: http.Header{}}
	if e.Response != nil {
		r.header, r.requestID = e.Response.Header, e.Response.Header.Get("x-request-id")
	}
	return r, true
}
