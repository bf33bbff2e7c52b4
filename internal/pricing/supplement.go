package pricing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"weir/internal/llm"
)

// supplement holds data/supplement.json.
type supplement struct {
	vendors []string               // ids of vendors that the imported data lacks
	entries map[string][]*addition // by vendor
}

// addition is one entry of data/supplement.json: a statement of a vendor's page that the shipped data lacks or
// contradicts. Entries apply in order, and later ones override earlier ones. Every entry has a source.
type addition struct {
	// Provider is the vendor's id in the data: "google" for Gemini and Vertex AI.
	Provider string `json:"provider"`
	// Models are ids of the data, or a rule that matches all models that the vendor's page covers, including those that
	// it resells from another vendor's list.
	Models models `json:"models"`
	// Adds makes the entry a model that the data lacks. Models then has exactly one id, and Adds decides which names
	// refer to it. They are looked up before the data's own names.
	Adds *rule `json:"adds"`
	// Context is the context window of the added model, input plus output, and MaxOutput its maximum output, in tokens;
	// 0 if the entry does not say.
	Context   int64 `json:"context"`
	MaxOutput int64 `json:"max_output"`
	// Free reports that the added model costs nothing.
	Free bool `json:"free"`
	// Mode is the serving mode that the entry is about, as in llm.ModeName; empty for the usual mode.
	Mode string `json:"mode"`
	// Times is the price of tokens in the mode, as a multiple of the usual price.
	Times string `json:"times"`
	// Rates has the keys of the data, and those of units that only the supplement uses. A rate replaces the data's;
	// null means that it is unknown. In a mode, rates for some tokens replace all token rates; other rates do not.
	Rates json.RawMessage `json:"rates"`
	// Fills maps classes without a rate to the class that they take their rate from.
	Fills map[string]string `json:"fills"`
	// Region is the region that the entry applies to, as the provider's address names it; "*" for any named region.
	// Times then applies to tokens in every mode. In a region without an entry the usual price applies, as an assumed
	// one.
	Region string `json:"region"`
	// Gone reports that the vendor no longer offers the models, so their price is unknown. With Mode it cancels earlier
	// entries of the mode, such as another seller's.
	Gone bool `json:"gone"`
	// Since is the first day on which the entry applies, and Until the last day that its source covers, YYYY-MM-DD in
	// UTC. After Until the price is assumed to continue, unless a later entry prices tokens.
	Since *day `json:"since"`
	Until *day `json:"until"`
	// Assumed reports that the source does not state the provider's public price; it may be another seller's list.
	// Ceiling is the upper bound of the price of tokens while it is assumed, as a multiple of it.
	Assumed bool   `json:"assumed"`
	Ceiling string `json:"ceiling"`
	// When lists the time windows of the entry; none means always.
	When []window `json:"when"`
	// Source is the address of the page with the statement. Seen is the day on which it was checked, YYYY-MM-DD, or
	// "undated copy". Note explains the statement and who read it.
	Source string `json:"source"`
	Seen   string `json:"seen"`
	Note   string `json:"note"`

	file string // the operator's file that contains it; empty if embedded
}

// isOwn reports whether the entry is the operator's.
func (a *addition) isOwn() bool { return a.file != "" }

// prices reports whether the entry prices a model in the usual mode.
func (a *addition) prices() bool { return a.Free || a.Rates != nil && a.Mode == "" }

// models holds ids, or a rule about ids.
type models struct {
	ids  []string
	rule *rule
}

// UnmarshalJSON reads a list of ids, or a rule.
func (s *models) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		return json.Unmarshal(b, &s.ids)
	}
	return json.Unmarshal(b, &s.rule)
}

// have reports whether the model with that id is among them.
func (s *models) have(id string) bool {
	if s.rule != nil {
		return s.rule.matches(fold(id))
	}
	return slices.Contains(s.ids, id)
}

func readSupplement() (*supplement, error) {
	b, err := data.ReadFile(supplementFile)
	if err != nil {
		return nil, fmt.Errorf("read supplement of the prices: %w", err)
	}
	return parseSupplement(b)
}

