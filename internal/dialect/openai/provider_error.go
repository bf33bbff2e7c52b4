package openai

import (
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// maxMessage bounds, in bytes, what is gathered of a provider's explanation.
const maxMessage = 500

// DecodeError reads the provider's explanation from an error body: OpenAI's
// object, Mistral's and FastAPI's "detail", a bare "message", or text under
// "error". What is not JSON explains nothing.
func DecodeError(body []byte) llm.ProviderError {
	if rawjson.Validate(body, maxDepth) != nil {
		return llm.ProviderError{}
	}
	for _, first := range rawjson.Elements(body) { // Gemini's door puts it in an array
		body = first
		break
	}
	return explain(body).Shown()
}

// explain finds the object that explains and reads it.
func explain(v []byte) (e llm.ProviderError) {
	inner := rawjson.Get(v, "error")
	switch rawjson.KindOf(inner) {
	case rawjson.Object:
		return explainObject(inner)
	case rawjson.String:
		e = explainObject(v)
		e.Message = rawjson.Text(inner)
		return e
	}
	return explainObject(v)
}

func explainObject(v []byte) (e llm.ProviderError) {
	var kind string
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "message", "msg":
			e = withMessage(e, m.Value)
		case "detail":
			if e.Message == "" {
				e = withMessage(e, m.Value)
			}
		case "type":
			kind = rawjson.Text(m.Value)
		case "code":
			e.Code = word(m.Value)
		case "param":
			e.Param = rawjson.Text(m.Value)
		case "innererror": // Azure says there what its code means
			if s := rawjson.Text(rawjson.Get(m.Value, "code")); s != "" && e.Code == "" {
				e.Code = s
			}
		}
	}
	if kind != "" && (e.Code == "" || isNumber(e.Code)) {
		e.Code = kind
	}
	return e
}

// withMessage reads a message: a string, or a list of what FastAPI found wrong
// with the request, or an object that holds one of these.
func withMessage(e llm.ProviderError, v []byte) llm.ProviderError {
	switch rawjson.KindOf(v) {
	case rawjson.String:
		e.Message = rawjson.Text(v)
	case rawjson.Object:
		for _, name := range []string{"detail", "message", "msg"} {
			if inner := rawjson.Get(v, name); rawjson.KindOf(inner) == rawjson.String || rawjson.KindOf(inner) == rawjson.Array {
				return withMessage(e, inner)
			}
		}
	case rawjson.Array:
		for i, problem := range rawjson.Elements(v) {
			where := location(rawjson.Get(problem, "loc"))
			text := rawjson.Text(rawjson.Get(problem, "msg"))
			if where != "" {
				text = where + ": " + text
			}
			if i > 0 {
				text = "; " + text
			} else {
				e.Param = where
			}
			e.Message += text
			if len(e.Message) > maxMessage {
				break
			}
		}
	}
	return e
}

// location writes FastAPI's ["body", "messages", 0, "role"] as messages[0].role.
func location(v []byte) string {
	var path string
	for i, step := range rawjson.Elements(v) {
		name, ok := rawjson.AsString(step)
		switch {
		case !ok:
			path += "[" + word(step) + "]"
		case i == 0 && name == "body":
		case path == "":
			path = name
		default:
			path += "." + name
		}
		if len(path) > maxMessage {
			break
		}
	}
	return path
}

// word is a code, which some providers write as a number.
func word(v []byte) string {
	if n, ok := rawjson.AsInt(v); ok {
		return strconv.FormatInt(n, 10)
	}
	return rawjson.Text(v)
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

// reportedError is the error that a provider put into a reply or a stream.
func reportedError(body []byte) *llm.Error {
	status, err := strconv.Atoi(word(rawjson.Get(body, "error", "code")))
	if err != nil {
		status, _ = strconv.Atoi(word(rawjson.Get(body, "code")))
	}
	return DecodeError(body).Reported(status)
}
