package pricing

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
)

func supplementEntries(t *testing.T) []*addition {
	t.Helper()
	byVendor := must.Get(readSupplement())(t).entries
	var all []*addition
	for _, id := range slices.Sorted(maps.Keys(byVendor)) {
		all = append(all, byVendor[id]...)
	}
	return all
}

func (a *addition) String() string {
	return fmt.Sprintf("%s %v %s (%s)", a.Provider, a.Models.ids, a.Mode, a.Source)
}

// TestSupplementIsWhole checks that every entry has its source, is valid, and has one effect.
func TestSupplementIsWhole(t *testing.T) {
	t.Parallel()
	for _, a := range supplementEntries(t) {
		if u, err := url.Parse(a.Source); err != nil || u.Scheme != "https" || u.Host == "" {
			t.Errorf("%s: got source %q, want an address", a, a.Source)
		}
		if !isDate(a.Seen) && a.Seen != "undated copy" {
			t.Errorf("%s: seen %q, want YYYY-MM-DD or \"undated copy\"", a, a.Seen)
		}
		if a.Note == "" {
			t.Errorf("%s: got no note", a)
		}
		said := 0
		for _, is := range []bool{a.Rates != nil, a.Times != "", a.Fills != nil, a.Free, a.Gone} {
			if is {
				said++
			}
		}
		if said == 0 && (a.Assumed || a.Until != nil) {
			said++ // the price that others provide
		}
		if a.Ceiling != "" && !a.Assumed && a.Until == nil || a.Assumed && a.Until != nil || a.Until != nil && a.Mode != "" {
			t.Errorf("%s: a ceiling is of a price that is assumed, always or after a day, and in no mode", a)
		}
		if said != 1 || a.Free && a.Adds == nil || a.Times != "" && (a.Mode == "") == (a.Region == "") {
			t.Errorf("%s: want one of rates, times (of a mode or a region), fills, gone and free (of a model added)", a)
		}
		if a.Region != "" && !slices.Contains(append(regions, "*"), a.Region) {
			t.Errorf("%s: got region %q, want one of those that the test compares", a, a.Region)
		}
		if a.Mode != llm.ModeName(a.Mode) {
			t.Errorf("%s: got mode %q, want %q", a, a.Mode, llm.ModeName(a.Mode))
		}
		if a.Context < 0 || a.MaxOutput < 0 || a.Adds == nil && (a.Context != 0 || a.MaxOutput != 0) {
			t.Errorf("%s: context and max_output are numbers of tokens, of a model added", a)
		}
		if a.Adds != nil && (len(a.Models.ids) != 1 || a.Mode != "" || a.Since != nil) {
			t.Errorf("%s: an entry that adds a model has one id, no mode and no day", a)
		}
		checkSupplementValues(t, a)
	}
}

func checkSupplementValues(t *testing.T, a *addition) {
	t.Helper()
	if a.Adds != nil {
		checkRule(t, a.String(), a.Adds)
		if !a.Adds.matches(fold(a.Models.ids[0])) {
			t.Errorf("%s: the rule does not match the id", a)
		}
	}
	if a.Models.rule != nil {
		checkRule(t, a.String(), a.Models.rule)
	}
	if a.Times != "" {
		times, err := pico(a.Times, picoPerUSD/thousand)
		text := strings.TrimRight(fmt.Sprintf("%d.%03d", times/1000, times%1000), "0")
		if err != nil || times == 0 || strings.TrimSuffix(text, ".") != a.Times {
			t.Errorf("%s: got times %q, want a decimal above 0 with three places at most", a, a.Times)
		}
	}
	for to, from := range a.Fills {
		_, known := llm.ParseClass(to)
		if _, ok := llm.ParseClass(from); !ok || !known || to == from {
			t.Errorf("%s: fills %s by %s: want two classes", a, to, from)
		}
	}
	if a.Rates == nil {
		return
	}
	amounts, err := readAmounts(a.Rates)
	for key, v := range amounts {
		if _, known := units[key]; v.Base == "" && known {
			amounts[key] = amount{Base: "0"} // null
		}
	}
	if _, ok, other := flatten(amounts); err != nil || other != nil || !ok {
		t.Errorf("%s: rates %s: got %v, %v", a, a.Rates, err, other)
	}
}

