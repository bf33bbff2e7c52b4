package coheretest

import (
	"weir/internal/dialect/cohere"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

func decodeMessages(v []byte) ([]llm.Message, error) { return parse.Messages(v, decodeMessage) }

// members are the members of a message that the tree models.
var members = rawjson.Names{"role", "tool_call_id", "content", "tool_calls", "tool_plan", "citations"}

// decodeMessage decodes a message. A tool's result is a part.
func decodeMessage(v []byte, param string) (out llm.Message, err error) {
	switch role := llm.Role(rawjson.Text(rawjson.Get(v, "role"))); role {
	case llm.RoleAssistant:
		return cohere.DecodeAssistant(v, param)
	case llm.RoleSystem, llm.RoleUser, llm.RoleTool:
		out.Role = role
	default:
		return out, llm.Invalid(param+".role", `The role must be "system", "user", "assistant" or "tool".`)
	}
	for m := range rawjson.PresentMembers(v) {
		if !members.Has(m.Name()) {
			out.Extra = append(out.Extra, llm.Field{Name: m.Name(), Value: m.Value})
		}
	}
	content := rawjson.Get(v, "content")
	if !rawjson.Present(content) {
		whose := "The content"
		if out.Role == llm.RoleTool {
			whose += " of a tool's result"
		}
		return out, llm.Invalid(param+".content", whose+" must be a string or an array of content blocks.")
	}
	if out.Parts, err = cohere.DecodeContent(content, param+".content"); err != nil || out.Role != llm.RoleTool {
		return out, err
	}
	result := &llm.ToolResult{CallID: rawjson.Text(rawjson.Get(v, "tool_call_id")), Parts: out.Parts}
	out.Parts = []llm.Part{{Kind: llm.PartToolResult, Result: result}}
	return out, nil
}
