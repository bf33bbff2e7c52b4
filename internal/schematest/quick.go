package schematest

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// quick decides whether a schema accepts a value, without the errors and in a tenth of the library's time. It knows the
// most common keywords, and leaves integers and schemas with other keywords to the library.
type quick struct {
	schema   *jsonschema.Schema
	foreign  bool // has other keywords
	types    []string
	texts    []string // of enum or const; nil for any
	ref, not *quick
	any      []*quick
	members  map[string]*quick
	required []string
	closed   bool   // allows no other members
	others   *quick // the schema of other members
	items    *quick
}

// known lists the keywords of quick, and the fields of a compiled schema that are no keywords.
var known = []string{
	"DraftVersion", "Location", "Ref", "Not", "Types", "Enum", "Const", "AnyOf", "Properties", "MinProperties",
	"MaxProperties",
	"Required", "AdditionalProperties", "Items2020", "Title", "Description", "Default", "Comment",
}

// newQuick translates a compiled schema; done holds those that are translated already, because schemas refer to
// themselves.
func newQuick(s *jsonschema.Schema, done map[*jsonschema.Schema]*quick) *quick {
	if s == nil || done[s] != nil {
		return done[s]
	}
	q := &quick{schema: s, foreign: hasForeign(s), required: s.Required, members: map[string]*quick{}}
	done[s] = q
	if s.Types != nil {
		q.types = s.Types.ToStrings()
	}
	q.setTexts()
	q.ref, q.not, q.items = newQuick(s.Ref, done), newQuick(s.Not, done), newQuick(s.Items2020, done)
	for _, alternative := range s.AnyOf {
		q.any = append(q.any, newQuick(alternative, done))
	}
	for name, member := range s.Properties {
		q.members[name] = newQuick(member, done)
	}
	switch others := s.AdditionalProperties.(type) {
	case bool:
		q.closed = !others
	case *jsonschema.Schema:
		q.others = newQuick(others, done)
	}
	return q
}

// hasForeign reports whether a schema has a keyword that quick does not know.
func hasForeign(s *jsonschema.Schema) bool {
	v := reflect.ValueOf(*s)
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && !v.Field(i).IsZero() && !slices.Contains(known, f.Name) {
			return true
		}
	}
	return false
}

// setTexts takes the values of enum or const. Other values than texts are left to the library.
func (q *quick) setTexts() {
	var values []any
	switch s := q.schema; {
	case s.Enum != nil:
		values = s.Enum.Values
	case s.Const != nil:
		values = []any{*s.Const}
	}
	for _, v := range values {
		text, ok := v.(string)
		q.foreign = q.foreign || !ok
		q.texts = append(q.texts, text)
	}
}

// accepts reports whether the schema accepts a value.
func (q *quick) accepts(v any) bool {
	if _, number := v.(json.Number); q.foreign || number && !slices.Contains(q.types, "number") {
		return q.schema.Validate(v) == nil
	}
	if q.types != nil && !slices.Contains(q.types, typeOf(v)) || q.ref != nil && !q.ref.accepts(v) {
		return false
	}
	if text, ok := v.(string); q.texts != nil && (!ok || !slices.Contains(q.texts, text)) {
		return false
	}
	if !q.acceptsParts(v) || q.not != nil && q.not.accepts(v) {
		return false
	}
	return len(q.any) == 0 || slices.ContainsFunc(q.any, func(a *quick) bool { return a.accepts(v) })
}

// typeOf returns the name of a value's type.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

// acceptsParts reports whether it accepts the elements or members of a value.
func (q *quick) acceptsParts(v any) bool {
	switch v := v.(type) {
	case []any:
		return q.items == nil || !slices.ContainsFunc(v, func(item any) bool { return !q.items.accepts(item) })
	case map[string]any:
		lacks := func(name string) bool { _, ok := v[name]; return !ok }
		return q.acceptsSize(len(v)) && !slices.ContainsFunc(q.required, lacks) &&
			q.acceptsMembers(v, false) && q.acceptsMembers(v, true)
	}
	return true
}

// acceptsSize reports whether it accepts objects with n members.
func (q *quick) acceptsSize(n int) bool {
	least, most := q.schema.MinProperties, q.schema.MaxProperties
	return (least == nil || n >= *least) && (most == nil || n <= *most)
}

// acceptsMembers reports whether it accepts the members of an object that are texts, or the others, which take longer.
func (q *quick) acceptsMembers(o map[string]any, others bool) bool {
	for name, v := range o {
		if _, text := v.(string); text == others {
			continue
		}
		switch member := q.members[name]; {
		case member != nil && !member.accepts(v), member == nil && q.closed:
			return false
		case member == nil && q.others != nil && !q.others.accepts(v):
			return false
		}
	}
	return true
}
