package openai

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/explain"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

var (
	errNoChoices   = errors.New("openai: the reply has no choices")
	errManyChoices = fmt.Errorf("openai: the reply has more than %d choices", maxChoices)
	errContent     = errors.New("openai: the reply's content is neither text nor a list of parts")
)

// DecodeReply reads a whole answer. It returns an *llm.Error if the provider reported an error, with the usage next to
// it; any other error means that the reply violates the protocol. Raw JSON in the reply shares memory with body.
func DecodeReply(body []byte, q *llm.Quirks) (*llm.Reply, error) {
	if r := decodePlain(body, q); r != nil {
		return r, nil
	}
	return decodeReply(body, q)
}

// decodeReply is DecodeReply for any reply.
func decodeReply(body []byte, q *llm.Quirks) (*llm.Reply, error) {
	if err := rawjson.Validate(body, maxDepth); err != nil {
		return nil, fmt.Errorf("openai: the reply is not JSON: %w", err)
	}
	r := &llm.Reply{ExtraOf: Name}
	var choices, usage, failure []byte
	bare := false
	for m := range rawjson.Members(body) {
		switch string(m.Key()) {
		case "id":
			r.ID = rawjson.Text(m.Value)
		case "created":
			r.Created, _ = rawjson.AsInt(m.Value)
		case "model":
			r.Model = rawjson.Text(m.Value)
		case "choices":
			choices = m.Value
		case "usage":
			usage = m.Value
		case "service_tier":
			r.Tier = rawjson.Text(m.Value)
		case "error":
			failure = m.Value
		case "object":
			bare = IsErrorObject(m.Value)
		default:
			r.Extra = parse.Extra(r.Extra, m)
		}
	}
	if meter(r, usage, q); !r.Reported {
		if groq := rawjson.Get(body, "x_groq", "usage"); rawjson.Present(groq) {
			meter(r, groq, q)
		}
	}
	var failed *llm.Error
	if rawjson.Present(failure) || bare && !rawjson.HasElement(choices) {
		failed = explain.Reported(body)
	}
	broken, err := decodeChoices(r, choices)
	switch {
	case failed != nil: // other members next to an error do not matter
		return r, failed
	case err != nil:
		return nil, err
	case broken != nil:
		return r, explain.Reported(broken)
	}
	listedIn(r)
	return r, nil
}

// decodeChoices reads the choices of a reply. It returns the choice that an error interrupted as broken, or nil.
func decodeChoices(r *llm.Reply, choices []byte) (broken []byte, err error) {
	var calls ran
	for _, e := range rawjson.Elements(choices) {
		if len(r.Choices) == maxChoices {
			return nil, errManyChoices
		}
		c, failed, err := decodeChoice(e, len(r.Choices))
		if err != nil {
			return nil, err
		}
		if failed && broken == nil {
			broken = e
		}
		calls.message(len(r.Choices), rawjson.Get(e, "message"))
		r.Choices = append(r.Choices, c)
	}
	if len(r.Choices) == 0 {
		return nil, errNoChoices
	}
	if r.Reported {
		calls.addTo(&r.Usage, r.Model)
	}
	return broken, nil
}

// meter reads the metering data of an answer: usage, the provider's cost and the service tier.
func meter(r *llm.Reply, usage []byte, q *llm.Quirks) {
	var u usageObject
	r.Usage, r.Most, r.Reported = u.decode(usage, q)
	if cost := u.cost.amount(); cost != nil { // also if counts are missing
		r.ProviderCost = cost
	}
	if r.Reported {
		r.Tier = u.modes(r.Tier)
	}
}

// decodeChoice reads one choice of a reply and reports whether an error interrupted it.
func decodeChoice(v []byte, position int) (c llm.Choice, broken bool, err error) {
	c = llm.Choice{Index: position}
	var m []byte
	for f := range rawjson.Members(v) {
		switch string(f.Key()) {
		case "index":
			if n, ok := rawjson.AsInt(f.Value); ok && n >= 0 && n < maxChoices {
				c.Index = int(n)
			}
		case "message":
			m = f.Value
		case "finish_reason":
			c.Finish = finishOf(rawjson.Text(f.Value))
		case "logprobs":
			if rawjson.Present(f.Value) {
				c.Logprobs, c.Tokens = f.Value, parse.ReadTokens(rawjson.Get(f.Value, "content"))
			}
		case "error": // OpenRouter's
			broken = rawjson.Present(f.Value)
		default:
			c.Extra = parse.Extra(c.Extra, f)
		}
	}
	if !rawjson.Present(m) && (c.Finish != "" || broken) { // Azure's, of a choice that its filter withheld
		c.Message.Role = llm.RoleAssistant
		return c, broken, nil
	}
	if rawjson.KindOf(m) != rawjson.Object {
		return c, broken, fmt.Errorf("openai: choice %d of the reply has no message", position)
	}
	c.Message, err = decodeAnswer(m)
	// Some providers end a forced tool call with a plain "stop".
	c.Finish = parse.Finish(cmp.Or(c.Finish, llm.FinishStop), c.Message.Parts)
	return c, broken, err
}

