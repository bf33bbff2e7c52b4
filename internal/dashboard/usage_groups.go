package dashboard

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"weir/internal/account"
	"weir/internal/llm"
	"weir/internal/report"
)

// groupChoices returns the dimensions by which the page groups usage, except tags.
func groupChoices() []Choice {
	return []Choice{
		{Value: "", Label: "Day and model"},
		{Value: string(report.ByModel), Label: "Model"},
		{Value: string(report.ByProvider), Label: "Provider"},
		{Value: string(report.ByKey), Label: "API key"},
		{Value: string(report.ByUser), Label: "End user"},
		{Value: string(report.ByMonth), Label: "Month"},
		{Value: string(report.ByDay), Label: "Day"},
		{Value: string(report.ByHour), Label: "Hour"},
	}
}

// headOf returns a dimension's header of a column.
func headOf(d report.Dimension) string {
	if tag := d.Tag(); tag != "" {
		return tag
	}
	for _, c := range groupChoices() {
		if c.Value == string(d) {
			return c.Label
		}
	}
	return string(d)
}

const (
	tagPrefix  = "tag."
	sortByCost = "cost"
	maxTagName = 64  // characters, as in tags
	maxKeyID   = 64  // bytes
	maxFilters = 16  // tags
	maxTag     = 512 // characters of a value
)

// grouping holds how usage is grouped, filtered and sorted.
type grouping struct {
	by   []report.Dimension // nil for day and model
	key  string             // id
	tags []llm.Tag
	sort report.Measure
}

// groupingOf reads a grouping from the parameters of GET /v1/uses and the page's own fields.
func groupingOf(f *form) (g grouping) {
	var err error
	text := f.values.Get("group_by")
	if name := strings.TrimSpace(f.values.Get("tag")); name != "" {
		text = string(report.ByTag(name))
	}
	if g.by, err = report.ParseDimensions(text); err != nil {
		f.mistake("group_by", err.Error()+".")
	}
	if g.key = f.values.Get("key"); len(g.key) > maxKeyID {
		f.mistake("key", "This is not the ID of an API key. Choose a key on the page API Keys.")
	}
	switch f.values.Get("sort") {
	case "":
	case sortByCost:
		g.sort = report.MeasureCost
	default:
		f.mistake("sort", "The order is not in the list. Choose one from the list.")
	}
	for name, values := range f.values {
		tag, ok := strings.CutPrefix(name, tagPrefix)
		if !ok || values[0] == "" {
			continue
		}
		if !llm.IsTagName(tag) || !llm.IsTagValue(values[0]) {
			f.mistake("tag", "The name or value of a tag filter is not valid. Use another one.")
		}
		g.tags = append(g.tags, llm.Tag{Name: tag, Value: values[0]})
	}
	slices.SortFunc(g.tags, func(a, b llm.Tag) int { return strings.Compare(a.Name, b.Name) })
	if len(g.tags) > maxFilters {
		f.mistake("tag", fmt.Sprintf("There are more than %d tags. Filter by fewer.", maxFilters))
	}
	return g
}

// set adds the parameters of the same grouping.
func (g *grouping) set(q url.Values) {
	if len(g.by) > 0 {
		var names []string
		for _, d := range g.by {
			names = append(names, string(d))
		}
		q.Set("group_by", strings.Join(names, ","))
	}
	if g.key != "" {
		q.Set("key", g.key)
	}
	for _, t := range g.tags {
		q.Set(tagPrefix+t.Name, t.Value)
	}
}

// narrow reports whether there are filters other than dates and a model.
func (g *grouping) narrow() bool { return g.key != "" || len(g.tags) > 0 }

