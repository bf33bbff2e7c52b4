package openai

import (
	"net/http"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// fields are the members of a request that the gateway reads or that decide its price.
var fields = rawjson.Names{
	"model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "n",
	"service_tier", "tools", "functions", "web_search_options", "modalities",
	"temperature", "top_p", "stop", "best_of", "deferred", "prompt_cache_options",
}

var streamFields = rawjson.Names{"include_usage"}

// Scan validates the body as strict JSON and reads its head. The larger of two output caps counts, because providers
// differ in the one they obey. Errors are *llm.Error.
func Scan(body []byte, _ *http.Request) (llm.Head, error) {
	h, err := parse.Body(body, parse.Complaint, "with a model and messages")
	if err != nil {
		return h, err
	}
	err = parse.Members(body, fields, "", func(m rawjson.Member) error { return scanMember(&h, m) })
	if err == nil && h.NoCap != "" && h.MaxOutput > 0 {
		err = llm.Invalid(legacyOutputCap, "One of max_tokens and max_completion_tokens means no limit, the other "+
			"sets one. Leave one of them out.")
	}
	if err != nil {
		return llm.Head{}, err
	}
	return h, nil
}

func scanMember(h *llm.Head, m rawjson.Member) (err error) {
	switch string(m.Key()) {
	case "model":
		return parse.Model(h, m)
	case "stream_options":
		h.StreamOptionsSpan = llm.Span{Start: m.Start, End: m.Start + len(m.Value)}
		h.IncludeUsage, err = includeUsage(m.Value)
		return err
	}
	if !rawjson.Present(m.Value) {
		return nil
	}
	switch string(m.Key()) {
	case "stream":
		h.Stream, err = parse.Bool(m.Value, "stream")
	case "service_tier":
		h.Tier = rawjson.Text(m.Value)
	case outputCap:
		err = RaiseCap(h, m.Value, outputCap)
	case legacyOutputCap:
		err = RaiseCap(h, m.Value, legacyOutputCap)
	case "n":
		h.Choices, err = parse.Int(m.Value, "n", 1, maxChoices)
	case "prompt_cache_options":
		h.LongCache = compose.IsLongCache(m.Value)
	case "deferred":
		err = refuseDeferred(m.Value)
	case searchOptions, searchPlugins, searchParameters, domainFilter:
		h.Searches = h.Searches || AsksSearch(m.Name(), m.Value)
	default:
		ScanAttribution(h, m)
		parse.Conversation(h, m)
	}
	return err
}

// ScanAttribution records where a request names its end user and its tags. OpenAI's newer name of the end user counts
// if it is not empty: https://platform.openai.com/docs/api-reference/chat/create (undated copy of 2026).
func ScanAttribution(h *llm.Head, m rawjson.Member) {
	switch string(m.Key()) {
	case "metadata":
		h.TagsSpan = parse.SpanOf(m)
	case "safety_identifier":
		if string(m.Value) != `""` {
			h.UserSpan = parse.SpanOf(m)
		}
	case "user":
		if !h.UserSpan.Present() {
			h.UserSpan = parse.SpanOf(m)
		}
	}
}

// refuseDeferred refuses xAI's deferred option: the provider returns an id and the client fetches the answer later,
// which no gateway can meter: https://docs.x.ai/developers/advanced-api-usage/deferred-chat-completions (undated copy).
func refuseDeferred(v []byte) error {
	if deferred, err := parse.Bool(v, "deferred"); !deferred {
		return err
	}
	return llm.Invalid("deferred",
		"Deferred chats are not supported. Leave deferred out, and set \"stream\": true for an answer that takes long.")
}

// RaiseCap records an output cap of that name.
func RaiseCap(h *llm.Head, v []byte, name string) error {
	if isNoCap(v) {
		h.NoCap = name
		return nil
	}
	n, err := parse.Int(v, name, 1, parse.MaxCount)
	h.MaxOutput = max(h.MaxOutput, n)
	return err
}

// isNoCap reports whether self-hosted servers read an output cap as no limit:
// https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md (n_predict),
// https://lmstudio.ai/docs/app/api/endpoints/openai (undated copies). Providers that refuse such a value get no
// request.
func isNoCap(v []byte) bool {
	n, ok := rawjson.AsInt(v)
	return ok && (n == 0 || n == -1)
}

// CapOrNone reads an output cap; nil for no limit.
func CapOrNone(v []byte, name string) (*int64, error) {
	if isNoCap(v) {
		return nil, nil
	}
	return parse.Pointer(parse.Int(v, name, 1, parse.MaxCount))
}

func includeUsage(v []byte) (wanted bool, err error) {
	if !rawjson.Present(v) {
		return false, nil
	}
	if rawjson.KindOf(v) != rawjson.Object {
		return false, llm.Invalid("stream_options",
			`The stream_options must be an object such as {"include_usage": true}.`)
	}
	err = parse.Members(v, streamFields, "stream_options.", func(m rawjson.Member) (err error) {
		if m.Is("include_usage") && rawjson.Present(m.Value) {
			wanted, err = parse.Bool(m.Value, "stream_options.include_usage")
		}
		return err
	})
	return wanted, err
}
