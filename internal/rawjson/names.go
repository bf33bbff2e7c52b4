package rawjson

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Names are the members of an object that somebody acts on. Each may stand
// once and in this spelling alone: JSON parsers differ in which of two members
// counts and in whether "Model" is "model", and what one parser checks must be
// what the next one obeys.
type Names []string

// Seen remembers which of up to 64 Names an object has had so far.
type Seen uint64

// NameError says that a name stands twice or in another spelling.
type NameError struct {
	Name  string // as it is to be written
	Given string // as it stands there
}

// Error says what to write instead.
func (e *NameError) Error() string {
	if e.Given == e.Name {
		return fmt.Sprintf("%q stands twice; give it once", e.Name)
	}
	return fmt.Sprintf("%q is not a field; write %q", e.Given, e.Name)
}

// Find is the position of m's name among the names, or -1 for a name that is
// none of them. The error is a *NameError.
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
		// Two names in ASCII that are equal but for their case are equally long.
		if (varies || len(key) == len(name)) && strings.EqualFold(string(key), name) {
			return i, &NameError{Name: name, Given: string(key)}
		}
	}
	return -1, nil
}

// mayVary reports whether a name has more than lower-case ASCII. Kelvin and
// long s, which are letters in another case, are why it looks beyond ASCII.
func mayVary(key []byte) bool {
	for _, c := range key {
		if c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf {
			return true
		}
	}
	return false
}

// Has reports whether the name is one of them, in this spelling.
func (n Names) Has(name string) bool { return slices.Contains(n, name) }

// Repeated is the first name that stands twice in one and the same object of v,
// however deep, without regard to escapes. V is valid JSON of bounded depth.
func Repeated(v []byte) (name string, twice bool) {
	_, name, twice = repeated(v, skipSpace(v, 0))
	return name, twice
}

// repeated is Repeated of the value that begins at b[i], and the offset behind that.
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
			i = skipSpace(b, skipSpace(b, end)+1) // behind the colon
		}
		if end, name, twice = repeated(b, i); twice {
			return end, name, true
		}
		if i = skipSpace(b, end); i >= len(b) || b[i] != ',' {
			return min(i+1, len(b)), "", false
		}
	}
}

// Keys are names of one object. Few are compared each with each. They share
// memory with the object.
type Keys struct {
	few  [8][]byte
	n    int
	many map[string]bool
}

// Add reports whether the name was not there yet.
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
