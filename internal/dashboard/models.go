package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/pricing"
	"weir/internal/route"
)

// modelHandlers answer the page of models.
type modelHandlers struct {
	site         *site
	models       func() []route.Model
	defaultModel func() string
	turn         func(r *http.Request, account string, size int64, work func() error) error
}

// modelsPage lists the models that requests can go to.
type modelsPage struct {
	Filters  Filters
	Problems []Problem
	Rows     []modelRow
	Pager    Pager
	Count    int // that the filters select
	Default  string
	Empty    Empty
}

// modelRow is a model, or an alias.
type modelRow struct {
	Ident      string // of its name, to copy
	Name       string
	Targets    []aliasTarget
	Deprecated bool
	Context    string
	MaxOutput  string
	Unpriced   bool
	Prices     []Fact // of classes that have another price than input or output
	In, Out    string
	Tiers      []string
	Source     string
	Abilities  []ability
}

// aliasTarget is a target of an alias, with its figures: empty where nothing is known of it.
type aliasTarget struct{ Name, Figures string }

// ability is what a model can do, cannot, or nobody knows: yes, no, unknown.
type ability struct{ Name, Kind string }

const (
	// modelsShown is how many models a page has.
	modelsShown = 40
	// modelWork is how many bytes of a body are as much work to read as a model is to look at.
	modelWork = 128
)

func (h *modelHandlers) list(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	all := h.models()
	var p modelsPage
	err := h.turn(r, v.Account.ID, modelWork*int64(len(all)), func() error {
		p = modelsPageOf(accountPath(v.Account.Name)+"/models", asCharged(all, v, h.site.now()), r.URL.Query())
		return nil
	})
	if err != nil {
		return err
	}
	p.Default = h.defaultModel()
	status := 0
	if len(p.Problems) > 0 {
		status = http.StatusUnprocessableEntity
	}
	return h.site.show(w, r, v, page{
		name: "models", title: "Models", status: status, scripts: []string{"models.js"}, data: p,
	})
}

// asCharged are models with the prices that the account pays, where it has a price list; operators see what providers
// charge.
func asCharged(all []route.Model, v *people.Visit, now time.Time) []route.Model {
	if len(v.Account.PriceLists) == 0 || v.Operator() {
		return all
	}
	terms := v.Account.TermsAt(now)
	all = slices.Clone(all)
	for i := range all {
		all[i] = all[i].Charged(terms(all[i].Provider, all[i].Model()))
	}
	return all
}

// modelsPageOf is the page of those that the query selects.
func modelsPageOf(base string, all []route.Model, q url.Values) modelsPage {
	f := &form{values: q}
	offset := f.offset()
	if len(q.Get("q")) > maxModelName {
		f.mistake("q", "The name is longer than 256 bytes. Enter a shorter one.")
		q = url.Values{}
	}
	found := slices.DeleteFunc(slices.Clone(all), func(m route.Model) bool { return !modelMatches(&m, q) })
	p := modelsPage{Count: len(found), Filters: Filters{
		Action: base, Label: "Models to show", Reset: base,
		Fields: []Field{
			f.field(Field{Name: "q", Label: "Name", Example: "such as haiku", Max: maxModelName}),
			f.field(Field{Name: "provider", Label: "Provider", Choices: providerChoices(all)}),
			f.field(Field{Name: "can", Label: "Ability", Choices: abilityChoices()}),
		},
	}}
	p.Problems = f.problems()
	offset = min(offset, len(found))
	shown := found[offset:min(offset+modelsShown, len(found))]
	for i := range shown {
		row := modelRowOf("model-"+strconv.Itoa(i), &shown[i])
		for _, name := range shown[i].Targets {
			row.Targets = append(row.Targets, aliasTarget{name, targetFigures(all, name)})
		}
		p.Rows = append(p.Rows, row)
	}
	p.Pager = modelsPager(base, q, offset, len(shown), len(found))
	p.Empty = Empty{
		Icon: "models", Title: "No matching model", Text: "No model matches the filters.",
		Action: "All models", Href: base,
	}
	if len(all) == 0 {
		p.Empty = Empty{
			Icon: "models", Title: "No models",
			Text: "An operator adds providers in the configuration. Their models are listed here.",
		}
	}
	return p
}

