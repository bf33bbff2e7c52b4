package store

import (
	"slices"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/report"
)

// What is told apart of an account's day. Beyond that, what costs least is added up as report.Other.
const (
	mostAttributed     = 2000    // sums
	mostAttributedText = 1 << 20 // bytes of what names them
	mostTagNames       = 20      // those that have cost most, where nobody names others
)

// attributed is for whom and for what some attempts were, as sums have it.
type attributed struct {
	User string    // report.Other for one who is not told apart
	Tags []llm.Tag // by name; values likewise
	// Known are the names of tags that are told apart, where there may be others; nil for all names.
	Known []string
}

// others are all who are not told apart.
func others() *attributed { return &attributed{User: report.Other, Known: []string{}} }

func attributedOf(a *llm.Attribution) attributed {
	tags := slices.Clone(a.Tags)
	slices.SortFunc(tags, func(a, b llm.Tag) int { return strings.Compare(a.Name, b.Name) })
	return attributed{User: a.User, Tags: tags}
}

// tag is the value of a tag, and whether there is one.
func (a *attributed) tag(name string) (string, bool) {
	if value, ok := a.own(name); ok {
		return value, true
	}
	if a.Known == nil || slices.Contains(a.Known, name) {
		return "", false
	}
	return report.Other, true
}

// own is the value of a tag that it has.
func (a *attributed) own(name string) (string, bool) {
	of := llm.Attribution{Tags: a.Tags}
	return of.Tag(name)
}

// text is one for each value, empty for the zero one.
func (a *attributed) text() string {
	if a.User == "" && len(a.Tags) == 0 && a.Known == nil {
		return ""
	}
	var buf [256]byte
	o := object{append(buf[:0], '{')}
	o.text("user", a.User)
	o.tags("tags", a.Tags)
	if a.Known != nil {
		o.texts("known", a.Known)
	}
	return o.String()
}

func parseAttributed(text string) (a attributed, err error) {
	if text == "" {
		return a, nil
	}
	err = members(text, func(m rawjson.Member) {
		switch m.Name() {
		case "user":
			a.User = rawjson.Text(m.Value)
		case "tags":
			a.Tags = tagsOf(m.Value)
		case "known":
			a.Known = []string{}
			for _, name := range rawjson.Elements(m.Value) {
				a.Known = append(a.Known, rawjson.Text(name))
			}
		}
	}, &err)
	return a, err
}

// nearest is what of those that are told apart has somebody who may not be told apart in all, with the most that is true of
// them; else they are of others.
func nearest(toldApart []attributed, a *attributed) *attributed {
	if a.text() == "" {
		return a
	}
	found, most := others(), 0
	for i := range toldApart {
		if n := toldApart[i].agrees(a); n > most {
			found, most = &toldApart[i], n
		}
	}
	return found
}

// agrees is how much more than nothing is told of an attempt by what it was added to, or may have been added to; 0 where it
// was not.
func (a *attributed) agrees(with *attributed) int {
	n := 1
	switch a.User {
	case with.User:
		n++
	case report.Other:
		if with.User == "" {
			return 0
		}
	default:
		return 0
	}
	known := 0
	for _, t := range with.Tags {
		switch value, told := a.tag(t.Name); {
		case !told || value != t.Value && value != report.Other:
			return 0
		case value == t.Value:
			n++
		}
		if _, own := a.own(t.Name); own {
			known++
		}
	}
	if known < len(a.Tags) { // it has a tag that the attempt has not
		return 0
	}
	return n
}

// attributedTo is the bucket for whom and for what an attempt is.
func (b bucket) attributedTo(a *attributed) bucket {
	b.attribution = a.text()
	return b
}

// withoutAttribution is the bucket of all end users and tags.
func (b bucket) withoutAttribution() bucket {
	b.attribution = ""
	return b
}

// ofSums is the bucket without the account and the day, of which an account's sums of a day are.
func (b bucket) ofSums() bucket {
	b.account, b.period = "", 0
	return b
}

// withoutKey is the bucket of all keys, as that of all accounts together has it.
func (b bucket) withoutKey() bucket {
	b.key = ""
	return b
}

// allAccounts stands for them: what they come to together, without keys, is a row of attribution_sums too.
const allAccounts = ""

func (a *attributed) isOther() bool {
	return a.User == report.Other || a.Known != nil || slices.ContainsFunc(a.Tags, func(t llm.Tag) bool { return t.Value == report.Other })
}

// userDimension stands for the end user among names of tags, which are not empty.
const userDimension = ""

// value is that of a tag, or the end user; empty for none, and for a tag without a value, which takes no room.
func (a *attributed) value(dimension string) string {
	if dimension == userDimension {
		return a.User
	}
	value, _ := a.own(dimension)
	return value
}

// set changes a value that there is.
func (a *attributed) set(dimension, value string) {
	if dimension == userDimension {
		a.User = value
	}
	for i := range a.Tags {
		if a.Tags[i].Name == dimension {
			a.Tags[i].Value = value
		}
	}
}

// keep leaves out tags of other names than those, which are sorted; none for all.
func (a *attributed) keep(names []string) {
	if names == nil {
		return
	}
	n := len(a.Tags)
	a.Tags = slices.DeleteFunc(a.Tags, func(t llm.Tag) bool { return !slices.Contains(names, t.Name) })
	switch {
	case a.Known != nil: // of what was left out before nobody knows
		a.Known = slices.DeleteFunc(slices.Clone(a.Known), func(name string) bool { return !slices.Contains(names, name) })
	case len(a.Tags) < n:
		a.Known = names
	}
}
