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

// Overrides holds the operator's corrections of the data. The zero value changes nothing.
type Overrides struct {
	// Prices by "<provider>/<model>" or "<provider>/*"; the exact name takes precedence. A price replaces all rates of
	// the data, without merging. With the suffix " since <day>" the price applies from that day on; see CutSince.
	Prices map[string]PriceOverride
	// Models by the same names.
	Models map[string]ModelOverride
	// Sources assigns price sources to providers by id, for provider names that imply none.
	Sources map[string]string
	// Regions holds the regions in providers' addresses, by provider.
	Regions map[string]string
	// Files are price files. Later files override earlier ones, all override the data, and Prices override them. Known
	// are the providers that they may name in addition to the data's.
	Files []File
	Known []string
	// Assumed is the policy for prices that are not of exactly the requested model; empty for AcceptAssumed.
	Assumed Assumed
	// UsualTools makes budgets reserve the usual cost of providers' tools instead of the maximum.
	UsualTools bool
	// Margin is the upper bound of the true charge for such a price, in thousandths of it, and for every price of the
	// providers in Resellers, which sell models of others at their own prices. 1000 and less have no effect.
	Margin    int64
	Resellers map[string]bool
}

// Assumed is a policy for prices with a basis other than llm.BasisModel.
type Assumed string

// These are the policies.
const (
	AcceptAssumed  Assumed = "accept"   // use them; a budget refuses those of llm.BasisFamily
	RefuseAssumed  Assumed = "refuse"   // refuse requests at these prices
	UnpriceAssumed Assumed = "unpriced" // treat them as unknown
)

// PriceOverride holds decimals of US dollars by class: per million tokens for token classes; per request, image,
// character or tool call for those; and per second of audio. An absent token class costs the same as input or output;
// if one of these two is absent, it costs the same as the other. Other absent classes have no price. "0" is a price:
// the model is free.
type PriceOverride map[string]string

// ModelOverride sets a model's sizes in tokens and its abilities; 0 and nil keep the data's.
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

// abilities returns the abilities that the override sets.
func (o *ModelOverride) abilities() Abilities {
	return Abilities{
		Images: abilityOf(o.Images), Documents: abilityOf(o.Documents), Audio: abilityOf(o.Audio),
		Tools: abilityOf(o.Tools), Structured: abilityOf(o.Structured), Reasoning: abilityOf(o.Reasoning),
	}
}

const priceKeys = "input, output, cache_read, cache_write, cache_write_1h, cache_read_audio, audio_in, audio_out, " +
	"image_in, image_out, citation, reasoning, request, image, character, second, search, maps, x_search, " +
	"file_search, code_interpreter, tool_image, other_tool"

// ownPrice is an operator's price from a second on; math.MinInt64 for always.
type ownPrice struct {
	from  int64
	price llm.Price
}

// CutSince splits the name of a price from the day, in UTC, on which it begins: "house/small since 2027-01-01". The day
// is the zero time if there is none.
func CutSince(name string) (base string, from time.Time, err error) {
	base, day, dated := strings.Cut(name, " since ")
	if !dated {
		return name, time.Time{}, nil
	}
	if from, err = time.Parse(time.DateOnly, day); err != nil {
		return base, from, fmt.Errorf("the day %q is invalid: write it like 2027-01-31", day)
	}
	return base, from, nil
}

// parse checks all overrides and returns the prices by their names, latest first.
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
			return nil, fmt.Errorf("models: %s: a size must be 0 or a positive number of tokens", name)
		}
	}
	for _, provider := range slices.Sorted(maps.Keys(o.Sources)) {
		if _, ok := x.Vendors[o.Sources[provider]]; !ok {
			return nil, fmt.Errorf("price source %q of provider %s is unknown; choose one of %s",
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

// Check returns the reason why the override is no complete price, or nil.
func (o PriceOverride) Check() error {
	_, err := o.price("")
	return err
}

// price returns the complete price of the override.
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
		return p, errors.New("no price is set; for a free model set input to \"0\"")
	case tokens && !p.Rates[llm.Input].Known() && !p.Rates[llm.Output].Known():
		return p, errors.New("input or output is missing: set both, because absent classes take their price from these")
	}
	fill(&p.Rates)
	p.Modes = []llm.Mode{} // the prices of other service tiers are unknown
	p.Version = operator + "/" + name + "#" + digest(&p)
	return p, nil
}

func overrideRate(key, dollars string) (llm.Class, int64, error) {
	c, ok := llm.ParseClass(key)
	switch {
	case key == "second":
		c = llm.Milliseconds
	case !ok || c == llm.Milliseconds:
		return c, 0, fmt.Errorf("%q is not a class of prices; use one of %s", key, priceKeys)
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

// ListPrice returns the override as an account's own price for "<provider>/<model>" or "<provider>/*". It applies to
// all service tiers, and its version marks it as a price of a price list.
func (o PriceOverride) ListPrice(name string) (llm.Price, error) {
	if err := checkName(name); err != nil {
		return llm.Price{}, err
	}
	p, err := o.price(name)
	p.Modes = nil
	p.Version = "list/" + name + "#" + digest(&p)
	return p, err
}
