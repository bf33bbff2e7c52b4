package admintool

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// maxDepth bounds the nesting of a message.
const maxDepth = 100

// wish holds the tools that a message needs: none, one or all.
type wish struct {
	all  bool
	name string
}

func (n wish) has(name string) bool { return n.all || n.name == name }

// readWish reads the message, and puts it back. It refuses lists of messages, which one revision of the protocol has,
// because their number has no bound.
func readWish(r *http.Request) (n wish, err error) {
	media := r.Header.Get("Content-Type")
	if kind, _, err := mime.ParseMediaType(media); err != nil || kind != "application/json" {
		return n, llm.Errorf(llm.CodeUnsupportedMedia, "The content type %.100q is not supported. Send "+
			"application/json.", media)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		return n, &llm.Error{
			Code: llm.CodeInvalidRequest, Message: "The request body ended early. Send the request again.", Err: err,
		}
	case len(body) > maxBody:
		return n, llm.Errorf(llm.CodeRequestTooLarge, "The message is larger than %d bytes. Shorten it.", maxBody)
	}
	if err := rawjson.Validate(body, maxDepth); err != nil {
		return n, llm.Invalidf("", "The message is not valid JSON: %v.", err)
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return n, llm.Invalid("", "The body is not a JSON object. Send one JSON-RPC message.")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if n, err = wishOf(body); err != nil {
		return n, llm.Invalidf("", "The message is malformed: %v.", err)
	}
	return n, nil
}

// wishOf returns the tools that a message needs.
func wishOf(message []byte) (n wish, err error) {
	var seen rawjson.Seen
	for m := range rawjson.Members(message) {
		i, err := rawjson.Names{"method", "params"}.Find(m, &seen)
		switch {
		case err != nil:
			return n, err
		case i == 0:
			method, _ := rawjson.AsString(m.Value)
			n.all = method == "tools/list"
		case i == 1:
			if n.name, err = nameIn(m.Value); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// errNotObject reports parameters that are not an object.
var errNotObject = errors.New("params is not an object")

// nameIn returns the name of the called tool in the parameters of a message.
func nameIn(params []byte) (name string, err error) {
	if rawjson.KindOf(params) != rawjson.Object {
		return "", errNotObject
	}
	var seen rawjson.Seen
	for m := range rawjson.Members(params) {
		i, err := rawjson.Names{"name"}.Find(m, &seen)
		if err != nil {
			return "", err
		}
		if i == 0 {
			name, _ = rawjson.AsString(m.Value)
		}
	}
	return name, nil
}
