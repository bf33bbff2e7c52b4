package responses

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"weir/internal/dialect/explain"
	"weir/internal/dialect/openai"
	"weir/internal/dialect/proof"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeReply appends a response object to dst. The format has one answer: it writes the first choice.
func EncodeReply(dst []byte, r *llm.Reply) []byte {
	r = r.For(Name)
	c := r.First()
	status, reason := stateOf(c.Finish)
	o := object{
		id: r.ID, model: r.Model, created: r.Created, tier: openai.TierWord(r.Tier, r.ExtraOf == Name),
		extra: withEcho(r),
	}
	dst = o.open(dst, status, reason)
	if status == statusFailed {
		dst = appendFailure(dst, &llm.Error{
			Code:    llm.CodeProviderError,
			Message: "The provider could not complete the answer.",
		})
	}
	dst = append(dst, `,"output":[`...)
	w := items{dst: dst, id: r.ID, status: itemStatus(status), called: r.Called}
	parts := slices.DeleteFunc(slices.Clone(c.Message.Parts), isEmpty)
	if r.ExtraOf != Name {
		withTokens(parts, c.Tokens)
	}
	w.all(parts)
	dst = w.dst
	dst = append(dst, ']')
	if r.Reported || !r.Usage.IsZero() {
		dst = appendUsage(dst, &r.Usage, r.Cost)
	} else {
		dst = append(dst, `,"usage":null`...)
	}
	return append(o.rest(dst), '}')
}

// isEmpty reports whether a part is an empty text, which has no item in a stream either.
func isEmpty(p llm.Part) bool {
	return p.Kind == llm.PartText && p.Text == "" && p.Signature == "" && p.Annotations == nil && p.Raw == nil
}

// withEcho returns the extra members of a response: the repeated members of its request, and the provider's.
func withEcho(r *llm.Reply) []llm.Field {
	all := slices.Clone(r.Echo)
	for _, f := range r.Extra {
		if field(r.Echo, f.Name) == nil {
			all = append(all, f)
		}
	}
	return all
}

// object holds the members that all response objects of one answer share.
type object struct {
	id, model, tier string
	created         int64
	extra           []llm.Field
}

// open writes the beginning of a response object: its type, its status, and why it is incomplete.
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

// unsaid are the members that every response object has, with their default values. The answer does not know its
// request.
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
	// OpenAI's defaults: the objects of https://platform.openai.com/docs/api-reference/responses/create (undated copy).
	{"temperature", "1.0"},
	{"top_p", "1.0"},
	{"presence_penalty", "0.0"},
	{"frequency_penalty", "0.0"},
	{"completed_at", "null"}, // nulls are last because readers skip them
	{"instructions", "null"},
	{"max_output_tokens", "null"},
	{"max_tool_calls", "null"},
	{"previous_response_id", "null"},
	{"prompt_cache_key", "null"},
	{"safety_identifier", "null"},
}

// rest writes the tier, the extra members, and the default members.
func (o *object) rest(dst []byte) []byte {
	dst = rawjson.AppendString(append(dst, `,"service_tier":`...), cmp.Or(o.tier, "default"))
	for _, f := range o.extra {
		dst = rawjson.AppendMember(dst, f.Name, f.Value)
	}
	for _, m := range unsaid {
		if field(o.extra, m.name) == nil {
			dst = append(append(append(append(dst, `,"`...), m.name...), `":`...), m.value...)
		}
	}
	return dst
}

// appendFailure writes the error of a failed response. The vendor's types have few codes, and none for a request that
// exceeds the context window. Codex then shortens the conversation, but only recognizes the code of Chat Completions
// (is_context_window_error of codex-rs, undated copy).
func appendFailure(dst []byte, e *llm.Error) []byte {
	code := "server_error"
	switch {
	case e.Word == explain.Context, e.Misfit.Kind == llm.ContextOverflow:
		code = explain.Context
	case e.Code == llm.CodeRateLimited, e.Code == llm.CodeBudgetExceeded:
		code = "rate_limit_exceeded"
	case e.Code == llm.CodeInvalidRequest, e.Code == llm.CodeRequestTooLarge:
		code = "invalid_prompt"
	}
	dst = append(append(append(dst, `,"error":{"code":"`...), code...), `","message":`...)
	return append(append(dst, rawjson.Get(openai.EncodeError(nil, e, ""), "error", "message")...), '}')
}

// appendUsage writes the usage member, with the cost in US dollars if it is known.
func appendUsage(dst []byte, u *llm.Usage, cost *llm.Money) []byte {
	dst = rawjson.AppendCount(dst, `,"usage":{"input_tokens":`, u.InputTokens())
	dst = rawjson.AppendCount(dst, `,"input_tokens_details":{"cached_tokens":`, u[llm.CacheRead]+u[llm.CacheReadAudio])
	dst = rawjson.AppendCount(dst, `,"cache_write_tokens":`, u[llm.CacheWrite]+u[llm.CacheWrite1h])
	dst = rawjson.AppendCount(dst, `},"output_tokens":`, u.OutputTokens())
	dst = rawjson.AppendCount(dst, `,"output_tokens_details":{"reasoning_tokens":`, u[llm.Reasoning])
	dst = rawjson.AppendCount(dst, `},"total_tokens":`, u.TotalTokens())
	return append(stamp.Cost(dst, cost), '}')
}

