package mcp

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"weir/internal/rawjson"
)

// maxParams bounds the arguments of a tool that headers repeat.
const maxParams = 64

// param is an argument that a header repeats: x-mcp-header in the schema of a tool.
type param struct {
	path   []string
	header string
}

// paramsOf returns the arguments that headers repeat. An annotation that is not valid is an error: clients must leave
// out such a tool.
func paramsOf(definition []byte) (all []param, err error) {
	schema := rawjson.Get(definition, "inputSchema")
	if len(schema) == 0 || !strings.Contains(string(schema), "x-mcp-header") {
		return nil, nil
	}
	return appendParams(nil, rawjson.Get(schema, "properties"), nil)
}

func appendParams(all []param, properties []byte, path []string) (_ []param, err error) {
	for property := range rawjson.Members(properties) {
		at := append(path[:len(path):len(path)], property.Name())
		if name := rawjson.Get(property.Value, "x-mcp-header"); name != nil {
			p := param{path: at, header: rawjson.Text(name)}
			if err := p.check(rawjson.Text(rawjson.Get(property.Value, "type")), all); err != nil {
				return nil, fmt.Errorf("property %s: %w", strings.Join(at, "."), err)
			}
			all = append(all, p)
		}
		if all, err = appendParams(all, rawjson.Get(property.Value, "properties"), at); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (p *param) check(kind string, before []param) error {
	if kind != "string" && kind != "integer" && kind != "boolean" {
		return errors.New("x-mcp-header needs the type string, integer or boolean")
	}
	if p.header == "" || strings.ContainsFunc(p.header, func(r rune) bool {
		alphanumeric := r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
		return !alphanumeric && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	}) {
		return errors.New("x-mcp-header is no name of a header")
	}
	if len(before) == maxParams {
		return errors.New("more properties than a tool may have with x-mcp-header")
	}
	for _, other := range before {
		if strings.EqualFold(other.header, p.header) {
			return errors.New("x-mcp-header has the name of another property's")
		}
	}
	return nil
}

// ParamHeaders returns the headers that repeat arguments of a call, by the tool's definition.
func ParamHeaders(definition, arguments []byte) (http.Header, error) {
	all, err := paramsOf(definition)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	h := http.Header{}
	for _, p := range all {
		v := rawjson.Get(arguments, p.path...)
		if !rawjson.Present(v) {
			continue
		}
		text, err := primitive(v)
		if err != nil {
			continue // the server refuses the argument by its schema
		}
		h.Set(HeaderParam+p.header, EncodeHeader(text))
	}
	return h, nil
}

// CheckParamHeaders returns an error if the headers of a request differ from the arguments that they repeat.
func CheckParamHeaders(h http.Header, definition, arguments []byte) error {
	all, err := paramsOf(definition)
	if err != nil {
		return err
	}
	want, err := ParamHeaders(definition, arguments)
	if err != nil {
		return err
	}
	for _, p := range all {
		name := HeaderParam + p.header
		if got := h.Get(name); got != want.Get(name) && !sameValue(got, want.Get(name)) {
			return fmt.Errorf("the header %s differs from the argument %s", name, strings.Join(p.path, "."))
		}
	}
	return nil
}

// sameValue reports whether two headers have the same value: 1.0 is 1, and a value may be in base64 without need.
func sameValue(got, want string) bool {
	a, ok := DecodeHeader(got)
	b, _ := DecodeHeader(want)
	if !ok || got == "" || want == "" {
		return false
	}
	if a == b {
		return true
	}
	n, err := primitive([]byte(a))
	return err == nil && rawjson.KindOf([]byte(a)) == rawjson.Number && n == b
}
