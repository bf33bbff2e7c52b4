package pricing

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"weir/internal/llm"
)

// unit describes a price key of the data.
type unit struct {
	class llm.Class
	per   int64 // number of units that the price covers
	// extra keys price a part of their class. The class costs the highest of its prices, because its parts cannot be
	// counted separately.
	extra bool
	// uncounted keys have no class.
	uncounted bool
}

const (
	million     = 1_000_000
	thousand    = 1_000
	hourSeconds = 3_600
	picoPerUSD  = 1_000_000_000_000
)

// units maps the price keys of the data. Cached images count as cache reads, video input as input, and video output as
// images, at those prices.
var units = map[string]unit{
	"input_mtok":            {class: llm.Input, per: million},
	"cache_read_mtok":       {class: llm.CacheRead, per: million},
	"cache_write_mtok":      {class: llm.CacheWrite, per: million},
	"cache_write_1h_mtok":   {class: llm.CacheWrite1h, per: million},
	"input_audio_mtok":      {class: llm.AudioIn, per: million},
	"input_image_mtok":      {class: llm.ImageIn, per: million},
	"output_mtok":           {class: llm.Output, per: million},
	"output_reasoning_mtok": {class: llm.Reasoning, per: million},
	"output_audio_mtok":     {class: llm.AudioOut, per: million},
	"output_image_mtok":     {class: llm.ImageOut, per: million},
	"output_video_mtok":     {class: llm.ImageOut, per: million, extra: true},
	"requests_kcount":       {class: llm.Requests, per: thousand},
	"web_searches_kcount":   {class: llm.Searches, per: thousand},
	"audio_hours":           {class: llm.Milliseconds, per: hourSeconds},
	"input_audio_hours":     {class: llm.Milliseconds, per: hourSeconds, extra: true},

	"cache_audio_read_mtok":   {class: llm.CacheReadAudio, per: million},
	"output_citation_mtok":    {class: llm.Citation, per: million},
	"storage_searches_kcount": {class: llm.FileSearches, per: thousand},

	// texts that a client adds to the conversation of a session
	"input_text_messages_kcount": {class: llm.Requests, per: thousand, extra: true},

	// These keys appear only in the supplement.
	"maps_kcount":               {class: llm.Maps, per: thousand},
	"x_searches_kcount":         {class: llm.XSearches, per: thousand},
	"code_interpreter_sessions": {class: llm.CodeSessions, per: 1},
	"images":                    {class: llm.Images, per: 1},
	"tool_images":               {class: llm.ToolImages, per: 1},
	"other":                     {class: llm.OtherTools, per: 1},

	"cache_image_read_mtok":           {uncounted: true},
	"input_video_mtok":                {uncounted: true},
	"input_document_kpages":           {uncounted: true},
	"input_annotated_document_kpages": {uncounted: true},
}

// amount is a price as a decimal of US dollars. A tier's price applies to the whole request if its input tokens,
// including cached ones, exceed Above; exactly Above tokens still cost the price of the tier before. The source of the
// data computes it in this way, and so does llm.Tier.
type amount struct {
	Base  string `json:"base"`
	Tiers []struct {
		Above int64  `json:"above"`
		Price string `json:"price"`
	} `json:"tiers"`
}

// UnmarshalJSON reads a decimal string, or an object with tiers.
func (a *amount) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &a.Base)
	}
	type plain amount
	return json.Unmarshal(b, (*plain)(a))
}

// beyond returns the decimal for requests with more input than that.
func (a *amount) beyond(input int64) string {
	price := a.Base
	for _, t := range a.Tiers {
		if t.Above <= input {
			price = t.Price
		}
	}
	return price
}

// readAmounts parses the rates of the data.
func readAmounts(raw json.RawMessage) (map[string]amount, error) {
	var amounts map[string]amount
	if err := json.Unmarshal(raw, &amounts); err != nil {
		return nil, fmt.Errorf("read rates: %w", err)
	}
	return amounts, nil
}

