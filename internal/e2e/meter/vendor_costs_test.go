package meter_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/dialect"
	"weir/internal/dialect/explain"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
	"weir/internal/provider"
	"weir/internal/rawjson"
)

// vendorCase holds a vendor's reply, written from its documentation, and its cost by the vendor's own price page.
type vendorCase struct {
	Name, Vendor, Wire, Operation, Model string

	Endpoint string // the address of the request, if it names a region
	Region   string // in that of Bedrock
	Request  json.RawMessage
	At       string          // when it was served; empty for vendorDay
	Status   int             // of HTTP
	Reply    json.RawMessage // whole
	Seen     []struct{ URL, What, Date string }
	Want     struct {
		CostUSD  string   `json:"cost_usd"`
		AtMost   string   `json:"at_most_usd"` // the least that an upper bound has to be
		Unpriced []string // classes with an unknown price
	}
	AlsoAllowed []string `json:"also_allowed"` // costs that the vendor's pages support, too
}

// vendorDay is the day of the prices if a case names none.
const vendorDay = "2026-11-22T12:00:00Z"

// TestVendorCosts compares the meter with the vendors' own price pages: the cost of a reply is equal to the
// nano-dollar, or marked as uncertain. None is wrong without a mark.
func TestVendorCosts(t *testing.T) {
	t.Parallel()
	m := newVendorMeter(t)
	verdicts := map[string]int{}
	vendors := map[string]bool{}
	for _, c := range vendorCases(t) {
		verdict := m.judge(t, &c)
		verdicts[verdict]++
		vendors[c.Vendor] = true
		if verdict == silentlyWrong {
			t.Errorf("%s: %s", c.Name, verdict)
		}
	}
	if got := verdicts["equal"]; got < mostEqual {
		t.Errorf("%d cases are equal, want %d as before: a mark is no price", got, mostEqual)
	}
	t.Logf("%d vendors: %v", len(vendors), verdicts)
}

const (
	silentlyWrong = "silently wrong"
	mostEqual     = 255 // cases that were equal once
)

func vendorCases(t *testing.T) (all []vendorCase) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "vendor-costs.jsonl"))
	must.Do(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c vendorCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("%v: %s", err, lines.Bytes())
		}
		all = append(all, c)
	}
	return all
}

// vendorMeter holds the gateway's parts from a reply to its cost.
type vendorMeter struct {
	sources   map[string]string
	books     map[string]*pricing.Book // by region
	catalogue provider.Catalogue
}

func newVendorMeter(t *testing.T) *vendorMeter {
	t.Helper()
	catalogue := must.Get(provider.LoadCatalogue())(t)
	sources := map[string]string{}
	for _, e := range catalogue {
		if e.PriceSource != "" {
			sources[e.Name] = e.PriceSource
		}
	}
	return &vendorMeter{sources, map[string]*pricing.Book{}, catalogue}
}

// price returns the price of a case's model at its place and time.
func (m *vendorMeter) price(t *testing.T, c *vendorCase) llm.Price {
	t.Helper()
	region := ""
	if e := m.catalogue.Find(c.Vendor); e != nil {
		host := strings.ReplaceAll(e.BaseURL, "{region}", c.Region)
		o := provider.Options{RegionHost: e.RegionHost, BaseURL: cmp.Or(c.Endpoint, host)}
		region = o.Region()
	}
	if m.books[region] == nil {
		regions := map[string]string{}
		for i := range m.catalogue {
			regions[m.catalogue[i].Name] = region
		}
		book := must.Get(pricing.NewBook(pricing.Overrides{Sources: m.sources, Regions: regions}))(t)
		m.books[region] = book
	}
	at, err := time.Parse(time.RFC3339, cmp.Or(c.At, vendorDay))
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return m.books[region].Price(c.Vendor, c.Model, at)
}

