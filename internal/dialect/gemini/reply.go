package gemini

import (
	"errors"
	"fmt"
	"time"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

var (
	errNotObject    = errors.New("gemini: the answer is not an object")
	errNoCandidates = errors.New("gemini: the reply has no candidates and gives no reason")
	errContent      = errors.New("gemini: the content of the answer is not a list of parts")
)

// DecodeReply reads a whole answer. It returns an *llm.Error if Google reported an error, with the usage next to it;
// any other error means that the reply violates the protocol. For a blocked prompt it returns an empty answer that the
// content filter ended. Raw JSON in the reply shares memory with body.
func DecodeReply(body []byte, _ *llm.Quirks) (*llm.Reply, error) {
	if err := rawjson.Validate(body, maxDepth); err != nil {
		return nil, fmt.Errorf("gemini: the reply is not JSON: %w", err)
	}
	for _, first := range rawjson.Elements(body) { // an error may be an array of one
		body = first
		break
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return nil, errNotObject
	}
	r := &llm.Reply{ExtraOf: Name}
	c := readChunk(body)
	r.ID, r.Model, r.Tier = rawjson.Text(c.id), rawjson.Text(c.model), modesOf(c.usage)
	r.Created = seconds(c.created)
	var toolUse int64
	r.Usage, toolUse, r.Most, r.Reported = decodeUsage(c.usage)
	var failed *llm.Error
	if rawjson.Present(c.failure) {
		failed = reportedError(body)
	}
	var g grounding
	for position, e := range rawjson.Elements(c.candidates) {
		if position == maxChoices && failed == nil {
			return nil, fmt.Errorf("gemini: the reply has more than %d candidates", maxChoices)
		}
		choice, err := decodeCandidate(e, min(position, maxChoices-1), &g)
		switch {
		case position == maxChoices, err != nil && failed != nil: // the answer next to it is incomplete
			return r, failed
		case err != nil:
			return nil, err
		}
		r.Choices = append(r.Choices, choice)
	}
	if g.served(c.model, c.usage); r.Reported {
		g.addTo(&r.Usage, toolUse)
	}
	if failed != nil {
		return r, failed
	}
	for m := range rawjson.Members(body) {
		if !isChunkField(m) && rawjson.Present(m.Value) {
			r.Extra = append(r.Extra, llm.Field{Name: m.Name(), Value: m.Value})
		}
	}
	if len(r.Choices) == 0 && isBlocked(c.feedback) {
		r.Choices = []llm.Choice{{Finish: llm.FinishContentFilter, Message: llm.Message{Role: llm.RoleAssistant}}}
	}
	if len(r.Choices) == 0 {
		return nil, errNoCandidates
	}
	return r, nil
}

// chunk holds the members of an answer, or of a piece of one.
type chunk struct {
	id, model, created, candidates []byte
	usage, feedback, failure       []byte
}

func readChunk(data []byte) (c chunk) {
	for m := range rawjson.Members(data) {
		switch string(spelled(m.Key())) {
		case "responseId":
			c.id = m.Value
		case "modelVersion":
			c.model = m.Value
		case "createTime":
			c.created = m.Value
		case "candidates":
			c.candidates = m.Value
		case "usageMetadata":
			c.usage = m.Value
		case "promptFeedback":
			c.feedback = m.Value
		case "error":
			c.failure = m.Value
		}
	}
	return c
}

// isChunkField reports whether the tree models a member. The feedback on a prompt contains more than the block reason.
func isChunkField(m rawjson.Member) bool {
	switch string(spelled(m.Key())) {
	case "responseId", "modelVersion", "createTime", "candidates", "usageMetadata", "error":
		return true
	}
	return false
}

func seconds(v []byte) int64 {
	t, err := time.Parse(time.RFC3339Nano, rawjson.Text(v))
	if err != nil {
		return 0
	}
	return t.Unix()
}

// isBlocked reports whether a prompt was blocked, by its feedback.
func isBlocked(feedback []byte) bool {
	reason := rawjson.Text(get(feedback, "blockReason"))
	return reason != "" && reason != "BLOCK_REASON_UNSPECIFIED"
}

// candidate holds the members of a candidate.
type candidate struct {
	index         int
	parts, finish []byte
	grounding     []byte
	read          []byte // metadata of the pages it read
	recited       []byte // and of recited texts
	logprobs      []byte
	malformed     bool // its content is invalid
	other         []llm.Field
}

// readCandidate splits a candidate into its members. Protocol buffers omit an index of 0.
func readCandidate(v []byte, position int, keepOther bool) (c candidate) {
	c.index = position
	for m := range rawjson.PresentMembers(v) {
		switch string(spelled(m.Key())) {
		case "index":
			if n, ok := rawjson.AsInt(m.Value); ok && n >= 0 && n < maxChoices {
				c.index = int(n)
			}
		case "content":
			c.parts = get(m.Value, "parts")
			c.malformed = rawjson.KindOf(m.Value) != rawjson.Object || rawjson.Present(c.parts) &&
				rawjson.KindOf(c.parts) != rawjson.Array
		case "finishReason":
			c.finish = m.Value
		default:
			switch string(spelled(m.Key())) {
			case "groundingMetadata":
				c.grounding = m.Value
			case "urlContextMetadata":
				c.read = m.Value
			case "citationMetadata":
				c.recited = m.Value
			case "logprobsResult":
				c.logprobs = m.Value
			}
			if keepOther {
				c.other = append(c.other, llm.Field{Name: m.Name(), Value: m.Value})
			}
		}
	}
	return c
}

// decodeCandidate decodes one answer, and adds its grounding to g.
func decodeCandidate(v []byte, position int, g *grounding) (llm.Choice, error) {
	c := readCandidate(v, position, true)
	out := llm.Choice{
		Index: c.index, Message: llm.Message{Role: llm.RoleAssistant}, Tokens: readTokens(c.logprobs),
		Extra: c.other,
	}
	if c.malformed || rawjson.KindOf(v) != rawjson.Object {
		return out, errContent
	}
	g.read(&c)
	calls, text := 0, 0
	var before []int
	for _, e := range rawjson.Elements(c.parts) {
		p, ok := decodePart(e)
		if !ok {
			return out, errContent
		}
		before = append(before, text)
		if isIdle(&p) {
			continue
		}
		if p.Kind == llm.PartText {
			text += len(p.Text)
		}
		if p.Call != nil {
			if p.Call.ID == "" {
				p.Call.ID, p.Call.MadeUp = madeUpID(calls), true
			}
			calls++
		}
		out.Message.Parts = append(out.Message.Parts, p)
	}
	if c.grounding != nil || c.recited != nil {
		var s sources
		s.sourced(&out.Message, s.read(&c, before), text)
	}
	word := rawjson.Text(c.finish)
	out.Finish = finishOf(word, calls > 0)
	if word != "" && word != finishWord(out.Finish) {
		out.Extra = append(out.Extra, llm.Field{Name: "finishReason", Value: c.finish})
	}
	return out, nil
}

// isIdle reports whether a text is empty and unsigned, like one that ends a stream.
func isIdle(p *llm.Part) bool {
	return p.Text == "" && p.Signature == "" && (p.Kind == llm.PartText || p.Kind == llm.PartReasoning)
}

// finishOf maps Google's finish reasons. An unknown one is not a normal end: all except STOP report a problem of the
// answer.
//
// https://ai.google.dev/api/generate-content#FinishReason
func finishOf(word string, called bool) llm.FinishReason {
	switch word {
	case "", "FINISH_REASON_UNSPECIFIED":
		return ""
	case "STOP":
		if called {
			return llm.FinishToolCalls
		}
		return llm.FinishStop
	case "MAX_TOKENS", "CONTINUATION":
		return llm.FinishLength
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "JAILBREAK",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return llm.FinishContentFilter
	}
	return llm.FinishError
}

// finishWord returns Google's finish reason. A missing reason becomes a normal end.
func finishWord(f llm.FinishReason) string {
	switch f {
	case llm.FinishLength:
		return "MAX_TOKENS"
	case llm.FinishContentFilter:
		return "SAFETY"
	case llm.FinishError:
		return "OTHER"
	}
	return "STOP"
}
