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
	// maxListPrices is the maximum number of prices of a price list, and maxPriceLists the maximum number of lists of
	// an account.
	maxListPrices = 1000
	maxPriceLists = 100
)

// PriceList determines an account's charges for requests that arrive from a time on, until the next list applies.
type PriceList struct {
	Since  time.Time     `json:"since"` // UTC, whole microseconds
	Markup charge.Markup `json:"markup"`
	// Prices are the account's own prices, by "<provider>/<model>" or "<provider>/*"; the exact name takes precedence.
	// Other models are charged by the markup.
	Prices map[string]pricing.PriceOverride `json:"prices,omitempty"`
}

// Check returns an error for a list that no account can have. The error is a *llm.Error with CodeInvalidRequest.
func (l *PriceList) Check() error {
	switch {
	case l.Markup < charge.MinMarkup || l.Markup > charge.MaxMarkup:
		return llm.Invalidf("markup_percent", "A markup must be %s to %s percent; this one is %s.", charge.MinMarkup,
			charge.MaxMarkup, l.Markup)
	case len(l.Prices) > maxListPrices:
		return llm.Invalidf("prices", "A price list can have at most %d prices; this one has %d. Use \"<provider>/*\" "+
			"for models with the same price.", maxListPrices, len(l.Prices))
	}
	for _, name := range slices.Sorted(maps.Keys(l.Prices)) {
		if _, err := l.Prices[name].ListPrice(name); err != nil {
			return llm.Invalidf("prices", "The price of %q is malformed: %v.", name, err)
		}
	}
	return nil
}

// SetPriceList charges the account by the list from l.Since on, or from now if that is zero. It removes the lists
// that begin then or later. The error is a *llm.Error with CodeInvalidRequest for an invalid list, or one that
// would begin in the past.
func (s *accounts) SetPriceList(ctx context.Context, by audit.Actor, nameOrID string, l PriceList) (Account, error) {
	now := s.now()
	l.Since = l.Since.UTC().Truncate(time.Microsecond)
	if l.Since.IsZero() {
		l.Since = now
	}
	if l.Since.Before(now) {
		return Account{}, llm.Invalidf("since", "A price list cannot apply in the past: it is %s now. Leave since out "+
			"for now, or set a later time.", now.Format(time.RFC3339))
	}
	if err := l.Check(); err != nil {
		return Account{}, err
	}
	return s.update(ctx, by, nameOrID, Update{PriceList: &l})
}

// WithPriceList returns the account's price lists with l, ordered by start time.
func (a *Account) WithPriceList(l *PriceList) []PriceList {
	lists := slices.DeleteFunc(slices.Clone(a.PriceLists), func(o PriceList) bool { return !o.Since.Before(l.Since) })
	lists = append(lists, *l)
	return lists[max(0, len(lists)-maxPriceLists):]
}

// PriceListAt returns the list that applies at a time; nil for none.
func (a *Account) PriceListAt(at time.Time) *PriceList {
	for i := len(a.PriceLists) - 1; i >= 0; i-- {
		if l := &a.PriceLists[i]; !at.Before(l.Since) {
			return l
		}
	}
	return nil
}

// listTerms is a price list with parsed prices.
type listTerms struct {
	since  time.Time
	markup *charge.Terms // nil to charge the cost
	own    map[string]*charge.Terms
}

// termsOf parses the price lists of an account, latest first.
func termsOf(a *Account) (all []listTerms) {
	for i := len(a.PriceLists) - 1; i >= 0; i-- {
		l := &a.PriceLists[i]
		t := listTerms{since: l.Since, own: make(map[string]*charge.Terms, len(l.Prices))}
		if l.Markup != 0 {
			t.markup = &charge.Terms{Markup: l.Markup}
		}
		for name, o := range l.Prices {
			if p, err := o.ListPrice(name); err == nil { // the account's reader has already checked it
				t.own[name] = &charge.Terms{Markup: l.Markup, Price: p}
			}
		}
		all = append(all, t)
	}
	return all
}

// Terms returns the terms that the caller's account is charged by for a model, for a request that arrived at a time;
// nil to charge the cost.
func (p *Principal) Terms(provider, model string, came time.Time) *charge.Terms {
	if p == nil {
		return nil
	}
	return termsAt(p.terms, provider, model, came)
}

// TermsAt returns the terms that the account is charged by for models at a time.
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

// Charged reports whether the caller's account has a price list, now or later. The cost of its requests is then hidden
// from it.
func (p *Principal) Charged() bool { return p != nil && len(p.terms) > 0 }

// CheckPriceLists returns an error for price lists that cannot be parsed.
func CheckPriceLists(lists []PriceList) error {
	for i := range lists {
		if err := lists[i].Check(); err != nil {
			return fmt.Errorf("price list since %s: %w", lists[i].Since.Format(time.RFC3339), err)
		}
	}
	return nil
}
