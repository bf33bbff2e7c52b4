// Package parse reads what the JSON of several wire formats has in common: the
// members of a request that every vendor has under one name or another, the
// parts of a conversation, and counts of tokens. What a vendor says in its own
// words of a mistake is passed in. Errors are *llm.Error.
package parse

import (
	"bytes"
	"errors"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	// MaxDepth is how deep the arrays and objects of a body may nest.
	MaxDepth = 100
	// MaxCount keeps token counts where sums and products of them are exact.
	MaxCount = 1 << 40
)

// Body begins the scan of a request's body, which must be strict JSON and an
// object. The error for what is no JSON begins with complaint, and both errors
// tell what the object is to hold, such as "with a model and messages".
func Body(body []byte, complaint, holding string) (llm.Head, error) {
	if err := rawjson.Validate(body, MaxDepth); err != nil {
		return llm.Head{}, llm.Invalid("", complaint+": "+err.Error()+". Send one JSON object "+holding+".")
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return llm.Head{}, llm.Invalid("", "The body must be a JSON object "+holding+".")
	}
	h := llm.Head{Choices: 1, Open: bytes.IndexByte(body, '{') + 1, Empty: true}
	for range rawjson.Members(body) {
		h.Empty = false
		break
	}
	return h, nil
}

// Complaint is what most vendors say of a body that is no JSON.
const Complaint = "We could not parse the JSON body of your request"

// Scan reads the head of a request whose body names its model, and hands each
// other member to read that is neither absent nor null. Complaint and holding are
// as in Body, names as in Members. It takes room from the heap for the head: the
// client APIs of chat, which are asked most, do the same on their own.
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

// Members hands each member of an object to read, until that fails. None of the
// names may stand twice or in another case; an error about one puts path before
// it.
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

// Misnamed is what a client is told of a *rawjson.NameError. It puts path before
// the field's name.
func Misnamed(path string, err error) error {
	e, ok := errors.AsType[*rawjson.NameError](err)
	if !ok {
		return err
	}
	return llm.Invalid(path+e.Name, "A field name is at fault: "+e.Error()+".")
}

// Under is an error about a parameter that stands within another one, or nil.
func Under(path string, err error) error {
	if err == nil {
		return nil
	}
	e := llm.AsError(err)
	e.Param = path + e.Param
	return e
}

// SpanOf is where the value of a member stands, in the body of which it is a member.
func SpanOf(m rawjson.Member) llm.Span { return llm.Span{Start: m.Start, End: m.Start + len(m.Value)} }

// Model reads the model of a request, and where it stands. Null is none.
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
