package openai

import (
	"net/http"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// fields are the members of a request that are acted on, or decide its price.
var fields = rawjson.Names{
	"model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "n",
	"service_tier", "tools", "functions", "web_search_options", "modalities",
	"temperature", "top_p", "stop", "best_of", "deferred", "prompt_cache_options",
}

var streamFields = rawjson.Names{"include_usage"}

// Scan validates the body as strict JSON and reads its head. Of two output
// caps the larger one counts: providers differ in which they obey. Errors are
// *llm.Error.
func Scan(body []byte, _ *http.Request) (llm.Head, error) {
	h, err := parse.Body(body, parse.Complaint, "with a model and messages")
	if err != nil {
		return h, err
	}
	err = parse.Members(body, fields, "", func(m rawjson.Member) error { return scanMember(&h, m) })
	if err == nil && h.NoCap != "" && h.MaxOutput > 0 {
		err = llm.Invalid(legacyOutputCap, "One of max_tokens and max_completion_tokens says that there is no limit, the other "+
			"gives one. Leave one of them out.")
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
		h.LongCache = IsLongCache(m.Value)
	case "deferred":
		err = refuseDeferred(m.Value)
	case searchOptions, searchPlugins, searchParameters, domainFilter:
		h.Searches = h.Searches || AsksSearch(m.Name(), m.Value)
	default:
		ScanAttribution(h, m)
	}
	return err
}

// ScanAttribution notes where a request says for whom and for what it is. Of the two names of the end user
// OpenAI's newer one counts where it is not empty: https://platform.openai.com/docs/api-reference/chat/create (undated copy of 2026).
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

// IsLongCache says whether options of the prompt cache ask for longer than the 30 minutes that
// prices of writes to it are for (https://developers.openai.com/api/docs/guides/prompt-caching,
// undated copy of 2026).
func IsLongCache(options []byte) bool {
	ttl := rawjson.Get(options, "ttl")
	return rawjson.Present(ttl) && rawjson.Text(ttl) != "30m"
}

// refuseDeferred refuses xAI's switch that has a chat answered with an id, by which the
// answer is to be fetched later, where no gateway could meter it:
// https://docs.x.ai/developers/advanced-api-usage/deferred-chat-completions (undated copy).
func refuseDeferred(v []byte) error {
	if deferred, err := parse.Bool(v, "deferred"); !deferred {
		return err
	}
	return llm.Invalid("deferred",
		"Chats are not answered later here. Leave deferred out; an answer that takes long can be streamed.")
}

// RaiseCap takes note of an output cap of that name.
func RaiseCap(h *llm.Head, v []byte, name string) error {
	if isNoCap(v) {
		h.NoCap = name
		return nil
	}
	n, err := parse.Int(v, name, 1, parse.MaxCount)
	h.MaxOutput = max(h.MaxOutput, n)
	return err
}

// isNoCap reports whether an output cap is one that servers of one's own take for none:
// https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md (n_predict), https://lmstudio.ai/docs/app/api/endpoints/openai
// (undated copies). Who takes it for a mistake is not asked.
func isNoCap(v []byte) bool {
	n, ok := rawjson.AsInt(v)
	return ok && (n == 0 || n == -1)
}

// CapOrNone is an output cap; nil for none.
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
