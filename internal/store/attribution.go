package store

import (
	"cmp"
	"maps"
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
	mostTagNames       = 20      // those that most attempts have, where nobody names others
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
	for i := range a.Tags {
		if a.Tags[i].Name == name {
			return a.Tags[i].Value, true
		}
	}
	if a.Known == nil || slices.Contains(a.Known, name) {
		return "", false
	}
	return report.Other, true
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

// attributedDay is an account's day, bounded.
type attributedDay struct {
	buckets
	named int      // buckets that are of an end user or a tag
	text  int      // bytes of what names them
	tags  []string // the names that are told apart; empty for those that most attempts have
	// mostNamed and mostText are how much of both there may be before it is shortened.
	mostNamed, mostText int
}

func newAttributedDay(tags []string) *attributedDay {
	return &attributedDay{buckets: buckets{}, tags: tags, mostNamed: 4 * mostAttributed, mostText: 4 * mostAttributedText}
}

func (d *attributedDay) addTo(b bucket, s *sums) {
	if d.put(b, s); d.named > d.mostNamed || d.text > d.mostText {
		d.shorten(2*mostAttributed, 2*mostAttributedText)
		// What cannot be shortened is not looked at again and again.
		d.mostNamed, d.mostText = max(d.mostNamed, 2*d.named), max(d.mostText, 2*d.text)
	}
}

// put adds sums, and counts what is named.
func (d *attributedDay) put(b bucket, s *sums) {
	if d.buckets[b] == nil && b.attribution != "" {
		d.named++
		d.text += len(b.attribution)
	}
	d.add(b, s)
}

// shorten brings it down to so many named buckets, or two of each key and model, and so many bytes: of end users, or of
// the tag that has most values, the dearest are told apart, as many as there is room for.
func (d *attributedDay) shorten(most, text int) {
	parsed := map[string]attributed{}
	for b := range d.buckets {
		if a, err := parseAttributed(b.attribution); err == nil { // it is one of ours
			parsed[b.attribution] = a
		}
	}
	d.shortenTags(parsed)
	most = max(most, 2*d.pairs())
	for round := 1; d.named > most || d.text > text; round *= 2 {
		name, dearest := d.widest(parsed)
		if len(dearest) == 0 {
			return
		}
		fewer := max(d.named-most, round) // most often there is one bucket less for each
		if d.text > text {
			fewer = max(fewer, len(dearest)/2)
		}
		kept := map[string]bool{}
		for _, value := range dearest[:max(0, len(dearest)-fewer)] {
			kept[value] = true
		}
		d.replace(parsed, func(a *attributed) {
			if value := a.value(name); value != "" && !kept[value] {
				a.set(name, report.Other)
			}
		})
	}
}

// pairs are how many keys and models are named: so many sums there are of the day anyway.
func (d *attributedDay) pairs() int {
	all := map[bucket]bool{}
	for b := range d.buckets {
		if b.attribution != "" {
			all[b.withoutAttribution()] = true
		}
	}
	return len(all)
}

// userDimension stands for the end user among names of tags, which are not empty.
const userDimension = ""

// value is that of a tag, or the end user; empty for none, and for a tag without a value, which takes no room.
func (a *attributed) value(dimension string) string {
	if dimension == userDimension {
		return a.User
	}
	for i := range a.Tags {
		if a.Tags[i].Name == dimension {
			return a.Tags[i].Value
		}
	}
	return ""
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

// widest is the dimension with most values that are told apart, and these, the dearest first; none where no dimension has any.
func (d *attributedDay) widest(parsed map[string]attributed) (name string, dearest []string) {
	sums := map[string]map[string]llm.Money{}
	note := func(dimension, value string, cost llm.Money) {
		if value == "" || value == report.Other {
			return
		}
		if sums[dimension] == nil {
			sums[dimension] = map[string]llm.Money{}
		}
		sums[dimension][value] += cost
	}
	for b, s := range d.buckets {
		a := parsed[b.attribution]
		note(userDimension, a.User, s.charged())
		for _, t := range a.Tags {
			note(t.Name, t.Value, s.charged())
		}
	}
	for dimension, values := range sums {
		if n := len(sums[name]); len(values) > n || len(values) == n && dimension < name {
			name = dimension
		}
	}
	return name, slices.SortedFunc(maps.Keys(sums[name]), func(a, b string) int {
		return cmp.Or(cmp.Compare(sums[name][b], sums[name][a]), strings.Compare(a, b))
	})
}

// replace changes for whom and for what each bucket is, and adds up those that are the same then.
func (d *attributedDay) replace(parsed map[string]attributed, change func(a *attributed)) {
	old := d.buckets
	d.buckets, d.named, d.text = make(buckets, len(old)), 0, 0
	for b, s := range old {
		if b.attribution != "" {
			a := parsed[b.attribution]
			a.Tags = slices.Clone(a.Tags)
			change(&a)
			b = b.attributedTo(&a)
			parsed[b.attribution] = a
		}
		d.put(b, s)
	}
}

// shortenTags leaves out tags of names that are not told apart.
func (d *attributedDay) shortenTags(parsed map[string]attributed) {
	names := slices.Clone(d.tags)
	if len(names) == 0 {
		if names = d.usualTags(parsed); len(names) <= mostTagNames {
			return
		}
		names = names[:mostTagNames]
	}
	slices.Sort(names)
	d.replace(parsed, func(a *attributed) {
		n := len(a.Tags)
		a.Tags = slices.DeleteFunc(a.Tags, func(t llm.Tag) bool { return !slices.Contains(names, t.Name) })
		switch {
		case a.Known != nil: // of what was left out before nobody knows
			a.Known = slices.DeleteFunc(slices.Clone(a.Known), func(name string) bool { return !slices.Contains(names, name) })
		case len(a.Tags) < n:
			a.Known = names
		}
	})
}

// usualTags are the names of all tags, those first that most attempts have.
func (d *attributedDay) usualTags(parsed map[string]attributed) []string {
	attempts := map[string]int64{}
	for b, s := range d.buckets {
		for _, t := range parsed[b.attribution].Tags {
			attempts[t.Name] += s[measureAttempts]
		}
	}
	return slices.SortedFunc(maps.Keys(attempts), func(a, b string) int {
		return cmp.Or(cmp.Compare(attempts[b], attempts[a]), strings.Compare(a, b))
	})
}

// others are how many attempts are not told apart, by their end user or a tag.
func (d *attributedDay) others() (attempts int64) {
	for b, s := range d.buckets {
		if a, err := parseAttributed(b.attribution); err == nil && a.isOther() { // it is one of ours
			attempts += s[measureAttempts]
		}
	}
	return attempts
}

func (a *attributed) isOther() bool {
	return a.User == report.Other || a.Known != nil || slices.ContainsFunc(a.Tags, func(t llm.Tag) bool { return t.Value == report.Other })
}
