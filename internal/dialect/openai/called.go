package openai

import (
	"slices"

	"weir/internal/dialect/clienttool"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// typeLegacy marks a call in the deprecated function_call form, which has a member of its own:
// https://platform.openai.com/docs/api-reference/chat/object (undated copy of 2026).
const typeLegacy = "function_call"

// namedBack returns the choice with its calls under the client's names of its tools.
func namedBack(c *llm.Choice, called *llm.Called) *llm.Choice {
	is := func(p llm.Part) bool {
		if p.Kind != llm.PartToolCall || p.Call == nil {
			return false
		}
		_, is := called.Of(p.Call.Name)
		return is
	}
	if !slices.ContainsFunc(c.Message.Parts, is) {
		return c
	}
	back := *c
	back.Message.Parts = slices.Clone(c.Message.Parts)
	for i := range back.Message.Parts {
		if p := &back.Message.Parts[i]; is(*p) {
			tool, _ := called.Of(p.Call.Name)
			call := *p.Call
			kind := typeLegacy
			if tool.Kind == llm.ToolCustom {
				kind, call.Arguments = typeCustom, clienttool.Text(call.Arguments)
			}
			call.Name = tool.Name
			call.Extra = append(slices.Clip(call.Extra),
				llm.Field{Name: "type", Value: rawjson.AppendString(nil, kind)})
			p.Call = &call
		}
	}
	return &back
}

// isLegacy reports whether an answer uses the deprecated function_call form.
func isLegacy(calls []*llm.Part) bool { return len(calls) > 0 && typeOf(calls[0].Call) == typeLegacy }

// isLegacyAnswer reports whether a message uses the deprecated function_call form.
func isLegacyAnswer(m *llm.Message) bool {
	i := slices.IndexFunc(m.Parts, func(p llm.Part) bool { return p.Kind == llm.PartToolCall })
	return i >= 0 && typeOf(m.Parts[i].Call) == typeLegacy
}

// typeOf returns the type that marks a call, or "".
func typeOf(c *llm.ToolCall) string {
	for _, f := range c.Extra {
		if f.Name == "type" {
			return rawjson.Text(f.Value)
		}
	}
	return ""
}

// appendLegacy writes the function_call of an answer, which has at most one.
func appendLegacy(dst []byte, c *llm.ToolCall) []byte {
	dst = rawjson.AppendString(append(dst, `,"function_call":{"name":`...), c.Name)
	return append(rawjson.AppendString(append(dst, `,"arguments":`...), c.Arguments), '}')
}

// calls holds the calls of a stream that have another name or form for the client.
type calls struct {
	custom map[callAt]*clienttool.Reader
	legacy map[int]int // index of the only call, by choice
}

type callAt struct{ choice, index int }

func (c *calls) size() (n int) {
	for _, r := range c.custom {
		n += r.Size()
	}
	return n
}

// call writes a piece of a call, with the client's name of its tool.
func (e *Encoder) call(dst []byte, ev *llm.Event) []byte {
	at := callAt{ev.Choice, ev.Tool.Index}
	tool, is := e.called.Of(ev.Tool.Name)
	first, isLegacy := e.calls.legacy[ev.Choice]
	switch {
	case e.calls.custom[at] != nil:
		return e.custom(dst, ev, e.calls.custom[at].Add(ev.Text))
	case isLegacy:
		if first != ev.Tool.Index || ev.Text == "" {
			return dst // only the first call fits
		}
		dst = rawjson.AppendString(append(e.open(dst, ev.Choice), `"function_call":{"arguments":`...), ev.Text)
		return e.closeDelta(append(dst, '}'))
	case is && tool.Kind == llm.ToolLegacy:
		if e.calls.legacy == nil {
			e.calls.legacy = map[int]int{}
		}
		e.calls.legacy[ev.Choice] = ev.Tool.Index
		dst = append(e.open(dst, ev.Choice), `"function_call":{"name":`...)
		dst = rawjson.AppendString(dst, tool.Name)
		return e.closeDelta(append(rawjson.AppendString(append(dst, `,"arguments":`...), ev.Text), '}'))
	case is:
		if e.calls.custom == nil {
			e.calls.custom = map[callAt]*clienttool.Reader{}
		}
		e.calls.custom[at] = &clienttool.Reader{}
		back := *ev
		back.Tool.Name = tool.Name
		return e.custom(dst, &back, e.calls.custom[at].Add(ev.Text))
	}
	return e.closeDelta(appendCallDelta(e.open(dst, ev.Choice), ev))
}

// custom writes a piece of the input of a custom tool, and the tool's name when the call opens.
func (e *Encoder) custom(dst []byte, ev *llm.Event, input string) []byte {
	if input == "" && ev.Tool.Name == "" {
		return dst
	}
	dst = rawjson.AppendCount(e.open(dst, ev.Choice), `"tool_calls":[{"index":`, int64(ev.Tool.Index))
	if ev.Tool.Name != "" {
		dst = rawjson.AppendString(append(dst, `,"id":`...), ev.Tool.ID)
		dst = rawjson.AppendString(append(dst, `,"type":"custom","custom":{"name":`...), ev.Tool.Name)
		dst = append(dst, `,"input":`...)
	} else {
		dst = append(dst, `,"custom":{"input":`...)
	}
	dst = append(rawjson.AppendString(dst, input), '}')
	if ev.Signature != "" {
		dst = appendSignature(dst, ev.Signature)
	}
	return e.closeDelta(append(dst, "}]"...))
}

// endCustom writes the inputs of custom calls that had other arguments, in the order of the calls.
func (e *Encoder) endCustom(dst []byte) []byte {
	open := make([]callAt, 0, len(e.calls.custom))
	for at := range e.calls.custom {
		open = append(open, at)
	}
	slices.SortFunc(open, func(a, b callAt) int {
		if a.choice != b.choice {
			return a.choice - b.choice
		}
		return a.index - b.index
	})
	for _, at := range open {
		ev := llm.Event{Choice: at.choice, Tool: llm.ToolDelta{Index: at.index}}
		dst = e.custom(dst, &ev, e.calls.custom[at].End())
	}
	return dst
}

// finishOf returns the finish reason of a choice: function_call if it used that form.
func (e *Encoder) finishOf(choice int, reason llm.FinishReason) string {
	if _, is := e.calls.legacy[choice]; is && reason == llm.FinishToolCalls {
		return typeLegacy
	}
	return finishWord(reason)
}
