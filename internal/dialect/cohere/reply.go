package cohere

import (
	"errors"
	"fmt"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/explain"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

var (
	errNoMessage = errors.New("cohere: the reply has no message")
	errContent   = errors.New("cohere: the reply's content is neither text nor a list of blocks")
)

// DecodeReply reads a whole answer. It returns an *llm.Error if the provider reported an error; any other error means
// that the reply violates the protocol. Raw JSON in the reply shares memory with body.
func DecodeReply(body []byte, _ *llm.Quirks) (*llm.Reply, error) {
	if err := rawjson.Validate(body, maxDepth); err != nil {
		return nil, fmt.Errorf("cohere: the reply is not JSON: %w", err)
	}
	r := &llm.Reply{ExtraOf: Name}
	var c llm.Choice
	var m, failure []byte
	for f := range rawjson.Members(body) {
		switch string(f.Key()) {
		case "id":
			r.ID = rawjson.Text(f.Value)
		case "message":
			m = f.Value
		case "finish_reason":
			c.Finish = finishOf(rawjson.Text(f.Value))
		case "usage":
			r.Usage, r.Most, r.Reported = decodeUsage(f.Value)
		case "logprobs":
			if rawjson.Present(f.Value) {
				c.Logprobs = f.Value
			}
		case "error":
			failure = f.Value
		default:
			r.Extra = parse.Extra(r.Extra, f)
		}
	}
	switch {
	case rawjson.KindOf(m) == rawjson.Object:
	case rawjson.Present(m) || rawjson.Present(failure): // an error has its text there
		return r, explain.Error(DecodeError(body), 0)
	default:
		return nil, errNoMessage
	}
	var err error
	if c.Message, err = decodeAnswer(m); err != nil {
		return nil, err
	}
	c.Finish = parse.Finish(c.Finish, c.Message.Parts)
	r.Choices = []llm.Choice{c}
	if rawjson.Present(failure) {
		return r, explain.Error(DecodeError(body), 0)
	}
	return r, nil
}

// decodeAnswer decodes the message of a reply.
func decodeAnswer(v []byte) (llm.Message, error) {
	m := readMessage(v)
	out, err := decodeAssistant(llm.Message{Role: llm.RoleAssistant, Extra: m.extra}, m, "message")
	if err != nil {
		return out, errContent // it is not the client's error
	}
	claim(out.Parts)
	return out, nil
}

// finishOf maps Cohere's finish reasons, also those that only version 1 has. An unlisted reason counts as a normal end;
// an empty one stays empty.
func finishOf(word string) llm.FinishReason {
	switch word {
	case "":
		return ""
	case "MAX_TOKENS", "ERROR_LIMIT":
		return llm.FinishLength
	case "TOOL_CALL":
		return llm.FinishToolCalls
	case "ERROR_TOXIC":
		return llm.FinishContentFilter
	}
	if parse.IsAborted(word) {
		return llm.FinishError
	}
	return llm.FinishStop // COMPLETE, STOP_SEQUENCE
}

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
	r = r.For(Name)
	c := r.First()
	dst = rawjson.AppendString(append(dst, `{"id":`...), r.ID)
	dst = appendAnswer(append(dst, `,"message":`...), &c.Message, r.ExtraOf == Name)
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
		case p.Kind == llm.PartReasoning && isPlan(p):
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
		claims = appendClaims(claims, p, index)
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
		dst = appendCalls(append(dst, `,"tool_calls":`...), a.calls, a.own)
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
