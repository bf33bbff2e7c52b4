package pricing

import (
	"encoding/json"
	"regexp"
	"slices"
)

// day returns a date; nil for an absent node.
func (r *fileReader) day(n *node, what string) *day {
	if n == nil {
		return nil
	}
	var d day
	s, _ := n.value.(string)
	if err := d.UnmarshalText([]byte(s)); err != nil {
		r.report(n.at, "`%s` must be a date such as \"2026-12-31\"", what)
	}
	return &d
}

// seen returns the day of the last check of the source.
func (r *fileReader) seen(n *node) string {
	if n == nil || n.value == "undated copy" {
		return ""
	}
	r.day(n, "seen")
	s, _ := n.value.(string)
	return s
}

// windows returns the time windows of an entry.
func (r *fileReader) windows(n *node) (all []window) {
	for _, item := range r.list(n, "when") {
		m := r.object(item, "a time window", "from", "to", "days", "except")
		w := window{From: r.clock(m["from"], "from"), To: r.clock(m["to"], "to")}
		switch {
		case (w.From == nil) != (w.To == nil):
			r.report(item.at, "`from` and `to` must both be set, or both be absent for the whole day")
		case w.From != nil && *w.From == *w.To:
			r.report(item.at, "`from` and `to` are equal; remove both for the whole day")
		case w.From == nil && m["days"] == nil && m["except"] == nil:
			r.report(item.at, "a time window needs `from` and `to`, or `days`")
		}
		for _, name := range r.list(m["days"], "days") {
			s := r.text(name, "days")
			i := slices.Index(weekdayNames(), s)
			if i < 0 {
				r.report(name.at, "unknown weekday %s%s", quoted(s), suggest(s, weekdayNames()))
				continue
			}
			w.Days |= 1 << i
		}
		for _, date := range r.list(m["except"], "except") {
			w.Except = append(w.Except, *r.day(date, "except"))
		}
		all = append(all, w)
	}
	return all
}

func (r *fileReader) clock(n *node, what string) *clock {
	if n == nil {
		return nil
	}
	var c clock
	s, _ := n.value.(string)
	if err := c.UnmarshalText([]byte(s)); err != nil {
		r.report(n.at, "`%s` must be a time of day in UTC such as \"01:30\"", what)
	}
	return &c
}

// rule reads a rule about names; nil for an absent node.
func (r *fileReader) rule(n *node) *rule {
	if n == nil {
		return nil
	}
	before := r.found
	r.checkRule(n)
	if r.found > before {
		return nil
	}
	var all rule
	if err := json.Unmarshal(r.file.Text[n.at:n.end], &all); err != nil {
		r.report(n.at, "the rule is invalid: %v", err)
		return nil
	}
	return &all
}

func (r *fileReader) checkRule(n *node) {
	before := r.found
	m := r.object(n, "a rule", "equals", "starts_with", "ends_with", "contains", "regex", "or", "and", "not")
	if len(m) != 1 && r.found == before {
		r.report(n.at, "a rule must have exactly one member, such as {\"equals\": \"small\"}")
	}
	for kind, v := range m {
		switch kind {
		case "or", "and":
			for _, item := range r.list(v, kind) {
				r.checkRule(item)
			}
		case "not":
			r.checkRule(v)
		case "regex":
			if _, err := regexp.Compile(r.text(v, kind)); err != nil {
				r.report(v.at, "the regular expression is invalid: %v", err)
			}
		default:
			if s := r.text(v, kind); s != fold(s) {
				r.report(v.at, "names are compared in lower case; write %s", quoted(fold(s)))
			}
		}
	}
}
