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

// Bool reads a boolean.
func Bool(v []byte, name string) (bool, error) {
	b, ok := rawjson.AsBool(v)
	if !ok {
		return false, llm.Invalid(name, "The "+name+" must be true or false.")
	}
	return b, nil
}

// Int reads an integer between least and most.
func Int(v []byte, name string, least, most int64) (int64, error) {
	n, ok := rawjson.AsInt(v)
	if !ok || n < least || n > most {
		return 0, llm.Invalid(name, fmt.Sprintf("The %s must be an integer from %d to %d.", name, least, most))
	}
	return n, nil
}

// Number reads a number and keeps the client's digits. The provider checks its range.
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

// Pointer returns a pointer to v, for options that may be absent, or the error.
func Pointer[T any](v T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return &v, nil
}

// Extra appends a member without a field in the tree. Null counts as absent.
func Extra(extra []llm.Field, m rawjson.Member) []llm.Field {
	if !rawjson.Present(m.Value) {
		return extra
	}
	return append(extra, llm.Field{Name: m.Name(), Value: m.Value})
}

// OptionalBool reads a boolean; it returns nil for any other value.
func OptionalBool(v []byte) *bool {
	if b, ok := rawjson.AsBool(v); ok {
		return &b
	}
	return nil
}

// AppendTools reads an array of tools. decode receives each with its path for errors, such as "tools[0]".
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

// Named returns the function if it has a name. The error's parameter begins with path.
func Named(function llm.Tool, path string) (llm.Tool, error) {
	if function.Name == "" {
		return function, llm.Invalid(path+".name", "The function has no name. Set name to a non-empty string.")
	}
	return function, nil
}

// CheckChoice refuses an invalid choice of tools: neither one of OpenAI's values, which the caller has handled, nor
// an object, which may be of another type.
func CheckChoice(v []byte, name string) error {
	if rawjson.KindOf(v) == rawjson.Object {
		return nil
	}
	return llm.Invalid(name, "The "+name+` must be "none", "auto" or "required", or an object that names a tool.`)
}

// IsMore reports whether the text of an unknown field of a form may increase the requested work: a number above 1, a
// list or an object, an address, a long text; or, if the field's name denotes a file, any text.
func IsMore(name, text string) bool {
	if text != "" && namesFile(name) {
		return true
	}
	const short = 64 // bytes of a short option
	text = strings.TrimSpace(text)
	return Whole(text) > 1 || len(text) > short || strings.Contains(text, "://") || strings.HasPrefix(text, "[") ||
		strings.HasPrefix(text, "{")
}

// Whole parses a whole number in any notation, limited to -1 to MaxCount; 0 for any other text.
func Whole(text string) int64 {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil && !math.IsInf(n, 0) || n != math.Trunc(n) {
		return 0
	}
	return int64(max(-1, min(n, MaxCount)))
}

// namesFile reports whether a field's name denotes files or their addresses.
func namesFile(name string) bool {
	for word := range strings.FieldsFuncSeq(strings.ToLower(name), func(r rune) bool { return r < 'a' || r > 'z' }) {
		if strings.HasPrefix(word, "file") || strings.HasSuffix(word, "url") || strings.HasSuffix(word, "uri") {
			return true
		}
	}
	return false
}

// QueryInt reads an integer of a URL's query, with a default if it is absent. Errors are *llm.Error.
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
		return 0, llm.Invalid(name, fmt.Sprintf("%s is %.40q: send an integer from %d to %d.", name, value, least,
			most))
	}
	return int(n), nil
}
