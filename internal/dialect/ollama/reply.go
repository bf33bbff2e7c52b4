package ollama

import (
	"errors"
	"fmt"
	"time"

	"weir/internal/dialect/explain"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

var errNoMessage = errors.New("ollama: the reply has no message")

// DecodeReply reads a whole answer. It returns an *llm.Error if the provider reported an error; any other error means
// that the reply violates the protocol. Raw JSON in the reply, such as the durations, shares memory with body.
func DecodeReply(body []byte, _ *llm.Quirks) (*llm.Reply, error) {
	if err := rawjson.Validate(body, maxDepth); err != nil {
		return nil, fmt.Errorf("ollama: the reply is not JSON: %w", err)
	}
	r := &llm.Reply{ExtraOf: Name}
	a := readAnswer(body, &r.Extra)
	r.Model, r.Created = rawjson.Text(a.model), a.created()
	r.Usage, r.Most, r.Reported = a.usage.classes()
	if rawjson.Present(a.failure) {
		if rawjson.KindOf(a.message) == rawjson.Object { // next to it
			r.Choices = []llm.Choice{{Message: decodeAnswer(a.message)}}
		}
		return r, explain.Reported(body)
	}
	if rawjson.KindOf(a.message) != rawjson.Object {
		return nil, errNoMessage
	}
	c := llm.Choice{Message: decodeAnswer(a.message)}
	if a.logprobs != nil {
		c.Logprobs, c.Tokens = a.logprobs, parse.ReadTokens(a.logprobs)
	}
	if a.done {
		c.Finish = finishOf(rawjson.Text(a.reason))
	}
	c.Finish = parse.Finish(c.Finish, c.Message.Parts) // the format has no reason for calls
	r.Choices = []llm.Choice{c}
	return r, nil
}

// answer holds the members of an answer, or of a piece of one.
type answer struct {
	model, createdAt, message []byte
	reason, failure, logprobs []byte
	done                      bool
	usage                     usage
}

// readAnswer splits an answer into its members. It stores unmodelled ones in extra, unless that is nil.
func readAnswer(data []byte, extra *[]llm.Field) (a answer) {
	for m := range rawjson.Members(data) {
		switch string(m.Key()) {
		case "model":
			a.model = m.Value
		case "created_at":
			a.createdAt = m.Value
		case "message":
			a.message = m.Value
		case "done":
			a.done, _ = rawjson.AsBool(m.Value)
		case "done_reason":
			a.reason = m.Value
		case "error":
			a.failure = m.Value
		case "logprobs":
			if rawjson.Present(m.Value) {
				a.logprobs = m.Value
			}
		default:
			if !a.usage.read(m) && extra != nil && rawjson.Present(m.Value) {
				*extra = append(*extra, llm.Field{Name: m.Name(), Value: m.Value})
			}
		}
	}
	return a
}

// created returns the time of the answer in Unix seconds; 0 for none.
func (a *answer) created() int64 {
	t, err := time.Parse(time.RFC3339Nano, rawjson.Text(a.createdAt))
	if err != nil {
		return 0
	}
	return max(t.Unix(), 0) // a zero time in Go is long before it
}

// decodeAnswer decodes the message of a reply. A call without an id gets one by its position.
func decodeAnswer(v []byte) llm.Message {
	m := readMessage(v, true)
	out := llm.Message{Role: llm.RoleAssistant, Extra: m.extra}
	if s := rawjson.Text(m.thinking); s != "" {
		out.Parts = append(out.Parts, llm.Part{Kind: llm.PartReasoning, Text: s, Maker: Name})
	}
	if s := rawjson.Text(m.content); s != "" {
		out.Parts = append(out.Parts, llm.Part{Kind: llm.PartText, Text: s})
	}
	for _, e := range rawjson.Elements(m.images) {
		if data := rawjson.Text(e); data != "" {
			out.Parts = append(out.Parts, llm.Part{Kind: llm.PartImage, Media: &llm.Media{
				MIME: ImageType(data),
				Data: data,
			}})
		}
	}
	for i, e := range rawjson.Elements(m.toolCalls) {
		call := ReadCall(e)
		if call.ID == "" {
			call.ID, call.MadeUp = parse.CallID(i), true
		}
		out.Parts = append(out.Parts, llm.Part{Kind: llm.PartToolCall, Call: call})
	}
	return out
}

// finishOf maps Ollama's finish reasons, and those that this encoder adds. An unlisted or missing one counts as a
// normal end, because the answer also reports that it is done.
func finishOf(word string) llm.FinishReason {
	switch word {
	case "length":
		return llm.FinishLength
	case "content_filter":
		return llm.FinishContentFilter
	}
	if parse.IsAborted(word) {
		return llm.FinishError
	}
	return llm.FinishStop // stop; load and unload, which answer a request without messages
}