// TestSupplementRepeatsNoData checks that no entry repeats the data: it is about models that the data has, or
// adds one, and changes the price of at least one. So "make prices" shows the entries to be deleted.
func TestSupplementRepeatsNoData(t *testing.T) {
	t.Parallel()
	all := supplementEntries(t)
	s := must.Get(readSupplement())(t)
	for i, a := range all {
		v, err := s.vendor(a.Provider)
		if err != nil {
			t.Errorf("%s: the imported data has no such vendor: if it is new, its id goes into \"vendors\" of "+
				"data/supplement.json; see CONTRIBUTING.md, \"Adding a provider\"", a)
			continue
		}
		var same []*addition
		for j, other := range all {
			if j != i && other.Provider == a.Provider {
				same = append(same, other)
			}
		}
		if a.Adds != nil {
			if m, exact := v.find(fold(a.Models.ids[0])); m != nil && exact && m.ID == a.Models.ids[0] {
				t.Errorf("%s: the data has the model by now: delete the entry, or have it change the model", a)
			}
			continue
		}
		with, without := vendorWith(t, a.Provider, append(same, a)), vendorWith(t, a.Provider, same)
		for _, id := range a.Models.ids {
			if !slices.ContainsFunc(with.Models, func(m model) bool { return m.ID == id }) {
				t.Errorf("%s: no model %q", a, id)
			} else if !differs(with, without, func(other string) bool { return other == id }) {
				t.Errorf("%s: the data now has the same for %s: delete it", a, id)
			}
		}
		if a.Gone && a.Mode != "" {
			continue // it is about models of another seller's list
		}
		if !differs(with, without, a.Models.have) && !changesSold(t, v, a) {
			t.Errorf("%s: it changes no price", a)
		}
	}
}

// TestSupplementAddsVendorsThatTheDataLacks checks that the imported data lacks each vendor of the supplement, and that
// the vendor has models.
func TestSupplementAddsVendorsThatTheDataLacks(t *testing.T) {
	t.Parallel()
	s, x := must.Get(readSupplement())(t), must.Get(readIndex(priceIndex))(t)
	for _, id := range s.vendors {
		if _, ok := x.Vendors[id]; ok {
			t.Errorf("%s: the imported data has it by now: delete it from \"vendors\" of data/supplement.json", id)
		}
		if !slices.ContainsFunc(s.entries[id], func(a *addition) bool { return a.Adds != nil }) {
			t.Errorf("%s: got no model: data/supplement.json needs an entry of this provider that \"adds\" one", id)
		}
	}
}

