package pricing_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
)

// pageData holds a line of testdata/vendor-pages.jsonl: the prices of a model on its vendor's own page, or the note
// that the page was unavailable.
type pageData struct {
	Provider string `json:"provider"` // as in a configuration
	Model    string `json:"model"`
	Page     string `json:"page"` // address
	Date     string `json:"date"` // the date of the page, YYYY-MM-DD, or "undated copy"
	Read     string `json:"read"` // how its text was had
	At       string `json:"at"`   // RFC 3339, if the price depends on the hour
	// Prices are decimals of US dollars per million tokens by class, those that were seen.
	Prices map[string]string `json:"prices"`
	Above  []struct {
		Tokens int64             `json:"tokens"`
		Prices map[string]string `json:"prices"`
	} `json:"above"` // for requests of more input than that
	Part        bool   `json:"part"` // whether there are prices for more input was not seen
	Note        string `json:"note"`
	Unavailable string `json:"unavailable"` // why there are no prices
	Differs     string `json:"differs"`     // why the book has another price
}

// pageDay is the day of the prices of an undated page.
const pageDay = "2026-11-22"

// pageModels is the least number of frequently used models that are compared with vendors' pages.
const pageModels = 60

// TestVendorPages checks that the most used models cost the same as on their vendors' own pages on the day of the page,
// or that the line has the reason for the difference.
func TestVendorPages(t *testing.T) {
	t.Parallel()
	book := newBook(t, pricing.Overrides{})
	seen, gone, differing := map[string]bool{}, 0, 0
	for _, p := range vendorPages(t) {
		checkPage(t, &p)
		if p.Unavailable != "" {
			gone++
			continue
		}
		seen[p.Provider+"/"+p.Model] = true
		price := book.Price(p.Provider, p.Model, p.moment(t))
		diff := p.compare(t, &price)
		switch {
		case diff != "" && p.Differs == "":
			t.Errorf("%s: %s", &p, diff)
		case diff == "" && p.Differs != "":
			t.Errorf("%s: the book has the page's price: delete \"differs\"", &p)
		case diff != "":
			differing++
		}
	}
	if len(seen) < pageModels {
		t.Errorf("got %d models with a page, want %d at least", len(seen), pageModels)
	}
	t.Logf("%d models with a page, %d lines differ, %d pages could not be had", len(seen), differing, gone)
}

func vendorPages(t *testing.T) (all []pageData) {
	t.Helper()
	b, err := os.ReadFile("testdata/vendor-pages.jsonl")
	must.Do(t, err)
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		var p pageData
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&p); err != nil {
			t.Fatalf("%v: %s", err, lines.Bytes())
		}
		all = append(all, p)
	}
	return all
}

func (p *pageData) String() string {
	return fmt.Sprintf("%s/%s (%s, %s)", p.Provider, p.Model, p.Page, cmp.Or(p.At, p.Date))
}

// checkPage checks the form of a line: it has prices with a page and a day, or a reason.
func checkPage(t *testing.T, p *pageData) {
	t.Helper()
	if u, err := url.Parse(p.Page); err != nil || u.Scheme != "https" || u.Host == "" || p.Provider == "" || p.Model == "" {
		t.Errorf("%s: want a provider, a model and the address of a page", p)
	}
	_, err := time.Parse(time.DateOnly, p.Date)
	dated := (err == nil || p.Date == "undated copy") && p.Read != ""
	if p.Unavailable != "" {
		if dated || len(p.Prices)+len(p.Above) > 0 {
			t.Errorf("%s: want no prices of a page that could not be had", p)
		}
		return
	}
	if !dated || p.Prices["input"] == "" {
		t.Errorf("%s: want a day or \"undated copy\", how the page was read, and a price of input", p)
	}
}

// moment returns the time at which the line's prices were valid.
func (p *pageData) moment(t *testing.T) time.Time {
	t.Helper()
	day := p.Date
	if day == "undated copy" {
		day = pageDay
	}
	return moment(t, cmp.Or(p.At, day+"T12:00:00Z"))
}

