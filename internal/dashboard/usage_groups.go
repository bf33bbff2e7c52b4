package dashboard

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"weir/internal/llm"
	"weir/internal/refusal"
	"weir/internal/report"
)

// byNothing is the choice of no groups.
const byNothing = "none"

// groupChoices returns the dimensions by which the page groups usage, except tags.
func groupChoices(all bool) (list []Choice) {
	if all {
		list = append(list, Choice{Value: string(report.ByAccount), Label: "Account"})
	}
	return append(list, []Choice{
		{Value: string(report.ByModel), Label: "Model"},
		{Value: string(report.ByProvider), Label: "Provider"},
		{Value: string(report.ByKey), Label: "API key"},
		{Value: string(report.ByUser), Label: "End user"},
		{Value: byNothing, Label: "Nothing"},
	}...)
}

// refusedChoices returns the groups of refused requests, which have no provider, end user or tags.
func refusedChoices(all bool) []Choice {
	list := slices.DeleteFunc(groupChoices(all), func(c Choice) bool {
		return c.Value == string(report.ByProvider) || c.Value == string(report.ByUser) || c.Value == byNothing
	})
	return append(list, Choice{Value: string(refusal.ByReason), Label: "Reason"})
}

// headOf returns a dimension's header of a column.
func headOf(d report.Dimension) string {
	if tag := d.Tag(); tag != "" {
		return tag
	}
	for _, c := range groupChoices(true) {
		if c.Value == string(d) {
			return c.Label
		}
	}
	return titled(string(d))
}

const (
	tagPrefix  = "tag."
	sortByName = "name"
	maxTagName = 64  // characters, as in tags
	maxKeyID   = 64  // bytes
	maxFilters = 16  // tags
	maxTag     = 512 // characters of a value
)

// grouping holds how usage is grouped, filtered and sorted.
type grouping struct {
	by                         []report.Dimension // nil for none
	model, provider, key, user string
	tags                       []llm.Tag
	sort                       string // a measure; sortByName; empty for the usual order
	all                        bool   // of all accounts
}

