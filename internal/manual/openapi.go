package manual

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// description is the part of an OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.0) that pages show. Objects
// whose order readers see are lists: a library that reads them into maps would sort their members.
type description struct {
	Info       struct{ Description string }
	Security   []map[string][]string
	Tags       []tag
	Paths      members[members[*operation]]
	Webhooks   members[members[*operation]]
	Components struct {
		Parameters map[string]*parameter
		Schemas    map[string]*schema
		Responses  map[string]*response
	}
}

// tag groups operations. Each tag has a page.
type tag struct {
	Name, Description string
	ExternalDocs      link
}

type link struct{ URL string }

// operation is a method of a path, or a webhook.
type operation struct {
	OperationID, Summary, Description string
	Tags                              []string
	ExternalDocs                      link
	Right                             string `json:"x-right"`
	Security                          *[]map[string][]string
	Parameters                        []*parameter
	RequestBody                       struct{ Content members[*media] }
	Responses                         members[*response]
}

type parameter struct {
	Ref                   string `json:"$ref"`
	Name, In, Description string
	Required              bool
	Schema                *schema
	Example               json.RawMessage
}

type response struct {
	Ref         string `json:"$ref"`
	Description string
	Content     members[*media]
}

// media is a body of a content type.
type media struct {
	Schema  *schema
	Example json.RawMessage
}

// schema is a JSON Schema.
type schema struct {
	Ref                                  string `json:"$ref"`
	Description, Format                  string
	Type                                 words
	Properties                           members[*schema]
	Required                             words
	Items                                *schema
	AdditionalProperties                 json.RawMessage
	Enum                                 []json.RawMessage
	Const, Default, Example              json.RawMessage
	AnyOf, OneOf, AllOf                  []*schema
	Minimum, Maximum, MaxLength          json.Number
	ExclusiveMinimum, MinItems, MaxItems json.Number
	Deprecated                           bool
}

// members holds the members of a JSON object in their order.
type members[T any] []member[T]

type member[T any] struct {
	Name  string
	Value T
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *members[T]) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return fmt.Errorf("got %v (%w), want an object", start, err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value T
		if err := d.Decode(&value); err != nil {
			return fmt.Errorf("%v: %w", name, err)
		}
		*m = append(*m, member[T]{fmt.Sprint(name), value})
	}
	return nil
}

// words holds a word or a list of words.
type words []string

// UnmarshalJSON implements json.Unmarshaler.
func (w *words) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte(`"`)) {
		*w = make(words, 1)
		return json.Unmarshal(text, &(*w)[0])
	}
	return json.Unmarshal(text, (*[]string)(w))
}

// named returns the last part of a reference: the name of a component.
func named(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// parameter returns a parameter, or the component that it refers to.
func (d *description) parameter(p *parameter) *parameter {
	if found := d.Components.Parameters[named(p.Ref)]; found != nil {
		return found
	}
	return p
}

// response returns a response, or the component that it refers to.
func (d *description) response(r *response) *response {
	if found := d.Components.Responses[named(r.Ref)]; found != nil {
		return found
	}
	return r
}

// schema returns a schema, or the component that it refers to.
func (d *description) schema(s *schema) *schema {
	if s == nil {
		return &schema{}
	}
	if found := d.Components.Schemas[named(s.Ref)]; found != nil {
		return found
	}
	return s
}
