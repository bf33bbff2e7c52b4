package pricing

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"weir/internal/llm"
)

// Overrides is what the operator knows better than the data. The zero value
// changes nothing.
type Overrides struct {
	// Prices by "<provider>/<model>" or "<provider>/*", of which the exact
	// name wins. One replaces all that the data says, it does not mix with it.
	// Of a name with " since <day>" behind it, the price holds from that day on; see CutSince.
	Prices map[string]PriceOverride
	// Models by the same names.
	Models map[string]ModelOverride
	// Sources gives a provider the price source of that id, for a provider
	// whose name says nothing of what it sells.
	Sources map[string]string
	// Regions are the regions that the addresses of providers name, by provider.
	Regions map[string]string
	// Files are price files. A later one beats an earlier one, all beat the data, and
	// Prices beat them. Known are the providers that they may name beside those of the
	// data.
	Files []File
	Known []string
	// Assumed says what becomes of prices that are not of exactly the model asked for;
	// empty for AcceptAssumed.
	Assumed Assumed
	// UsualTools says that budgets hold what tools of providers usually cost, and not what they
	// cost at most.
	UsualTools bool
	// Margin is up to how many thousandths of such a price are charged, and of every price of the providers that
	// Resellers names: others serve their models, each at a price of its own. 1000 and less change nothing.
	Margin    int64
	Resellers map[string]bool
}

// Assumed is a policy for prices whose basis is not llm.BasisModel.
type Assumed string

// The policies.
const (
	AcceptAssumed  Assumed = "accept"   // they count; a budget refuses those of llm.BasisFamily
	RefuseAssumed  Assumed = "refuse"   // requests at them are refused
	UnpriceAssumed Assumed = "unpriced" // they are unknown
)

// PriceOverride holds decimals of US dollars by what they pay for: a million
// tokens for the classes of tokens; one request, image, character, or call of a tool
// for those; and second, of audio. A class of tokens that is absent costs what input or
// output does; of these two, one may be absent too and costs what the other does. What
// is absent of all else has no price. "0" is a price: the model is free.
type PriceOverride map[string]string

// ModelOverride gives a model's sizes in tokens and what it can do; 0 and nil
// keep what the data says.
type ModelOverride struct {
	Context    int64
	MaxOutput  int64
	Images     *bool
	Documents  *bool
	Audio      *bool
	Tools      *bool
	Structured *bool
	Reasoning  *bool
}

// abilities are those that the override knows.
func (o *ModelOverride) abilities() Abilities {
	return Abilities{
		Images: abilityOf(o.Images), Documents: abilityOf(o.Documents), Audio: abilityOf(o.Audio),
		Tools: abilityOf(o.Tools), Structured: abilityOf(o.Structured), Reasoning: abilityOf(o.Reasoning),
	}
}

const priceKeys = "input, output, cache_read, cache_write, cache_write_1h, cache_read_audio, audio_in, audio_out, " +
	"image_in, image_out, citation, reasoning, request, image, character, second, search, maps, x_search, " +
	"file_search, code_interpreter, tool_image, other_tool"

// ownPrice is a price of the operator's from a second on: math.MinInt64 for always.
type ownPrice struct {
	from  int64
	price llm.Price
}

// CutSince parts the name of a price from the day, in UTC, from which it holds: "house/small since 2027-01-01". The day
// is the zero time for always.
func CutSince(name string) (base string, from time.Time, err error) {
	base, day, dated := strings.Cut(name, " since ")
	if !dated {
		return name, time.Time{}, nil
	}
	if from, err = time.Parse(time.DateOnly, day); err != nil {
		return base, from, fmt.Errorf("%q is not a day such as 2027-01-31", day)
	}
	return base, from, nil
}

