package coheretest

import (
	"net/http"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// fields are the members of a request that the gateway reads or that decide its price.
var fields = rawjson.Names{
	"model", "messages", "stream", outputCap, "tools", "tool_choice", "documents",
	"response_format", "thinking", "temperature", "p", "k", "stop_sequences",
}

// Scan validates the body as strict JSON and reads its head. Every stream of this format ends with its usage, without a
// request for it. Errors are *llm.Error.
func Scan(body []byte, _ *http.Request) (llm.Head, error) {
	h, err := parse.Scan(body, parse.Complaint, "with a model and messages", fields, scanMember)
	h.IncludeUsage = err == nil
	return h, err
}

func scanMember(h *llm.Head, m rawjson.Member) (err error) {
	switch string(m.Key()) {
	case "stream":
		h.Stream, err = parse.Bool(m.Value, "stream")
	case outputCap:
		h.MaxOutput, err = parse.Int(m.Value, outputCap, 1, parse.MaxCount)
	}
	return err
}
