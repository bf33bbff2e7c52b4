package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/internal/llm"
)

// number returns a pointer to the request's number of that name, which is nil if absent.
func number(r *llm.Request, name string) **json.Number {
	switch name {
	case "temperature":
		return &r.Temperature
	case "top_p":
		return &r.TopP
	case "frequency_penalty":
		return &r.FrequencyPenalty
	case "presence_penalty":
		return &r.PresencePenalty
	}
	panic("rules: no number is called " + name) // a test checks the names in the table
}

// Within requires that a number is within bounds.
type Within struct {
	Field       string // temperature, top_p, frequency_penalty or presence_penalty
	Least, Most string // empty for no bound
}

// Broken returns the field of a number outside the bounds.
func (a Within) Broken(r *llm.Request, _ []byte) string {
	if _, what := a.nearest(r); what != "" {
		return a.Field
	}
	return ""
}

// nearest returns the bound that a number exceeds, and the side; both are empty for a number within the bounds.
func (a Within) nearest(r *llm.Request) (bound, side string) {
	n := *number(r, a.Field)
	if n == nil {
		return "", ""
	}
	v := float(n.String())
	switch {
	case a.Least != "" && v < float(a.Least):
		return a.Least, " below "
	case a.Most != "" && v > float(a.Most):
		return a.Most, " above "
	}
	return "", ""
}

// float returns the value of a JSON number; infinity if it is too large.
func float(s string) float64 {
	v, _ := strconv.ParseFloat(s, 64)
	return v
}

// Fit sends the nearest bound.
func (a Within) Fit(f *Fitting) error {
	bound, side := a.nearest(f.Request)
	*number(f.Request, a.Field) = new(json.Number(bound))
	f.Drop(a.Field + side + bound)
	return nil
}

func (a Within) String() string {
	if a.Least == "" {
		return "`" + a.Field + "` is at most " + a.Most
	}
	return "`" + a.Field + "` is from " + a.Least + " to " + a.Most
}

// MostTopK requires a top_k from 0 to a bound.
type MostTopK struct{ Most int64 }

// Broken returns a value outside the bounds.
func (a MostTopK) Broken(r *llm.Request, _ []byte) string {
	if r.TopK == nil || *r.TopK >= 0 && *r.TopK <= a.Most {
		return ""
	}
	return strconv.FormatInt(*r.TopK, 10)
}

// Fit sends the nearest bound.
func (a MostTopK) Fit(f *Fitting) error {
	f.TopK = new(min(max(*f.TopK, 0), a.Most))
	f.Drop("top_k")
	return nil
}

func (a MostTopK) String() string { return fmt.Sprintf("`top_k` is from 0 to %d", a.Most) }

// LeastOutput requires a minimum for the output cap. Quotes apply it by Raised.
type LeastOutput struct{ Tokens int64 }

// Broken returns a lower cap.
func (a LeastOutput) Broken(r *llm.Request, _ []byte) string {
	if r.MaxOutput == nil || *r.MaxOutput >= a.Tokens {
		return ""
	}
	return strconv.FormatInt(*r.MaxOutput, 10)
}

// Fit raises the cap.
func (a LeastOutput) Fit(f *Fitting) error {
	f.MaxOutput = new(a.Tokens)
	f.Drop(fmt.Sprintf("output cap below %d", a.Tokens))
	return nil
}

func (a LeastOutput) String() string {
	return fmt.Sprintf("An output cap is at least %d tokens", a.Tokens)
}

// Raised returns the output cap that a model receives for a cap of a client of another wire format, in tokens.
func (s Set) Raised(model string, limit int64) int64 {
	for _, rule := range s.of(model).all {
		if a, ok := rule.Ask.(LeastOutput); ok {
			limit = max(limit, a.Tokens)
		}
	}
	return limit
}

// NoSampling forbids the given fields: temperature, top_p, top_k, a penalty or stop. A temperature of 1 is accepted.
type NoSampling struct{ Fields []string }

// Broken returns the first field that is present.
func (a NoSampling) Broken(r *llm.Request, _ []byte) string {
	i := slices.IndexFunc(a.Fields, func(field string) bool {
		return has(r, field) && (field != "temperature" || !isOne(r.Temperature))
	})
	if i < 0 {
		return ""
	}
	return a.Fields[i]
}

// has reports whether a sampling field is present.
func has(r *llm.Request, field string) bool {
	switch field {
	case "stop":
		return len(r.Stop) > 0
	case "top_k":
		return r.TopK != nil
	}
	return *number(r, field) != nil
}

// clear removes a sampling field.
func (f *Fitting) clear(field string) {
	switch field {
	case "stop":
		f.Stop = nil
	case "top_k":
		f.TopK = nil
	default:
		*number(f.Request, field) = nil
	}
}

// isOne reports whether a number is 1, which has the same effect as none.
func isOne(n *json.Number) bool {
	if n == nil {
		return false
	}
	v, err := n.Float64()
	return err == nil && v == 1
}

// Fit removes the fields.
func (a NoSampling) Fit(f *Fitting) error {
	for _, field := range a.Fields {
		if only := (NoSampling{Fields: []string{field}}); only.Broken(f.Request, nil) == "" {
			continue
		}
		if field != "top_p" || !isOne(f.TopP) {
			f.Drop(field)
		}
		f.clear(field)
	}
	return nil
}

func (a NoSampling) String() string {
	said := "No `" + strings.Join(a.Fields, "`, `") + "`"
	if slices.Contains(a.Fields, "temperature") {
		said += ", except a temperature of 1"
	}
	return said
}

// OneSampling forbids temperature and top_p together.
type OneSampling struct{}

// Broken returns top_p if a request has both.
func (OneSampling) Broken(r *llm.Request, _ []byte) string {
	if r.Temperature == nil || r.TopP == nil {
		return ""
	}
	return "top_p"
}

// Fit removes the temperature if it is 1, which has no effect, and otherwise top_p.
func (OneSampling) Fit(f *Fitting) error {
	if isOne(f.Temperature) {
		f.Temperature = nil
		return nil
	}
	return NoSampling{Fields: []string{"top_p"}}.Fit(f)
}

func (OneSampling) String() string { return "No `temperature` together with `top_p`" }

// MostStops bounds the number of stop sequences.
type MostStops struct{ Most int }

// Broken returns the number of stop sequences if it exceeds the bound.
func (a MostStops) Broken(r *llm.Request, _ []byte) string {
	if len(r.Stop) <= a.Most {
		return ""
	}
	return strconv.Itoa(len(r.Stop))
}

// Fit refuses the request, because the answer would not stop where the client wants.
func (a MostStops) Fit(*Fitting) error {
	return llm.Invalid("stop", fmt.Sprintf("The model accepts at most %d stop sequences. Send at most that many, or "+
		"choose a model that accepts more.", a.Most))
}

func (a MostStops) String() string { return fmt.Sprintf("There are at most %d stop sequences", a.Most) }
