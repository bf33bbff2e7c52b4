package dashboard

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"weir/internal/admin"
	"weir/internal/people"
	"weir/internal/report"
	"weir/internal/route"
)

// priceHandlers serves the page of prices.
type priceHandlers struct {
	site         *site
	admin        *admin.Admin
	installation *Installation
}

// pricesPage shows the prices of models, and the models without a price.
type pricesPage struct {
	Sources   PriceSources
	Unpriced  []unpricedRow
	Yaml      Code
	Filters   Filters
	Sought    bool
	Models    []priceRow
	Shown     string
	Overrides []overrideRow
}

// unpricedRow shows a model that was used without a price.
type unpricedRow struct {
	report.UnpricedModel
	Since bool // whether it has a price now
}

// priceRow shows the prices of a model, in US dollars per million tokens.
type priceRow struct {
	Name          string
	Badge         *Badge // nil if there is nothing to report
	Input, Output string
	Others        []string // classes with other prices
	Source        string
	Checked       string
}

// overrideRow shows the operator's own prices of a model.
type overrideRow struct {
	Name  string
	Rates []string
}

// unpricedDays is the number of days in which models without a price are searched.
const unpricedDays = 30

// mostUnpriced bounds the models that are read, because some may have a price now.
const mostUnpriced = 10 * most

func (h *priceHandlers) show(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	now := h.site.now().UTC()
	unpriced, err := h.admin.Reports.Unpriced(r.Context(), report.UnpricedQuery{
		From: now.AddDate(0, 0, 1-unpricedDays).Format(time.DateOnly), To: now.Format(time.DateOnly),
		Limit: mostUnpriced,
	})
	if err != nil {
		return err
	}
	sought := strings.TrimSpace(r.URL.Query().Get("q"))
	p := pricesPageOf(h.installation.PriceSources(), h.installation.Models(), sought)
	if m, ok := h.installation.Model(sought); ok && !slices.ContainsFunc(p.Models, func(x priceRow) bool {
		return x.Name == m.Name
	}) {
		p.Models = slices.Insert(p.Models, 0, priceRowOf(&m))
	}
	var without []string
	for _, u := range unpriced {
		m, ok := h.installation.Model(u.Model)
		row := unpricedRow{UnpricedModel: u, Since: ok && m.Price.Known()}
		if p.Unpriced = append(p.Unpriced, row); !row.Since {
			without = append(without, u.Model)
		}
	}
	p.Unpriced = p.Unpriced[:min(len(p.Unpriced), most)]
	p.Yaml = Code{
		Ident: "yaml", Label: "Prices to fill in, for weir.yaml", Text: yamlOf(without[:min(len(without), most)]),
	}
	return h.site.show(w, r, v, page{name: "prices", title: "Prices", data: p})
}

func pricesPageOf(from PriceSources, all []route.Model, sought string) pricesPage {
	p := pricesPage{Sources: from, Sought: sought != "", Filters: searchOf("/operator/prices", "Search models", "Model",
		sought)}
	found := int64(0)
	for i := range all {
		if m := &all[i]; p.Sought && m.Provider != "" && matches(sought, m.Name) {
			if found++; found <= most {
				p.Models = append(p.Models, priceRowOf(m))
			}
		}
	}
	p.Shown = shownOf(found, most, "models, by name. Search for others.")
	p.Overrides = overrideRowsOf(from.Overrides, len(from.Overrides))
	return p
}

// ratesInOrder returns the classes of a price: input, output, then the others by name.
func ratesInOrder(price map[string]string) []string {
	all := []string{"input", "output"}
	for _, class := range slices.Sorted(maps.Keys(price)) {
		if !slices.Contains(all, class) {
			all = append(all, class)
		}
	}
	return slices.DeleteFunc(all, func(class string) bool { return price[class] == "" })
}

// overrideRowsOf returns at most that many prices, by the names of their models.
func overrideRowsOf[P ~map[string]string](prices map[string]P, most int) (rows []overrideRow) {
	for _, name := range slices.Sorted(maps.Keys(prices)) {
		if len(rows) == most {
			break
		}
		row := overrideRow{Name: name}
		for _, class := range ratesInOrder(prices[name]) {
			row.Rates = append(row.Rates, strings.ReplaceAll(class, "_", " ")+" $"+prices[name][class])
		}
		rows = append(rows, row)
	}
	return rows
}

func priceRowOf(m *route.Model) priceRow {
	v := m.View()
	row := priceRow{Name: m.Name, Source: v.Source, Checked: v.Checked}
	switch {
	case v.Unpriced:
		row.Badge = &Badge{"warn", "No price"}
		return row
	case v.Deprecated:
		row.Badge = &Badge{"off", "Deprecated"}
	}
	row.Input, row.Output = v.Prices["input"], v.Prices["output"]
	for _, class := range slices.Sorted(maps.Keys(v.Prices)) {
		if rate := v.Prices[class]; class != "input" && class != "output" && rate != row.Input && rate != row.Output {
			row.Others = append(row.Others, class+" $"+rate)
		}
	}
	if n := len(v.PriceTiers); n > 0 {
		row.Others = append(row.Others, "higher prices above "+number(v.PriceTiers[0].Above)+" tokens")
	}
	return row
}

// yamlOf returns configuration for models without a price. It writes names in JSON's double quotes, which YAML 1.2
// reads too, because the names are from clients.
func yamlOf(models []string) string {
	if len(models) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("prices: # US dollars per million tokens; replace each ? by the price of the provider\n")
	for _, name := range models {
		b.WriteString("  " + quote(name) + `: {input: "?", output: "?"}` + "\n")
	}
	return b.String()
}

// quote writes a text in JSON's double quotes.
func quote(text string) string {
	var b strings.Builder
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	_ = lines.Encode(text) // encoding a string cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}
