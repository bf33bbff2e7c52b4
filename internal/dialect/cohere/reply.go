package cohere

import (
	"errors"
	"fmt"

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
	out, err := DecodeAssistant(v, "message")
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
