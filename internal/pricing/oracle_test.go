package pricing_test

import (
	"encoding/json"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/llm"
)

// The oracle works a cost out once more, from the decimal strings of the data
// files and with fractions of any size. It shares no code with the package:
// it reads the files itself, chooses tier, date and time of day itself, and
// fills absent prices by a table of its own.

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
}

type periodData struct {
	Since string         `json:"since"`
	From  string         `json:"from"`
	To    string         `json:"to"`
	Rates map[string]any `json:"rates"` // a decimal string, or base and tiers
}

func readVendors(t testing.TB) []vendorData {
	t.Helper()
	files, err := filepath.Glob("data/providers/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("price files: got %d, %v", len(files), err)
	}
	var all []vendorData
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
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

// period is the rates that hold at that moment.
func (m *modelData) period(at time.Time) map[string]any {
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

// payers are the price keys that can pay for a class, the first that there is
// pays; per says for how many.
var payers = map[llm.Class]struct {
	keys []string
	per  int64
}{
	llm.Input:        {[]string{"input_mtok", "output_mtok"}, 1e6},
	llm.CacheRead:    {[]string{"cache_read_mtok", "input_mtok", "output_mtok"}, 1e6},
	llm.CacheWrite:   {[]string{"cache_write_mtok", "input_mtok", "output_mtok"}, 1e6},
	llm.CacheWrite1h: {[]string{"cache_write_1h_mtok", "cache_write_mtok", "input_mtok", "output_mtok"}, 1e6},
	llm.AudioIn:      {[]string{"input_audio_mtok", "input_mtok", "output_mtok"}, 1e6},
	llm.ImageIn:      {[]string{"input_image_mtok", "input_mtok", "output_mtok"}, 1e6},
	// Images and video that a model makes count as its output.
	llm.Output:       {[]string{"output_image_mtok", "output_video_mtok", "output_mtok", "input_mtok"}, 1e6},
	llm.Reasoning:    {[]string{"output_reasoning_mtok", "output_mtok", "input_mtok"}, 1e6},
	llm.AudioOut:     {[]string{"output_audio_mtok", "output_mtok", "input_mtok"}, 1e6},
	llm.Requests:     {[]string{"requests_kcount"}, 1000},
	llm.Searches:     {[]string{"web_searches_kcount"}, 1000},
	llm.Milliseconds: {[]string{"audio_hours"}, 3_600_000},
}

// exactRates are the US dollars that one of each class costs in a request of
// so many input tokens. Prices that are finer than a pico-dollar a unit are
// rounded there, half up, by contract; there are few.
func exactRates(t testing.TB, rates map[string]any, input int64) (r [llm.NumClasses]*big.Rat) {
	t.Helper()
	for c := range r {
		r[c] = new(big.Rat)
		p := payers[llm.Class(c)]
		for _, key := range p.keys {
			if v, ok := rates[key]; ok {
				r[c].Quo(decimal(t, priceFor(v, input)), big.NewRat(p.per, 1))
				r[c] = roundTo(r[c], 1e12)
				break
			}
		}
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

// exactCost is the usage at the rates, rounded once.
func exactCost(r *[llm.NumClasses]*big.Rat, u *llm.Usage) llm.Money {
	sum := new(big.Rat)
	for c, n := range u {
		sum.Add(sum, new(big.Rat).Mul(r[c], big.NewRat(n, 1)))
	}
	return nano(sum)
}

func nano(dollars *big.Rat) llm.Money {
	x := roundTo(dollars, 1e9)
	x.Mul(x, big.NewRat(1e9, 1))
	return llm.Money(x.Num().Int64())
}

// perClassCost rounds each class by itself: a wrong way that the vectors have
// to find out.
func perClassCost(r *[llm.NumClasses]*big.Rat, u *llm.Usage) (sum llm.Money) {
	for c, n := range u {
		sum += nano(new(big.Rat).Mul(r[c], big.NewRat(n, 1)))
	}
	return sum
}

// floatCost computes with binary fractions: the other wrong way.
func floatCost(r *[llm.NumClasses]*big.Rat, u *llm.Usage) llm.Money {
	var sum float64
	for c, n := range u {
		rate, _ := r[c].Float64()
		sum += rate * float64(n)
	}
	return llm.Money(math.Round(sum * 1e9))
}

// inputTokens is the oracle's own sum of what went in.
func inputTokens(u *llm.Usage) int64 {
	return u[llm.Input] + u[llm.CacheRead] + u[llm.CacheWrite] + u[llm.CacheWrite1h] + u[llm.AudioIn] + u[llm.ImageIn]
}
