package responses

import (
	"strconv"
	"strings"

	"weir/internal/dialect/openai"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeReply appends a response object to dst. The format has one answer: of
// several the first is written.
func EncodeReply(dst []byte, r *llm.Reply) []byte {
	r = r.For(Name)
	var c llm.Choice
	if len(r.Choices) > 0 {
		c = r.Choices[0]
	}
	status, reason := stateOf(c.Finish)
	o := object{id: r.ID, model: r.Model, created: r.Created, tier: openai.TierWord(r.Tier, r.ExtraOf == Name), extra: r.Extra}
	dst = o.open(dst, status, reason)
	if status == statusFailed {
		dst = appendFailure(dst, &llm.Error{Code: llm.CodeProviderError, Message: "The provider could not complete the answer."})
	}
	dst = append(dst, `,"output":[`...)
	dst = appendItems(dst, r.ID, c.Message.Parts, itemStatus(status))
	dst = append(dst, ']')
	if r.Reported || !r.Usage.IsZero() {
		dst = appendUsage(dst, &r.Usage, r.Cost)
	} else {
		dst = append(dst, `,"usage":null`...)
	}
	return append(o.rest(dst), '}')
}

// object is what is the same in every response object of one answer.
type object struct {
	id, model, tier string
	created         int64
	extra           []llm.Field
}

// open writes what a response object begins with: what it is, its state, and
// why it is incomplete.
func (o *object) open(dst []byte, status, reason string) []byte {
	dst = rawjson.AppendString(append(dst, `{"id":`...), o.id)
	dst = strconv.AppendInt(append(dst, `,"object":"response","created_at":`...), o.created, 10)
	dst = append(append(append(dst, `,"status":"`...), status...), '"')
	if status != statusFailed {
		dst = append(dst, `,"error":null`...)
	}
	dst = append(dst, `,"incomplete_details":`...)
	if reason == "" {
		dst = append(dst, "null"...)
	} else {
		dst = append(append(append(dst, `{"reason":"`...), reason...), `"}`...)
	}
	return rawjson.AppendString(append(dst, `,"model":`...), o.model)
}

// unsaid are the members that every response object has, in the words that say
// nothing. The answer does not know its request.
var unsaid = []struct{ name, value string }{
	{"background", "false"},
	{"metadata", "{}"},
	{"parallel_tool_calls", "true"},
	{"reasoning", `{"effort":null,"summary":null}`},
	{"store", "false"},
	{"text", `{"format":{"type":"text"}}`},
	{"tool_choice", `"auto"`},
	{"tools", "[]"},
	{"top_logprobs", "0"},
	{"truncation", `"disabled"`},
	{"completed_at", "null"},
	{"instructions", "null"},
	{"max_output_tokens", "null"},
	{"max_tool_calls", "null"},
	{"previous_response_id", "null"},
	{"prompt_cache_key", "null"},
	{"safety_identifier", "null"},
	{"temperature", "null"},
	{"top_p", "null"},
}

// rest writes the tier, the extra members, and the ones that say nothing.
func (o *object) rest(dst []byte) []byte {
	if o.tier != "" {
		dst = rawjson.AppendString(append(dst, `,"service_tier":`...), o.tier)
	}
	for _, f := range o.extra {
		dst = append(rawjson.AppendString(append(dst, ','), f.Name), ':')
		dst = append(dst, f.Value...)
	}
	for _, m := range unsaid {
		if field(o.extra, m.name) == nil {
			dst = append(append(append(append(dst, `,"`...), m.name...), `":`...), m.value...)
		}
	}
	return dst
}

// appendFailure writes the error of a failed response, whose codes are few.
func appendFailure(dst []byte, e *llm.Error) []byte {
	code := "server_error"
	switch e.Code {
	case llm.CodeRateLimited, llm.CodeBudgetExceeded:
		code = "rate_limit_exceeded"
	case llm.CodeInvalidRequest, llm.CodeRequestTooLarge:
		code = "invalid_prompt"
	}
	dst = append(append(append(dst, `,"error":{"code":"`...), code...), `","message":`...)
	return append(rawjson.AppendString(dst, e.Message), '}')
}

// appendUsage writes the usage member with the cost in US dollars where there
// is one.
func appendUsage(dst []byte, u *llm.Usage, cost *llm.Money) []byte {
	dst = rawjson.AppendCount(dst, `,"usage":{"input_tokens":`, u.InputTokens())
	dst = rawjson.AppendCount(dst, `,"input_tokens_details":{"cached_tokens":`, u[llm.CacheRead])
	dst = rawjson.AppendCount(dst, `,"cache_write_tokens":`, u[llm.CacheWrite]+u[llm.CacheWrite1h])
	dst = rawjson.AppendCount(dst, `},"output_tokens":`, u.OutputTokens())
	dst = rawjson.AppendCount(dst, `,"output_tokens_details":{"reasoning_tokens":`, u[llm.Reasoning])
	dst = rawjson.AppendCount(dst, `},"total_tokens":`, u.TotalTokens())
	if cost != nil {
		dst = cost.AppendText(append(dst, `,"cost":`...))
	}
	return append(dst, '}')
}

// itemStatus is the status of the items of a response with that one.
func itemStatus(status string) string {
	if status == statusFailed {
		return statusIncomplete
	}
	return status
}

// appendItems writes the parts of an answer as items.
func appendItems(dst []byte, id string, parts []llm.Part, status string) []byte {
	for n := 0; len(parts) > 0; n++ {
		if n > 0 {
			dst = append(dst, ',')
		}
		if said := run(parts); said > 0 {
			dst = appendMessage(dst, parts[:said], itemID("msg_", id, n), status)
			parts = parts[said:]
			continue
		}
		switch p := &parts[0]; p.Kind {
		case llm.PartReasoning:
			dst = appendThought(dst, p, itemID("rs_", id, n))
		case llm.PartToolCall:
			dst = appendCall(dst, p.Call, itemID("fc_", id, n), status)
		default:
			dst = append(dst, p.Raw...)
		}
		parts = parts[1:]
	}
	return dst
}

// itemID is the id of an item that has none of its own: the answer's id and
// the item's place in it.
func itemID(prefix, id string, place int) string {
	return prefix + strings.TrimPrefix(id, IDPrefix) + "_" + strconv.Itoa(place)
}

// appendFields writes an item's own id and status, or these, and what else it
// has of its own.
func appendFields(dst []byte, own []llm.Field, id, status string) []byte {
	for _, f := range []struct{ name, value string }{{"id", id}, {"status", status}} {
		dst = append(append(append(dst, `,"`...), f.name...), `":`...)
		if v := field(own, f.name); v != nil {
			dst = append(dst, v...)
		} else {
			dst = rawjson.AppendString(dst, f.value)
		}
	}
	for _, f := range own {
		if f.Name != "id" && f.Name != "status" {
			dst = append(rawjson.AppendString(append(dst, ','), f.Name), ':')
			dst = append(dst, f.Value...)
		}
	}
	return dst
}

func appendThought(dst []byte, p *llm.Part, id string) []byte {
	if p.Signature != "" {
		id = p.Signature
	}
	dst = rawjson.AppendString(append(dst, `{"type":"reasoning","id":`...), id)
	if field(p.Extra, "summary") == nil {
		dst = appendSummary(append(dst, `,"summary":`...), p.Text)
	}
	for _, f := range p.Extra {
		dst = append(rawjson.AppendString(append(dst, ','), f.Name), ':')
		dst = append(dst, f.Value...)
	}
	if p.Redacted != "" {
		dst = rawjson.AppendString(append(dst, `,"encrypted_content":`...), p.Redacted)
	}
	return append(dst, '}')
}

func appendCall(dst []byte, c *llm.ToolCall, id, status string) []byte {
	dst = appendFields(append(dst, `{"type":"function_call"`...), c.Extra, id, status)
	dst = rawjson.AppendString(append(dst, `,"call_id":`...), c.ID)
	dst = rawjson.AppendString(append(dst, `,"name":`...), c.Name)
	dst = rawjson.AppendString(append(dst, `,"arguments":`...), c.Arguments)
	return append(dst, '}')
}

// appendMessage writes content parts as one message.
func appendMessage(dst []byte, parts []llm.Part, id, status string) []byte {
	var own []llm.Field
	for m := range rawjson.Members(field(parts[0].Extra, markItem)) {
		own = append(own, llm.Field{Name: m.Name(), Value: m.Value})
	}
	dst = appendFields(append(dst, `{"type":"message"`...), own, id, status)
	dst = append(dst, `,"role":"assistant","content":[`...)
	for i := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendPart(dst, &parts[i])
	}
	return append(dst, "]}"...)
}

func appendPart(dst []byte, p *llm.Part) []byte {
	switch p.Kind {
	case llm.PartOther:
		return append(dst, p.Raw...)
	case llm.PartRefusal:
		return appendRefusal(dst, p.Text)
	}
	dst = append(dst, '{')
	if field(p.Extra, "type") == nil {
		dst = append(dst, `"type":"output_text",`...)
	}
	dst = append(dst, `"annotations":`...)
	dst = append(dst, orEmpty(p.Annotations)...)
	if field(p.Extra, "logprobs") == nil {
		dst = append(dst, `,"logprobs":[]`...)
	}
	for _, f := range p.Extra {
		if f.Name != markItem {
			dst = append(rawjson.AppendString(append(dst, ','), f.Name), ':')
			dst = append(dst, f.Value...)
		}
	}
	return append(rawjson.AppendString(append(dst, `,"text":`...), p.Text), '}')
}

func appendRefusal(dst []byte, text string) []byte {
	return append(rawjson.AppendString(append(dst, `{"type":"refusal","refusal":`...), text), '}')
}
