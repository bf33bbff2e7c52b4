package bedrock

import (
	"strings"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	// grounding is the tool by which Amazon's own models search the web
	// (https://docs.aws.amazon.com/nova/latest/nova2-userguide/web-grounding.html, undated copy of 2026). An answer tells of
	// each search as a call of the tool, and of nothing that it found but the pages that it cites.
	grounding = "nova_grounding"

	serverTool     = "server_tool_use" // the type of a call that the provider has run
	maxServerInput = 64 << 10          // bytes of the input of one in a stream
)

// SearchTool writes the tool for a wish of another format's client.
func SearchTool(*llm.WebSearch, *llm.Quirks) []byte {
	return []byte(`{"systemTool":{"name":"` + grounding + `"}}`)
}

// search appends the tool for a wish of another format's client to the list dst. The search takes no options.
func (e *requestEncoder) search(dst []byte, s *llm.WebSearch) []byte {
	if !grounds(e.model) {
		e.RefuseSearch(s)
		return dst
	}
	e.NoOptions(s)
	if dst[len(dst)-1] != '[' {
		dst = append(dst, ',')
	}
	return append(dst, SearchTool(s, nil)...)
}

// grounds reports whether a model has the tool: of the first Nova models Premier alone
// (https://docs.aws.amazon.com/nova/latest/userguide/grounding.html, undated copy of 2026).
func grounds(model string) bool {
	return strings.Contains(model, "amazon.nova-premier") || strings.Contains(model, "amazon.nova-2-")
}

// isServerTool reports whether a call is of a tool that the provider has run.
func isServerTool(toolUse []byte) bool {
	return rawjson.Text(rawjson.Get(toolUse, "type")) == serverTool
}

// ran holds the call of a tool that the provider has run.
type ran struct {
	id, name string
	input    strings.Builder // of a stream
}

// serverCall reads the beginning of such a call.
func serverCall(toolUse []byte) *ran {
	return &ran{id: rawjson.Text(rawjson.Get(toolUse, "toolUseId")), name: rawjson.Text(rawjson.Get(toolUse, "name"))}
}

// search returns the search that the call made with that input; nil for a call of another tool.
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

// class returns the class that the call is counted as.
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

// countRan adds the calls of tools that the provider has run to a usage, and to its upper bound, where there is one.
func countRan(u, most, made *llm.Usage) {
	u.Add(made)
	if most != nil {
		most.Add(made)
	}
}

// serverBlock returns the part of a whole answer for a call that the provider has run, and counts the call.
func serverBlock(block, toolUse []byte, made *llm.Usage) llm.Part {
	r := serverCall(toolUse)
	made[r.class()] = min(made[r.class()]+1, parse.MaxCount)
	return llm.Searched(r.search(rawjson.Get(toolUse, "input")), block)
}

// openServer takes note of a call that the provider runs, of a block of a stream.
func (d *Decoder) openServer(toolUse []byte) {
	d.ran = serverCall(toolUse)
	d.made[d.ran.class()] = min(d.made[d.ran.class()]+1, parse.MaxCount)
}

// endServer tells of the search that has ended.
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