// fields returns the fields of a grouping.
func (g *grouping) fields(f *form, keys []account.Key) []Field {
	by := ""
	if len(g.by) == 1 {
		by = string(g.by[0])
	}
	group := Field{Name: "group_by", Label: "Group by", Choices: groupChoices()}
	for i := range group.Choices {
		group.Choices[i].Chosen = group.Choices[i].Value == by
	}
	tag := ""
	if len(g.by) == 1 {
		tag = g.by[0].Tag()
	}
	sort := Field{Name: "sort", Label: "Sort by", Choices: []Choice{
		{Value: "", Label: "Date and name", Chosen: g.sort == ""},
		{Value: sortByCost, Label: "Cost", Chosen: g.sort != ""},
	}}
	all := []Field{group, {Name: "tag", Label: "Or by tag", Value: tag, Example: "project", Max: maxTagName}, sort}
	if g.key != "" {
		all = append(all, Field{Name: "key", Label: "API key", Choices: []Choice{
			{Value: g.key, Label: labelOf(g.key, keys), Chosen: true}, {Value: "", Label: "All keys"},
		}})
	}
	for _, t := range g.tags {
		all = append(all, Field{Name: tagPrefix + t.Name, Label: "Tag " + t.Name, Value: t.Value, Max: maxTag})
	}
	for i := range all {
		all[i].Error = f.wrong[all[i].Name]
		f.fields = append(f.fields, all[i].Name)
		if all[i].Kind == "" {
			all[i].Kind = "text"
		}
	}
	return all
}

// labelOf returns the label of a key, or its id if the key is unknown.
func labelOf(id string, keys []account.Key) string {
	for i := range keys {
		if keys[i].ID == id {
			return keys[i].Label
		}
	}
	return id
}

// groupRow shows a row of the table of groups.
type groupRow struct {
	Values []groupCell
	*report.Use
	Cached string // share of input tokens that were read from a cache
}

// groupCell shows the value of a dimension. Href links to the usage behind it; empty for none.
type groupCell struct{ Head, Text, Href string }

// rows returns the rows of a table of groups. Link returns the path of the page with other parameters.
func (g *grouping) rows(uses []report.Use, keys []account.Key, link func(url.Values) string) []groupRow {
	all := make([]groupRow, len(uses))
	for i := range uses {
		u := &uses[i]
		all[i] = groupRow{Use: u, Cached: cachedOf(&u.Usage)}
		for k, d := range g.by {
			cell := groupCell{Head: headOf(d), Text: "none"}
			if value := u.Group[k]; value != nil {
				cell.Text = *value
				if d == report.ByKey {
					cell.Text = labelOf(*value, keys)
				}
				if name := filterOf(d); name != "" {
					cell.Href = link(url.Values{name: {*value}})
				}
			}
			all[i].Values = append(all[i].Values, cell)
		}
	}
	return all
}

// filterOf returns the parameter that filters by a dimension's value; empty for none.
func filterOf(d report.Dimension) string {
	switch d {
	case report.ByModel, report.ByKey:
		return string(d)
	}
	if tag := d.Tag(); tag != "" {
		return tagPrefix + tag
	}
	return ""
}

// cachedOf returns the share of input tokens that were read from a cache.
func cachedOf(u *llm.Usage) string {
	cached := u[llm.CacheRead] + u[llm.CacheReadAudio]
	if in := u.InputTokens(); cached > 0 && in > 0 {
		return percentText(cached, in)
	}
	return none
}

// against compares an amount with that of the previous period.
func against(now, before llm.Money, days int) string {
	period := "the day before"
	if days > 1 {
		period = "the " + many(int64(days), "day") + " before"
	}
	switch {
	case before <= 0 && now <= 0:
		return ""
	case before <= 0:
		return "nothing in " + period
	}
	change := (float64(now) - float64(before)) / float64(before) * 100
	switch {
	case change > 999:
		return fmt.Sprintf("%.0f times that of %s", float64(now)/float64(before), period)
	case change >= 0.5:
		return fmt.Sprintf("%.0f %% more than in %s", change, period)
	case change <= -0.5:
		return fmt.Sprintf("%.0f %% less than in %s", -change, period)
	}
	return "as in " + period
}