// modelMatches reports whether each word of q is in the model's name, and it is
// of the provider, and can do what is asked.
func modelMatches(m *route.Model, q url.Values) bool {
	name := strings.ToLower(m.Name)
	for word := range strings.FieldsSeq(strings.ToLower(q.Get("q"))) {
		if !strings.Contains(name, word) {
			return false
		}
	}
	if p := q.Get("provider"); p != "" && p != m.Provider && (p != aliasesOnly || m.Provider != "") {
		return false
	}
	can := q.Get("can")
	return can == "" || slices.Contains(m.Abilities.List(), pricing.NamedAbility{Name: can, Ability: pricing.Yes})
}

// aliasesOnly selects aliases, where a provider is chosen: none has such a name.
const aliasesOnly = "*"

func providerChoices(all []route.Model) []Choice {
	var names []string
	for i := range all {
		names = append(names, all[i].Provider)
	}
	slices.Sort(names)
	choices := []Choice{{Value: "", Label: "All"}}
	for _, name := range slices.Compact(names) {
		c := Choice{Value: name, Label: name}
		if name == "" {
			c = Choice{Value: aliasesOnly, Label: "Aliases"}
		}
		choices = append(choices, c)
	}
	return choices
}

func abilityChoices() []Choice {
	choices := []Choice{{Value: "", Label: "Any"}}
	for _, name := range pricing.AbilityNames() {
		choices = append(choices, Choice{Value: name, Label: abilityText(name)})
	}
	return choices
}

// abilityText is an ability in a word or two.
func abilityText(name string) string {
	switch name {
	case "documents":
		return "PDF"
	case "structured":
		return "JSON schema"
	}
	return name
}

func modelRowOf(ident string, m *route.Model) modelRow {
	row := modelRow{Ident: ident, Name: m.Name}
	if m.Provider == "" {
		return row
	}
	row.Deprecated, row.Unpriced = m.Deprecated, !m.Price.Known()
	row.Context, row.MaxOutput = sizeText(m.Context), sizeText(m.MaxOutput)
	row.Source = pricing.SourceName(m.Source)
	if m.Checked != "" {
		row.Source += ", " + m.Checked
	}
	for _, a := range m.Abilities.List() {
		row.Abilities = append(row.Abilities, ability{abilityText(a.Name), a.Ability.String()})
	}
	if !row.Unpriced {
		row.price(&m.Price)
	}
	return row
}

// targetFigures are the context and the prices of a model that an alias names.
func targetFigures(all []route.Model, name string) string {
	i := slices.IndexFunc(all, func(m route.Model) bool { return m.Name == name })
	if i < 0 {
		return ""
	}
	row := modelRowOf("", &all[i])
	if row.Unpriced {
		return row.Context + " context, unpriced"
	}
	return row.Context + " context, " + row.In + " in, " + row.Out + " out"
}

// sizeText is a number of tokens; a question mark where nobody knows it.
func sizeText(n int64) string {
	if n <= 0 {
		return "?"
	}
	return compact(n)
}

// price fills in what the model costs, in dollars per million tokens.
func (row *modelRow) price(p *llm.Price) {
	r := &p.Rates
	row.In, row.Out = perMillion(r[llm.Input]), perMillion(r[llm.Output])
	for i, rate := range r {
		c := llm.Class(i)
		if rate.Known() && rate != usualRate(r, c) {
			row.Prices = append(row.Prices, Fact{className(c), rateText(c, rate)})
		}
	}
	for i := range p.Tiers {
		t := &p.Tiers[i]
		row.Tiers = append(row.Tiers, fmt.Sprintf("%s input, %s output above %s input tokens",
			perMillion(t.Rates[llm.Input]), perMillion(t.Rates[llm.Output]), compact(t.Above)))
	}
}

// usualRate is what a class costs that has no price of its own: that of input or
// of output, and nothing for what is no token.
func usualRate(r *llm.Rates, c llm.Class) llm.Rate {
	switch {
	case c.IsInput():
		return r[llm.Input]
	case c.IsOutput():
		return r[llm.Output]
	}
	return llm.Free
}

func modelsPager(base string, q url.Values, offset, shown, count int) (p Pager) {
	to := func(offset int) string {
		next := url.Values{}
		for _, name := range []string{"q", "provider", "can"} {
			if v := q.Get(name); v != "" {
				next.Set(name, v)
			}
		}
		if offset > 0 {
			next.Set("offset", strconv.Itoa(offset))
		}
		return withQuery(base, next)
	}
	if shown > 0 {
		p.Shown = fmt.Sprintf("%d to %d of %s", offset+1, offset+shown, number(int64(count)))
	}
	if offset > 0 {
		p.Previous = to(max(offset-modelsShown, 0))
	}
	if offset+shown < count {
		p.Next = to(offset + shown)
	}
	return p
}
