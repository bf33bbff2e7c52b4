package anthropic

import (
	"errors"
	"fmt"

	"weir/internal/dialect/explain"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

var errNoContent = errors.New("anthropic: the reply has no content, a list of blocks")

// DecodeReply reads a whole answer. It returns an *llm.Error if the provider reported an error; any other error means
// that the reply violates the protocol. Raw JSON in the reply shares memory with body.
func DecodeReply(body []byte, q *llm.Quirks) (*llm.Reply, error) {
	if err := rawjson.Validate(body, maxDepth); err != nil {
		return nil, fmt.Errorf("anthropic: the reply is not JSON: %w", err)
	}
	r := &llm.Reply{ExtraOf: Name}
	a := answer{counts: newCounts(q)}
	for m := range rawjson.Members(body) {
		a.read(r, m)
	}
	a.meter(r)
	if rawjson.Present(a.failure) {
		if choice, err := a.choice(); rawjson.KindOf(a.content) == rawjson.Array && err == nil { // next to it
			r.Choices = []llm.Choice{choice}
		}
		return r, explain.Reported(body)
	}
	if rawjson.KindOf(a.content) != rawjson.Array {
		return nil, errNoContent
	}
	choice, err := a.choice()
	if err != nil {
		return nil, err
	}
	r.Choices = []llm.Choice{choice}
	return r, nil
}

// answer collects the members of a reply's only choice.
type answer struct {
	content, failure       []byte
	counts                 counts
	reason                 string
	stopSequence, stopMore []byte
}

func (a *answer) read(r *llm.Reply, m rawjson.Member) {
	switch string(m.Key()) {
	case "id":
		r.ID = rawjson.Text(m.Value)
	case "model":
		r.Model = rawjson.Text(m.Value)
	case "content":
		a.content = m.Value
	case "stop_reason":
		a.reason = rawjson.Text(m.Value)
	case "stop_sequence":
		a.stopSequence = m.Value
	case "stop_details":
		a.stopMore = m.Value
	case "usage":
		a.counts.add(m.Value)
	case "error":
		a.failure = m.Value
	case "type", "role":
	default:
		if rawjson.Present(m.Value) {
			r.Extra = append(r.Extra, llm.Field{Name: m.Name(), Value: m.Value})
		}
	}
}

// meter reads the usage of the answer and its service tier.
func (a *answer) meter(r *llm.Reply) {
	r.Tier = a.counts.modes()
	if r.Usage, r.Reported = a.counts.usage(); !r.Reported {
		r.Most = a.counts.readable()
		return
	}
	r.Timed, r.Most = a.counts.timed(), a.counts.most(r.Usage)
	var ran toolUse
	for _, block := range rawjson.Elements(a.content) {
		ran.add(block)
	}
	r.Most = ran.addTo(&r.Usage, r.Most, &a.counts)
	if a.reason == stopRefused && !rawjson.HasElement(a.content) {
		r.Usage, r.Most = refused(a.stopMore, r.Usage)
	}
}

func (a *answer) choice() (c llm.Choice, err error) {
	c.Message.Role = llm.RoleAssistant
	var searches searches
	for _, e := range rawjson.Elements(a.content) {
		p, err := decodeBlock(e, "", false)
		if err != nil {
			return c, errNoContent // it is not the client's error
		}
		p.Cite(parse.BlockClaims(p.Text, p.Annotations, readSource)...)
		if p.Kind == llm.PartOther {
			p = llm.Searched(searches.block(e), e)
		}
		c.Message.Parts = append(c.Message.Parts, p)
	}
	c.Finish = parse.Finish(finishOf(a.reason), c.Message.Parts) // servers of other vendors may end calls otherwise
	// For clients of this format, the reasons that the tree does not model.
	if word := finishWord(c.Finish); word != a.reason && a.reason != "" {
		c.Extra = append(c.Extra, llm.Field{Name: "stop_reason", Value: rawjson.AppendString(nil, a.reason)})
	}
	if rawjson.Present(a.stopSequence) {
		c.Extra = append(c.Extra, llm.Field{Name: "stop_sequence", Value: a.stopSequence})
	}
	if rawjson.Present(a.stopMore) {
		c.Extra = append(c.Extra, llm.Field{Name: "stop_details", Value: a.stopMore})
	}
	return c, nil
}

// finishOf maps the vendor's stop reasons: https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons.
// An answer that the vendor paused counts as cut by a limit. An unlisted reason counts as a normal end; an empty one
// stays empty.
func finishOf(word string) llm.FinishReason {
	switch word {
	case "":
		return ""
	case "max_tokens", "model_context_window_exceeded", "pause_turn", "compaction":
		return llm.FinishLength
	case "tool_use":
		return llm.FinishToolCalls
	case stopRefused:
		return llm.FinishContentFilter
	}
	if parse.IsAborted(word) { // from servers of other vendors
		return llm.FinishError
	}
	return llm.FinishStop
}

// finishWord returns the vendor's name of a reason. A missing reason becomes a normal end; an answer that an error
// ended is written as incomplete.
func finishWord(f llm.FinishReason) string {
	switch f {
	case llm.FinishLength, llm.FinishError:
		return "max_tokens"
	case llm.FinishToolCalls:
		return "tool_use"
	case llm.FinishContentFilter:
		return stopRefused
	}
	return "end_turn"
}