// parse checks all overrides and gives the prices by their names, the latest first.
func (o *Overrides) parse(x *index) (map[string][]ownPrice, error) {
	prices := make(map[string][]ownPrice, len(o.Prices))
	for _, full := range slices.Sorted(maps.Keys(o.Prices)) {
		name, from, err := CutSince(full)
		if err == nil {
			err = checkName(name)
		}
		if err != nil {
			return nil, fmt.Errorf("prices: %w", err)
		}
		p, err := o.Prices[full].price(name)
		if err != nil {
			return nil, fmt.Errorf("prices: %s: %w", full, err)
		}
		one := ownPrice{math.MinInt64, p}
		if !from.IsZero() {
			one.from = from.Unix()
		}
		prices[name] = append(prices[name], one)
	}
	for _, list := range prices {
		slices.SortFunc(list, func(a, b ownPrice) int { return cmp.Compare(b.from, a.from) })
	}
	for _, name := range slices.Sorted(maps.Keys(o.Models)) {
		if err := checkName(name); err != nil {
			return nil, fmt.Errorf("models: %w", err)
		}
		if m := o.Models[name]; m.Context < 0 || m.MaxOutput < 0 {
			return nil, fmt.Errorf("models: %s: a size is a number of tokens from 0", name)
		}
	}
	for _, provider := range slices.Sorted(maps.Keys(o.Sources)) {
		if _, ok := x.Vendors[o.Sources[provider]]; !ok {
			return nil, fmt.Errorf("price source %q of provider %s is unknown; known are %s",
				o.Sources[provider], provider, strings.Join(slices.Sorted(maps.Keys(x.Vendors)), ", "))
		}
	}
	return prices, nil
}

func checkName(name string) error {
	provider, model, _ := strings.Cut(name, "/")
	if provider == "" || model == "" {
		return fmt.Errorf(`%q is not "<provider>/<model>" or "<provider>/*"`, name)
	}
	return nil
}

// price is the complete price that the override gives to what it names.
func (o PriceOverride) price(name string) (llm.Price, error) {
	var p llm.Price
	for _, key := range slices.Sorted(maps.Keys(o)) {
		c, v, err := overrideRate(key, o[key])
		if err != nil {
			return p, err
		}
		p.Rates[c] = llm.RateOf(v)
	}
	tokens := slices.ContainsFunc(p.Rates[:llm.NumTokens], llm.Rate.Known)
	switch {
	case len(o) == 0:
		return p, errors.New("no price is given; a free model has input \"0\"")
	case tokens && !p.Rates[llm.Input].Known() && !p.Rates[llm.Output].Known():
		return p, errors.New("input or output is missing: the classes that are absent cost what these do")
	}
	fill(&p.Rates)
	p.Modes = []llm.Mode{} // what another service tier costs nobody said
	p.Version = operator + "/" + name + "#" + digest(&p)
	return p, nil
}

func overrideRate(key, dollars string) (llm.Class, int64, error) {
	if key == "second" {
		v, err := rateOfSecond(dollars)
		return llm.Milliseconds, v, err
	}
	c, ok := llm.ParseClass(key)
	if !ok || c == llm.Milliseconds {
		return c, 0, fmt.Errorf("%q is nothing that is priced; it is one of %s", key, priceKeys)
	}
	parse := llm.ParseUnitRate
	if int(c) < llm.NumTokens {
		parse = llm.ParseRate
	}
	v, err := parse(dollars)
	if err != nil {
		return c, 0, fmt.Errorf("%s: %w", key, err)
	}
	return c, v, nil
}

// rateOfSecond is the price of a second as pico-dollars a millisecond.
func rateOfSecond(dollars string) (int64, error) {
	v, err := llm.ParseUnitRate(dollars)
	if err != nil {
		return 0, fmt.Errorf("second: %w", err)
	}
	if v%1000 != 0 {
		return 0, fmt.Errorf("second: price %q: more than 9 decimals", dollars)
	}
	return v / 1000, nil
}

// ListPrice is the price of an account's own that the override gives to what it names, "<provider>/<model>" or
// "<provider>/*". It holds whatever service tier served, and its version is of those of price lists.
func (o PriceOverride) ListPrice(name string) (llm.Price, error) {
	if err := checkName(name); err != nil {
		return llm.Price{}, err
	}
	p, err := o.price(name)
	p.Modes = nil
	p.Version = "list/" + name + "#" + digest(&p)
	return p, err
}