// itemStatus returns the status of the items of a response with that status.
func itemStatus(status string) string {
	if status == statusFailed {
		return statusIncomplete
	}
	return status
}

// items holds the items of an answer while they are written.
type items struct {
	dst        []byte
	id, status string
	count      int
	called     *llm.Called
}

// next begins an item and returns its id.
func (w *items) next(prefix string) string {
	if w.count > 0 {
		w.dst = append(w.dst, ',')
	}
	w.count++
	return itemID(prefix, w.id, w.count-1)
}

// all writes the parts of an answer as items.
func (w *items) all(parts []llm.Part) {
	for len(parts) > 0 {
		if n := spoken(parts); n > 0 {
			w.dst = appendMessage(w.dst, parts[:n], w.next("msg_"), w.status)
			w.loose(&parts[n-1])
			parts = parts[n:]
			continue
		}
		w.part(&parts[0])
		parts = parts[1:]
	}
}

// spoken returns the number of parts that form the content of one message. A signed text ends the message, so that its
// signature can follow.
func spoken(parts []llm.Part) int {
	n := run(parts)
	for i := range n {
		switch p := &parts[i]; {
		case isPicture(p):
			return i
		case p.Signature != "":
			return i + 1
		}
	}
	return n
}

// isPicture reports whether a part is an item of its own: an inline image.
func isPicture(p *llm.Part) bool {
	return p.Kind == llm.PartImage && p.Media != nil && p.Media.Data != ""
}

// part writes a part that is an item of its own. The signature of a call precedes it.
func (w *items) part(p *llm.Part) {
	switch {
	case p.Kind == llm.PartReasoning:
		id := w.next("rs_")
		w.dst = appendThought(w.dst, p, id)
	case p.Kind == llm.PartToolCall:
		w.loose(p)
		t := toolOf(w.called, p.Call, false)
		id := w.next(calledPrefix(t.Kind))
		w.dst = appendCalled(w.dst, t, p.Call, id, w.status)
	case p.Raw != nil:
		w.next("")
		w.dst = append(w.dst, p.Raw...)
	case p.Search() != nil:
		id := w.next(prefixes[llm.EventSearch])
		w.dst = appendSearch(w.dst, p.Search(), id, statusCompleted)
	case isPicture(p):
		id := w.next("ig_")
		w.dst = appendPicture(w.dst, p.Media, id)
	}
}

// loose writes another vendor's signature of a text or a call, as encrypted thinking.
func (w *items) loose(p *llm.Part) {
	if sealed := proof.SealLoose(p); sealed != "" {
		id := w.next("rs_")
		w.dst = appendThought(w.dst, &llm.Part{Redacted: sealed}, id)
	}
}

// appendPicture writes an image as a call of this format's image tool.
func appendPicture(dst []byte, m *llm.Media, id string) []byte {
	dst = rawjson.AppendString(append(dst, `{"type":"image_generation_call","id":`...), id)
	if format, ok := strings.CutPrefix(m.MIME, "image/"); ok {
		dst = rawjson.AppendString(append(dst, `,"output_format":`...), format)
	}
	return append(rawjson.AppendString(append(dst, `,"status":"completed","result":`...), m.Data), '}')
}

// itemID returns the id of an item without one of its own: from the answer's id and the item's position.
func itemID(prefix, id string, place int) string {
	return prefix + strings.TrimPrefix(id, IDPrefix) + "_" + strconv.Itoa(place)
}

// appendFields writes an item's own id and status, or the given ones, and its other own fields.
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
			dst = rawjson.AppendMember(dst, f.Name, f.Value)
		}
	}
	return dst
}

func appendThought(dst []byte, p *llm.Part, id string) []byte {
	redacted := p.Redacted
	switch {
	case proof.IsForeign(p.Maker, Name):
		redacted = proof.SealPart(p)
	case p.Signature != "":
		id = p.Signature
	}
	dst = rawjson.AppendString(append(dst, `{"type":"reasoning","id":`...), id)
	if field(p.Extra, "summary") == nil {
		dst = appendSummary(append(dst, `,"summary":`...), p.Text)
	}
	for _, f := range p.Extra {
		dst = rawjson.AppendMember(dst, f.Name, f.Value)
	}
	if redacted != "" {
		dst = rawjson.AppendString(append(dst, `,"encrypted_content":`...), redacted)
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
		dst = appendPart(rawjson.AppendComma(dst), &parts[i])
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
	if p.Annotations == nil {
		dst = append(appendAnnotations(append(dst, '['), p.Text, p.Claims()), ']')
	} else {
		dst = append(dst, p.Annotations...)
	}
	if field(p.Extra, "logprobs") == nil {
		dst = append(dst, `,"logprobs":[]`...)
	}
	for _, f := range p.Extra {
		if f.Name != markItem {
			dst = rawjson.AppendMember(dst, f.Name, f.Value)
		}
	}
	text := p.Text
	if text == "" && p.Media != nil {
		text = p.Media.Unshown()
	}
	return append(rawjson.AppendString(append(dst, `,"text":`...), text), '}')
}

func appendRefusal(dst []byte, text string) []byte {
	return append(rawjson.AppendString(append(dst, `{"type":"refusal","refusal":`...), text), '}')
}
