package gateway_test

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

func anthropicSDK() *sdkClient {
	return &sdkClient{clientAPI: "anthropic", ask: askAnthropic, raised: raisedAnthropic, words: map[string]raised{
		// https://platform.claude.com/docs/en/api/errors
		"too long":         {status: 400, kind: "invalid_request_error"},
		"bad key":          {status: 401, kind: "authentication_error"},
		"no permission":    {status: 403, kind: "permission_error"},
		"no such model":    {status: 404, kind: "not_found_error"},
		"too many":         {status: 429, kind: "rate_limit_error"},
		"provider's 500":   {status: 502, kind: "api_error"},
		"provider's 503":   {status: 529, kind: "overloaded_error"},
		"provider's key":   {status: 502, kind: "api_error"},
		"no such upstream": {status: 404, kind: "not_found_error"},
	}}
}

func anthropicClient(c sdkCall) anthropic.Client {
	return anthropic.NewClient(
		option.WithoutEnvironmentDefaults(), option.WithBaseURL(c.url), option.WithAPIKey(c.key),
		option.WithMaxRetries(c.retries), option.WithHTTPClient(c.client),
	)
}

func anthropicParams(q sdkQuestion) anthropic.MessageNewParams {
	content := []anthropic.ContentBlockParamUnion{anthropic.NewTextBlock(firstWords)}
	if mime, data, ok := cutData(q.image); ok {
		content = append(content, anthropic.NewImageBlockBase64(mime, data))
	} else if q.image != "" {
		content = append(content, anthropic.NewImageBlock(anthropic.URLImageSourceParam{URL: q.image}))
	}
	p := anthropic.MessageNewParams{Model: q.model, MaxTokens: 4096, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(content...)}}
	if q.tool {
		p.Tools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "weather", InputSchema: anthropic.ToolInputSchemaParam{
			Properties: weatherSchema()["properties"], Required: []string{"city"},
		}}}}
	}
	if q.schema {
		p.OutputConfig.Format = anthropic.JSONOutputFormatParam{Schema: placeSchema()}
	}
	if q.think {
		p.Thinking = anthropic.ThinkingConfigParamOfEnabled(2048)
	}
	if q.after != nil {
		var next []anthropic.ContentBlockParamUnion
		for _, call := range q.after.calls {
			next = append(next, anthropic.NewToolResultBlock(call.id, weatherResult, false))
		}
		if len(next) == 0 {
			next = append(next, anthropic.NewTextBlock("Go on"))
		}
		p.Messages = append(p.Messages, q.after.turn.(anthropic.MessageParam), anthropic.NewUserMessage(next...))
	}
	return p
}

// cutData splits a data URL.
func cutData(url string) (mime, data string, ok bool) {
	rest, ok := strings.CutPrefix(url, "data:")
	mime, data, _ = strings.Cut(rest, ";base64,")
	return mime, data, ok
}

func askAnthropic(c sdkCall, q sdkQuestion) (heard, error) {
	client := anthropicClient(c)
	if !q.stream {
		whole, err := client.Messages.New(c.ctx, anthropicParams(q))
		if err != nil {
			return heard{}, err
		}
		return heardAnthropic(whole), nil
	}
	stream := client.Messages.NewStreaming(c.ctx, anthropicParams(q))
	defer stream.Close()
	var acc anthropic.Message
	var text, cost string
	pieces := 0
	for stream.Next() {
		e := stream.Current()
		if err := acc.Accumulate(e); err != nil {
			return heard{}, err
		}
		if e.Type == "message_delta" {
			cost = e.AsMessageDelta().Usage.JSON.ExtraFields["cost"].Raw()
		}
		if e.Type == "content_block_delta" && e.Delta.Type == "text_delta" {
			text += e.Delta.Text
			pieces++
			q.piece()
		}
	}
	h := heardAnthropic(&acc)
	if h.text != text {
		return h, errors.New("the SDK accumulated " + h.text + ", the pieces say " + text)
	}
	h.pieces, h.cost = pieces, cost
	return h, stream.Err()
}

func heardAnthropic(m *anthropic.Message) heard {
	u := m.Usage
	h := heard{
		finish: string(m.StopReason), out: u.OutputTokens,
		in: u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens,
	}
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			h.text += b.AsText().Text
		case "thinking":
			h.thought += b.AsThinking().Thinking
		case "tool_use":
			use := b.AsToolUse()
			h.calls = append(h.calls, called{use.ID, use.Name, string(use.Input)})
		}
	}
	h.cost = u.JSON.ExtraFields["cost"].Raw()
	h.turn = m.ToParam()
	return h
}

func raisedAnthropic(err error) (raised, bool) {
	e, ok := errors.AsType[*anthropic.Error](err)
	if !ok {
		return raised{}, false
	}
	var body struct{ Error struct{ Message string } }
	_ = json.Unmarshal([]byte(e.RawJSON()), &body) // without a message the caller complains
	r := raised{status: e.StatusCode, kind: string(e.Type()), message: body.Error.Message, requestID: e.RequestID}
	if e.Response != nil {
		r.header = e.Response.Header
	}
	return r, true
}
