package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/internal/llm"
)

// number is a request's number of that name; nil where it has none.
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
	panic("rules: no number is called " + name) // of the table, which a test reads
}

// Within asks that a number is within bounds.
type Within struct {
	Field       string // temperature, top_p, frequency_penalty or presence_penalty
	Least, Most string // empty for no bound
}

// Broken is the field of one that is not.
func (a Within) Broken(r *llm.Request, _ []byte) string {
	if _, what := a.nearest(r); what != "" {
		return a.Field
	}
	return ""
}

// nearest returns the bound beyond which a number is, and on which side; empty for one that is within.
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

// float is the value of a JSON number; infinite where it is beyond all bounds.
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

// Example has a number of 1.9.
func (a Within) Example() *llm.Request {
	r := saying("hello")
	*number(r, a.Field) = new(json.Number("1.9"))
	return r
}

func (a Within) String() string {
	if a.Least == "" {
		return "`" + a.Field + "` is at most " + a.Most
	}
	return "`" + a.Field + "` is from " + a.Least + " to " + a.Most
}

// MostTopK asks for a top_k from 0 to so many.
type MostTopK struct{ Most int64 }

// Broken is one that is not.
func (a MostTopK) Broken(r *llm.Request, _ []byte) string {
	if r.TopK == nil || *r.TopK >= 0 && *r.TopK <= a.Most {
		return ""
	}
	return strconv.FormatInt(*r.TopK, 10)
}

// Fit sends the nearest.
func (a MostTopK) Fit(f *Fitting) error {
	f.TopK = new(min(max(*f.TopK, 0), a.Most))
	f.Drop("top_k")
	return nil
}

// Example has one more.
func (a MostTopK) Example() *llm.Request {
	r := saying("hello")
	r.TopK = new(a.Most + 1)
	return r
}

func (a MostTopK) String() string { return fmt.Sprintf("`top_k` is from 0 to %d", a.Most) }

// LeastOutput asks that a cap on the output is at least so many tokens. Quotes count with Raised.
type LeastOutput struct{ Tokens int64 }

// Broken is the cap that is lower.
func (a LeastOutput) Broken(r *llm.Request, _ []byte) string {
	if r.MaxOutput == nil || *r.MaxOutput >= a.Tokens {
		return ""
	}
	return strconv.FormatInt(*r.MaxOutput, 10)
}

// Fit raises it.
func (a LeastOutput) Fit(f *Fitting) error {
	f.MaxOutput = new(a.Tokens)
	f.Drop(fmt.Sprintf("output cap below %d", a.Tokens))
	return nil
}

// Example asks for one token.
func (a LeastOutput) Example() *llm.Request {
	r := saying("hello")
	r.MaxOutput = new(int64(1))
	return r
}

func (a LeastOutput) String() string {
	return fmt.Sprintf("A cap on the output is at least %d tokens", a.Tokens)
}

// Raised is the output cap that goes to a model where a client of another wire format gave that one, in tokens.
func (s Set) Raised(model string, limit int64) int64 {
	for _, rule := range s.of(model).all {
		if a, ok := rule.Ask.(LeastOutput); ok {
			limit = max(limit, a.Tokens)
		}
	}
	return limit
}

// NoSampling asks for requests without these fields, temperature, top_p, top_k, a penalty or stop. A temperature of 1 is
// allowed.
type NoSampling struct{ Fields []string }

// Broken is the first field that is there.
func (a NoSampling) Broken(r *llm.Request, _ []byte) string {
	i := slices.IndexFunc(a.Fields, func(field string) bool {
		return has(r, field) && (field != "temperature" || !isOne(r.Temperature))
	})
	if i < 0 {
		return ""
	}
	return a.Fields[i]
}

// has reports whether a field of sampling is there.
func has(r *llm.Request, field string) bool {
	switch field {
	case "stop":
		return len(r.Stop) > 0
	case "top_k":
		return r.TopK != nil
	}
	return *number(r, field) != nil
}

// clear leaves a field of sampling out.
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

// isOne reports whether a number is 1, which samples as if it were not there.
func isOne(n *json.Number) bool {
	if n == nil {
		return false
	}
	v, err := n.Float64()
	return err == nil && v == 1
}

// Fit leaves them out.
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

// Example has all of them.
func (a NoSampling) Example() *llm.Request {
	r := saying("hello")
	for _, field := range a.Fields {
		switch field {
		case "stop":
			r.Stop = []string{"END"}
		case "top_k":
			r.TopK = new(int64(5))
		default:
			*number(r, field) = new(json.Number("0.5"))
		}
	}
	return r
}

func (a NoSampling) String() string {
	said := "No `" + strings.Join(a.Fields, "`, `") + "`"
	if slices.Contains(a.Fields, "temperature") {
		said += ", but for a temperature of 1"
	}
	return said
}

// OneSampling asks for a temperature or top_p, not both.
type OneSampling struct{}

// Broken is top_p of a request that has both.
func (OneSampling) Broken(r *llm.Request, _ []byte) string {
	if r.Temperature == nil || r.TopP == nil {
		return ""
	}
	return "top_p"
}

// Fit leaves out the one that changes nothing, else top_p.
func (OneSampling) Fit(f *Fitting) error {
	if isOne(f.Temperature) {
		f.Temperature = nil
		return nil
	}
	return NoSampling{Fields: []string{"top_p"}}.Fit(f)
}

// Example has both.
func (OneSampling) Example() *llm.Request {
	r := saying("hello")
	r.Temperature, r.TopP = new(json.Number("0.5")), new(json.Number("0.5"))
	return r
}

func (OneSampling) String() string { return "No `temperature` and `top_p` at once" }

// MostStops asks for no more stop sequences.
type MostStops struct{ Most int }

// Broken is how many there are where they are more.
func (a MostStops) Broken(r *llm.Request, _ []byte) string {
	if len(r.Stop) <= a.Most {
		return ""
	}
	return strconv.Itoa(len(r.Stop))
}

// Fit refuses: an answer would not stop where it is to.
func (a MostStops) Fit(*Fitting) error {
	return llm.Invalid("stop", fmt.Sprintf("The model's API takes at most %d stop sequences. Send no more than these, or "+
		"choose a model that takes more.", a.Most))
}

// Example has one more.
func (a MostStops) Example() *llm.Request {
	r := saying("hello")
	for len(r.Stop) <= a.Most {
		r.Stop = append(r.Stop, "END"+strconv.Itoa(len(r.Stop)))
	}
	return r
}

func (a MostStops) String() string { return fmt.Sprintf("There are at most %d stop sequences", a.Most) }