func parseSupplement(b []byte) (*supplement, error) {
	var file struct {
		About   string      `json:"about"`
		Vendors []string    `json:"vendors"`
		Entries []*addition `json:"entries"`
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("read supplement of the prices: %w", err)
	}
	s := &supplement{vendors: file.Vendors, entries: map[string][]*addition{}}
	for _, a := range file.Entries {
		s.entries[a.Provider] = append(s.entries[a.Provider], a)
	}
	return s, nil
}

// vendor returns the vendor with that id without the supplement's entries: the imported data, or an empty vendor whose
// pages are the sources of its entries.
func (s *supplement) vendor(id string) (*vendor, error) {
	v, err := readVendor(id)
	if err == nil || !slices.Contains(s.vendors, id) {
		return v, err
	}
	v = &vendor{ID: id}
	for _, a := range s.entries[id] {
		if !slices.Contains(v.URLs, a.Source) {
			v.URLs = append(v.URLs, a.Source)
		}
	}
	return v, nil
}

// supplement applies the entries: first the models that they add, then their statements about all models.
func (v *vendor) supplement(entries []*addition) {
	var added []model
	for _, a := range entries {
		if a.Adds != nil && len(a.Models.ids) == 1 {
			added = append(added, a.model())
		}
	}
	v.Models = append(added, v.Models...)
	for i := range v.Models {
		for _, a := range entries {
			m := &v.Models[i]
			if a.Adds != nil && !a.Assumed || !a.Models.have(m.ID) {
				continue
			}
			if m.additions = append(m.additions, a); a.isOwn() && a.prices() {
				m.own = a
			}
		}
	}
	v.compile()
}

// model returns the model that an entry adds.
func (a *addition) model() model {
	m := model{
		ID: a.Models.ids[0], Match: *a.Adds, Free: a.Free, Context: a.Context, MaxOutput: a.MaxOutput, added: a,
	}
	if a.Rates != nil {
		m.Prices = []dated{{Rates: a.Rates}}
	}
	return m
}

// day returns the day of the last check of the source, YYYY-MM-DD; empty if unknown.
func (a *addition) day() string {
	if isDate(a.Seen) {
		return a.Seen
	}
	return ""
}

// soldBy returns the model as another vendor sells it, with that vendor's entries about it.
func (m *model) soldBy(entries []*addition) *model {
	sold := *m
	sold.additions = slices.Clone(m.additions)
	for _, a := range entries {
		if a.Adds == nil && a.Models.rule != nil && a.Models.have(m.ID) {
			sold.additions = append(sold.additions, a)
		}
	}
	return &sold
}

// additionsAt returns the entries about a model that apply in a region at that second.
func (m *model) additionsAt(region string, sec int64) (now []*addition) {
	for _, a := range m.additions {
		if (a.Region == "" || a.Region == region || a.Region == "*" && region != "") && a.holds(sec) {
			now = append(now, a)
		}
	}
	return now
}

// holds reports whether the entry applies at that second.
func (a *addition) holds(sec int64) bool {
	return (a.Since == nil || sec >= int64(*a.Since)) &&
		(len(a.When) == 0 || slices.ContainsFunc(a.When, func(w window) bool { return w.holds(sec) }))
}

// isFree reports whether the model is free at that second: the data says so, and no operator's file prices its tokens.
func (m *model) isFree(region string, sec int64) bool {
	return m.Free && !slices.ContainsFunc(m.additionsAt(region, sec), func(a *addition) bool {
		return a.isOwn() && !a.Free && a.pricesTokens()
	})
}

// isGone reports whether the vendor no longer offers the model at that second, and no operator's file prices it.
func (m *model) isGone(sec int64) bool {
	now := m.additionsAt("", sec)
	return slices.ContainsFunc(now, func(a *addition) bool { return a.Gone && a.Mode == "" }) && !slices.ContainsFunc(
		now, (*addition).isOwn)
}

