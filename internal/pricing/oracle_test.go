package pricing_test

import (
	"encoding/json"
	"maps"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
)

// The oracle works a cost out once more, from the decimal strings of the data files and
// with fractions of any size. It shares no code with the package: it reads the files
// itself, the supplement too, and chooses tier, date and time of day itself.

// vendorData is a data file as the oracle reads it.
type vendorData struct {
	ID       string      `json:"id"`
	Fallback []string    `json:"fallback"`
	Models   []modelData `json:"models"`
}

type modelData struct {
	ID     string       `json:"id"`
	Name   string       `json:"name"`
	Free   bool         `json:"free"`
	Prices []periodData `json:"prices"`

	extra []entryData
}

type periodData struct {
	Since string         `json:"since"`
	From  string         `json:"from"`
	To    string         `json:"to"`
	Rates map[string]any `json:"rates"` // a decimal string, or base and tiers
}

// entryData is an entry of the supplement as the oracle reads it.
type entryData struct {
	Provider string            `json:"provider"`
	Models   any               `json:"models"`
	Adds     map[string]any    `json:"adds"`
	Free     bool              `json:"free"`
	Mode     string            `json:"mode"`
	Region   string            `json:"region"`
	Gone     bool              `json:"gone"`
	Times    string            `json:"times"`
	Rates    map[string]any    `json:"rates"`
	Fills    map[string]string `json:"fills"`
	Since    string            `json:"since"`
	When     []struct {
		From, To     string
		Days, Except []string
	} `json:"when"`
	Source string `json:"source"`
	Seen   string `json:"seen"`
	Note   string `json:"note"`
}

func readEntries(t testing.TB) []entryData {
	t.Helper()
	b := must.Get(os.ReadFile("data/supplement.json"))(t)
	var file struct {
		Entries []entryData `json:"entries"`
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatalf("supplement: %v", err)
	}
	return file.Entries
}

// holds reports whether an entry is valid at that time. No period of the supplement crosses midnight.
func (e *entryData) holds(at time.Time) bool {
	date, clock, weekday := at.Format(time.DateOnly), at.Format("15:04"), strings.ToLower(at.Format("Mon"))
	if date < e.Since {
		return false
	}
	for _, w := range e.When {
		if clock >= w.From && clock < w.To && slices.Contains(w.Days, weekday) && !slices.Contains(w.Except, date) {
			return true
		}
	}
	return len(e.When) == 0
}

// about reports whether an entry is about the model of that id.
func (e *entryData) about(t testing.TB, id string) bool {
	t.Helper()
	if list, ok := e.Models.([]any); ok {
		return slices.Contains(list, any(id))
	}
	return ruleHolds(t, e.Models.(map[string]any), strings.ToLower(id))
}

// ruleHolds knows those rules about ids that the supplement has.
func ruleHolds(t testing.TB, rule map[string]any, id string) bool {
	t.Helper()
	holds := func(r any) bool { return ruleHolds(t, r.(map[string]any), id) }
	for kind, v := range rule {
		switch kind {
		case "equals":
			return id == v.(string)
		case "starts_with":
			return strings.HasPrefix(id, v.(string))
		case "contains":
			return strings.Contains(id, v.(string))
		case "regex":
			return regexp.MustCompile(v.(string)).MatchString(id)
		case "not":
			return !holds(v)
		case "or":
			return slices.ContainsFunc(v.([]any), holds)
		case "and":
			return !slices.ContainsFunc(v.([]any), func(r any) bool { return !holds(r) })
		}
	}
	t.Fatalf("rule %v: the oracle does not know it", rule)
	return false
}

// readVendors reads the data with the supplement.
func readVendors(t testing.TB) []vendorData {
	t.Helper()
	all := readShipped(t)
	entries := readEntries(t)
	for i := range all {
		v := &all[i]
		for _, e := range entries {
			if e.Provider == v.ID && e.Adds != nil {
				m := modelData{ID: e.Models.([]any)[0].(string), Free: e.Free}
				if e.Rates != nil {
					m.Prices = []periodData{{Rates: e.Rates}}
				}
				v.Models = append(v.Models, m)
			}
		}
		for j := range v.Models {
			for _, e := range entries {
				if e.Provider == v.ID && e.Adds == nil && e.Region == "" && e.about(t, v.Models[j].ID) {
					v.Models[j].extra = append(v.Models[j].extra, e)
				}
			}
		}
	}
	return all
}

func readShipped(t testing.TB) []vendorData {
	t.Helper()
	files, err := filepath.Glob("data/providers/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("price files: got %d, %v", len(files), err)
	}
	var all []vendorData
	for _, file := range files {
		b := must.Get(os.ReadFile(file))(t)
		var v vendorData
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, v)
	}
	return all
}

func readModel(t testing.TB, vendors []vendorData, vendor, id string) modelData {
	t.Helper()
	for _, v := range vendors {
		for _, m := range v.Models {
			if v.ID == vendor && m.ID == id {
				return m
			}
		}
	}
	t.Fatalf("the data has no %s/%s", vendor, id)
	return modelData{}
}

