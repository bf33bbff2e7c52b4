// Package redaction replaces secrets, e-mail addresses and card numbers in texts and JSON by marks. The rules for
// secrets are those of gitleaks 8.30.1 (https://github.com/gitleaks/gitleaks, config/gitleaks.toml), without its lists
// of exceptions, and some of its own.
package redaction

import (
	"cmp"
	"slices"
	"strings"
)

// Redactor redacts texts. Its methods must not be called concurrently.
type Redactor struct {
	rules    []rule
	keywords *keywords
	n        int // marks that were written
	left     int // bytes that the rules may still search
}

// New returns a Redactor. It compiles a rule when a text first contains one of its keywords.
func New() (*Redactor, error) {
	rules, err := readRules()
	if err != nil {
		return nil, err
	}
	return &Redactor{rules: rules, keywords: newKeywords(rules)}, nil
}

// span is the place of a secret in a text, in bytes.
type span struct {
	from, to int
	kind     string
}

// mark returns the text in place of a secret.
func mark(kind string) string { return "[redacted: " + kind + "]" }

// Rules search usual texts about once, and documents full of settings four times. A text of keywords alone
// would be searched a hundred times, for many seconds, while all other content waits.
const (
	// mostSearches bounds how often rules search a byte of a text, and of all texts in JSON on average.
	mostSearches = 8
	// leastWork is how many bytes rules may search in a short text.
	leastWork = 16 << 10
)

// begin begins a text, or JSON, of n bytes.
func (r *Redactor) begin(n int) { r.n, r.left = 0, mostSearches*n+leastWork }

// text redacts a text that is the value of a member with that name; empty for another text.
func (r *Redactor) text(name, s string) string {
	found := r.find(name, s)
	if len(found) == 0 {
		return s
	}
	var out strings.Builder
	done := 0
	for _, f := range found {
		out.WriteString(s[done:f.from])
		out.WriteString(mark(f.kind))
		done = f.to
		r.n++
	}
	out.WriteString(s[done:])
	return out.String()
}

const (
	// mostName and mostValue bound the names and values of members that are searched together, in bytes: a rule may
	// need the name, such as "password".
	mostName  = 64
	mostValue = 200
)

// find returns the places of secrets in a text, in order and without overlaps.
func (r *Redactor) find(name, s string) []span {
	var found []span
	if name != "" && len(name) <= mostName && len(s) <= mostValue {
		before := name + `": "`
		for _, f := range r.search(before + s) {
			if f.to > len(before) {
				found = append(found, span{max(0, f.from-len(before)), f.to - len(before), f.kind})
			}
		}
	} else {
		found = r.search(s)
	}
	found = appendCards(found, s)
	if strings.IndexByte(s, '@') >= 0 {
		found = appendEmails(found, s)
	}
	return merged(found)
}

// merged sorts spans and joins those that overlap.
func merged(found []span) []span {
	slices.SortStableFunc(found, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to))
	})
	out := found[:0]
	for _, f := range found {
		if last := len(out) - 1; last >= 0 && f.from < out[last].to {
			out[last].to = max(out[last].to, f.to)
			continue
		}
		out = append(out, f)
	}
	return out
}

// search returns the places that the rules match: the whole text if that takes too long.
func (r *Redactor) search(s string) (found []span) {
	for i := range r.rules {
		r.rules[i].done = 0
	}
	most := min(r.left, mostSearches*len(s)+leastWork)
	left := most
	r.keywords.each(s, func(rule, at, n int) { found = r.rules[rule].appendTo(found, s, at, n, &left) })
	if left < 0 {
		return []span{{0, len(s), "too many keywords"}}
	}
	r.left -= most - left
	return found
}
