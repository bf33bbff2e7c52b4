package parse

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Bool reads true or false.
func Bool(v []byte, name string) (bool, error) {
	b, ok := rawjson.AsBool(v)
	if !ok {
		return false, llm.Invalid(name, "The "+name+" must be true or false.")
	}
	return b, nil
}

// Int reads an integer from least to most.
func Int(v []byte, name string, least, most int64) (int64, error) {
	n, ok := rawjson.AsInt(v)
	if !ok || n < least || n > most {
		return 0, llm.Invalid(name, fmt.Sprintf("The %s must be an integer from %d to %d.", name, least, most))
	}
	return n, nil
}

// Number keeps the client's own digits. Its range is the provider's to judge.
func Number(v []byte, name string) (*json.Number, error) {
	if rawjson.KindOf(v) != rawjson.Number {
		return nil, llm.Invalid(name, "The "+name+" must be a number.")
	}
	n := json.Number(v)
	return &n, nil
}

// String reads a string.
func String(v []byte, name string) (string, error) {
	s, ok := rawjson.AsString(v)
	if !ok {
		return "", llm.Invalid(name, "The "+name+" must be a string.")
	}
	return s, nil
}

// Strings reads an array of strings; nil for an empty one.
func Strings(v []byte, name string) (list []string, err error) {
	if rawjson.KindOf(v) != rawjson.Array {
		return nil, llm.Invalid(name, "The "+name+" must be an array of strings.")
	}
	for i, e := range rawjson.Elements(v) {
		s, ok := rawjson.AsString(e)
		if !ok {
			at := name + "[" + strconv.Itoa(i) + "]"
			return nil, llm.Invalid(at, "The "+at+" must be a string.")
		}
		list = append(list, s)
	}
	return list, nil
}

// Pointer is how the tree holds an option that may be absent.
func Pointer[T any](v T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return &v, nil
}

// Extra appends a member that nobody modelled. Null counts as absent.
func Extra(extra []llm.Field, m rawjson.Member) []llm.Field {
	if !rawjson.Present(m.Value) {
		return extra
	}
	return append(extra, llm.Field{Name: m.Name(), Value: m.Value})
}

// OptionalBool is nil for what is neither true nor false.
func OptionalBool(v []byte) *bool {
	if b, ok := rawjson.AsBool(v); ok {
		return &b
	}
	return nil
}

// AppendTools reads an array of tools. To decode one it is given with the name
// that errors about it are to bear, such as "tools[0]".
func AppendTools(tools []llm.Tool, v []byte, name string, decode func(v []byte, at string) (llm.Tool, error)) (
	[]llm.Tool, error,
) {
	if rawjson.KindOf(v) != rawjson.Array {
		return nil, llm.Invalid(name, "The "+name+" must be an array of objects.")
	}
	for i, e := range rawjson.Elements(v) {
		at := name + "[" + strconv.Itoa(i) + "]"
		if rawjson.KindOf(e) != rawjson.Object {
			return nil, llm.Invalid(at, "A tool must be an object.")
		}
		tool, err := decode(e, at)
		if err != nil {
			return nil, err
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

// Named is the function, which must have a name. An error about it puts path
// before that.
func Named(function llm.Tool, path string) (llm.Tool, error) {
	if function.Name == "" {
		return function, llm.Invalid(path+".name", "A function needs a name, a non-empty string.")
	}
	return function, nil
}

// CheckChoice refuses what is no wish about tools: neither one of OpenAI's words,
// which the caller knows, nor an object, which may be one that nobody modelled.
func CheckChoice(v []byte, name string) error {
	if rawjson.KindOf(v) == rawjson.Object {
		return nil
	}
	return llm.Invalid(name, "The "+name+` must be "none", "auto" or "required", or an object that names a tool.`)
}

// Function reads name, description and parameters of a function. What else
// there is of it stays in its Extra.
func Function(v []byte) (t llm.Tool) {
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "name":
			t.Name = rawjson.Text(m.Value)
		case "description":
			t.Description = rawjson.Text(m.Value)
		case "parameters":
			if rawjson.Present(m.Value) {
				t.Parameters = m.Value
			}
		default:
			t.Extra = append(t.Extra, llm.Field{Name: m.Name(), Value: m.Value})
		}
	}
	return t
}

// IsMore says whether the text of a field that is not known may ask for more of what is to be
// made: a number, a list or an object, an address, or a text of some length; or, by the field's
// name, anything that stands for a file.
func IsMore(name, text string) bool {
	if text != "" && namesFile(name) {
		return true
	}
	const short = 64 // bytes of a word that says how
	text = strings.TrimSpace(text)
	return Whole(text) > 1 || len(text) > short || strings.Contains(text, "://") || strings.HasPrefix(text, "[") ||
		strings.HasPrefix(text, "{")
}

// Whole is the whole number that a text is, however it is written, between -1 and MaxCount;
// 0 for anything else.
func Whole(text string) int64 {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil && !math.IsInf(n, 0) || n != math.Trunc(n) {
		return 0
	}
	return int64(max(-1, min(n, MaxCount)))
}

// namesFile says whether a field is one of files or their addresses, by the words of its name.
func namesFile(name string) bool {
	for word := range strings.FieldsFuncSeq(strings.ToLower(name), func(r rune) bool { return r < 'a' || r > 'z' }) {
		if strings.HasPrefix(word, "file") || strings.HasSuffix(word, "url") || strings.HasSuffix(word, "uri") {
			return true
		}
	}
	return false
}

// QueryInt reads a whole number of a URL's query. Errors are *llm.Error.
func QueryInt(name, value string, absent, least, most int) (int, error) {
	if value == "" {
		return absent, nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if errors.Is(err, strconv.ErrSyntax) {
		if f, ok := rawjson.AsInt([]byte(value)); ok {
			n, err = f, nil
		}
	}
	if err != nil || n < int64(least) || n > int64(most) {
		return 0, llm.Invalid(name, fmt.Sprintf("%s is %.40q: give an integer from %d to %d.", name, value, least,
			most))
	}
	return int(n), nil
}
