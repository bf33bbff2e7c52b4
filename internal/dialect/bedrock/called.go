package bedrock

import (
	"slices"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// notNow tells the model to call no tool in a conversation with calls, because Converse has no such choice and requires
// the tools of the calls.
const notNow = "Call no tool now: answer in words."

// said returns the conversation for Converse.
func (e *messageEncoder) said(r *llm.Request) []llm.Message {
	if e.Own {
		return r.Messages
	}
	messages := e.Objects(r.Messages)
	if r.ToolChoice != nil && r.ToolChoice.Mode == llm.ToolsNone && hasCalls(messages) {
		e.Drop("tool_choice")
		messages = append(slices.Clip(messages), llm.Message{
			Role: llm.RoleSystem, Parts: []llm.Part{{Kind: llm.PartText, Text: notNow}},
		})
	}
	return messages
}

func hasCalls(messages []llm.Message) bool {
	isCall := func(p llm.Part) bool { return p.Kind == llm.PartToolCall && p.Call != nil }
	return slices.ContainsFunc(messages, func(m llm.Message) bool { return slices.ContainsFunc(m.Parts, isCall) })
}

// appendCalledTools appends the tools that the conversation calls if the request has none, because Converse refuses
// calls and results without toolConfig
// (https://docs.aws.amazon.com/bedrock/latest/userguide/tool-use-inference-call.html; the error message is in
// https://github.com/anomalyco/opencode/issues/34089).
func appendCalledTools(obj []byte, messages []llm.Message) []byte {
	seen := map[string]bool{}
	for i := range messages {
		for j := range messages[i].Parts {
			c := messages[i].Parts[j].Call
			if c == nil || seen[c.Name] {
				continue
			}
			if len(seen) == 0 {
				obj = append(rawjson.AppendName(obj, "tools"), '[')
			} else {
				obj = append(obj, ',')
			}
			seen[c.Name] = true
			obj = rawjson.AppendString(append(obj, `{"toolSpec":{"name":`...), c.Name)
			obj = append(obj, `,"inputSchema":{"json":`+anyObject+`}}}`...)
		}
	}
	if len(seen) > 0 {
		obj = append(obj, ']')
	}
	return obj
}

// isBare reports whether a turn has a document and no text, which Converse requires next to a document
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html, document).
func isBare(turn []llm.Message) bool {
	document := false
	for i := range turn {
		if turn[i].Role == llm.RoleSystem { // written elsewhere
			continue
		}
		for j := range turn[i].Parts {
			p := &turn[i].Parts[j]
			if p.Kind == llm.PartText {
				return false
			}
			document = document || p.Kind == llm.PartDocument
		}
	}
	return document
}
