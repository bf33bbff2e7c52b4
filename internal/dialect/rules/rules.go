// Package rules holds what vendors ask of chat requests beyond the types of their wire formats: forms of ids and names,
// bounds, order, parameters that a family of models refuses. One table says it once: Fit makes a request of it that the
// vendor takes, Broken finds what the vendor refuses, by which the simulator answers, and the pages about providers list
// it. CONTRIBUTING.md says how to add a rule.
package rules

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"weir/internal/llm"
)

// Rule is one thing that a vendor asks.
type Rule struct {
	// Name says what it is of and what it asks, in letters, digits and dashes. No two rules have the same.
	Name string
	// Of are the targets that it holds for, any of them.
	Of []Of
	// Own is whether it holds as well for a client that speaks the target's wire format, since the target is not the
	// vendor of that.
	Own bool
	// Word is a piece of JSON without which a body breaks none of Own.
	Word string
	Ask  Ask
	// Says is the vendor's answer to a request that breaks it: a message of HTTP status 400, in which %s stands for what
	// broke it.
	Says string
	// Source is a page of the vendor's or a public report, and Seen the day on which it was looked up.
	Source, Seen string
}

// Of is a group of targets. A member that is empty says nothing.
type Of struct {
	Provider string // a name in the catalogue
	Format   string // the name of a wire format
	// Models are words that names of models have, one of which has to be there, and Except such of which none may. A
	// word begins and ends where letters and digits do.
	Models, Except []string
	// Since is the first version, behind one of Models, that it is of, and Before the first behind that which it is not of.
	Since, Before Version
}

// Model returns the beginning of a name of a model that it is of; empty where it is of all.
func (o *Of) Model() string {
	switch {
	case len(o.Models) == 0:
		return ""
	case o.Since == 0:
		return o.Models[0]
	}
	return fmt.Sprintf("%s-%d-%d", o.Models[0], o.Since/100, o.Since%100)
}

// Ask is what a rule asks of a request.
type Ask interface {
	// Broken returns what of a request breaks it, as the vendor's message names it; empty where nothing does. The body
	// is that of the wire format of the target, and nil where only the tree is known.
	Broken(r *llm.Request, body []byte) string
	// Fit changes a request so that nothing of it breaks the rule. The error is an *llm.Error of what can neither be
	// changed nor left out.
	Fit(f *Fitting) error
	// Example returns a request that breaks it.
	Example() *llm.Request
	// String says it in a sentence without its full stop.
	String() string
}

// Set is the rules of a provider in one wire format.
type Set struct {
	rules  []Rule
	own    bool // some hold for clients of the target's own wire format, too
	models *byModel
}

// For returns the rules of a provider of that name, which may be one that the catalogue does not have, in a wire format.
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

// New returns the set of some rules.
func New(rules []Rule) Set {
	own := slices.ContainsFunc(rules, func(r Rule) bool { return r.Own })
	return Set{rules, own, new(byModel)}
}

// All are the rules, whichever models they are of.
func (s Set) All() []Rule { return s.rules }

// Fit returns the request as the target takes it, which is r itself where it needs no change, and the client's names of
// tools by those that are sent in their place. What was left out or changed is named in LeftOut. Own is whether the client
// speaks the target's wire format. Errors are *llm.Error, and about the request that comes with them.
func (s Set) Fit(r *llm.Request, own bool) (fitted *llm.Request, names map[string]string, err error) {
	var f *Fitting // most requests need none
	fitted = r
	held := s.of(r.Model)
	if own {
		held.all = held.own
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

// Broken returns the vendor's message to a request that breaks a rule; empty for one that breaks none.
func (s Set) Broken(r *llm.Request, body []byte) string {
	for _, rule := range s.of(r.Model).all {
		if what := rule.Ask.Broken(r, body); what != "" {
			return strings.ReplaceAll(rule.Says, "%s", what)
		}
	}
	return ""
}

// MayBreakOwn reports whether a body may break a rule that holds for clients of the same wire format, too: it has the
// word without which it breaks none.
func (s Set) MayBreakOwn(model string, body []byte) bool {
	return s.own && slices.ContainsFunc(s.of(model).own, func(r *Rule) bool { return bytes.Contains(body, []byte(r.Word)) })
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

// hasWord reports whether a name has a word, with no letter or digit before or behind it.
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
