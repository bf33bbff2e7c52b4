// Package rules lists the conditions that vendors put on chat requests beyond the types of their wire formats: forms
// of ids and names, bounds, order, parameters that a family of models refuses. One table serves three purposes: Fit
// changes a request so that the vendor accepts it, the simulator refuses requests that Broken finds, and the pages
// about providers list the rules. CONTRIBUTING.md describes how to add a rule.
package rules

import (
	"bytes"
	"slices"
	"strings"

	"weir/internal/llm"
)

// Rule is one condition of a vendor.
type Rule struct {
	// Name identifies the vendor and the condition, in letters, digits and dashes. Names are unique.
	Name string
	// Of lists the targets of the rule.
	Of []Of
	// Own says that the rule also applies to clients of the target's wire format, because the target is not that
	// format's vendor.
	Own bool
	// Word is a piece of JSON that every body that breaks an Own rule contains.
	Word string
	Ask  Ask
	// Says is the vendor's error message, with HTTP status 400; %s stands for the broken value.
	Says string
	// Source is a page of the vendor or a public report, and Seen the day on which it was read.
	Source, Seen string
}

// Of is a group of targets. An empty field matches all.
type Of struct {
	Provider string // a name in the catalogue
	Format   string // the name of a wire format
	// Models are words in names of models: one of them must appear, and none of Except. Words are delimited by
	// characters other than letters and digits.
	Models, Except []string
	// Since is the first version after one of Models that matches, and Before the first later one that does not.
	Since, Before Version
}

// Ask is the condition of a rule.
type Ask interface {
	// Broken returns the value that breaks the rule, in the form for the vendor's message; empty if the request keeps
	// it. The body is in the target's wire format, or nil if only the tree is known.
	Broken(r *llm.Request, body []byte) string
	// Fit changes a request so that it keeps the rule. It returns an *llm.Error if the broken value can be neither
	// changed nor omitted.
	Fit(f *Fitting) error
	// String describes the rule in a sentence without its full stop.
	String() string
}

// Set holds the rules of a provider in one wire format.
type Set struct {
	rules  []Rule
	own    bool // some rules also apply to clients of the target's own wire format
	models *byModel
}

// For returns the rules of a provider in a wire format. The provider need not be in the catalogue.
func For(provider, format string) Set {
	var of []Rule
	for _, rule := range Table() {
		rule.Of = slices.DeleteFunc(slices.Clone(rule.Of), func(o Of) bool {
			return o.Provider != "" && o.Provider != provider || o.Format != "" && o.Format != format
		})
		if len(rule.Of) > 0 {
			of = append(of, rule)
		}
	}
	return New(of)
}

// New returns a set of rules.
func New(rules []Rule) Set {
	own := slices.ContainsFunc(rules, func(r Rule) bool { return r.Own })
	return Set{rules, own, new(byModel)}
}

// All returns the rules for all models.
func (s Set) All() []Rule { return s.rules }

// Fit returns the request in a form that the target accepts, which is r itself if it needs no change, and the
// client's names of tools by the names sent instead. LeftOut of the result names omitted and changed content. own
// says that the client speaks the target's wire format. Errors are *llm.Error; the request that is returned with one
// is the one refused.
func (s Set) Fit(r *llm.Request, own bool) (fitted *llm.Request, names map[string]string, err error) {
	var f *Fitting // most requests need no copy
	fitted = r
	held := s.of(r.Model)
	if own {
		held.all = held.own
		if isLegacy(r) {
			f = newFitting(r)
			f.offerFunctions()
			fitted = f.Request
		}
	}
	for _, rule := range held.all {
		if rule.Ask.Broken(fitted, nil) == "" {
			continue
		}
		if f == nil {
			f = newFitting(r)
		}
		if err := rule.Ask.Fit(f); err != nil {
			return f.Request, nil, err
		}
		fitted = f.Request
	}
	if f != nil {
		names = f.names
	}
	return fitted, names, nil
}

// Broken returns the vendor's message for a request that breaks a rule; empty if it breaks none.
func (s Set) Broken(r *llm.Request, body []byte) string {
	for _, rule := range s.of(r.Model).all {
		if what := rule.Ask.Broken(r, body); what != "" {
			return strings.ReplaceAll(rule.Says, "%s", what)
		}
	}
	return ""
}

// MayBreakOwn reports whether a body may break a rule that also applies to clients of the same wire format, by the
// rule's Word.
func (s Set) MayBreakOwn(model string, body []byte) bool {
	return s.own && slices.ContainsFunc(s.of(model).own, func(r *Rule) bool {
		return bytes.Contains(body, []byte(r.Word))
	})
}

// BreaksOwn reports whether a request for a model breaks such a rule.
func (s Set) BreaksOwn(model string, r *llm.Request, body []byte) bool {
	return slices.ContainsFunc(s.of(model).own, func(rule *Rule) bool { return rule.Ask.Broken(r, body) != "" })
}

func (o *Of) has(model string) bool {
	named := func(word string) bool { return hasWord(model, word) }
	of := func(word string) bool {
		v := VersionOf(model, word)
		return named(word) && v >= o.Since && (o.Before == 0 || v < o.Before)
	}
	return (len(o.Models) == 0 || slices.ContainsFunc(o.Models, of)) && !slices.ContainsFunc(o.Except, named)
}

// hasWord reports whether a name contains a word, without a letter or digit next to it.
func hasWord(name, word string) bool {
	for from := 0; ; {
		i := strings.Index(name[from:], word)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(word)
		if (i == 0 || !isAlphanumeric(name[i-1])) && (end == len(name) || !isAlphanumeric(name[end])) {
			return true
		}
		from = i + 1
	}
}

func isAlphanumeric(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}
