package account

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"weir/internal/audit"
	"weir/internal/charge"
	"weir/internal/llm"
	"weir/internal/pricing"
)

const (
	// maxListPrices is how many prices a price list has at most, and maxPriceLists how many lists an account has.
	maxListPrices = 1000
	maxPriceLists = 100
)

// PriceList is what an account is charged for requests that come from a moment on, until the next list holds.
type PriceList struct {
	Since  time.Time     `json:"since"` // UTC, whole microseconds
	Markup charge.Markup `json:"markup"`
	// Prices are the account's own, by "<provider>/<model>" or "<provider>/*", of which the exact name wins. Other
	// models have the markup.
	Prices map[string]pricing.PriceOverride `json:"prices,omitempty"`
}

// Check refuses a list that no account can have. The error is a *llm.Error with CodeInvalidRequest.
func (l *PriceList) Check() error {
	switch {
	case l.Markup < charge.MinMarkup || l.Markup > charge.MaxMarkup:
		return llm.Invalidf("markup_percent", "A markup is %s to %s percent; this one is %s.", charge.MinMarkup,
			charge.MaxMarkup, l.Markup)
	case len(l.Prices) > maxListPrices:
		return llm.Invalidf("prices", "A price list has at most %d prices; this one has %d. Use \"<provider>/*\" for "+
			"models with the same price.", maxListPrices, len(l.Prices))
	}
	for _, name := range slices.Sorted(maps.Keys(l.Prices)) {
		if _, err := l.Prices[name].ListPrice(name); err != nil {
			return llm.Invalidf("prices", "The price of %q is malformed: %v.", name, err)
		}
	}
	return nil
}

// SetPriceList has the account charged by a list from its moment on, which is now where it is zero. Lists that would
// hold from then or later go. The error is a *llm.Error with CodeInvalidRequest for a list that is none, or that would
// hold in the past.
func (s *Service) SetPriceList(ctx context.Context, by audit.Actor, nameOrID string, l PriceList) (Account, error) {
	now := s.now()
	l.Since = l.Since.UTC().Truncate(time.Microsecond)
	if l.Since.IsZero() {
		l.Since = now
	}
	if l.Since.Before(now) {
		return Account{}, llm.Invalidf("since", "A price list cannot hold in the past: it is %s now. Leave since out "+
			"for now, or name a later time.", now.Format(time.RFC3339))
	}
	if err := l.Check(); err != nil {
		return Account{}, err
	}
	return s.update(ctx, by, nameOrID, Update{PriceList: &l})
}

// WithPriceList are the price lists of an account, in the order of their moments, with a further one.
func (a *Account) WithPriceList(l *PriceList) []PriceList {
	lists := slices.DeleteFunc(slices.Clone(a.PriceLists), func(o PriceList) bool { return !o.Since.Before(l.Since) })
	lists = append(lists, *l)
	return lists[max(0, len(lists)-maxPriceLists):]
}

// PriceListAt is the list that holds at a moment; nil for none.
func (a *Account) PriceListAt(at time.Time) *PriceList {
	for i := len(a.PriceLists) - 1; i >= 0; i-- {
		if l := &a.PriceLists[i]; !at.Before(l.Since) {
			return l
		}
	}
	return nil
}

// listTerms is a price list with its prices read.
type listTerms struct {
	since  time.Time
	markup *charge.Terms // nil for the cost
	own    map[string]*charge.Terms
}

// termsOf reads the price lists of an account, the latest first.
func termsOf(a *Account) (all []listTerms) {
	for i := len(a.PriceLists) - 1; i >= 0; i-- {
		l := &a.PriceLists[i]
		t := listTerms{since: l.Since, own: make(map[string]*charge.Terms, len(l.Prices))}
		if l.Markup != 0 {
			t.markup = &charge.Terms{Markup: l.Markup}
		}
		for name, o := range l.Prices {
			if p, err := o.ListPrice(name); err == nil { // whoever read the account has checked it
				t.own[name] = &charge.Terms{Markup: l.Markup, Price: p}
			}
		}
		all = append(all, t)
	}
	return all
}

// Terms are what the caller's account is charged for a model, for a request that came at a moment; nil for what it costs.
func (p *Principal) Terms(provider, model string, came time.Time) *charge.Terms {
	if p == nil {
		return nil
	}
	return termsAt(p.terms, provider, model, came)
}

// TermsAt are what the account is charged for models at a moment.
func (a *Account) TermsAt(at time.Time) func(provider, model string) *charge.Terms {
	all := termsOf(a)
	return func(provider, model string) *charge.Terms { return termsAt(all, provider, model, at) }
}

func termsAt(all []listTerms, provider, model string, came time.Time) *charge.Terms {
	for i := range all {
		t := &all[i]
		if came.Before(t.since) {
			continue
		}
		if len(t.own) == 0 {
			return t.markup
		}
		if own := t.own[provider+"/"+model]; own != nil {
			return own
		}
		if own := t.own[provider+"/*"]; own != nil {
			return own
		}
		return t.markup
	}
	return nil
}

// Charged reports whether the caller's account has a price list, now or later: what its requests cost is not told to it.
func (p *Principal) Charged() bool { return p != nil && len(p.terms) > 0 }

// CheckPriceLists refuses price lists that cannot be read.
func CheckPriceLists(lists []PriceList) error {
	for i := range lists {
		if err := lists[i].Check(); err != nil {
			return fmt.Errorf("price list since %s: %w", lists[i].Since.Format(time.RFC3339), err)
		}
	}
	return nil
}