// flatten returns the price of these amounts, without a version. Ok reports whether any class has a price.
func flatten(amounts map[string]amount) (p llm.Price, ok bool, err error) {
	starts := map[int64]bool{}
	for key, a := range amounts {
		ok = ok || !units[key].uncounted
		for _, t := range a.Tiers {
			starts[t.Above] = true
		}
	}
	if p.Rates, err = ratesBeyond(amounts, -1); err != nil {
		return llm.Price{}, false, err
	}
	for _, above := range slices.Sorted(maps.Keys(starts)) {
		r, err := ratesBeyond(amounts, above)
		if err != nil {
			return llm.Price{}, false, err
		}
		p.Tiers = append(p.Tiers, llm.Tier{Above: above, Rates: r})
	}
	return p, ok, nil
}

func ratesBeyond(amounts map[string]amount, input int64) (llm.Rates, error) {
	var r, extra llm.Rates
	for key, a := range amounts {
		u, ok := units[key]
		if !ok {
			return r, fmt.Errorf("the price key %q is unknown", key)
		}
		if u.uncounted {
			continue
		}
		v, err := pico(a.beyond(input), u.per)
		if err != nil {
			return r, fmt.Errorf("price %s: %w", key, err)
		}
		if u.extra {
			extra[u.class] = max(extra[u.class], llm.RateOf(v))
			continue
		}
		r[u.class] = llm.RateOf(v)
	}
	for c := range r {
		if extra[c].Known() && extra[c].Pico() >= r[c].Pico() {
			r[c] = extra[c]
		}
	}
	if !r[llm.Reasoning].Known() { // the source counts it as output if it has no price
		r[llm.Reasoning] = r[llm.Output]
	}
	return r, nil
}

// fill sets the rates of token classes that the operator has not set: one-hour cache writes cost the same as cache
// writes, cached audio as cache reads, other input as input, other output as output. If only input or output is set,
// the other costs the same. No class becomes free by omission.
func fill(r *llm.Rates) {
	switch {
	case !r[llm.Output].Known():
		r[llm.Output] = r[llm.Input]
	case !r[llm.Input].Known():
		r[llm.Input] = r[llm.Output]
	}
	for c := range llm.Class(llm.NumTokens) {
		switch {
		case r[c].Known():
		case c == llm.CacheWrite1h:
			r[c] = r[llm.CacheWrite]
		case c == llm.CacheReadAudio:
			r[c] = r[llm.CacheRead]
		case c.IsInput():
			r[c] = r[llm.Input]
		default:
			r[c] = r[llm.Output]
		}
	}
}

var errDecimal = errors.New("not a decimal of US dollars, or too large")

// pico converts a decimal of US dollars for per units to pico-dollars for one unit. It rounds finer prices half up.
func pico(dollars string, per int64) (int64, error) {
	v, ok := new(big.Rat).SetString(dollars)
	if !ok || v.Sign() < 0 {
		return 0, fmt.Errorf("%q: %w", dollars, errDecimal)
	}
	v.Mul(v, big.NewRat(picoPerUSD, per))
	v.Add(v, big.NewRat(1, 2))
	n := new(big.Int).Quo(v.Num(), v.Denom())
	if !n.IsInt64() {
		return 0, fmt.Errorf("%q: %w", dollars, errDecimal)
	}
	return n.Int64(), nil
}

// digest identifies the rates and tiers of a price by their content: 64 bits of SHA-256, in hexadecimal.
func digest(p *llm.Price) string {
	h := sha256.New()
	write := func(above int64, r *llm.Rates) {
		fmt.Fprintf(h, "above %d\n", above)
		for c, v := range r {
			if v.Known() {
				fmt.Fprintf(h, "%s %d\n", llm.Class(c), v.Pico())
			}
		}
	}
	all := func(r *llm.Rates, tiers []llm.Tier) {
		write(-1, r)
		for i := range tiers {
			write(tiers[i].Above, &tiers[i].Rates)
		}
	}
	all(&p.Rates, p.Tiers)
	fmt.Fprintf(h, "modes %t\n", p.Modes != nil)
	for i := range p.Modes {
		m := &p.Modes[i]
		fmt.Fprintf(h, "%s %d\n", m.Name, m.Times)
		all(&m.Rates, m.Tiers)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}
