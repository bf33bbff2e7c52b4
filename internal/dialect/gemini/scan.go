package gemini

import (
	"net/http"
	"strings"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// fields and configFields are the members of a request, and of its
// generationConfig, that are acted on or decide its price.
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

// Scan validates the body as strict JSON and reads its head: the model and
// whether a stream is wanted from the path, the output cap and the number of
// candidates from the generationConfig. Whoever could name another model in the
// body would get round prices and permissions, so nobody can. Errors are
// *llm.Error.
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
		if err := scanField(&h, fields[i], m.Value); err != nil {
			return llm.Head{}, err
		}
	}
	return h, nil
}

// scanPath reads models/{model}:{method}, on Vertex AI behind its publisher. A request that came by no route says
// nothing there.
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
		return llm.Invalid("alt", "Without alt=sse this method's answer would be one JSON array, which is not served "+
			"here. Add ?alt=sse to the address.")
	}
	if p := r.PathValue("publisher"); p != "" && p != "google" { // so the SDK writes "anthropic/claude"
		model = p + "/" + model
	}
	h.Model = model
	h.Stream = method == methodStream
	h.IncludeUsage = h.Stream // it always has it
	return nil
}

// noSuchMethod names the methods that the request's path has: Vertex AI's have
// but two of them.
func noSuchMethod(r *http.Request) *llm.Error {
	rest := ""
	if r.PathValue("publisher") == "" {
		rest = ", " + CountSuffix + ", " + EmbedOneSuffix + ", " + EmbedSuffix
	}
	return &llm.Error{
		Code: llm.CodeNotFound,
		Message: "There is no such method. Post to models/{model} with one of these behind it: " +
			":generateContent, :streamGenerateContent?alt=sse" + rest + ".",
	}
}

// wantsEvents reports whether the query asks for server-sent events. $alt is
// the same parameter: https://cloud.google.com/apis/docs/system-parameters.
func wantsEvents(r *http.Request) bool {
	q := r.URL.Query()
	return q.Get("alt") == "sse" || q.Get("$alt") == "sse"
}

// scanMethod begins the scan of a request for a method beside chat, whose
// suffix stands behind the model in the path.
func scanMethod(body []byte, r *http.Request, suffix, holding string) (llm.Head, error) {
	h, err := parse.Body(body, parse.Complaint, holding)
	if err != nil {
		return h, err
	}
	if h.Model = strings.TrimSuffix(r.PathValue("target"), suffix); h.Model == "" {
		return llm.Head{}, llm.Invalid("model", "The address names no model: models/{model}"+suffix+".")
	}
	return h, nil
}

func scanField(h *llm.Head, name string, v []byte) error {
	switch name {
	case "model":
		return llm.Invalid("model", "The model stands in the address of the request. Leave it out of the body.")
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
				"The model is chosen by its name in the address alone. Leave the "+name+" out.")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
