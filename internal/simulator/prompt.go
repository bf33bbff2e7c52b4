package simulator

import (
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// The rule that counts input tokens. It is cheap, and the same for every dialect.
const (
	tokensPerRequest = 3
	tokensPerMessage = 4
	tokensPerTool    = 8
	tokensPerMedia   = 85
	bytesPerToken    = 4
)

// promptTokens counts the input tokens of a request: 3, for every message 4 and a quarter of the bytes of its text, for
// every tool 8 and a quarter of the bytes of its name, description and schema, for every image, sound or document
// perMedia. Quarters are rounded up.
func promptTokens(req *llm.Request, perMedia int64) int64 {
	n := int64(tokensPerRequest)
	for i := range req.Messages {
		text, media := weigh(req.Messages[i].Parts)
		n += tokensPerMessage + quarter(text) + perMedia*media
	}
	if req.Embedding != nil {
		for _, text := range req.Embedding.Texts {
			n += quarter(len(text))
		}
	}
	for i := range req.Tools {
		t := &req.Tools[i]
		n += tokensPerTool + quarter(len(t.Name)+len(t.Description)+len(t.Parameters)+len(t.Raw))
	}
	return n
}

func quarter(bytes int) int64 {
	return int64(bytes+bytesPerToken-1) / bytesPerToken
}

// weigh returns the bytes of text and the number of media in the parts.
func weigh(parts []llm.Part) (text int, media int64) {
	for i := range parts {
		p := &parts[i]
		text += len(p.Text)
		if p.Media != nil {
			media++
		}
		if p.Call != nil {
			text += len(p.Call.Name) + len(p.Call.Arguments)
		}
		if p.Result != nil {
			t, m := weigh(p.Result.Parts)
			text += t
			media += m
		}
	}
	return text, media
}

// lastUserText returns the text of the last user message.
func lastUserText(req *llm.Request) string {
	for i := len(req.Messages) - 1; i >= 0; i-- {
		if req.Messages[i].Role == llm.RoleUser {
			return req.Messages[i].Text()
		}
	}
	return ""
}

// lastIsResult reports whether the last message answers a tool call.
func lastIsResult(req *llm.Request) bool {
	if len(req.Messages) == 0 {
		return false
	}
	for _, p := range req.Messages[len(req.Messages)-1].Parts {
		if p.Kind == llm.PartToolResult {
			return true
		}
	}
	return false
}

// lastResult returns the text of the last tool result.
func lastResult(req *llm.Request) string {
	var text string
	for _, p := range req.Messages[len(req.Messages)-1].Parts {
		if p.Kind == llm.PartToolResult && p.Result != nil {
			m := llm.Message{Parts: p.Result.Parts}
			text = m.Text()
		}
	}
	return text
}

// callable returns the functions that the model may call: only the named one if the request names one.
func callable(req *llm.Request) []llm.Tool {
	choice := req.ToolChoice
	if choice != nil && choice.Mode == llm.ToolsNone {
		return nil
	}
	var tools []llm.Tool
	for _, t := range req.Tools {
		if t.Name == "" || choice != nil && choice.Mode == llm.ToolsNamed && t.Name != choice.Name {
			continue
		}
		tools = append(tools, t)
	}
	return tools
}

// searchesOf limits n web searches to those that the tools of the request allow: none without a search tool, and at
// most max_uses.
func searchesOf(req *llm.Request, n int64) int64 {
	for i := range req.Tools {
		raw := req.Tools[i].Raw
		if !strings.Contains(rawjson.Text(rawjson.Get(raw, "type")), "web_search") {
			continue
		}
		if most, ok := rawjson.AsInt(rawjson.Get(raw, "max_uses")); ok {
			n = min(n, max(most, 0))
		}
		return n
	}
	return 0
}
