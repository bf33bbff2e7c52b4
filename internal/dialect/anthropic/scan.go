package anthropic

import (
	"net/http"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// fields are the members of a request that the gateway reads or that decide its price.
var fields = rawjson.Names{
	"model", "messages", "system", "max_tokens", "stream", "tools", "tool_choice", "thinking",
	"output_config", "output_format", "service_tier", "speed", "inference_geo",
	"temperature", "top_p", "top_k", "stop_sequences", "thread",
}

// Scan validates the body as strict JSON and reads its head. A stream always reports its usage. Scan requires the
// output cap, as the vendor does. Errors are *llm.Error.
func Scan(body []byte, r *http.Request) (h llm.Head, err error) {
	h, err = ScanCount(body, r)
	if err == nil && h.MaxOutput == 0 && !rawjson.Present(rawjson.Get(body, "max_tokens")) {
		err = llm.Invalid("max_tokens", "Field required: the most tokens that the answer may have, such as 1024.")
	}
	return h, err
}

// ScanCount implements Scan for token counting, which needs no output cap.
func ScanCount(body []byte, _ *http.Request) (h llm.Head, err error) {
	h, err = parse.Body(body, "The request body is not valid JSON", "with a model, max_tokens and messages")
	if err != nil {
		return h, err
	}
	err = parse.Members(body, fields, "", func(m rawjson.Member) error { return scanMember(&h, m) })
	if err != nil {
		return llm.Head{}, err
	}
	h.IncludeUsage = h.Stream
	return h, nil
}

func scanMember(h *llm.Head, m rawjson.Member) (err error) {
	if m.Is("model") {
		return parse.Model(h, m)
	}
	if !rawjson.Present(m.Value) {
		return nil
	}
	switch string(m.Key()) {
	case "speed": // https://platform.claude.com/docs/en/build-with-claude/fast-mode
		if rawjson.KindOf(m.Value) != rawjson.String {
			err = llm.Invalid("speed", `The speed must be a string, such as "standard" or "fast".`)
		}
	case "stream":
		h.Stream, err = parse.Bool(m.Value, "stream")
	case "thinking":
		h.Thinking, _ = rawjson.AsInt(rawjson.Get(m.Value, "budget_tokens"))
	case "metadata": // https://platform.claude.com/docs/en/api/messages (undated copy of 2026)
		h.UserSpan = userID(m)
		h.Conversation.Session = h.UserSpan
	case "max_tokens": // a cap of 0 only fills the prompt cache
		h.MaxOutput, err = parse.Int(m.Value, "max_tokens", 0, parse.MaxCount)
	default:
		parse.Conversation(h, m)
	}
	return err
}

// userID returns the place of the end user in the metadata of a request.
func userID(metadata rawjson.Member) (at llm.Span) {
	for m := range rawjson.Members(metadata.Value) {
		if m.Is("user_id") && rawjson.Present(m.Value) {
			at = llm.Span{Start: metadata.Start + m.Start, End: metadata.Start + m.Start + len(m.Value)}
		}
	}
	return at
}
