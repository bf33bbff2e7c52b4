package gemini

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/internal/dialect/callid"
	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/dialect/proof"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// noSignature is Google's placeholder for the signature of a call that no Gemini model made:
// https://ai.google.dev/gemini-api/docs/thought-signatures#faqs.
const noSignature = "skip_thought_signature_validator"

// messageEncoder writes the conversation of a request.
type messageEncoder struct {
	compose.Writer
	modern bool              // the model is of the third generation or later
	called map[string]called // the calls so far, by their ids
	calls  int
}

// called is a function call of the conversation.
type called struct {
	name     string
	position int
}

// contents writes the conversation without system messages. The results of all calls of a turn are in one content, as
// Google requires.
func (e *messageEncoder) contents(messages []llm.Message) {
	e.Name("contents")
	e.Dst = append(e.Dst, '[')
	for i := 0; i < len(messages); i++ {
		m, param := &messages[i], "messages["+strconv.Itoa(i)+"]"
		if m.Role == llm.RoleSystem {
			continue
		}
		if m.Role == llm.RoleTool && !e.Own {
			var more int
			m, more = together(messages[i:])
			i += more
		}
		e.content(m, param)
	}
	e.Dst = append(e.Dst, ']')
}

// together returns the first message with the results of those that follow it, and their number.
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

// content writes one message.
func (e *messageEncoder) content(m *llm.Message, param string) {
	before := len(e.Dst)
	e.Element()
	e.Dst = rawjson.AppendString(append(e.Dst, `{"role":`...), e.roleWord(m.Role))
	e.Dst = append(e.Dst, `,"parts":[`...)
	empty := len(e.Dst)
	first := true
	for _, p := range e.inOrder(m.Parts) {
		e.part(&p, param, first)
		first = first && p.Kind != llm.PartToolCall
	}
	e.mediaBeside(m.Parts, param)
	if len(e.Dst) == empty && !e.Own { // none of its parts can be carried
		e.Dst = e.Dst[:before]
		return
	}
	e.Dst = append(e.Dst, ']')
	e.InnerExtras(m.Extra, "message fields of another API")
	if m.Name != "" {
		e.Drop("name")
	}
	e.Dst = append(e.Dst, '}')
}