// groupingOf reads a grouping from the parameters of GET /v1/uses and the page's own fields.
func groupingOf(f *form, all bool) (g grouping) {
	g = grouping{
		model: f.values.Get("model"), provider: f.values.Get("provider"), key: f.values.Get("key"),
		user: f.values.Get("user"), all: all,
	}
	g.by = groupsOf(f, all)
	for name, bound := range map[string]int{
		"model": maxModelName, "provider": maxModelName, "key": maxKeyID, "user": maxUserName,
	} {
		if text := f.values.Get(name); len(text) > bound || !llm.IsText(text) {
			f.mistake(name, fmt.Sprintf("This is longer than %d bytes, or not text. Enter another value.", bound))
		}
	}
	if g.sort = f.values.Get("sort"); g.sort != sortByName {
		if _, err := report.ParseMeasure("sort", g.sort); err != nil {
			f.mistake("sort", "The order is not known. Choose one by a head of the table.")
		}
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

// groupsOf reads the dimensions. Without any, an account's usage is grouped by model, that of all by account. Keys of
// all accounts are grouped by account, too.
func groupsOf(f *form, all bool) []report.Dimension {
	text := f.values.Get("group_by")
	if text == string(refusal.ByReason) { // a group of refused requests alone
		text = ""
	}
	if name := strings.TrimSpace(f.values.Get("tag")); name != "" {
		text = string(report.ByTag(name))
	}
	var more []report.Dimension
	if all {
		more = append(more, report.ByAccount)
	}
	by, err := report.ParseDimensions(strings.TrimPrefix(text, byNothing), more...)
	switch {
	case err != nil:
		f.mistake("group_by", err.Error()+".")
	case text == "" && all:
		return []report.Dimension{report.ByAccount}
	case text == "":
		return []report.Dimension{report.ByModel}
	case all && slices.Contains(by, report.ByKey) && !slices.Contains(by, report.ByAccount):
		return append([]report.Dimension{report.ByAccount}, by...)
	}
	return by
}

// dimensionsText joins the names of dimensions.
func dimensionsText(by []report.Dimension) string {
	names := make([]string, len(by))
	for i, d := range by {
		names[i] = string(d)
	}
	return strings.Join(names, ",")
}

// set adds the parameters of the same grouping and filters.
func (g *grouping) set(q url.Values) {
	q.Set("group_by", dimensionsText(g.by))
	if len(g.by) == 0 {
		q.Set("group_by", byNothing)
	}
	g.filter(q)
}

// filter adds the parameters of the same filters.
func (g *grouping) filter(q url.Values) {
	for name, value := range map[string]string{
		"model": g.model, "provider": g.provider, "key": g.key, "user": g.user,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for _, t := range g.tags {
		q.Set(tagPrefix+t.Name, t.Value)
	}
}

// byText names the groups.
func (g *grouping) byText() string {
	var names []string
	for _, d := range g.by {
		name := headOf(d)
		if d.Tag() == "" && d != report.ByKey {
			name = strings.ToLower(name[:1]) + name[1:]
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// fields returns the fields of a grouping, of usage or of refused requests.
func (g *grouping) fields(f *form, names *usageNames, refused bool) []Field {
	by, tag := "", ""
	if len(g.by) > 0 {
		last := g.by[len(g.by)-1]
		by, tag = string(last), last.Tag()
	} else if f.wrong["group_by"] == "" {
		by = byNothing
	}
	group := Field{Name: "group_by", Label: "Group by", Choices: groupChoices(g.all)}
	if refused {
		group.Choices = refusedChoices(g.all)
	}
	for i := range group.Choices {
		group.Choices[i].Chosen = group.Choices[i].Value == by
	}
	all := []Field{group}
	if !refused {
		all = append(all, Field{Name: "tag", Label: "Or by tag", Value: tag, Example: "project", Max: maxTagName})
	}
	all = append(all, Field{
		Name: "model", Label: "Model", Value: g.model, Example: "provider/model", Max: maxModelName,
	})
	if g.provider != "" {
		all = append(all, Field{Name: "provider", Label: "Provider", Value: g.provider, Max: maxModelName})
	}
	if g.user != "" {
		all = append(all, Field{Name: "user", Label: "End user", Value: g.user, Max: maxUserName})
	}
	if g.key != "" {
		all = append(all, Field{Name: "key", Label: "API key", Choices: []Choice{
			{Value: g.key, Label: names.text(report.ByKey, &g.key), Chosen: true}, {Value: "", Label: "All keys"},
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

// cachedOf returns the share of input tokens that were read from a cache.
func cachedOf(u *llm.Usage) string {
	cached := u[llm.CacheRead] + u[llm.CacheReadAudio]
	if in := u.InputTokens(); cached > 0 && in > 0 {
		return percentText(cached, in)
	}
	return none
}

// against compares an amount with that of the previous period.
func against(now, before llm.Money, length string) string {
	period := "the " + length + " before"
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

// noted joins two notes.
func noted(note, more string) string {
	if note == "" || more == "" {
		return note + more
	}
	return note + "; " + more
}

// unpricedNote reports that a sum lacks usage without a price.
func unpricedNote(attempts int64) string {
	if attempts <= 0 {
		return ""
	}
	return "no price: " + many(attempts, "attempt")
}

func spendTile(cost, uncertain llm.Money) Tile {
	t := exactly("Spend", amount(cost), dollars(cost))
	t.Note = withBound(t.Note, boundOf(cost, uncertain))
	return t
}

// exactly returns a tile with a short figure, and with all its digits below if they differ.
func exactly(label, short, whole string) Tile {
	if short == whole {
		whole = ""
	}
	return Tile{label, short, whole}
}

// groupValues returns the values of a dimension of groups.
func groupValues(groups []report.Use, at int) []*string {
	values := make([]*string, len(groups))
	for i := range groups {
		values[i] = groups[i].Group[at]
	}
	return values
}