// TestVendorOfTheSupplement checks that a vendor of the supplement is like the others: its models are listed, with
// their prices, sizes, pages and days.
func TestVendorOfTheSupplement(t *testing.T) {
	t.Parallel()
	const page = "https://acme.example/pricing"
	s := must.Get(parseSupplement([]byte(`{"vendors": ["acme"], "entries": [
		{"provider": "acme", "models": ["anvil-mini"], "adds": {"equals": "anvil-mini"}, "context": 128000, "max_output": 8192,
		 "rates": {"input_mtok": "0.2", "output_mtok": "0.8"}, "source": "` + page + `", "seen": "2026-11-20", "note": "0.20 / 0.80."},
		{"provider": "acme", "models": ["anvil-free"], "adds": {"equals": "anvil-free"}, "free": true,
		 "source": "` + page + `#free", "seen": "undated copy", "note": "Free."},
		{"provider": "acme", "models": {"starts_with": "anvil-mini"}, "rates": {"web_searches_kcount": "5"},
		 "source": "` + page + `", "seen": "2026-11-20", "note": "Search 5 per thousand."}]}`)))(t)
	b := must.Get(newBook(Overrides{Sources: map[string]string{"house": "acme"}}, s))(t)
	used := llm.Usage{llm.Input: 1_000_000, llm.Output: 1_000_000, llm.Searches: 1000}
	for _, provider := range []string{"acme", "house"} {
		info, known := b.Model(provider, "anvil-mini")
		want := ModelInfo{ID: "anvil-mini", Context: 128_000, MaxOutput: 8192, Source: page, Checked: "2026-11-20"}
		if !known || info != want {
			t.Errorf("%s/anvil-mini: got %+v, known %v, want %+v", provider, info, known, want)
		}
		price := b.Price(provider, "anvil-mini", time.Now())
		if got := price.Cost(&used, "").String(); got != "6" || !strings.HasPrefix(price.Version, "supplement/acme/anvil-mini#") {
			t.Errorf("%s/anvil-mini: got a cost of %s at %s, want 6 at one of the supplement", provider, got, price.Version)
		}
		if price := b.Price(provider, "anvil-free", time.Now()); !price.Known() {
			t.Errorf("%s/anvil-free: got no price, want it free", provider)
		}
		if got, want := b.URLs(provider), []string{page, page + "#free"}; !slices.Equal(got, want) {
			t.Errorf("%s: got the pages %q, want %q", provider, got, want)
		}
		if got := len(b.Models(provider, time.Now())); got != 2 {
			t.Errorf("%s: got %d models, want 2", provider, got)
		}
	}
	if _, known := b.Model("acme", "hammer"); known {
		t.Error("acme/hammer: got it known, want it unknown")
	}
	s.vendors = append(s.vendors, "openai") // as once the import has a vendor of the supplement
	if v, err := s.vendor("openai"); err != nil || len(v.Models) == 0 {
		t.Errorf("openai: got %+v, %v, want the models of the imported data", v, err)
	}
}

func vendorWith(t *testing.T, id string, entries []*addition) *vendor {
	t.Helper()
	v := must.Get(must.Get(readSupplement())(t).vendor(id))(t)
	v.supplement(entries)
	return v
}

// changesSold reports whether the entry changes the price of a model that the vendor sells from another one's list.
func changesSold(t *testing.T, seller *vendor, a *addition) bool {
	t.Helper()
	return slices.ContainsFunc(seller.Fallback, func(id string) bool {
		v := vendorWith(t, id, nil)
		w := vendor{Models: slices.Clone(v.Models)}
		for i := range w.Models {
			w.Models[i] = *w.Models[i].soldBy([]*addition{a})
		}
		return differs(v, &w, a.Models.have)
	})
}

// differs reports whether some of those models have another price, today or when the last
// entry begins.
func differs(v, w *vendor, those func(id string) bool) bool {
	x := &index{}
	for i := range v.Models {
		m := &v.Models[i]
		j := slices.IndexFunc(w.Models, func(n model) bool { return n.ID == m.ID })
		if !those(m.ID) || j < 0 {
			continue
		}
		for _, sec := range moments() {
			for _, region := range regions {
				p, q := m.quote(x, "v", region, sec).price, w.Models[j].quote(x, "v", region, sec).price
				if digest(&p) != digest(&q) || p.Basis != q.Basis || p.Ceiling != q.Ceiling || m.isGone(sec) != w.Models[j].isGone(sec) {
					return true
				}
			}
		}
	}
	return false
}

// regions lists those of the entries, none, and one that no entry names.
var regions = []string{"", "eu", "us", "us-east-1", "us-west-2", "ap-southeast-2"}

// moments returns the times, in seconds, at which prices are compared: today, in the peak hours of a Sunday and of a
// Monday, and far ahead.
func moments() []int64 {
	today := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	peak := time.Date(2026, 11, 22, 2, 0, 0, 0, time.UTC)
	return []int64{today.Unix(), peak.Unix(), peak.AddDate(0, 0, 1).Unix(), today.AddDate(4, 0, 0).Unix()}
}