// soldBy adds the entries of another vendor, which sells the model, for all that it sells.
func (m *modelData) soldBy(t testing.TB, seller, vendor string) {
	t.Helper()
	for _, e := range readEntries(t) {
		if _, rule := e.Models.(map[string]any); rule && e.Provider == seller && seller != vendor && e.about(t, m.ID) {
			m.extra = append(slices.Clone(m.extra), e)
		}
	}
}

// gone reports whether the vendor no longer has the model at that time.
func (m *modelData) gone(at time.Time) bool {
	return slices.ContainsFunc(m.extra, func(e entryData) bool {
		return e.Gone && e.Mode == "" && at.UTC().Format(time.DateOnly) >= e.Since
	})
}

// period returns the rates at that time, including the supplement's.
func (m *modelData) period(at time.Time) map[string]any { return m.periodIn("", at) }

// periodIn returns the same in a mode with rates of its own.
func (m *modelData) periodIn(mode string, at time.Time) map[string]any {
	shipped := m.shippedPeriod(at)
	if len(shipped) == 0 || m.gone(at) {
		return nil
	}
	rates := maps.Clone(shipped)
	for _, apply := range slices.Compact([]string{"", mode}) {
		over := map[string]any{}
		for _, e := range m.extra {
			if e.Mode == apply && e.holds(at.UTC()) {
				maps.Copy(over, e.Rates)
			}
		}
		if tokens := countTokens(over); apply != "" && tokens > 0 {
			maps.DeleteFunc(rates, func(key string, _ any) bool { return strings.HasSuffix(key, "_mtok") })
		}
		maps.Copy(rates, over)
	}
	for _, e := range m.extra {
		for to, from := range e.Fills {
			if to, from := fillKeys[to], fillKeys[from]; rates[to] == nil && rates[from] != nil {
				rates[to] = rates[from]
			}
		}
	}
	return rates
}

// fillKeys has the names in the data of the classes that fills names.
var fillKeys = map[string]string{
	"input": "input_mtok", "image_in": "input_image_mtok", "audio_in": "input_audio_mtok", "cache_read": "cache_read_mtok",
	"cache_read_audio": "cache_audio_read_mtok", "output": "output_mtok", "audio_out": "output_audio_mtok",
}

// countTokens returns the number of rates of tokens.
func countTokens(rates map[string]any) (n int) {
	for key := range rates {
		if strings.HasSuffix(key, "_mtok") {
			n++
		}
	}
	return n
}

func (m *modelData) shippedPeriod(at time.Time) map[string]any {
	date, clock := at.UTC().Format(time.DateOnly), at.UTC().Format(time.TimeOnly)
	for i := len(m.Prices) - 1; i >= 0; i-- {
		p := m.Prices[i]
		switch {
		case p.Since != "" && date < p.Since:
		case p.From != "" && p.From <= p.To && (clock < p.From || clock >= p.To):
		case p.From != "" && p.From > p.To && clock < p.From && clock >= p.To:
		default:
			return p.Rates
		}
	}
	if len(m.Prices) == 0 {
		return nil
	}
	return m.Prices[0].Rates
}

// payers lists the price keys that pay for a class, of which the dearest counts; per is their unit. No key of another
// class pays for a class.
var payers = map[llm.Class]struct {
	keys []string
	per  int64
}{
	llm.Input:          {[]string{"input_mtok"}, 1e6},
	llm.CacheRead:      {[]string{"cache_read_mtok"}, 1e6},
	llm.CacheWrite:     {[]string{"cache_write_mtok"}, 1e6},
	llm.CacheWrite1h:   {[]string{"cache_write_1h_mtok"}, 1e6},
	llm.CacheReadAudio: {[]string{"cache_audio_read_mtok"}, 1e6},
	llm.AudioIn:        {[]string{"input_audio_mtok"}, 1e6},
	llm.ImageIn:        {[]string{"input_image_mtok"}, 1e6},
	llm.Citation:       {[]string{"output_citation_mtok"}, 1e6},
	llm.Output:         {[]string{"output_mtok"}, 1e6},
	llm.Reasoning:      {[]string{"output_reasoning_mtok"}, 1e6}, // else as output
	llm.AudioOut:       {[]string{"output_audio_mtok"}, 1e6},
	llm.ImageOut:       {[]string{"output_image_mtok", "output_video_mtok"}, 1e6}, // video counts as images
	llm.Requests:       {[]string{"requests_kcount", "input_text_messages_kcount"}, 1000},
	llm.Searches:       {[]string{"web_searches_kcount"}, 1000},
	llm.Maps:           {[]string{"maps_kcount"}, 1000},
	llm.XSearches:      {[]string{"x_searches_kcount"}, 1000},
	llm.FileSearches:   {[]string{"storage_searches_kcount"}, 1000},
	llm.CodeSessions:   {[]string{"code_interpreter_sessions"}, 1},
	llm.Images:         {[]string{"images"}, 1},
	llm.ToolImages:     {[]string{"tool_images"}, 1},
	llm.OtherTools:     {[]string{"other"}, 1},
	llm.Milliseconds:   {[]string{"audio_hours", "input_audio_hours"}, 3_600_000},
}

