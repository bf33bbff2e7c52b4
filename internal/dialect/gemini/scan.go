package gemini

import (
	"net/http"
	"strings"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// fields and configFields are the members of a request, and of its generationConfig, that the gateway reads or that
// decide its price.
var (
	fields = names{
		"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings",
		"cachedContent", "serviceTier", "model",
	}
	configFields = names{
		"candidateCount", "maxOutputTokens", "stopSequences", "thinkingConfig", "responseModalities",
		"responseMimeType", "responseSchema", "responseJsonSchema", "temperature", "topP", "topK", "seed",
		"presencePenalty", "frequencyPenalty", "mediaResolution", "routingConfig", "modelSelectionConfig",
	}
)

// Scan validates the body as strict JSON and reads its head: the model and the stream flag from the path, the output
// cap and the number of candidates from the generationConfig. It refuses a model in the body, which would bypass prices
// and permissions. Errors are *llm.Error.
func Scan(body []byte, r *http.Request) (llm.Head, error) {
	h, err := parse.Body(body, parse.Complaint, "with contents")
	if err != nil {
		return h, err
	}
	if err := scanPath(&h, r); err != nil {
		return llm.Head{}, err
	}
	var seen uint64
	for m := range rawjson.Members(body) {
		i, err := fields.find(m, &seen)
		if err != nil {
			return llm.Head{}, parse.Misnamed("", err)
		}
		if m.Is("labels") && rawjson.Present(m.Value) {
			// Vertex AI's: https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference (undated
			// copy of 2026).
			h.TagsSpan = parse.SpanOf(m)
		}
		if i < 0 || !rawjson.Present(m.Value) {
			continue
		}
		parse.Conversation(&h, m)
		if err := scanField(&h, fields[i], m.Value); err != nil {
			return llm.Head{}, err
		}
	}
	return h, nil
}

// scanPath reads models/{model}:{method}, with Vertex AI's publisher before it. A request without a route has no path
// values.
func scanPath(h *llm.Head, r *http.Request) error {
	if r == nil || r.Pattern == "" {
		return nil
	}
	target := r.PathValue("target")
	at := max(0, strings.LastIndexByte(target, ':'))
	model, method := target[:at], strings.TrimPrefix(target[at:], ":")
	switch {
	case model == "" || method != methodWhole && method != methodStream:
		return noSuchMethod(r)
	case method == methodStream && !wantsEvents(r):
		return llm.Invalid("alt", "Without alt=sse this method's answer would be one JSON array, which the gateway "+
			"does not "+
			"support. Add ?alt=sse to the URL.")
	}
	if p := r.PathValue("publisher"); p != "" && p != "google" { // the SDK writes "anthropic/claude" so
		model = p + "/" + model
	}
	h.Model = model
	h.Stream = method == methodStream
	h.IncludeUsage = h.Stream // a stream always has it
	return nil
}

// noSuchMethod lists the methods of the request's path: Vertex AI's has only two of them.
func noSuchMethod(r *http.Request) *llm.Error {
	rest := ""
	if r.PathValue("publisher") == "" {
		rest = ", " + CountSuffix + ", " + EmbedOneSuffix + ", " + EmbedSuffix
	}
	return &llm.Error{
		Code: llm.CodeNotFound,
		Message: "The method does not exist. Send a POST request to models/{model} followed by one of these: " +
			":generateContent, :streamGenerateContent?alt=sse" + rest + ".",
	}
}

// wantsEvents reports whether the query requests server-sent events. $alt is the same parameter:
// https://cloud.google.com/apis/docs/system-parameters.
func wantsEvents(r *http.Request) bool {
	q := r.URL.Query()
	return q.Get("alt") == "sse" || q.Get("$alt") == "sse"
}

// scanMethod begins the scan of an operation other than chat, with its suffix after the model in the path.
func scanMethod(body []byte, r *http.Request, suffix, holding string) (llm.Head, error) {
	h, err := parse.Body(body, parse.Complaint, holding)
	if err != nil {
		return h, err
	}
	if h.Model = strings.TrimSuffix(r.PathValue("target"), suffix); h.Model == "" {
		return llm.Head{}, llm.Invalid("model", "The URL names no model. Send the request to models/{model}"+suffix+".")
	}
	return h, nil
}

func scanField(h *llm.Head, name string, v []byte) error {
	switch name {
	case "model":
		return llm.Invalid("model", "The model is in the URL of the request. Leave it out of the body.")
	case "generationConfig":
		return scanConfig(h, v)
	}
	return nil
}

func scanConfig(h *llm.Head, v []byte) error {
	if rawjson.KindOf(v) != rawjson.Object {
		return llm.Invalid("generationConfig",
			`The generationConfig must be an object such as {"maxOutputTokens": 100}.`)
	}
	var seen uint64
	for m := range rawjson.Members(v) {
		i, err := configFields.find(m, &seen)
		if err != nil {
			return parse.Misnamed("generationConfig.", err)
		}
		if i < 0 || !rawjson.Present(m.Value) {
			continue
		}
		switch name := configFields[i]; name {
		case "maxOutputTokens":
			h.MaxOutput, err = integer(name, m.Value, 1, parse.MaxCount)
		case "candidateCount":
			h.Choices, err = integer(name, m.Value, 1, maxCandidates)
		case "routingConfig", "modelSelectionConfig":
			err = llm.Invalid("generationConfig."+name,
				"Only the URL selects the model. Leave the "+name+" out.")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
