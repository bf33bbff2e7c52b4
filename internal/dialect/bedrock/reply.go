package bedrock

import (
	"errors"
	"fmt"

	"weir/internal/dialect/explain"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

var (
	errNoMessage = errors.New("bedrock: the reply has no message")
	errContent   = errors.New("bedrock: the reply's content is not a list of blocks")
)

// DecodeReply reads a whole answer, which has neither its id nor its model. It returns an *llm.Error if the provider
// reported an error; any other error means that the reply violates the protocol. Raw JSON in the reply shares memory
// with body.
func DecodeReply(body []byte, _ *llm.Quirks) (*llm.Reply, error) {
	if err := rawjson.Validate(body, maxDepth); err != nil {
		return nil, fmt.Errorf("bedrock: the reply is not JSON: %w", err)
	}
	r := &llm.Reply{ExtraOf: Name, Choices: make([]llm.Choice, 1)}
	c := &r.Choices[0]
	var message, failure, tier, latency []byte
	guarded, failed := false, false
	for m := range rawjson.Members(body) {
		switch string(m.Key()) {
		case "output":
			message = rawjson.Get(m.Value, "message")
		case "stopReason":
			c.Finish, c.Extra = stopReason(m)
			guarded = guarded || isGuarded(m)
		case "usage":
			r.Usage, r.Most, r.Timed, r.Reported = decodeUsage(m.Value)
		case stopFields:
			c.Stopped = stopSequence(m.Value)
			r.Extra = parse.Extra(r.Extra, m)
		case "serviceTier":
			tier = rawjson.Get(m.Value, "type")
		case "error": // a proxy's
			failure = m.Value
		case "__type": // an exception's
			failed = failed || rawjson.Present(m.Value)
		default:
			if m.Is("performanceConfig") {
				latency = rawjson.Get(m.Value, "latency")
			}
			guarded = guarded || isGuarded(m)
			r.Extra = parse.Extra(r.Extra, m)
		}
	}
	r.Tier = modesOf(tier, latency)
	if guarded {
		countGuard(&r.Usage, r.Most)
	}
	var err error
	if rawjson.KindOf(message) == rawjson.Object {
		var made llm.Usage
		c.Message, err = decodeAnswer(message, &made)
		if r.Reported {
			countRan(&r.Usage, r.Most, &made)
		}
	} else {
		r.Choices = nil
		if failed = failed || DecodeError(body).Message != ""; !failed && !rawjson.Present(failure) {
			return nil, errNoMessage
		}
	}
	switch {
	case rawjson.Present(failure):
		return r, explain.Reported(body)
	case failed:
		return r, reportedError(body)
	}
	return r, err
}

// decodeAnswer decodes the message of a reply, and counts the tools that the provider ran.
func decodeAnswer(v []byte, made *llm.Usage) (llm.Message, error) {
	out := llm.Message{Role: llm.RoleAssistant}
	content := rawjson.Get(v, "content")
	if rawjson.KindOf(content) != rawjson.Array {
		return out, errContent
	}
	for _, e := range rawjson.Elements(content) {
		name, value, ok := OnlyMember(e)
		if !ok {
			return out, errContent
		}
		p := llm.Part{Kind: llm.PartOther, Raw: e}
		switch {
		case name == "toolUse" && isServerTool(value):
			p = serverBlock(e, value, made)
		case name == "toolUse":
			if call := DecodeToolUse(value); call.Kind != 0 {
				p = call
			}
			if p.Call != nil && p.Call.ID == "" {
				p.Call.ID, p.Call.MadeUp = parse.CallID(countCalls(out.Parts)), true
			}
		case name == "toolResult": // of the provider's own tool
		default:
			var err error
			if p, err = DecodeBlock(e, name, value); err != nil {
				return out, errContent // it is not the client's error
			}
			citeBlock(out.Parts, &p)
		}
		out.Parts = append(out.Parts, p)
	}
	return out, nil
}

func countCalls(parts []llm.Part) (n int) {
	for i := range parts {
		if parts[i].Kind == llm.PartToolCall {
			n++
		}
	}
	return n
}

const guardrailIntervened = "guardrail_intervened"

// stopReason reads the stop reason. If another reason maps to the same one, it also returns the original for clients of
// this format.
func stopReason(m rawjson.Member) (llm.FinishReason, []llm.Field) {
	word := rawjson.Text(m.Value)
	f := finishOf(word)
	if f == "" || StopWord(f) == word {
		return f, nil
	}
	return f, []llm.Field{{Name: m.Name(), Value: m.Value}}
}

// finishOf maps the values of StopReason. An unlisted one counts as a normal end; an empty one stays empty.
func finishOf(word string) llm.FinishReason {
	switch word {
	case "":
		return ""
	case "max_tokens", "model_context_window_exceeded":
		return llm.FinishLength
	case "tool_use":
		return llm.FinishToolCalls
	case guardrailIntervened, "content_filtered", "refusal":
		return llm.FinishContentFilter
	}
	if parse.IsAborted(word) {
		return llm.FinishError
	}
	return llm.FinishStop
}

// StopWord returns the reason as written. A missing reason becomes a normal end.
func StopWord(f llm.FinishReason) string {
	switch f {
	case llm.FinishLength:
		return "max_tokens"
	case llm.FinishToolCalls:
		return "tool_use"
	case llm.FinishContentFilter:
		return "content_filtered"
	case llm.FinishError:
		return "malformed_model_output"
	}
	return "end_turn"
}
