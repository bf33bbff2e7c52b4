package gemini

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// noSignature is Google's word for a call that no Gemini model made, and whose
// signature is therefore not to be asked for:
// https://ai.google.dev/gemini-api/docs/thought-signatures#faqs.
const noSignature = "skip_thought_signature_validator"

// called is a function call of the conversation.
type called struct {
	name     string
	position int
}

// contents writes the conversation without what the system says. The results of
// all calls of a turn stand in one content, as Google asks.
func (e *requestEncoder) contents(messages []llm.Message) {
	e.key("contents")
	e.dst = append(e.dst, '[')
	empty := len(e.dst)
	for i := 0; i < len(messages); i++ {
		m, param := &messages[i], "messages["+strconv.Itoa(i)+"]"
		if m.Role == llm.RoleSystem {
			continue
		}
		if m.Role == llm.RoleTool && !e.own {
			var more int
			m, more = together(messages[i:])
			i += more
		}
		e.content(m, param)
	}
	if len(e.dst) == empty {
		e.refuse("messages", "The provider of this model wants at least one message beside those of the system.")
	}
	e.dst = append(e.dst, ']')
}

// together is the first message with the results of those that follow it, and
// how many these are.
func together(messages []llm.Message) (m *llm.Message, more int) {
	first := &messages[0]
	for more+1 < len(messages) && messages[more+1].Role == llm.RoleTool {
		more++
	}
	if more == 0 {
		return first, 0
	}
	all := llm.Message{Role: first.Role}
	for i := range messages[:more+1] {
		all.Parts = append(all.Parts, messages[i].Parts...)
		all.Extra = append(all.Extra, messages[i].Extra...)
	}
	return &all, more
}

// content writes one turn.
func (e *requestEncoder) content(m *llm.Message, param string) {
	before := len(e.dst)
	if e.dst[before-1] != '[' {
		e.dst = append(e.dst, ',')
	}
	e.dst = rawjson.AppendString(append(e.dst, `{"role":`...), e.roleWord(m.Role))
	e.dst = append(e.dst, `,"parts":[`...)
	empty := len(e.dst)
	first := true
	for _, p := range e.inOrder(m.Parts) {
		e.part(&p, param, first)
		first = first && p.Kind != llm.PartToolCall
	}
	if len(e.dst) == empty && !e.own {
		if m.Role == llm.RoleAssistant { // it said nothing that can be carried
			e.dst = e.dst[:before]
			return
		}
		e.dst = append(e.dst, `{"text":""}`...)
	}
	e.dst = append(e.dst, ']')
	e.fields(m.Extra, "message fields of another API")
	if m.Name != "" {
		e.drop("name")
	}
	e.dst = append(e.dst, '}')
}

// inOrder is the parts of a turn with the results of calls before the others, in
// the order of the calls: without ids it says which result is whose.
func (e *requestEncoder) inOrder(parts []llm.Part) []llm.Part {
	if e.own || !slices.ContainsFunc(parts, isResult) {
		return parts
	}
	rank := func(p *llm.Part) int {
		if !isResult(*p) {
			return math.MaxInt
		}
		return e.called[p.Result.CallID].position
	}
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b llm.Part) int { return cmp.Compare(rank(&a), rank(&b)) })
	return parts
}

func isResult(p llm.Part) bool { return p.Kind == llm.PartToolResult && p.Result != nil }

func (e *requestEncoder) roleWord(r llm.Role) string {
	switch {
	case r == llm.RoleAssistant:
		return "model"
	case r == llm.RoleTool && e.own:
		return "function"
	}
	return "user"
}

// fields writes members in this format's words, and drops those of another.
func (e *requestEncoder) fields(extra []llm.Field, what string) {
	if len(extra) > 0 && !e.own {
		e.drop(what)
		return
	}
	for _, f := range extra {
		e.raw(f.Name, f.Value)
	}
}

// system writes what the system says, wherever it said it, as one instruction.
func (e *requestEncoder) system(messages []llm.Message) {
	begun := false
	for i := range messages {
		m := &messages[i]
		if m.Role != llm.RoleSystem {
			continue
		}
		if !begun && len(m.Parts) > 0 {
			begun = true
			e.key("systemInstruction")
			e.dst = append(e.dst, `{"parts":[`...)
		}
		for j := range m.Parts {
			if m.Parts[j].Kind != llm.PartText && !e.own {
				param := "messages[" + strconv.Itoa(i) + "].content"
				e.refuse(param, "The provider of this model takes text alone in a message of the system.")
			}
			e.part(&m.Parts[j], "messages["+strconv.Itoa(i)+"]", false)
		}
		if m.Name != "" {
			e.drop("name")
		}
		if len(m.Extra) > 0 && !e.own {
			e.drop("message fields of another API")
		}
	}
	if begun {
		e.dst = append(e.dst, "]}"...)
	}
}

