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

// modelHandlers serves the page of models.
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
	Count    int // number of models that match the filters
	Default  string
	Empty    Empty
}

// modelRow shows a model or an alias.
type modelRow struct {
	Ident      string // id of its name, for copying
	Name       string
	Targets    []aliasTarget
	Deprecated bool
	Context    string
	MaxOutput  string
	Unpriced   bool
	Prices     []Fact // of classes with a price other than that of input or output
	In, Out    string
	Tiers      []string
	Source     string
	Abilities  []ability
}

// aliasTarget shows a target of an alias and its figures, which are empty if unknown.
type aliasTarget struct{ Name, Figures string }

// ability is an ability of a model: yes, no or unknown.
type ability struct{ Name, Kind string }

const (
	// modelsShown is the number of models per page.
	modelsShown = 40
	// modelWork is the work of checking a model, in bytes of a body that take as long to read.
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

// asCharged returns models with the prices that the account pays, if it has a price list; operators see the purchase
// prices.
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

// modelsPageOf builds the page of the models that match the query.
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

// modelMatches reports whether a model matches the words, the provider and the ability of q.
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

// aliasesOnly selects aliases instead of a provider. No provider has such a name.
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

// abilityText names an ability in a word or two.
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
	if row.Source = pricing.SourceName(m.Source); row.Source == "operator" {
		row.Source = "price set by the operator"
	}
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

// targetFigures returns the context and the prices of an alias' target.
func targetFigures(all []route.Model, name string) string {
	i := slices.IndexFunc(all, func(m route.Model) bool { return m.Name == name })
	if i < 0 {
		return ""
	}
	row := modelRowOf("", &all[i])
	text := row.In + " in, " + row.Out + " out"
	if row.Unpriced {
		text = "unpriced"
	}
	if row.Context == "?" {
		return text
	}
	return row.Context + " context, " + text
}

// sizeText formats a number of tokens, or "?" if unknown.
func sizeText(n int64) string {
	if n <= 0 {
		return "?"
	}
	return compact(n)
}

// price adds the model's prices, in dollars per million tokens.
func (row *modelRow) price(p *llm.Price) {
	r := &p.Rates
	row.In, row.Out = perMillion(r[llm.Input]), perMillion(r[llm.Output])
	for i, rate := range r {
		c := llm.Class(i)
		if rate.Known() && rate != usualRate(r, c) {
			row.Prices = append(row.Prices, Fact{className(c, ""), rateText(c, rate)})
		}
	}
	for i := range p.Tiers {
		t := &p.Tiers[i]
		row.Tiers = append(row.Tiers, fmt.Sprintf("%s input, %s output above %s input tokens",
			perMillion(t.Rates[llm.Input]), perMillion(t.Rates[llm.Output]), compact(t.Above)))
	}
}

// usualRate returns the price of a class without its own price: that of input or output, and 0 for units other than
// tokens.
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
