package dashboard_test

import (
	"net/http"
	"net/url"
	"testing"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/pricing"
)

// TestPriceListOfOperators sets a markup, which preserves the account's own prices if the form has none, and own
// prices.
func TestPriceListOfOperators(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	const page = "/operator/accounts/acme"
	s.come("ada", people.Owner)
	if got := s.send(t, "POST", page+"/prices/set", url.Values{"markup_percent": {"1"}}, nil); got.status != http.StatusForbidden {
		t.Errorf("an owner sets a price list: got %d, want 403", got.status)
	}
	s.come("olga", "")
	for markup, since := range map[string]string{"much": "", "": "", "1.234": "", "10001": "", "-101": ""} {
		s.refused(t, page+"/prices/set", url.Values{"markup_percent": {markup}, "since": {since}}, "markup_percent")
	}
	for _, since := range []string{"soon", "2026-11-21", "2026-02-30"} { // today began in the past
		s.refused(t, page+"/prices/set", url.Values{"markup_percent": {"5"}, "since": {since}}, "since")
	}
	if lists := s.account(t, "acme").PriceLists; len(lists) != 0 {
		t.Fatalf("after the refused forms: got %+v, want no list", lists)
	}
	own := map[string]pricing.PriceOverride{"house/small": {"input": "0.5"}}
	must.Get(s.accounts.SetPriceList(t.Context(), audit.Gateway(), "acme", account.PriceList{Prices: own}))(t)
	for _, wrong := range []string{"house/small", "house/small input", "house/small input 1 2", "house/small input $1, input $2", "a/b input 1\na/b input 1", "a/b nothing 1", "a/b input much"} {
		s.refused(t, page+"/prices/set", url.Values{"markup_percent": {"5"}, "prices": {wrong}}, "prices")
	}
	s.see(t, page, ">house/small input $0.5\n</textarea>")
	s.do(t, page+"/prices/set", url.Values{"markup_percent": {"1"}, "since": {"2026-12-05"}, "prices": {"\r\n house/*  input $1,output 2 \r\nhouse/small input 3"}}, page+"?done=price-list-set")
	must.Equal(t, s.account(t, "acme").PriceLists[1].Prices, map[string]pricing.PriceOverride{"house/*": {"input": "1", "output": "2"}, "house/small": {"input": "3"}}, "prices of the form")
	s.do(t, page+"/prices/set", url.Values{"markup_percent": {" 15.5 % "}, "since": {"2026-12-01"}}, page+"?done=price-list-set")
	lists := s.account(t, "acme").PriceLists
	if len(lists) != 2 || lists[1].Markup.String() != "15.5" || lists[1].Since.Format("2006-01-02T15:04") != "2026-12-01T00:00" {
		t.Fatalf("got %+v, want a list from December on", lists)
	}
	must.Equal(t, lists[1].Prices, own, "the account's own prices")
	s.see(t, page, "15.5 %", "house/<wbr>small", "input $0.5", "In force", "Later")
	s.do(t, page+"/prices/set", url.Values{"markup_percent": {"-5"}}, page+"?done=price-list-set")
	if lists = s.account(t, "acme").PriceLists; len(lists) != 1 || lists[0].Markup.String() != "-5" {
		t.Errorf("from now on: got %+v, want that list alone", lists)
	}
}