// part writes one part. First says that the turn has called no function before
// it.
func (e *requestEncoder) part(p *llm.Part, param string, first bool) {
	at := len(e.dst)
	if e.dst[at-1] != '[' {
		e.dst = append(e.dst, ',')
	}
	signature := p.Signature
	switch p.Kind {
	case llm.PartText, llm.PartRefusal:
		e.dst = rawjson.AppendString(append(e.dst, `{"text":`...), p.Text)
	case llm.PartReasoning:
		if !e.own {
			e.dropReasoning(p)
			e.dst = e.dst[:at]
			return
		}
		e.dst = rawjson.AppendString(append(e.dst, `{"text":`...), p.Text)
		e.dst = append(e.dst, `,"thought":true`...)
	case llm.PartImage, llm.PartAudio, llm.PartDocument:
		e.dst = append(e.dst, '{')
		e.media(p, param)
	case llm.PartToolCall:
		e.call(p.Call, param)
		if signature == "" && !e.own && e.modern && first {
			signature = noSignature
		}
	case llm.PartToolResult:
		e.result(p.Result, param)
	default:
		if !e.own {
			e.refuse(param+".content", "The provider of this model has no way to carry a content part of this request. Leave it out or choose another model.")
		}
		e.dst = append(e.dst, cmp.Or(string(p.Raw), "{}")...)
		return
	}
	if signature != "" {
		e.str("thoughtSignature", signature)
	}
	e.marks(p)
	e.dst = append(e.dst, '}')
	if p.Kind == llm.PartToolResult {
		e.mediaBeside(p.Result, param)
	}
}

func (e *requestEncoder) marks(p *llm.Part) {
	if p.CacheControl != nil {
		e.drop("cache_control")
	}
	e.fields(p.Extra, "content fields of another API")
}

// dropReasoning leaves out thinking that another model did, or of which the
// client kept the words alone.
func (e *requestEncoder) dropReasoning(p *llm.Part) {
	if p.Text != "" {
		e.drop("reasoning")
	}
	if p.Signature != "" {
		e.drop("reasoning signature")
	}
	if p.Redacted != "" {
		e.drop("redacted reasoning")
	}
}

// call writes a function call. Its arguments are an object here, not text.
func (e *requestEncoder) call(c *llm.ToolCall, param string) {
	e.called[c.ID] = called{c.Name, e.calls}
	e.calls++
	e.dst = append(e.dst, `{"functionCall":{`...)
	e.id(c.ID)
	e.str("name", c.Name)
	args, ok := object(c.Arguments)
	if !ok {
		e.refuse(param+".tool_calls", fmt.Sprintf("The arguments of the call %q are not a JSON object, and the provider of this model takes nothing else.", c.ID))
	}
	e.raw("args", []byte(args))
	e.fields(c.Extra, "tool call fields of another API")
	e.dst = append(e.dst, '}')
}

// object is the JSON object that a text holds; an empty text, which models
// write for functions without parameters, is an empty one.
func object(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "{}", true
	}
	if text[0] != '{' || rawjson.Validate([]byte(text), maxDepth) != nil {
		return "{}", false
	}
	return text, true
}

// id writes the id of a call or a result, where the provider wants it.
func (e *requestEncoder) id(id string) {
	if id != "" && !isMadeUp(id) && !e.q.NoCallIDs && (e.own || e.modern) {
		e.str("id", id)
	}
}

// result writes what a function gave back.
func (e *requestEncoder) result(r *llm.ToolResult, param string) {
	name := cmp.Or(r.Name, e.called[r.CallID].name)
	if name == "" {
		e.refuse(param+".tool_call_id", fmt.Sprintf("No tool call with the id %q comes before this result, and the provider of this model wants the name of its function.", r.CallID))
	}
	e.dst = append(e.dst, `{"functionResponse":{`...)
	e.id(r.CallID)
	e.str("name", name)
	e.output(r)
	e.mediaInside(r, param)
	e.fields(r.Extra, "tool result fields of another API")
	e.dst = append(e.dst, '}')
}

// output writes the response object: the original where there is one, else the
// text under the name that says whether it went well.
func (e *requestEncoder) output(r *llm.ToolResult) {
	var text []string
	for i := range r.Parts {
		p := &r.Parts[i]
		if p.Kind != llm.PartText {
			continue
		}
		e.marks(p)
		if e.own && p.Raw != nil {
			e.raw("response", p.Raw)
			return
		}
		text = append(text, p.Text)
	}
	if e.own && len(text) == 0 {
		return
	}
	e.key("response")
	e.dst = append(e.dst, '{')
	if r.IsError {
		e.str("error", strings.Join(text, "\n"))
	} else {
		e.str("output", strings.Join(text, "\n"))
	}
	e.dst = append(e.dst, '}')
}