// inOrder returns the parts of a message with the results of calls first, in the order of the calls: without ids the
// order assigns the results.
func (e *messageEncoder) inOrder(parts []llm.Part) []llm.Part {
	if e.Own || !slices.ContainsFunc(parts, isResult) {
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

func (e *messageEncoder) roleWord(r llm.Role) string {
	switch {
	case r == llm.RoleAssistant:
		return "model"
	case r == llm.RoleTool && e.Own:
		return "function"
	}
	return "user"
}

// system writes all system messages as one instruction.
func (e *messageEncoder) system(messages []llm.Message) {
	before := len(e.Dst)
	e.Name("systemInstruction")
	e.Dst = append(e.Dst, `{"parts":[`...)
	empty := len(e.Dst)
	for i := range messages {
		m := &messages[i]
		if m.Role != llm.RoleSystem {
			continue
		}
		for j := range m.Parts {
			if m.Parts[j].Kind != llm.PartText && !e.Own {
				param := "messages[" + strconv.Itoa(i) + "].content"
				e.Refuse(param, "The provider of this model accepts only text in system messages. Leave other parts "+
					"out.")
			}
			e.part(&m.Parts[j], "messages["+strconv.Itoa(i)+"]", false)
		}
		if m.Name != "" {
			e.Drop("name")
		}
		if len(m.Extra) > 0 && !e.Own {
			e.Drop("message fields of another API")
		}
	}
	if len(e.Dst) == empty {
		e.Dst = e.Dst[:before]
		return
	}
	e.Dst = append(e.Dst, "]}"...)
}

// part writes one part. First is set if the turn has called no function before it.
func (e *messageEncoder) part(p *llm.Part, param string, first bool) {
	at := len(e.Dst)
	e.Element()
	signature := p.Signature
	if proof.IsForeign(p.Maker, Name) && p.Kind != llm.PartReasoning {
		e.DropProof(p)
		signature = ""
	}
	switch p.Kind {
	case llm.PartText, llm.PartRefusal:
		e.Dst = rawjson.AppendString(append(e.Dst, `{"text":`...), p.Text)
	case llm.PartReasoning:
		if proof.IsForeign(p.Maker, Name) || !e.Own && (p.Maker != Name || signature == "") {
			e.dropReasoning(p)
			e.Dst = e.Dst[:at]
			return
		}
		e.Dst = rawjson.AppendString(append(e.Dst, `{"text":`...), p.Text)
		e.Dst = append(e.Dst, `,"thought":true`...)
	case llm.PartImage, llm.PartAudio, llm.PartDocument:
		e.Dst = append(e.Dst, '{')
		e.media(p, param)
	case llm.PartToolCall:
		e.call(p.Call)
		if signature == "" && !e.Own && e.modern && first {
			signature = noSignature
		}
	case llm.PartToolResult:
		e.result(p.Result, param)
	default:
		if !e.Own {
			e.Refuse(param+".content", "The provider of this model cannot carry a content part of this "+
				"request. Leave it out or choose another model.")
		}
		e.Dst = append(e.Dst, cmp.Or(string(p.Raw), "{}")...)
		return
	}
	if signature != "" {
		e.Inner("thoughtSignature", signature)
	}
	e.marks(p)
	e.Dst = append(e.Dst, '}')
}

func (e *messageEncoder) marks(p *llm.Part) {
	if p.CacheControl != nil {
		e.Drop("cache_control")
	}
	if p.Annotations != nil {
		e.Drop("annotations")
	}
	e.InnerExtras(p.Extra, "content fields of another API")
}

// dropReasoning drops thinking of another model, or without its signature. No rule does it: a body does not show the
// maker.
func (e *messageEncoder) dropReasoning(p *llm.Part) {
	if p.Text != "" {
		e.Drop("reasoning")
	}
	e.DropProof(p)
}

// call writes a function call. Its arguments are an object in this format, not text.
func (e *messageEncoder) call(c *llm.ToolCall) {
	e.called[c.ID] = called{c.Name, e.calls}
	e.calls++
	e.Dst = append(e.Dst, `{"functionCall":{`...)
	e.id(c.ID)
	e.Inner("name", c.Name)
	args, _ := parse.Object(c.Arguments)
	e.InnerRaw("args", []byte(args))
	e.InnerExtras(c.Extra, "tool call fields of another API")
	e.Dst = append(e.Dst, '}')
}

// id writes the id of a call or a result if the provider requires it.
func (e *messageEncoder) id(id string) {
	if id != "" && !callid.IsMadeUp(id) && !e.Quirks.NoCallIDs && (e.Own || e.modern) {
		e.Inner("id", id)
	}
}

// result writes the result of a function.
func (e *messageEncoder) result(r *llm.ToolResult, param string) {
	name := cmp.Or(r.Name, e.called[r.CallID].name)
	if name == "" {
		e.Refuse(param+".tool_call_id",
			fmt.Sprintf("No tool call with the id %q precedes this result, and the provider of this model requires "+
				"the name of its function. Send the call first, or the name with the result.", r.CallID))
	}
	e.Dst = append(e.Dst, `{"functionResponse":{`...)
	e.id(r.CallID)
	e.Inner("name", name)
	e.output(r)
	e.mediaInside(r, param)
	e.InnerExtras(r.Extra, "tool result fields of another API")
	e.Dst = append(e.Dst, '}')
}

// output writes the response object: the original if there is one, otherwise the text under a name that reports success
// or failure.
func (e *messageEncoder) output(r *llm.ToolResult) {
	var text []string
	for i := range r.Parts {
		p := &r.Parts[i]
		if p.Kind != llm.PartText {
			continue
		}
		e.marks(p)
		if e.Own && p.Raw != nil {
			e.InnerRaw("response", p.Raw)
			return
		}
		text = append(text, p.Text)
	}
	if e.Own && len(text) == 0 {
		return
	}
	e.Name("response")
	e.Dst = append(e.Dst, '{')
	if r.IsError {
		e.Inner("error", strings.Join(text, "\n"))
	} else {
		e.Inner("output", strings.Join(text, "\n"))
	}
	e.Dst = append(e.Dst, '}')
}
