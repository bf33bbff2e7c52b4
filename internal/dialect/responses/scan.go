package responses

import (
	"net/http"
	"strings"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/openai"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// fields are the members of a request that the gateway reads or that decide its price.
var fields = rawjson.Names{
	"model", "input", "instructions", "stream", outputCap, "service_tier", "tools", "tool_choice",
	"temperature", "top_p", "text", "reasoning", "previous_response_id", "conversation", "prompt",
	"background", "store", "max_tool_calls", "prompt_cache_options",
}

// Scan validates the body as strict JSON and reads its head. A stream of this format always reports its usage. Errors
// are *llm.Error.
func Scan(body []byte, _ *http.Request) (llm.Head, error) {
	h, err := parse.Body(body, parse.Complaint, "with a model and input")
	if err != nil {
		return h, err
	}
	h.IncludeUsage = true
	err = parse.Members(body, fields, "", func(m rawjson.Member) error { return scanMember(&h, m) })
	if err != nil {
		return llm.Head{}, err
	}
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
	case "stream":
		h.Stream, err = parse.Bool(m.Value, "stream")
	case "prompt_cache_options":
		h.LongCache = compose.IsLongCache(m.Value)
	case "tools":
		h.Asked = strings.Trim(containers(m.Value)+","+preview(m.Value), ",")
	case outputCap:
		err = openai.RaiseCap(h, m.Value, outputCap)
	default:
		openai.ScanAttribution(h, m)
		parse.Conversation(h, m)
	}
	return err
}