// exactRates returns the US dollars for one unit of each class in a request with that number of input tokens; nil for a
// class without a price. By contract, prices finer than a pico-dollar a unit are rounded there, half up; there are few. Of
// time that unit is the second.
func exactRates(t testing.TB, rates map[string]any, input int64) (r [llm.NumClasses]*big.Rat) {
	t.Helper()
	for c := range r {
		p := payers[llm.Class(c)]
		for _, key := range p.keys {
			v, ok := rates[key]
			if !ok || v == nil { // nil: known to be unknown
				continue
			}
			scale := int64(1e12)
			if llm.Class(c) == llm.Milliseconds { // the rate is that of a second
				scale = 1e15
			}
			x := roundTo(new(big.Rat).Quo(decimal(t, priceFor(v, input)), big.NewRat(p.per, 1)), scale)
			if r[c] == nil || x.Cmp(r[c]) > 0 {
				r[c] = x
			}
		}
	}
	if r[llm.Reasoning] == nil {
		r[llm.Reasoning] = r[llm.Output]
	}
	return r
}

func priceFor(v any, input int64) string {
	if s, ok := v.(string); ok {
		return s
	}
	o := v.(map[string]any)
	price := o["base"].(string)
	for _, tier := range o["tiers"].([]any) {
		if tier := tier.(map[string]any); input > int64(tier["above"].(float64)) {
			price = tier["price"].(string)
		}
	}
	return price
}

func decimal(t testing.TB, s string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(s)
	if !ok || strings.ContainsAny(s, "eE/") {
		t.Fatalf("%q is not a plain decimal", s)
	}
	return r
}

// roundTo rounds half up to a whole number of 1/scale.
func roundTo(x *big.Rat, scale int64) *big.Rat {
	y := new(big.Rat).Mul(x, big.NewRat(scale, 1))
	y.Add(y, big.NewRat(1, 2))
	whole := new(big.Int).Quo(y.Num(), y.Denom())
	return new(big.Rat).SetFrac(whole, big.NewInt(scale))
}

// exactCost returns the cost of the usage at the rates, rounded once.
func exactCost(r *[llm.NumClasses]*big.Rat, u *llm.Usage) llm.Money {
	sum := new(big.Rat)
	for c, n := range u {
		if r[c] != nil {
			sum.Add(sum, new(big.Rat).Mul(r[c], big.NewRat(n, 1)))
		}
	}
	return nano(sum)
}

func nano(dollars *big.Rat) llm.Money {
	x := roundTo(dollars, 1e9)
	x.Mul(x, big.NewRat(1e9, 1))
	return llm.Money(x.Num().Int64())
}

// perClassCost rounds each class by itself: a wrong method that the vectors have to find.
func perClassCost(r *[llm.NumClasses]*big.Rat, u *llm.Usage) (sum llm.Money) {
	for c, n := range u {
		if r[c] != nil {
			sum += nano(new(big.Rat).Mul(r[c], big.NewRat(n, 1)))
		}
	}
	return sum
}

// floatCost computes with binary fractions: the other wrong method.
func floatCost(r *[llm.NumClasses]*big.Rat, u *llm.Usage) llm.Money {
	var sum float64
	for c, n := range u {
		if r[c] != nil {
			rate, _ := r[c].Float64()
			sum += rate * float64(n)
		}
	}
	return llm.Money(math.Round(sum * 1e9))
}

// inputTokens returns the oracle's own sum of the input.
func inputTokens(u *llm.Usage) int64 {
	return u[llm.Input] + u[llm.CacheRead] + u[llm.CacheWrite] + u[llm.CacheWrite1h] + u[llm.CacheReadAudio] +
		u[llm.AudioIn] + u[llm.ImageIn] + u[llm.Citation]
}

// unpricedOf returns the classes of a usage without a price in the rates, by the rules of llm.Price: a fee for each
// request exists only if a price names it; images, characters and milliseconds are another measure of priced tokens,
// and if no tokens are priced, tokens are another measure of them.
func unpricedOf(r *[llm.NumClasses]*big.Rat, u *llm.Usage) (missing llm.Classes) {
	units := []llm.Class{llm.Images, llm.Characters, llm.Milliseconds}
	byTokens, byUnits := false, false
	for c := range llm.NumClasses {
		paid := u[c] > 0 && r[c] != nil
		byTokens = byTokens || paid && c < llm.NumTokens
		byUnits = byUnits || paid && slices.Contains(units, llm.Class(c))
	}
	for c, n := range u {
		class := llm.Class(c)
		unit, token := slices.Contains(units, class), c < llm.NumTokens
		covered := class == llm.Requests || unit && byTokens || token && byUnits && !byTokens
		if n > 0 && r[c] == nil && !covered {
			missing = missing.With(class)
		}
	}
	return missing
}
