package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Problem is a mistake in the configuration.
type Problem struct {
	// File is the file, environment variable or flag with the mistake.
	File string
	// Line and Column count from 1, columns in characters. Both are 0 if there is no text to point into.
	Line, Column int
	// Path is the key with the mistake, such as providers.house.api_keys[1]; empty for the whole file.
	Path string
	// Message says what is wrong and how to fix it. It contains no secret.
	Message string
}

// Error returns "file:line:column: message".
func (p Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// Problems are all mistakes in a configuration, sorted by position; those without a line are last.
type Problems []Problem

// Error returns one line per problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].Error()
	}
	return strings.Join(lines, "\n")
}

func (p Problems) sort() {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(boolToInt(a.Line == 0), boolToInt(b.Line == 0)),
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Message, b.Message),
		)
	})
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// These constants bound a report.
const (
	maxProblems = 200
	maxMessage  = 500 // bytes
	maxQuote    = 80  // bytes of a value in a message
)

// origin is the place where a value was set.
type origin struct {
	file         string
	line, column int
	// written is the value as written in the file if it contains references, because the expanded value may be a
	// secret; otherwise empty.
	written string
}

// recorder collects problems and the place of every value, so that a check of the finished configuration can still
// point at the text.
type recorder struct {
	problems Problems
	warnings []string
	origins  map[string]origin // by path
	unknown  map[string]bool   // paths of invalid values, which are reported once
}

// reportAt adds a problem at a known place.
func (r *recorder) reportAt(o origin, path, format string, args ...any) {
	if o.file == managedFile { // people do not see its text
		o = origin{file: strings.TrimSpace(managedFile + " " + path)}
	}
	switch {
	case len(r.problems) < maxProblems:
		message := clip(fmt.Sprintf(format, args...), maxMessage)
		r.problems = append(r.problems, Problem{o.file, o.line, o.column, path, message})
	case len(r.problems) == maxProblems:
		r.problems = append(r.problems, Problem{File: o.file, Message: "too many mistakes; the rest is not shown"})
	}
}

// report adds a problem at the place of the path, or of the closest enclosing key. It adds no further problem to an
// invalid value.
func (r *recorder) report(path, format string, args ...any) {
	if r.unknown[path] {
		return
	}
	r.reportAt(r.originOf(path), path, format, args...)
}

func (r *recorder) originOf(path string) origin {
	for p := path; p != ""; p = p[:max(0, strings.LastIndexAny(p, ".["))] {
		if o, ok := r.origins[p]; ok {
			return o
		}
	}
	return origin{file: "configuration"}
}

// mark records the place of a value.
func (r *recorder) mark(path string, o origin) {
	r.origins[path] = o
	delete(r.unknown, path)
}

// set sets a scalar, or reports the expected form.
func (r *recorder) set(v reflect.Value, path, text string) {
	if want := setScalar(v, text); want != "" {
		r.report(path, "`%s` must be %s, not %s", path, want, r.quote(path, text))
		r.unknown[path] = true
	}
}

// isSet reports whether exactly this path was set.
func (r *recorder) isSet(path string) bool {
	_, ok := r.origins[path]
	return ok
}

// forget drops the places of a list's items.
func (r *recorder) forget(path string) {
	for i := 0; r.isSet(index(path, i)); i++ {
		delete(r.origins, index(path, i))
		delete(r.unknown, index(path, i))
	}
}

// quote returns a value for a message: as written, because the expanded value may be a secret.
func (r *recorder) quote(path, text string) string {
	if o := r.originOf(path); o.written != "" {
		text = o.written
	}
	return strconv.Quote(clip(text, maxQuote))
}

// ticks returns a word of the file in backticks, on one line.
func ticks(word string) string {
	quoted := strconv.Quote(clip(word, maxQuote))
	return "`" + quoted[1:len(quoted)-1] + "`"
}

// clip shortens a text to that many bytes.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// join returns the path of a key inside another. It quotes keys that are not a single word, so that paths are unique.
func join(path, key string) string {
	if !isWord(key) {
		return fmt.Sprintf("%s[%q]", path, key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

func isWord(key string) bool {
	for _, c := range []byte(key) {
		if !isWordByte(c) && c != '-' {
			return false
		}
	}
	return key != ""
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}
