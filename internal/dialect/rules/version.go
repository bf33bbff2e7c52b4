package rules

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is the version of a model, such as 407 for 4.7, on which its rules depend.
type Version int

// Newest is the version of a model without one in its name.
const Newest Version = 99 * 100

func (v Version) String() string { return fmt.Sprintf("%d.%d", v/100, v%100) }

// VersionOf returns the version after the maker's word in a model's name, in the forms of all vendors:
// claude-3-7-sonnet-20250219, claude-opus-4-1@20250805, us.anthropic.claude-haiku-4-5-20251001-v1:0, claude-2.1; 0
// for a name without the word.
func VersionOf(model, word string) Version {
	_, rest, ok := strings.Cut(model, word)
	if !ok {
		return 0
	}
	words := strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune("-.@:_/", r) })
	for i, w := range words {
		major, ok := twoDigits(w)
		if !ok {
			continue
		}
		minor := 0
		if i+1 < len(words) {
			minor, _ = twoDigits(words[i+1])
		}
		return Version(major*100 + minor)
	}
	return Newest
}

// twoDigits parses a number of at most two digits; a longer one is a date.
func twoDigits(s string) (n int, ok bool) {
	n, err := strconv.Atoi(s)
	if err != nil || len(s) > 2 {
		return 0, false
	}
	return n, true
}