// decodeAnswer decodes the message of a reply.
func decodeAnswer(v []byte) (llm.Message, error) {
	m := readMessage(v, true)
	var d messageDecoder
	audio, annotations := m.audio, m.annotations
	m.audio, m.annotations = nil, nil
	out, err := d.assistant(llm.Message{Role: llm.RoleAssistant, Extra: m.extra}, m, "message")
	if err != nil {
		return out, errContent // it is not the client's error
	}
	if audio != nil {
		out.Parts = append(out.Parts, decodeSound(audio))
	}
	refer(&out)
	executedIn(&out, m.executed)
	for i := range out.Parts {
		if p := &out.Parts[i]; p.Kind == llm.PartReasoning && p.Maker == "" {
			p.Maker = Name
		}
	}
	for i := range out.Parts {
		if out.Parts[i].Kind == llm.PartText && annotations != nil {
			if out.Parts[i].Annotations = annotations; rawjson.HasElement(annotations) {
				cite(&out, annotations)
			}
			break
		}
	}
	return out, nil
}

// decodeSound reads a spoken answer; its transcript is the part's text.
func decodeSound(v []byte) llm.Part {
	p := llm.Part{Kind: llm.PartAudio, Media: &llm.Media{}}
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "id":
			p.Media.FileID = rawjson.Text(m.Value)
		case "data":
			p.Media.Data = rawjson.Text(m.Value)
		case "transcript":
			p.Text = rawjson.Text(m.Value)
		default:
			p.Extra = parse.Extra(p.Extra, m)
		}
	}
	return p
}

// finishOf maps the finish reasons of all providers of this format. An unlisted reason counts as a normal end; an empty
// one stays empty.
func finishOf(word string) llm.FinishReason {
	switch word {
	case "":
		return ""
	case "length", "max_tokens", "model_length", "MAX_TOKENS":
		return llm.FinishLength
	case "tool_calls", "function_call", "tool_use":
		return llm.FinishToolCalls
	case "content_filter", "content_filtered", "safety", "SAFETY", "sensitive", "refusal":
		return llm.FinishContentFilter
	}
	if parse.IsAborted(word) {
		return llm.FinishError
	}
	return llm.FinishStop
}

// EncodeReply appends a chat.completion object to dst.
func EncodeReply(dst []byte, r *llm.Reply) []byte {
	own := r.ExtraOf == Name
	r = r.For(Name)
	dst = rawjson.AppendString(append(dst, `{"id":`...), r.ID)
	dst = rawjson.AppendCount(dst, `,"object":"chat.completion","created":`, r.Created)
	dst = rawjson.AppendString(append(dst, `,"model":`...), r.Model)
	dst = append(dst, `,"choices":[`...)
	for i := range r.Choices {
		dst = appendChoice(rawjson.AppendComma(dst), r, namedBack(&r.Choices[i], r.Called), own)
	}
	dst = append(dst, ']')
	if r.Reported || !r.Usage.IsZero() {
		dst = appendUsage(append(dst, `,"usage":`...), &r.Usage, r.Cost)
	}
	if tier := TierWord(r.Tier, r.ExtraOf == Name); tier != "" {
		dst = rawjson.AppendString(append(dst, `,"service_tier":`...), tier)
	}
	return append(compose.AppendFields(dst, r.Extra, written), '}')
}

// TierWord returns a service tier in OpenAI's few words; "" if none fits. A tier of this format's own providers (own)
// stays unchanged.
func TierWord(modes string, own bool) string {
	tier := llm.ServiceTier(modes)
	switch {
	case own:
		return tier
	case tier == "standard": // Anthropic's and Google's
		return "default"
	case slices.Contains([]string{"auto", "default", "flex", "scale", "priority", "fast"}, tier):
		return tier
	}
	return ""
}

// written lists the members that an encoded object has already, so that extras of another wire format do not repeat
// them.
var written = rawjson.Names{
	"id", "object", "created", "model", "choices", "usage", "service_tier", "error",
	"index", "message", "finish_reason", "logprobs", "role", "content", "refusal", "tool_calls", "audio", "images",
}