// compare describes the differences in the classes that the page names: the page's price first. Edges that differ by
// one token are equal, because vendors' pages leave the exact one open.
func (p *pageData) compare(t *testing.T, price *llm.Price) string {
	t.Helper()
	if !price.Known() {
		return "the book has no price"
	}
	diffs := ratesDiffer(t, p.Prices, &price.Rates)
	if more := len(price.Tiers); len(p.Above) > more || !p.Part && len(p.Above) < more {
		diffs = append(diffs, fmt.Sprintf("%d prices for more input, not %d", len(p.Above), more))
		return strings.Join(diffs, "; ")
	}
	for i, a := range p.Above {
		if above := price.Tiers[i].Above; (above+1)/10*10 != (a.Tokens+1)/10*10 {
			diffs = append(diffs, fmt.Sprintf("above %d, not %d", a.Tokens, above))
		}
		for _, d := range ratesDiffer(t, a.Prices, &price.Tiers[i].Rates) {
			diffs = append(diffs, fmt.Sprintf("above %d: %s", a.Tokens, d))
		}
	}
	return strings.Join(diffs, "; ")
}

func ratesDiffer(t *testing.T, page map[string]string, rates *llm.Rates) (diffs []string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(page)) {
		class, ok := llm.ParseClass(name)
		if !ok || int(class) >= llm.NumTokens {
			t.Fatalf("%q is not a class of tokens", name)
		}
		want := new(big.Rat).Mul(decimal(t, page[name]), big.NewRat(1_000_000, 1))
		got := rates[class]
		if !got.Known() || want.Cmp(new(big.Rat).SetInt64(got.Pico())) != 0 {
			diffs = append(diffs, fmt.Sprintf("%s %s, not %s", name, page[name], shownRate(got)))
		}
	}
	return diffs
}

func shownRate(r llm.Rate) string {
	if !r.Known() {
		return "unknown"
	}
	text := big.NewRat(r.Pico(), 1_000_000).FloatString(6)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// TestComparePage is the negative control of the comparison.
func TestComparePage(t *testing.T) {
	t.Parallel()
	known := llm.Price{Version: "v"}
	known.Rates[llm.Input], known.Rates[llm.Output] = 2_000_000, 10_000_000
	tiered := known
	tiered.Tiers = []llm.Tier{{Above: 271_999, Rates: llm.Rates{llm.Input: 4_000_000}}}
	for _, tt := range []struct {
		line  string
		price llm.Price
		want  string
	}{
		{`{"prices":{"input":"2.00","output":"10"}}`, known, ""},
		{`{"prices":{"input":"2"}}`, known, ""},
		{`{"prices":{"input":"2"}}`, llm.Price{}, "the book has no price"},
		{`{"prices":{"input":"2.5"}}`, known, "input 2.5, not 2"},
		{`{"prices":{"input":"2"},"above":[{"tokens":1000,"prices":{"input":"4"}}],"part":true}`, known, "1 prices for more input, not 0"},
		{`{"prices":{"input":"2","cache_read":"0"}}`, known, "cache_read 0, not unknown"},
		{`{"prices":{"input":"2"}}`, tiered, "0 prices for more input, not 1"},
		{`{"prices":{"input":"2"},"part":true}`, tiered, ""},
		{`{"prices":{"input":"2"},"above":[{"tokens":272000,"prices":{"input":"4"}}]}`, tiered, ""},
		{
			`{"prices":{"input":"2"},"above":[{"tokens":200000,"prices":{"input":"3"}}]}`, tiered,
			"above 200000, not 271999; above 200000: input 3, not 4",
		},
	} {
		var p pageData
		must.Do(t, json.Unmarshal([]byte(tt.line), &p))
		if got := p.compare(t, &tt.price); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.line, got, tt.want)
		}
	}
}