// TestFamiliesWithoutSupplement checks that a name like a known one is of its family without the supplement, too.
func TestFamiliesWithoutSupplement(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ vendor, name, id string }{
		{"anthropic", "claude-sonnet-5-5", "claude-sonnet-5"},
		{"anthropic", "claude-opus-4-10", "claude-opus-4-1"},
		{"google", "gemini-3.6-flash-image", "gemini-3.6-flash"},
		{"aws", "amazon.titan-embed-text-v2:0", "amazon.titan-embed-text-v1"},
		{"aws", "us.anthropic.claude-sonnet-5-5", "regional.anthropic.claude-sonnet-5-v1:0"},
	} {
		m, exact := vendorWith(t, tt.vendor, nil).find(tt.name)
		if m == nil || exact || m.ID != tt.id {
			t.Errorf("%s/%s: got %+v, exact %v, want the family of %s", tt.vendor, tt.name, m, exact, tt.id)
		}
	}
}

// TestSupplementSince checks that an entry with a first day is not valid before it, and that a cached price ends there.
func TestSupplementSince(t *testing.T) {
	t.Parallel()
	begin := day(time.Date(2026, 9, 21, 0, 0, 0, 0, time.UTC).Unix())
	m := model{ID: "x", Prices: []dated{{Rates: []byte(`{"input_mtok":"1","requests_kcount":"3"}`)}}}
	m.additions = []*addition{
		{Since: &begin, Rates: []byte(`{"input_mtok":"2"}`)},
		{Mode: "priority", Times: "1.5"},
		{Mode: "flex", Rates: []byte(`{"output_mtok":"7"}`)},
		{Mode: "size:high", Rates: []byte(`{"requests_kcount":"9"}`)},
	}
	one := llm.Usage{llm.Input: 1_000_000, llm.Requests: 1000}
	for _, tt := range []struct {
		sec    int64
		served string
		want   string
	}{
		{int64(begin) - 1, "", "4"},
		{int64(begin), "", "5"},
		{int64(begin) + 1e8, "", "5"},
		{int64(begin) - 1, "priority", "4.5"},
		{int64(begin), "priority", "6"},
		{int64(begin), "flex", "3"}, // only tokens of the mode: input has no rate there
		{int64(begin), "size:high", "11"},
	} {
		q := m.quote(&index{}, "v", "", tt.sec)
		if got := q.price.Cost(&one, tt.served).String(); got != tt.want || tt.sec < q.from || tt.sec >= q.until {
			t.Errorf("%d seconds from the day, %q: got %s from %d until %d, want %s",
				tt.sec-int64(begin), tt.served, got, q.from, q.until, tt.want)
		}
	}
	if got, want := m.quote(&index{}, "v", "", int64(begin)-1).until, int64(begin); got != want {
		t.Errorf("the price before the day ends: got %d, want %d", got, want)
	}
	broken := m
	broken.additions = []*addition{{Rates: []byte(`{"input_mtok":"x"}`)}}
	if q := broken.quote(&index{}, "v", "", 0); q.price.Known() {
		t.Errorf("a broken entry: got %+v, want unknown", q.price)
	}
}

// TestOrderOfRulesWithModelsAdded checks that the first model whose rule matches wins, also among those that entries
// have moved.
func TestOrderOfRulesWithModelsAdded(t *testing.T) {
	t.Parallel()
	v, err := parseVendor([]byte(`{"models":[{"id":"a","match":{"starts_with":"b"}},{"id":"b1","match":{"equals":"b1"}},{"id":"d","match":{"starts_with":"d"}}]}`))
	must.Do(t, err)
	before, _ := v.find("b1")
	v.supplement([]*addition{{Models: models{ids: []string{"c"}}, Adds: &rule{Equals: "c"}}})
	if after, _ := v.find("b1"); before.ID != "a" || after.ID != before.ID {
		t.Errorf("b1: got %q, and %q with an added model, want a in both", before.ID, after.ID)
	}
}
