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

// AtMost asks that a number is no larger.
type AtMost struct {
	Field string // temperature, top_p, frequency_penalty or presence_penalty
	Most  string
}

// Broken is the field of a larger one.
func (a AtMost) Broken(r *llm.Request, _ []byte) string {
	n := *number(r, a.Field)
	if n == nil {
		return ""
	}
	v, err := n.Float64()
	most, _ := strconv.ParseFloat(a.Most, 64)
	if err != nil || v <= most {
		return ""
	}
	return a.Field
}

// Fit sends the largest.
func (a AtMost) Fit(f *Fitting) error {
	*number(f.Request, a.Field) = new(json.Number(a.Most))
	f.Drop(a.Field + " above " + a.Most)
	return nil
}

// Example has a number of 1.9.
func (a AtMost) Example() *llm.Request {
	r := saying("hello")
	*number(r, a.Field) = new(json.Number("1.9"))
	return r
}

func (a AtMost) String() string { return "`" + a.Field + "` is at most " + a.Most }

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
