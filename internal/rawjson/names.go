package rawjson

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Names lists the members of an object that have a meaning. Each may appear once and only in this spelling, because
// JSON parsers differ in which of two members counts and in whether "Model" is "model". All parsers of a text must see
// the same members.
type Names []string

// Seen is the set of up to 64 Names that an object has had so far.
type Seen uint64

// NameError is returned for a name that appears twice or in another spelling.
type NameError struct {
	Name  string // the correct spelling
	Given string // the spelling in the text
}

// Error names the correction.
func (e *NameError) Error() string {
	if e.Given == e.Name {
		return fmt.Sprintf("field %q appears twice: send it once", e.Name)
	}
	return fmt.Sprintf("field %q is unknown: write %q", e.Given, e.Name)
}

// Find returns the index of m's name in n, or -1 if it is not one of them. The error is a *NameError.
func (n Names) Find(m Member, seen *Seen) (int, error) {
	key := m.Key()
	for i, name := range n {
		if string(key) != name {
			continue
		}
		bit := Seen(1) << i
		if *seen&bit != 0 {
			return i, &NameError{Name: name, Given: name}
		}
		*seen |= bit
		return i, nil
	}
	varies := mayVary(key)
	for i, name := range n {
		// Two ASCII names that differ only in case have the same length.
		if (varies || len(key) == len(name)) && strings.EqualFold(string(key), name) {
			return i, &NameError{Name: name, Given: string(key)}
		}
	}
	return -1, nil
}

// mayVary reports whether a name has other characters than lower-case ASCII. It includes non-ASCII characters because
// of the Kelvin sign and the long s, which are letters in another case.
func mayVary(key []byte) bool {
	for _, c := range key {
		if c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf {
			return true
		}
	}
	return false
}

// Has reports whether n contains the name, in this spelling.
func (n Names) Has(name string) bool { return slices.Contains(n, name) }

// Repeated returns the first name that appears twice in the same object of v, at any depth, comparing unescaped names.
// V must be valid JSON of bounded depth.
func Repeated(v []byte) (name string, twice bool) {
	_, name, twice = repeated(v, skipSpace(v, 0))
	return name, twice
}

// repeated does the same for the value at b[i], and also returns the offset after it.
func repeated(b []byte, i int) (end int, name string, twice bool) {
	if i >= len(b) || b[i] != '{' && b[i] != '[' {
		return skipValue(b, i), "", false
	}
	var had Keys
	for object := b[i] == '{'; ; {
		i = skipSpace(b, i+1)
		if object && i < len(b) && b[i] == '"' {
			end = skipString(b, i)
			if key := (Member{name: b[i+1 : max(i+1, end-1)]}).Key(); !had.Add(key) {
				return end, string(key), true
			}
			i = skipSpace(b, skipSpace(b, end)+1) // after the colon
		}
		if end, name, twice = repeated(b, i); twice {
			return end, name, true
		}
		if i = skipSpace(b, end); i >= len(b) || b[i] != ',' {
			return min(i+1, len(b)), "", false
		}
	}
}

// Keys is the set of names of one object. Up to 8 names are compared directly. They share memory with the object.
type Keys struct {
	few  [8][]byte
	n    int
	many map[string]bool
}

// Add adds a name, and reports whether it was new.
func (k *Keys) Add(key []byte) bool {
	for _, other := range k.few[:k.n] {
		if bytes.Equal(key, other) {
			return false
		}
	}
	if k.n < len(k.few) {
		k.few[k.n] = key
		k.n++
		return true
	}
	if k.many == nil {
		k.many = map[string]bool{}
	}
	before := len(k.many)
	k.many[string(key)] = true
	return len(k.many) > before
}
