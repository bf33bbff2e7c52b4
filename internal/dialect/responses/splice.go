package responses

import (
	"bytes"
	"maps"
	"strconv"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/openai"
	"weir/internal/dialect/proof"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Splice appends to dst a body of this format with the provider's model name, and an output cap if s sets one and the
// client sent none. All other bytes stay, except top-level fields that the provider names otherwise or refuses, and
// thinking of other vendors' models. The head is that of Scan.
func Splice(dst, body []byte, h *llm.Head, s llm.Splice, q *llm.Quirks) []byte {
	body, h = withoutForeign(body, h)
	model := llm.Splice{Model: s.Model} // a stream reports its usage without a request
	if s.MaxOutput <= 0 || h.MaxOutput > 0 {
		return openai.Splice(dst, body, h, model, renamed(q))
	}
	body = openai.Splice(nil, body, h, model, renamed(q))
	if h.NoCap == "" && rawjson.Present(rawjson.Get(body, capField(q))) {
		return append(dst, body...) // the provider's own name of the cap
	}
	limit := strconv.AppendInt(nil, s.MaxOutput, 10)
	return rawjson.Splice(dst, body, rawjson.Set(body, capField(q), limit))
}

// withoutForeign returns a body without thinking and searches of another vendor's model, that is, without items made by
// the gateway, and the head of the new body.
func withoutForeign(body []byte, h *llm.Head) ([]byte, *llm.Head) {
	if !hasMadeUp(body) {
		return body, h
	}
	stripped := proof.EditMember(body, "input", func(item []byte) []byte {
		switch rawjson.Text(rawjson.Get(item, "type")) {
		case itemReasoning, itemSearch:
			if isMadeUp(rawjson.Text(rawjson.Get(item, "id"))) {
				return nil
			}
		}
		return item
	})
	if stripped == nil || len(stripped) == len(body) {
		return body, h
	}
	other := *h
	other.ModelSpan, other.StreamOptionsSpan = compose.Find(stripped, "model"), compose.Find(stripped, "stream_options")
	return stripped, &other
}

// hasMadeUp reports whether a body may have items made by the gateway.
func hasMadeUp(body []byte) bool {
	for _, prefix := range []string{`"rs_`, `"ws_`} {
		for rest := body; ; {
			at := bytes.Index(rest, []byte(prefix))
			if at < 0 {
				break
			}
			rest = rest[at+1:]
			if isMadeUp(string(rest[:min(len(rest), madeUpLength)])) {
				return true
			}
		}
	}
	return false
}

// madeUpLength is the length of the prefix that identifies the gateway's own item ids.
const madeUpLength = len("rs_") + len("00000000-0000-7000-8000-000000000000_")

// isMadeUp reports whether the gateway made an item's id, which then contains a UUID of version 7 (RFC 9562). The
// vendor's own consist of hexadecimal digits.
func isMadeUp(id string) bool {
	if len(id) < madeUpLength || id[:3] != "rs_" && id[:3] != "ws_" {
		return false
	}
	id = id[len("rs_"):]
	return id[8] == '-' && id[13] == '-' && id[14] == '7' && id[18] == '-' && id[23] == '-' && id[36] == '_'
}

// renamed moves the provider's name of the output cap from MaxOutputField to Rename: MaxOutputField replaces the name
// in Chat Completions, which differs from the one in Responses.
func renamed(q *llm.Quirks) *llm.Quirks {
	if q == nil || q.MaxOutputField == "" {
		return q
	}
	other := *q
	other.MaxOutputField = ""
	other.Rename = maps.Clone(q.Rename)
	if other.Rename == nil {
		other.Rename = map[string]string{}
	}
	other.Rename[outputCap] = q.MaxOutputField
	return &other
}

func capField(q *llm.Quirks) string {
	if q != nil && q.MaxOutputField != "" {
		return q.MaxOutputField
	}
	return outputCap
}

// Stamp appends to dst a reply, or the data of one stream event, with the cost in its usage object and, after more than
// one attempt, the list of attempts. Without a usage object the bytes stay unchanged.
func Stamp(dst, data []byte, f *llm.Final) []byte {
	start, end := response(data)
	dst = append(dst, data[:start]...)
	dst = openai.Stamp(dst, data[start:end], f)
	return append(dst, data[end:]...)
}

// HasUsage reports whether data has a usage object that Stamp can complete.
func HasUsage(data []byte) bool {
	start, end := response(data)
	return openai.HasUsage(data[start:end])
}

// response returns the place of the response in the data of a stream event; all of a whole reply.
func response(data []byte) (start, end int) {
	for m := range rawjson.Members(data) {
		if m.Is("response") && rawjson.KindOf(m.Value) == rawjson.Object {
			return m.Start, m.Start + len(m.Value)
		}
	}
	return 0, len(data)
}
