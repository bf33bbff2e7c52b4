package gemini

import (
	"bytes"
	"iter"
	"strings"
	"unicode/utf8"

	"weir/internal/dialect/parse"
	"weir/internal/rawjson"
)

// spelled returns a member's name in camelCase. It shares memory with a name in camelCase, so that "switch
// string(spelled(key))" does not allocate.
func spelled(key []byte) []byte {
	at := bytes.IndexByte(key, '_')
	if at <= 0 {
		return key
	}
	out := append(make([]byte, 0, len(key)), key[:at]...)
	upper := false
	for _, c := range key[at:] {
		switch {
		case c == '_':
			upper = true
			continue
		case upper && c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		}
		upper = false
		out = append(out, c)
	}
	return out
}

// get returns the member of that camelCase name, or nil.
func get(obj []byte, name string) []byte {
	for m := range rawjson.Members(obj) {
		if string(spelled(m.Key())) == name {
			return m.Value
		}
	}
	return nil
}

// list yields the elements of a repeated field. Google accepts a single object as a list of one.
func list(v []byte) iter.Seq2[int, []byte] {
	if rawjson.KindOf(v) != rawjson.Object {
		return rawjson.Elements(v)
	}
	return func(yield func(int, []byte) bool) { yield(0, v) }
}

// isList reports whether v can be a repeated field of objects.
func isList(v []byte) bool {
	k := rawjson.KindOf(v)
	return k == rawjson.Array || k == rawjson.Object
}

// names holds at most 64 names of members that the gateway reads, in camelCase. Each may occur once, in one of its two
// spellings, because parsers differ in the member that counts and in other spellings that they accept.
type names []string

// find returns the position of m's name among the names, or -1. The error is a *rawjson.NameError.
func (n names) find(m rawjson.Member, seen *uint64) (int, error) {
	key := m.Key()
	for i, name := range n {
		if !isAlike(key, name) {
			continue
		}
		if string(key) != name && !isSnake(key, name) {
			return i, &rawjson.NameError{Name: name, Given: string(key)}
		}
		if *seen&(1<<i) != 0 {
			return i, &rawjson.NameError{Name: name, Given: name}
		}
		*seen |= 1 << i
		return i, nil
	}
	return -1, nil
}

// once refuses an object with a name that occurs twice or in another spelling. An error has path before the name.
func (n names) once(obj []byte, path string) error {
	var seen uint64
	for m := range rawjson.Members(obj) {
		if _, err := n.find(m, &seen); err != nil {
			return parse.Misnamed(path, err)
		}
	}
	return nil
}

// isAlike reports whether a key equals the name except for case and underscores.
func isAlike(key []byte, name string) bool {
	at := 0
	for _, c := range key {
		switch {
		case c >= utf8.RuneSelf: // the Kelvin sign is a k in another case
			return strings.EqualFold(strings.ReplaceAll(string(key), "_", ""), name)
		case c == '_':
			continue
		case at == len(name) || lower(c) != lower(name[at]):
			return false
		}
		at++
	}
	return at == len(name)
}

// isSnake reports whether a key is the camelCase name in snake_case.
func isSnake(key []byte, name string) bool {
	at := 0
	for i := range len(name) {
		c := name[i]
		if c != lower(c) {
			if at == len(key) || key[at] != '_' {
				return false
			}
			at++
		}
		if at == len(key) || key[at] != lower(c) {
			return false
		}
		at++
	}
	return at == len(key)
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
