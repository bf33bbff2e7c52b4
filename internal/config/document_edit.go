package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"weir/internal/llm"
	"weir/internal/managed"
)

// Set returns a document with only the object, with new values for the given members as people type them: a
// comma-separated list, a block of keys as YAML, or an empty text to remove the member.
func (d Document) Set(ref managed.Ref, members map[string]string) Document {
	fields := map[string]any{}
	if old, ok := d[ref.Section][ref.Name].(map[string]any); ok {
		fields = maps.Clone(old)
	}
	for key, text := range members {
		if delete(fields, key); text != "" {
			fields[key] = typed(ref.Section, key, text)
		}
	}
	next := Document{}
	next.put(ref.Section, ref.Name, fields)
	return next
}

// typed converts a text to the value of a member. The check reports invalid values.
func typed(section, key, text string) any {
	t := memberType(section, key)
	if t == nil {
		return text
	}
	var value any
	switch shape := shapeOf(t); {
	case shape == listShape:
		return typedList(t, text)
	case shape != scalarShape, isNumber(t):
		if err := yaml.Unmarshal([]byte(text), &value); err == nil {
			return value
		}
	}
	return text
}

// isNumber reports whether a member is written without quotation marks.
func isNumber(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Bool || t.Kind() == reflect.Int || t == reflect.TypeFor[int64]()
}

func typedList(t reflect.Type, text string) []any {
	items := []any{}
	for item := range strings.SplitSeq(text, ",") {
		var value any = strings.TrimSpace(item)
		if isNumber(t.Elem()) {
			if err := yaml.Unmarshal([]byte(item), &value); err != nil {
				value = item
			}
		}
		items = append(items, value)
	}
	return items
}

// memberType returns the type of a member of the objects of a section; nil for an unknown member.
func memberType(section, key string) reflect.Type {
	t := fieldByKey(reflect.ValueOf(&Config{}).Elem(), section).Type()
	if !isOne(section) {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	field := fieldByKey(reflect.New(t).Elem(), key)
	if !field.IsValid() {
		return nil
	}
	return field.Type()
}

// SetKeys adds a provider key to an object, and removes the key with the given last characters or reference. Empty
// arguments have no effect.
func (d Document) SetKeys(ref managed.Ref, add llm.Secret, remove string) error {
	fields, _ := d[ref.Section][ref.Name].(map[string]any) // as in Set
	keys, _ := fields["api_keys"].([]any)
	keys = slices.Clone(keys)
	if remove != "" {
		is := func(v any) bool {
			text := fmt.Sprint(v)
			return text == remove || strings.HasPrefix(text, sealedPrefix) && strings.HasSuffix(text, ":"+remove)
		}
		i := slices.IndexFunc(keys, is)
		if i < 0 || slices.ContainsFunc(keys[i+1:], is) {
			return fmt.Errorf("%d keys of %s end with %q: give the last four characters of exactly one "+
				"key, its sealed: text, or its reference",
				len(keys)-len(slices.DeleteFunc(slices.Clone(keys), is)), ref.Name, remove)
		}
		keys = slices.Delete(keys, i, i+1)
	}
	if !add.IsZero() {
		keys = append(keys, add.Reveal())
	}
	if fields["api_keys"] = keys; len(keys) == 0 {
		delete(fields, "api_keys")
	}
	return nil
}
