package dashboard

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/charge"
	"weir/internal/people"
)

const (
	// listsShown is how many price lists the page of an account shows, the last ones, and ownShown how many prices
	// of each.
	listsShown = 5
	ownShown   = 20
)

// chargePart is what an account is charged, and the form that changes it.
type chargePart struct {
	Fields []Field
	Lists  []priceListRow // the latest first
	Left   int            // lists that are not shown
}

// priceListRow is a price list.
type priceListRow struct {
	Since  time.Time
	Badge  Badge
	Markup string
	Own    []overrideRow
	Left   int // prices that are not shown
}

// setPriceList sets a markup. The account's own prices stay as they are then.
func (h *accountHandlers) setPriceList(r *http.Request, v *people.Visit, f *accountForms) (*form, error) {
	f.charge = sent(r)
	var l account.PriceList
	var err error
	percent := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(r.PostFormValue("markup_percent")), "%"))
	if l.Markup, err = charge.ParseMarkup(percent); err != nil {
		f.charge.mistake("markup_percent", "The markup is not percent from -100 to 10000 with at most two decimals. "+
			"Enter one such as 15.")
	}
	at := h.site.now()
	if text := r.PostFormValue("since"); text != "" {
		if l.Since, err = time.Parse(time.DateOnly, text); err != nil {
			f.charge.mistake("since", "The date does not exist. Enter one such as 2027-01-31, or nothing for now.")
		}
		at = l.Since
	}
	if f.charge.bad() {
		return f.charge, nil
	}
	if before := v.Account.PriceListAt(at); before != nil {
		l.Prices = before.Prices
	}
	_, err = h.accounts.SetPriceList(r.Context(), v.By, v.Account.ID, l)
	return f.charge, err
}

func chargePartOf(f *form, a *account.Account, now time.Time) chargePart {
	markup := ""
	inForce := a.PriceListAt(now)
	if inForce != nil {
		markup = inForce.Markup.String()
	}
	p := chargePart{Fields: []Field{
		f.field(Field{
			Name: "markup_percent", Label: "Markup in percent", Mode: "decimal", Example: "no price list", Short: true,
			Max: 10, Value: markup,
		}),
		f.field(Field{Name: "since", Label: "Since", Kind: "date", Optional: true, Short: true}),
	}}
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
