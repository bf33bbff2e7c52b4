package dashboard

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/charge"
	"weir/internal/people"
	"weir/internal/pricing"
)

const (
	// listsShown bounds the price lists on the page of an account, newest first, and ownShown the prices of each.
	listsShown = 5
	ownShown   = 20
)

// chargePart shows an account's charges and the form that changes them.
type chargePart struct {
	Fields []Field
	Own    []Field        // the account's own prices; empty if they are too many for a form
	Lists  []priceListRow // newest first
	Left   int            // number of lists that are not shown
}

// priceListRow shows a price list.
type priceListRow struct {
	Since  time.Time
	Badge  Badge
	Markup string
	Own    []overrideRow
	Left   int // number of prices that are not shown
}

// setPriceList sets a markup and the account's own prices.
func (h *accountHandlers) setPriceList(r *http.Request, v *people.Visit, f *accountForms) (*form, error) {
	f.charge = sent(r)
	var l account.PriceList
	var err error
	percent := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(r.PostFormValue("markup_percent")), "%"))
	if l.Markup, err = charge.ParseMarkup(percent); err != nil {
		f.charge.mistake("markup_percent", "The markup must be a percentage from -100 to 10000 with at most two "+
			"decimals. "+
			"Enter one such as 15.")
	}
	at := h.site.now()
	if text := r.PostFormValue("since"); text != "" {
		if l.Since, err = time.Parse(time.DateOnly, text); err != nil {
			f.charge.mistake("since", "The date does not exist. Enter one such as 2027-01-31, or leave it empty "+
				"for now.")
		}
		at = l.Since
	}
	own, wrong := parseOwnPrices(r.PostFormValue(ownPricesField))
	if l.Prices = own; wrong != "" {
		f.charge.mistake(ownPricesField, wrong)
	}
	if f.charge.bad() {
		return f.charge, nil
	}
	if _, sent := r.PostForm[ownPricesField]; !sent { // they are too many for the form
		if before := v.Account.PriceListAt(at); before != nil {
			l.Prices = before.Prices
		}
	}
	_, err = h.admin.Accounts.SetPriceList(r.Context(), v.By, v.Account.ID, l)
	return f.charge, err
}

func chargePartOf(f *form, a *account.Account, now time.Time) chargePart {
	markup := ""
	inForce := a.PriceListAt(now)
	if inForce != nil {
		markup = inForce.Markup.String()
	}
	own := ""
	if inForce != nil {
		own = ownPricesText(inForce.Prices)
	}
	p := chargePart{Fields: []Field{
		f.field(Field{
			Name: "markup_percent", Label: "Markup in percent", Mode: "decimal", Example: "no price list", Short: true,
			Max: 10, Value: markup,
		}),
		f.field(Field{Name: "since", Label: "Since", Kind: "date", Optional: true, Short: true}),
	}}
	if len(own) <= maxOwnText {
		p.Own = []Field{f.field(Field{
			Name: ownPricesField, Label: "Own prices", Lines: 4, Optional: true, Value: own,
			Example: "openai/gpt-5-mini input $0.50, output $4",
			Hint: "One model per line, in US dollars per million tokens or per unit. The markup applies to other " +
				"models.",
		})}
	}
	for i := range slices.Backward(a.PriceLists) {
		if len(p.Lists) == listsShown {
			p.Left = i + 1
			break
		}
		l := &a.PriceLists[i]
		row := priceListRow{Since: l.Since, Markup: l.Markup.String(), Own: overrideRowsOf(l.Prices, ownShown)}
		row.Left = len(l.Prices) - len(row.Own)
		switch {
		case l.Since.After(now):
			row.Badge = Badge{"warn", "Later"}
		case l == inForce:
			row.Badge = Badge{"good", "In force"}
		default:
			row.Badge = Badge{"off", "Past"}
		}
		p.Lists = append(p.Lists, row)
	}
	return p
}

const (
	ownPricesField = "prices"
	maxOwnText     = 32 << 10 // bytes, half of a form
)

// parseOwnPrices parses prices in the format of ownPricesText. Wrong describes a mistake, or is empty.
func parseOwnPrices(text string) (prices map[string]pricing.PriceOverride, wrong string) {
	prices = map[string]pricing.PriceOverride{}
	for line := range strings.Lines(text) {
		name, rates, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" {
			continue
		}
		if prices[name] != nil {
			return nil, fmt.Sprintf("%.100q appears twice. Name each model once.", name)
		}
		price := pricing.PriceOverride{}
		for rate := range strings.SplitSeq(rates, ",") {
			words := strings.Fields(rate)
			if len(words) != 2 || price[words[0]] != "" {
				return nil, fmt.Sprintf("The prices of %.100q are malformed. Write them as in: input $0.50, "+
					"output $4.", name)
			}
			price[words[0]] = strings.TrimPrefix(words[1], "$")
		}
		prices[name] = price
	}
	return prices, ""
}

// ownPricesText formats prices, one model per line.
func ownPricesText(prices map[string]pricing.PriceOverride) string {
	var text strings.Builder
	for _, row := range overrideRowsOf(prices, len(prices)) {
		fmt.Fprintln(&text, row.Name, strings.Join(row.Rates, ", "))
	}
	return text.String()
}