// judge returns "equal", "marked", or silentlyWrong.
func (m *vendorMeter) judge(t *testing.T, c *vendorCase) string {
	t.Helper()
	want := append([]string{c.Want.CostUSD}, c.AlsoAllowed...)
	price := m.price(t, c)
	reply := &llm.Reply{Tier: llm.Refused(c.Wire)}
	switch {
	case c.Status == 200:
		reply = m.reply(t, c)
	case m.dialect(t, c).DecodeError(c.Reply).Code != explain.Policy || !price.Charges(reply.Tier):
		// An error before any output costs nothing, except for the charge that its price names.
		price = llm.Price{Version: "free", Rates: llm.Rates{llm.Requests: llm.Free}}
	}
	if reply == nil {
		return "marked: no usage"
	}
	reply.Usage[llm.Requests] = 1
	cost, unpriced := price.Cost(&reply.Usage, reply.Tier), price.Unpriced(&reply.Usage, reply.Tier)
	most, certain := price.AtMost(&reply.Usage, reply.Tier, time.Minute)
	switch {
	case unpriced != 0:
		return "marked: unpriced"
	case !certain && slices.Contains(want, cost.String()) && bounds(t, most, c.Want.AtMost):
		return "marked: estimated, with a bound"
	case !certain:
	case len(c.Want.Unpriced) == 0 && slices.Contains(want, cost.String()):
		return "equal"
	case price.Basis != llm.BasisModel && (c.Want.AtMost == "" || bounds(t, price.CostAtMost(&reply.Usage, reply.Tier), c.Want.AtMost)):
		return "marked: assumed"
	case reply.ProviderCost != nil && slices.Contains(want, reply.ProviderCost.String()):
		return "equal, by the provider's own figure"
	}
	t.Logf("%s: %s %q: got $%s of %v by %s, want %v", c.Name, c.Model, reply.Tier, cost, reply.Usage, price.Version, c.Want)
	return silentlyWrong
}

// bounds reports whether a bound is at least the required one.
func bounds(t *testing.T, most llm.Money, least string) bool {
	t.Helper()
	want, err := llm.ParseMoney(least)
	return err == nil && most >= want
}

// reply decodes a reply as the gateway does; nil for one without plausible usage.
func (m *vendorMeter) reply(t *testing.T, c *vendorCase) *llm.Reply {
	t.Helper()
	op := m.dialect(t, c).For(map[string]llm.Op{"chat": llm.OpChat, "embeddings": llm.OpEmbed, "images": llm.OpImage, "transcriptions": llm.OpTranscription}[c.Operation])
	if op == nil {
		t.Fatalf("%s: %s has no %q", c.Name, c.Wire, c.Operation)
	}
	quirks := llm.Quirks{}
	if e := m.catalogue.Speaking(c.Vendor, c.Wire); e != nil {
		quirks = e.Quirks
	}
	reply, err := op.DecodeReply(c.Reply, &quirks)
	if reply == nil || !reply.Reported {
		if err != nil && !strings.Contains(c.Name, "error") {
			t.Logf("%s: %v", c.Name, err)
		}
		return nil
	}
	head := c.head(t, op)
	price := m.price(t, c)
	reply.Tier = price.Served(quirks.Served(reply.Tier, head.Tier), head.Asked)
	return reply
}

// head scans the request; from a case with only one member, its service tier.
func (c *vendorCase) head(t *testing.T, op *dialect.Operation) (h llm.Head) {
	t.Helper()
	if c.Operation != "images" && rawjson.Get(c.Request, "model") == nil || c.Request == nil {
		h.Tier = rawjson.Text(rawjson.Get(c.Request, "service_tier"))
		return h
	}
	h, err := op.Scan(c.Request, nil)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return h
}

func (m *vendorMeter) dialect(t *testing.T, c *vendorCase) *dialect.Dialect {
	t.Helper()
	all := registrytest.All()
	i := slices.IndexFunc(all, func(d *dialect.Dialect) bool { return d.Name == c.Wire })
	if i < 0 {
		t.Fatalf("%s: no wire format %q", c.Name, c.Wire)
	}
	return all[i]
}
