package store

import (
	"slices"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/report"
)

// Limits of an account's day. Beyond them, the values with the lowest cost are added up under report.Other.
const (
	mostAttributed     = 2000    // sums
	mostAttributedText = 1 << 20 // bytes of the texts that name them
	mostTagNames       = 20      // the tags with the highest cost, if none are configured
)

// attributed is the attribution of some attempts as sums store it: end user and tags.
type attributed struct {
	User string    // report.Other for a user who is not reported separately
	Tags []llm.Tag // by name; values may be report.Other too
	// Known are the names of the tags that are reported separately if others were left out; nil if all are.
	Known []string
}

// others returns the attribution of everything that is not reported separately.
func others() *attributed { return &attributed{User: report.Other, Known: []string{}} }

func attributedOf(a *llm.Attribution) attributed {
	tags := slices.Clone(a.Tags)
	slices.SortFunc(tags, func(a, b llm.Tag) int { return strings.Compare(a.Name, b.Name) })
	return attributed{User: a.User, Tags: tags}
}

// tag returns the value of a tag, and whether there is one.
func (a *attributed) tag(name string) (string, bool) {
	if value, ok := a.own(name); ok {
		return value, true
	}
	if a.Known == nil || slices.Contains(a.Known, name) {
		return "", false
	}
	return report.Other, true
}

// own returns the value of one of its own tags.
func (a *attributed) own(name string) (string, bool) {
	of := llm.Attribution{Tags: a.Tags}
	return of.Tag(name)
}

// text encodes the attribution. Equal ones have equal texts; the zero value has the empty text.
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

// nearest returns the entry of toldApart that agrees best with a, or others if none agrees.
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

// agrees returns how well an attempt's attribution, with, fits into the sums of a: the number of matching values plus
// 1. It returns 0 if the attempt does not belong there.
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
	if known < len(a.Tags) { // a has a tag that the attempt does not have
		return 0
	}
	return n
}

// attributedTo returns the bucket with the attribution a.
func (b bucket) attributedTo(a *attributed) bucket {
	b.attribution = a.text()
	return b
}

// withoutAttribution returns the bucket of all end users and tags.
func (b bucket) withoutAttribution() bucket {
	b.attribution = ""
	return b
}

// ofSums returns the bucket without account and day, as an account's sums of a day have it.
func (b bucket) ofSums() bucket {
	b.account, b.period = "", 0
	return b
}

// withoutKey returns the bucket of all keys, as the sums over all accounts have it.
func (b bucket) withoutKey() bucket {
	b.key = ""
	return b
}

// allAccounts is the account of the row of attribution_sums with the sums over all accounts, without keys.
const allAccounts = ""

func (a *attributed) isOther() bool {
	return a.User == report.Other || a.Known != nil || slices.ContainsFunc(a.Tags,
		func(t llm.Tag) bool { return t.Value == report.Other })
}

// userDimension denotes the end user among names of tags, which are not empty.
const userDimension = ""

// value returns the value of a tag, or the end user. It is empty if there is none, and for a tag without a value,
// which takes no space.
func (a *attributed) value(dimension string) string {
	if dimension == userDimension {
		return a.User
	}
	value, _ := a.own(dimension)
	return value
}

// set changes an existing value.
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

// keep removes the tags that are not in the sorted list of names; nil keeps all.
func (a *attributed) keep(names []string) {
	if names == nil {
		return
	}
	n := len(a.Tags)
	a.Tags = slices.DeleteFunc(a.Tags, func(t llm.Tag) bool { return !slices.Contains(names, t.Name) })
	switch {
	case a.Known != nil: // it is not known which tags were removed before
		a.Known = slices.DeleteFunc(slices.Clone(a.Known),
			func(name string) bool { return !slices.Contains(names, name) })
	case len(a.Tags) < n:
		a.Known = names
	}
}