// price returns the price of a model in the data and the supplement at that second, in a region, without a version. Ok
// reports whether any class has a price.
func (m *model) price(region string, sec int64) (p llm.Price, ok bool, err error) {
	now := m.additionsAt(region, sec)
	own := slices.ContainsFunc(now, func(a *addition) bool { return a.isOwn() && a.prices() })
	d, base := m.at(sec), map[string]amount{}
	switch {
	case d != nil:
		if base, err = readAmounts(d.Rates); err != nil {
			return p, false, err
		}
	case !own:
		return p, false, nil
	}
	if len(base) > 0 || m.added != nil || own {
		if base, err = overlay(base, now, ""); err != nil {
			return p, false, err
		}
	}
	if p, ok, err = flatten(base); err != nil {
		return p, false, err
	}
	fillClasses(&p.Rates, p.Tiers, now)
	if p.Modes, err = modesOf(base, now); err != nil {
		return p, ok, err
	}
	if err = assume(&p, now, sec); err == nil && region != "" {
		err = inRegion(&p, now)
	}
	return p, ok, err
}

// inRegion multiplies a price by the last Times of the entries for its region. Without such an entry the price is
// assumed: its basis is BasisSeller.
func inRegion(p *llm.Price, now []*addition) (err error) {
	times, known := int64(0), false
	for _, a := range now {
		if a.Region == "" {
			continue
		}
		known = true
		if a.Times != "" {
			if times, err = pico(a.Times, picoPerUSD/thousand); err != nil {
				return err
			}
		}
	}
	if !known {
		p.Basis = llm.BasisSeller
	}
	p.Multiply(times)
	return nil
}

// overlay replaces amounts by those of the entries about the mode.
func overlay(base map[string]amount, now []*addition, mode string) (map[string]amount, error) {
	for _, a := range now {
		if a.Mode != mode || a.Rates == nil {
			continue
		}
		over, err := readAmounts(a.Rates)
		if err != nil {
			return nil, err
		}
		for key, v := range over {
			if base[key] = v; v.Base == "" {
				delete(base, key)
			}
		}
	}
	return base, nil
}

// modesOf returns the modes that the entries price, in the order of the last entry about each; never nil.
func modesOf(base map[string]amount, now []*addition) ([]llm.Mode, error) {
	list := []llm.Mode{}
	for i, a := range now {
		if a.Mode == "" || a.Gone || slices.ContainsFunc(now[i+1:], func(b *addition) bool {
			return b.Mode == a.Mode
		}) {
			continue // a later entry overrides it
		}
		m, err := modeOf(a, base, now)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// modeOf returns the mode of entry a, the last one about it.
func modeOf(a *addition, base map[string]amount, now []*addition) (m llm.Mode, err error) {
	m.Name = a.Mode
	if a.Times != "" {
		m.Times, err = pico(a.Times, picoPerUSD/thousand)
		return m, err
	}
	own, err := overlay(map[string]amount{}, now, a.Mode)
	if err != nil {
		return m, err
	}
	tokens := slices.ContainsFunc(keysOf(own), isTokenKey)
	for key, v := range base {
		if _, ok := own[key]; !ok && (!tokens || !isTokenKey(key)) {
			own[key] = v
		}
	}
	p, _, err := flatten(own)
	m.Rates, m.Tiers = p.Rates, p.Tiers
	fillClasses(&m.Rates, m.Tiers, now)
	return m, err
}

func keysOf(amounts map[string]amount) (keys []string) {
	for key := range amounts {
		keys = append(keys, key)
	}
	return keys
}

func isTokenKey(key string) bool { return strings.HasSuffix(key, "_mtok") }

// fillClasses sets the rates of classes that take their rate from another class.
func fillClasses(rates *llm.Rates, tiers []llm.Tier, now []*addition) {
	for _, a := range now {
		for name, by := range a.Fills {
			to, _ := llm.ParseClass(name)
			from, ok := llm.ParseClass(by)
			if !ok || int(to) >= llm.NumClasses {
				continue
			}
			fillClass(rates, to, from)
			for i := range tiers {
				fillClass(&tiers[i].Rates, to, from)
			}
		}
	}
}

func fillClass(r *llm.Rates, to, from llm.Class) {
	if !r[to].Known() {
		r[to] = r[from]
	}
}
