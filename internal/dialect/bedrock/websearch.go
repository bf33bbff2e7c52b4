package bedrock

import (
	"strings"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	// grounding is the tool by which Amazon's own models search the web
	// (https://docs.aws.amazon.com/nova/latest/nova2-userguide/web-grounding.html, undated copy of 2026). An answer
	// reports each search as a call of the tool, and of its results only the cited pages.
	grounding = "nova_grounding"

	serverTool     = "server_tool_use" // the type of a call that the provider ran
	maxServerInput = 64 << 10          // bytes of the input of one in a stream
)

// SearchTool writes the tool for a wish of another format's client.
func SearchTool(*llm.WebSearch, *llm.Quirks) []byte {
	return []byte(`{"systemTool":{"name":"` + grounding + `"}}`)
}

// search appends the tool for a wish of another format's client to the list dst. The search has no options.
func (e *requestEncoder) search(dst []byte, s *llm.WebSearch) []byte {
	if !grounds(e.model) {
		e.RefuseSearch(s)
		return dst
	}
	e.NoOptions(s)
	dst = rawjson.AppendComma(dst)
	return append(dst, SearchTool(s, nil)...)
}

// grounds reports whether a model has the tool: of the first Nova models only Premier
// (https://docs.aws.amazon.com/nova/latest/userguide/grounding.html, undated copy of 2026).
func grounds(model string) bool {
	return strings.Contains(model, "amazon.nova-premier") || strings.Contains(model, "amazon.nova-2-")
}

// isServerTool reports whether the provider ran a call.
func isServerTool(toolUse []byte) bool {
	return rawjson.Text(rawjson.Get(toolUse, "type")) == serverTool
}

// ran holds the call of a tool that the provider ran.
type ran struct {
	id, name string
	input    strings.Builder // of a stream
}

// serverCall reads the beginning of such a call.
func serverCall(toolUse []byte) *ran {
	return &ran{id: rawjson.Text(rawjson.Get(toolUse, "toolUseId")), name: rawjson.Text(rawjson.Get(toolUse, "name"))}
}

// search returns the search of the call with that input; nil for a call of another tool.
func (r *ran) search(input []byte) *llm.Search {
	if r.name != grounding {
		return nil
	}
	s := &llm.Search{ID: r.id}
	if rawjson.Validate(input, maxDepth) == nil {
		if q := rawjson.Text(rawjson.Get(input, "query")); q != "" {
			s.Queries = []string{q}
		}
	}
	return s
}

// class returns the class that counts the call.
func (r *ran) class() llm.Class {
	if r.name == grounding {
		return llm.Searches
	}
	return llm.OtherTools
}

// add adds a piece of its input.
func (r *ran) add(piece string) {
	if r.input.Len()+len(piece) <= maxServerInput {
		r.input.WriteString(piece)
	}
}

// countRan adds the calls of the provider's tools to a usage, and to its upper bound if there is one.
func countRan(u, most, made *llm.Usage) {
	u.Add(made)
	if most != nil {
		most.Add(made)
	}
}

// serverBlock returns the part of a whole answer for a call that the provider ran, and counts the call.
func serverBlock(block, toolUse []byte, made *llm.Usage) llm.Part {
	r := serverCall(toolUse)
	made[r.class()] = min(made[r.class()]+1, parse.MaxCount)
	return llm.Searched(r.search(rawjson.Get(toolUse, "input")), block)
}

// openServer records a call of a stream that the provider runs.
func (d *Decoder) openServer(toolUse []byte) {
	d.ran = serverCall(toolUse)
	d.made[d.ran.class()] = min(d.made[d.ran.class()]+1, parse.MaxCount)
}

// endServer reports the search that has ended.
func (d *Decoder) endServer(dst []llm.Event) []llm.Event {
	if d.ran == nil {
		return dst
	}
	s := d.ran.search([]byte(d.ran.input.String()))
	if d.ran = nil; s == nil {
		return dst
	}
	return append(dst, llm.Event{Kind: llm.EventSearch, Search: s})
}
