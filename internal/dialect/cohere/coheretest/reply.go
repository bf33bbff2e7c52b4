package coheretest

import (
	"weir/internal/dialect/cohere"
	"weir/internal/dialect/compose"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// finishWord returns the reason as written. A missing reason becomes a normal end. Only version 1 has a reason for
// filtered content.
func finishWord(f llm.FinishReason) string {
	switch f {
	case llm.FinishLength:
		return "MAX_TOKENS"
	case llm.FinishToolCalls:
		return "TOOL_CALL"
	case llm.FinishContentFilter:
		return "ERROR_TOXIC"
	case llm.FinishError:
		return "ERROR"
	}
	return "COMPLETE"
}

// EncodeReply appends a reply object to dst. It has one choice.
func EncodeReply(dst []byte, r *llm.Reply) []byte {
	r = r.For(cohere.Name)
	c := r.First()
	dst = rawjson.AppendString(append(dst, `{"id":`...), r.ID)
	dst = appendAnswer(append(dst, `,"message":`...), &c.Message, r.ExtraOf == cohere.Name)
	dst = rawjson.AppendString(append(dst, `,"finish_reason":`...), finishWord(c.Finish))
	if r.Reported || !r.Usage.IsZero() {
		dst = appendUsage(append(dst, `,"usage":`...), &r.Usage, r.Cost)
	}
	if c.Logprobs != nil {
		dst = append(append(dst, `,"logprobs":`...), c.Logprobs...)
	}
	return append(compose.AppendFields(dst, r.Extra, written), '}')
}

// written lists the members that an encoded object has already, so that extras do not repeat them.
var written = rawjson.Names{
	"id", "message", "finish_reason", "usage", "logprobs", "role", "content", "tool_plan", "tool_calls", "type",
	"function",
}

// answer holds an assistant's message by member.
type answer struct {
	own       bool // of this format
	plan      string
	calls     []*llm.ToolCall
	citations []byte
}

// appendAnswer writes thinking and text as blocks in their order. Parts that the format cannot express, such as a
// refusal, become text.
func appendAnswer(dst []byte, m *llm.Message, own bool) []byte {
	a := answer{own: own}
	dst = append(dst, `{"role":"assistant"`...)
	empty, index := len(dst), 0
	var claims []byte
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Annotations != nil {
			a.citations = p.Annotations
		}
		switch {
		case p.Kind == llm.PartToolCall:
			a.calls = append(a.calls, p.Call)
			continue
		case p.Kind == llm.PartReasoning && cohere.IsPlan(p):
			a.plan += p.Text
			continue
		case p.Kind == llm.PartReasoning && p.Text == "": // a signature, or encrypted thinking
			continue
		}
		opening := `,"content":[`
		if len(dst) > empty {
			opening = ","
		}
		dst = appendBlock(append(dst, opening...), p)
		claims = cohere.AppendClaims(claims, p, index)
		index++
	}
	if a.citations == nil && claims != nil {
		a.citations = append(append([]byte{'['}, claims...), ']')
	}
	if len(dst) > empty {
		dst = append(dst, ']')
	}
	return append(a.appendRest(dst, m), '}')
}

func (a *answer) appendRest(dst []byte, m *llm.Message) []byte {
	if a.plan != "" {
		dst = rawjson.AppendString(append(dst, `,"tool_plan":`...), a.plan)
	}
	if a.calls != nil {
		dst = cohere.AppendCalls(append(dst, `,"tool_calls":`...), a.calls, a.own)
	}
	if a.citations != nil {
		dst = append(append(dst, `,"citations":`...), a.citations...)
	}
	return compose.AppendFields(dst, m.Extra, written)
}

func appendBlock(dst []byte, p *llm.Part) []byte {
	switch p.Kind {
	case llm.PartOther:
		return append(dst, p.Raw...)
	case llm.PartReasoning:
		dst = rawjson.AppendString(append(dst, `{"type":"thinking","thinking":`...), p.Text)
	default:
		dst = rawjson.AppendString(append(dst, `{"type":"text","text":`...), p.Words())
	}
	return append(compose.AppendFields(dst, p.Extra, written), '}')
}