func appendChoice(dst []byte, r *llm.Reply, c *llm.Choice, own bool) []byte {
	dst = rawjson.AppendCount(dst, `{"index":`, int64(c.Index))
	dst = appendAnswer(append(dst, `,"message":`...), r, &c.Message, own)
	dst = append(dst, `,"logprobs":`...)
	if c.Logprobs == nil {
		dst = appendTokens(dst, c.Tokens)
	} else {
		dst = append(dst, c.Logprobs...)
	}
	finish := finishWord(c.Finish)
	if isLegacyAnswer(&c.Message) && c.Finish == llm.FinishToolCalls {
		finish = typeLegacy
	}
	dst = rawjson.AppendString(append(dst, `,"finish_reason":`...), finish)
	return append(compose.AppendFields(dst, c.Extra, written), '}')
}

// appendTokens writes the log probabilities of tokens.
func appendTokens(dst []byte, tokens []byte) []byte {
	if tokens == nil {
		return append(dst, "null"...)
	}
	return append(append(append(dst, `{"content":`...), tokens...), `,"refusal":null}`...)
}

// finishWord returns the finish reason in the words of the wire format: that of a normal end if there is none.
func finishWord(f llm.FinishReason) string {
	if f == "" {
		f = llm.FinishStop
	}
	return string(f)
}

// answer holds an assistant's message by member.
type answer struct {
	text, refusal, reasoning string
	hasText, proved          bool
	thoughts, calls, images  []*llm.Part
	sound                    *llm.Part
	annotations              []byte
	cited                    []citedText
	characters               int // of the text
}

// say adds text.
func (a *answer) say(text *llm.Joined, words string) {
	text.Add(words)
	a.hasText = true
	a.characters += utf8.RuneCountInString(words)
}

func readAnswer(m *llm.Message) (a answer) {
	var text, refusal, reasoning llm.Joined
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case llm.PartText:
			switch {
			case p.Annotations != nil:
				a.annotations = p.Annotations
			case p.Claims() != nil:
				a.cited = append(a.cited, citedText{p, a.characters})
			}
			a.say(&text, p.Text)
		case llm.PartRefusal:
			refusal.Add(p.Text)
		case llm.PartReasoning:
			reasoning.Add(p.Text)
			a.proved = a.proved || p.Signature != "" || p.Redacted != ""
			a.thoughts = append(a.thoughts, p)
		case llm.PartToolCall:
			a.calls = append(a.calls, p)
		case llm.PartAudio:
			if a.sound == nil {
				a.sound = p
				continue
			}
			a.say(&text, p.Words()) // the format has one place for all text
		case llm.PartImage:
			if p.Media != nil {
				a.images = append(a.images, p)
			}
		case llm.PartDocument:
			a.say(&text, p.Words())
		}
	}
	a.text, a.refusal, a.reasoning = text.String(), refusal.String(), reasoning.String()
	return a
}

func appendAnswer(dst []byte, r *llm.Reply, m *llm.Message, own bool) []byte {
	a := readAnswer(m)
	dst = append(dst, `{"role":"assistant","content":`...)
	if a.hasText || a.calls == nil && a.refusal == "" && a.sound == nil {
		dst = rawjson.AppendString(dst, a.text)
	} else {
		dst = append(dst, "null"...)
	}
	dst = appendOrNull(append(dst, `,"refusal":`...), a.refusal)
	switch {
	case a.annotations != nil:
		dst = append(append(dst, `,"annotations":`...), a.annotations...)
	case a.cited != nil:
		dst = appendAnnotations(dst, a.cited)
	}
	if a.reasoning != "" {
		dst = rawjson.AppendString(append(dst, `,"reasoning_content":`...), a.reasoning)
	}
	if a.proved {
		dst = appendDetails(dst, a.thoughts, 0, own)
	}
	if a.images != nil {
		dst = appendImages(dst, a.images)
	}
	switch {
	case isLegacy(a.calls):
		dst = appendLegacy(dst, a.calls[0].Call)
	case a.calls != nil:
		dst = appendCalls(append(dst, `,"tool_calls":`...), a.calls, true)
	}
	if s := textSignature(m.Parts); s != "" && !hasField(m.Extra, extraContent) {
		dst = appendSignature(dst, s)
	}
	if a.sound != nil {
		dst = appendSound(append(dst, `,"audio":`...), a.sound, r.ID, r.Created)
	}
	return append(compose.AppendFields(dst, m.Extra, written), '}')
}
