package rules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Words asks that an option has one of these words.
type Words struct {
	Field   string // reasoning_effort, or a member that nobody modelled
	Words   []string
	Instead map[string]string // by other words; a word that has none is left out
}

// Broken is the field that has another word.
func (a Words) Broken(r *llm.Request, _ []byte) string {
	if word := a.of(r); word == "" || slices.Contains(a.Words, word) {
		return ""
	}
	return a.Field
}

func (a Words) of(r *llm.Request) string {
	if a.Field == "reasoning_effort" {
		if r.Reasoning == nil {
			return ""
		}
		return r.Reasoning.Effort
	}
	i := extra(r, a.Field)
	if i < 0 {
		return ""
	}
	return rawjson.Text(r.Extra[i].Value)
}

// extra is where a member stands among those that nobody modelled; -1 for nowhere.
func extra(r *llm.Request, name string) int {
	return slices.IndexFunc(r.Extra, func(f llm.Field) bool { return f.Name == name })
}

// Fit sends the nearest word, or none.
func (a Words) Fit(f *Fitting) error {
	word := a.Instead[a.of(f.Request)]
	f.Drop(a.Field)
	if a.Field == "reasoning_effort" {
		o := *f.Reasoning
		o.Effort = word
		f.Reasoning = &o
		return nil
	}
	i := extra(f.Request, a.Field)
	f.Extra = slices.Clone(f.Extra)
	if word == "" {
		f.Extra = slices.Delete(f.Extra, i, i+1)
	} else {
		f.Extra[i].Value = rawjson.AppendString(nil, word)
	}
	return nil
}

// Example has a word that no vendor has.
func (a Words) Example() *llm.Request {
	r := saying("hello")
	if a.Field == "reasoning_effort" {
		r.Reasoning = &llm.ReasoningOptions{Effort: "utmost"}
	} else {
		r.Extra = []llm.Field{{Name: a.Field, Value: []byte(`"utmost"`)}}
	}
	return r
}

func (a Words) String() string {
	return "`" + a.Field + "` is one of `" + strings.Join(a.Words, "`, `") + "`"
}

// UsualModalities asks for requests without modalities where these are text alone, which is what there is.
type UsualModalities struct{}

// Broken is the field.
func (UsualModalities) Broken(r *llm.Request, _ []byte) string {
	i := extra(r, "modalities")
	if i < 0 || rawjson.Len(r.Extra[i].Value) > 1 || !bytes.Contains(r.Extra[i].Value, []byte(`"text"`)) {
		return ""
	}
	return "modalities"
}

// Fit leaves it out.
func (UsualModalities) Fit(f *Fitting) error {
	i := extra(f.Request, "modalities")
	f.Extra = slices.Delete(slices.Clone(f.Extra), i, i+1)
	return nil
}

// Example has it.
func (UsualModalities) Example() *llm.Request {
	r := saying("hello")
	r.Extra = []llm.Field{{Name: "modalities", Value: []byte(`["text"]`)}}
	return r
}

func (UsualModalities) String() string { return "No `modalities`" }

// Seeds asks for a seed within bounds, in the vendor's own field, too.
type Seeds struct {
	Least, Most int64
	Field       string // empty for none
}

func (a Seeds) refuses(n int64) bool { return n < a.Least || n > a.Most }

// Broken is one that is not.
func (a Seeds) Broken(r *llm.Request, _ []byte) string {
	if r.Seed != nil && a.refuses(*r.Seed) {
		return strconv.FormatInt(*r.Seed, 10)
	}
	if i := extra(r, a.Field); i >= 0 {
		if n, ok := rawjson.AsInt(r.Extra[i].Value); ok && a.refuses(n) {
			return strconv.FormatInt(n, 10)
		}
	}
	return ""
}

// Fit leaves it out.
func (a Seeds) Fit(f *Fitting) error {
	f.Seed = nil
	if i := extra(f.Request, a.Field); i >= 0 {
		f.Extra = slices.Delete(slices.Clone(f.Extra), i, i+1)
	}
	f.Drop("seed")
	return nil
}

// Example has one below.
func (a Seeds) Example() *llm.Request {
	r := saying("hello")
	r.Seed = new(a.Least - 1)
	return r
}

func (a Seeds) String() string {
	if a.Most == math.MaxInt64 {
		return "A seed is at least " + strconv.FormatInt(a.Least, 10)
	}
	return fmt.Sprintf("A seed is from %d to %d", a.Least, a.Most)
}

// Positive asks that a number is above 0.
type Positive struct {
	Field   string // as of Within
	Instead string // what is sent for 0
}

// Broken is the field of one that is not.
func (a Positive) Broken(r *llm.Request, _ []byte) string {
	n := *number(r, a.Field)
	if n == nil {
		return ""
	}
	if v, err := n.Float64(); err != nil || v > 0 {
		return ""
	}
	return a.Field
}

// Fit sends the smallest.
func (a Positive) Fit(f *Fitting) error {
	*number(f.Request, a.Field) = new(json.Number(a.Instead))
	f.Drop(a.Field + " of 0")
	return nil
}

// Example has 0.
func (a Positive) Example() *llm.Request {
	r := saying("hello")
	*number(r, a.Field) = new(json.Number("0"))
	return r
}

func (a Positive) String() string { return "`" + a.Field + "` is above 0" }
