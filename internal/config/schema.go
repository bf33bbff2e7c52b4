package config

import (
	"reflect"
	"strings"
)

// tag returns the key of a field, and whether the field is omitted when it is zero. The key is empty for a field that
// is not in the file.
func tag(f reflect.StructField) (key string, omitEmpty bool) {
	key, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	if key == "-" {
		key = ""
	}
	return key, options == "omitempty"
}

// fieldKeys returns the keys of a struct, in order.
func fieldKeys(t reflect.Type) []string {
	var keys []string
	for f := range t.Fields() {
		if key, _ := tag(f); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// fieldByKey returns the field of a key; the zero Value if there is none.
func fieldByKey(v reflect.Value, key string) reflect.Value {
	for f, field := range v.Fields() {
		if k, _ := tag(f); k == key && key != "" {
			return field
		}
	}
	return reflect.Value{}
}

// variables returns the names of all keys of a struct in the form of environment variables: its own, and those of
// nested structs.
func variables(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		key, _ := tag(f)
		if key == "" {
			continue
		}
		name := mangle(key)
		names = append(names, name)
		if shapeOf(f.Type) == structShape {
			for _, inner := range variables(f.Type) {
				names = append(names, name+"_"+inner)
			}
		}
	}
	return names
}

// mangle returns a key in the form of environment variables: in capitals, with underscores for all other characters
// than letters and digits.
func mangle(key string) string {
	return strings.Map(func(c rune) rune {
		if c < 0x80 && isWordByte(byte(c)) {
			return c
		}
		return '_'
	}, strings.ToUpper(key))
}
