package pricing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"weir/internal/llm"
)

// supplement is data/supplement.json.
type supplement struct {
	vendors []string               // ids of vendors that the imported data lacks
	entries map[string][]*addition // by vendor
}

// addition is one entry of data/supplement.json: what a vendor's page says and the
// shipped data leaves out or has wrong. Entries apply in their order, a later one over an
// earlier one. Every entry has its source; a price without one is no entry.
type addition struct {
	// Provider is the vendor's id in the data: "google" for Gemini and Vertex AI.
	Provider string `json:"provider"`
	// Models are ids of the data, or a rule about them where the vendor's page says so
	// for all that it matches, those included that it sells from another vendor's list.
	Models models `json:"models"`
	// Adds makes the entry a model that the data lacks. The id is the only one of Models,
	// and Adds says which names belong to it. They are looked up before the data's own.
	Adds *rule `json:"adds"`
	// Context is the context window of the model added, input and output, and MaxOutput the
	// most output, in tokens; 0: the entry does not say.
	Context   int64 `json:"context"`
	MaxOutput int64 `json:"max_output"`
	// Free says that the model added costs nothing.
	Free bool `json:"free"`
	// Mode is the name of a way of serving, as in llm.ModeName, that the entry is about.
	// Empty: the entry is about the price without a mode.
	Mode string `json:"mode"`
	// Times is what tokens cost in the mode, as a multiple of what they cost without it.
	Times string `json:"times"`
	// Rates have the keys of the data, and those of units that only the supplement uses.
	// One replaces the data's, null says that nobody knows it. In a mode, rates that price some tokens replace all token
	// rates; others leave them as they are.
	Rates json.RawMessage `json:"rates"`
	// Fills are classes without a rate that go by another class's rate.
	Fills map[string]string `json:"fills"`
	// Region is the region in which the entry holds, as the provider's address names it;
	// "*" for any that one names. Times is then about tokens in every mode. A region of
	// which no entry says what a model costs has the price without one, assumed.
	Region string `json:"region"`
	// Gone says that the vendor has the models no more: nobody knows what they cost. With
	// Mode it takes back what earlier entries say of the mode, as another seller's do.
	Gone bool `json:"gone"`
	// Since is the first day on which the entry holds, and Until the last one for which its source says so, YYYY-MM-DD
	// in UTC. After Until the price is assumed to go on, unless a later entry says what tokens cost.
	Since *day `json:"since"`
	Until *day `json:"until"`
	// Assumed says that the source does not say what the provider charges everybody, such as another seller's list.
	// Ceiling is what tokens cost at most while the price is assumed, as a multiple of it.
	Assumed bool   `json:"assumed"`
	Ceiling string `json:"ceiling"`
	// When are the stretches of time in which the entry holds; none: always.
	When []window `json:"when"`
	// Source is the address of the page that says so. Seen is the day on which it said
	// so, YYYY-MM-DD, or "undated copy". Note says what the page says, and who read it.
	Source string `json:"source"`
	Seen   string `json:"seen"`
	Note   string `json:"note"`

	file string // the operator's file that it stands in; empty: it is embedded
}

// isOwn reports whether the entry is the operator's.
func (a *addition) isOwn() bool { return a.file != "" }

// prices reports whether the entry says what a model costs in the usual mode.
func (a *addition) prices() bool { return a.Free || a.Rates != nil && a.Mode == "" }

// models are ids, or a rule about ids.
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

// have reports whether the model of that id is among them.
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

// vendor is the vendor of that id without the supplement's entries: that of the imported
// data, or else one without models, whose pages are the sources of its entries.
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

// supplement takes the entries in: first the models that they add, then what they say of
// all.
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

// model is what an entry adds.
func (a *addition) model() model {
	m := model{
		ID: a.Models.ids[0], Match: *a.Adds, Free: a.Free, Context: a.Context, MaxOutput: a.MaxOutput, added: a,
	}
	if a.Rates != nil {
		m.Prices = []dated{{Rates: a.Rates}}
	}
	return m
}

// day is the day on which the source said so, YYYY-MM-DD; empty where nobody knows.
func (a *addition) day() string {
	if isDate(a.Seen) {
		return a.Seen
	}
	return ""
}

// soldBy is the model as another vendor sells it, with what that one's entries say of it.
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

// additionsAt are the entries about a model that hold in a region at that second.
func (m *model) additionsAt(region string, sec int64) (now []*addition) {
	for _, a := range m.additions {
		if (a.Region == "" || a.Region == region || a.Region == "*" && region != "") && a.holds(sec) {
			now = append(now, a)
		}
	}
	return now
}

// holds reports whether the entry does at that second.
func (a *addition) holds(sec int64) bool {
	return (a.Since == nil || sec >= int64(*a.Since)) &&
		(len(a.When) == 0 || slices.ContainsFunc(a.When, func(w window) bool { return w.holds(sec) }))
}

// isFree reports whether the model costs nothing at that second: the data says so, and no file of the operator's says what
// its tokens cost.
func (m *model) isFree(region string, sec int64) bool {
	return m.Free && !slices.ContainsFunc(m.additionsAt(region, sec), func(a *addition) bool {
		return a.isOwn() && !a.Free && a.pricesTokens()
	})
}

// isGone reports whether the vendor has the model no more at that second, and the
// operator's own files do not say what it costs.
func (m *model) isGone(sec int64) bool {
	now := m.additionsAt("", sec)
	return slices.ContainsFunc(now, func(a *addition) bool { return a.Gone && a.Mode == "" }) && !slices.ContainsFunc(
		now, (*addition).isOwn)
}

// price is what the data and the supplement say of a model at that second, in a region,
// without a version. ok says whether anything that llm counts has a price.
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

// inRegion has a price be that of the region whose entries are among these: the last that
// multiplies does. Without any it is assumed.
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

// overlay is the amounts, and over them what the entries about the mode have.
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

// modesOf are the modes that the entries price, in the order of the last entry about each;
// not nil.
func modesOf(base map[string]amount, now []*addition) ([]llm.Mode, error) {
	list := []llm.Mode{}
	for i, a := range now {
		if a.Mode == "" || a.Gone || slices.ContainsFunc(now[i+1:], func(b *addition) bool {
			return b.Mode == a.Mode
		}) {
			continue // a later entry decides
		}
		m, err := modeOf(a, base, now)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// modeOf is the mode of the last entry about it.
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

// fillClasses gives classes without a rate the one of the class that they go by.
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
