// Package parse reads JSON that several wire formats share: members that every vendor has, the parts of a
// conversation, and token counts. Callers pass in the vendor's own error texts. Errors are *llm.Error.
package parse

import (
	"bytes"
	"errors"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	// MaxDepth bounds the nesting of arrays and objects in a body.
	MaxDepth = 100
	// MaxCount bounds token counts so that their sums and products are exact.
	MaxCount = 1 << 40
)

// Body validates a request's body, which must be strict JSON and an object, and returns its initial head. The error
// for invalid JSON begins with complaint; both errors end with holding, the expected content, such as "with a model
// and messages".
func Body(body []byte, complaint, holding string) (h llm.Head, err error) {
	usual, err := rawjson.ValidateNames(body, MaxDepth, isUsual)
	if err != nil {
		return h, llm.Invalid("", complaint+": "+err.Error()+". Send one JSON object "+holding+".")
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return h, llm.Invalid("", "The body must be a JSON object "+holding+".")
	}
	h.Choices, h.Open, h.Empty, h.Usual = 1, bytes.IndexByte(body, '{')+1, true, usual
	for range rawjson.Members(body) {
		h.Empty = false
		break
	}
	return h, nil
}

// isUsual reports whether a member with that name, anywhere in a request of any wire format, is text of the
// conversation or a parameter of sampling: nothing that the gateway itself acts on, that runs tools, or that holds a
// signature.
func isUsual(name []byte) bool {
	switch string(name) {
	case "model", "messages", "role", "content", "type", "text", "system", "input", "stream", "max_tokens",
		"max_completion_tokens", "max_output_tokens", "temperature", "top_p", "stop", "seed":
		return true
	}
	return false
}

// Complaint is the text of most vendors for a body that is not JSON.
const Complaint = "We could not parse the JSON body of your request"

// Scan reads the head of a request whose body names its model, and passes each other member that is neither absent
// nor null to read. complaint and holding are as in Body, names as in Members. It allocates the head; the client APIs
// of chat, which have the most traffic, do the same without that.
func Scan(body []byte, complaint, holding string, names rawjson.Names, read func(*llm.Head, rawjson.Member) error) (
	llm.Head, error,
) {
	h, err := Body(body, complaint, holding)
	if err != nil {
		return h, err
	}
	err = Members(body, names, "", func(m rawjson.Member) error {
		switch {
		case m.Is("model"):
			return Model(&h, m)
		case rawjson.Present(m.Value):
			return read(&h, m)
		}
		return nil
	})
	if err != nil {
		return llm.Head{}, err
	}
	return h, nil
}

// Members passes each member of an object to read until that fails. A name that appears twice or in another case is
// an error; its parameter begins with path.
func Members(obj []byte, names rawjson.Names, path string, read func(rawjson.Member) error) error {
	var seen rawjson.Seen
	for m := range rawjson.Members(obj) {
		if _, err := names.Find(m, &seen); err != nil {
			return Misnamed(path, err)
		}
		if err := read(m); err != nil {
			return err
		}
	}
	return nil
}

// Misnamed converts a *rawjson.NameError to a client's error, whose parameter begins with path.
func Misnamed(path string, err error) error {
	e, ok := errors.AsType[*rawjson.NameError](err)
	if !ok {
		return err
	}
	return llm.Invalid(path+e.Name, "The "+e.Error()+".")
}

// Under prefixes the parameter of an error with the path of the enclosing one; nil stays nil.
func Under(path string, err error) error {
	if err == nil {
		return nil
	}
	e := llm.AsError(err)
	e.Param = path + e.Param
	return e
}

// SpanOf returns the position of a member's value in its body.
func SpanOf(m rawjson.Member) llm.Span { return llm.Span{Start: m.Start, End: m.Start + len(m.Value)} }

// Conversation records where a request has its conversation, by the names of the fields in all wire formats.
func Conversation(h *llm.Head, m rawjson.Member) {
	at := &h.Conversation
	switch string(m.Key()) {
	case "messages", "input", "contents":
		at.Messages = SpanOf(m)
	case "system", "instructions", "systemInstruction", "system_instruction":
		at.System = SpanOf(m)
	case "prompt_cache_key": // https://developers.openai.com/api/docs/guides/prompt-caching (undated copy of 2026)
		at.CacheKey = SpanOf(m)
	}
}

// Model reads the model of a request and its position. Null counts as absent.
func Model(h *llm.Head, m rawjson.Member) error {
	h.ModelSpan = SpanOf(m)
	if !rawjson.Present(m.Value) {
		return nil
	}
	name, ok := rawjson.AsString(m.Value)
	if !ok || name == "" {
		return llm.Invalid("model", "The model must be a non-empty string.")
	}
	h.Model = name
	return nil
}
