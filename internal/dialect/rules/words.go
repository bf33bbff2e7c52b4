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

// Words requires one of several values for an option.
type Words struct {
	Field   string // reasoning_effort, or a member in Extra
	Words   []string
	Instead map[string]string // replacements for other values; a value without one is removed
}

// Broken returns the field if it has another value.
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

// extra returns the index of a member in Extra; -1 for none.
func extra(r *llm.Request, name string) int {
	return slices.IndexFunc(r.Extra, func(f llm.Field) bool { return f.Name == name })
}

// Fit sends the replacement, or removes the option.
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

func (a Words) String() string {
	return "`" + a.Field + "` is one of `" + strings.Join(a.Words, "`, `") + "`"
}

// UsualModalities forbids the field modalities if it lists only text, the default.
type UsualModalities struct{}

// Broken returns the field.
func (UsualModalities) Broken(r *llm.Request, _ []byte) string {
	i := extra(r, "modalities")
	if i < 0 || rawjson.Len(r.Extra[i].Value) > 1 || !bytes.Contains(r.Extra[i].Value, []byte(`"text"`)) {
		return ""
	}
	return "modalities"
}

// Fit removes it.
func (UsualModalities) Fit(f *Fitting) error {
	i := extra(f.Request, "modalities")
	f.Extra = slices.Delete(slices.Clone(f.Extra), i, i+1)
	return nil
}

func (UsualModalities) String() string { return "No `modalities`" }

// Seeds requires a seed within bounds, also in the vendor's own field.
type Seeds struct {
	Least, Most int64
	Field       string // empty for none
}

func (a Seeds) refuses(n int64) bool { return n < a.Least || n > a.Most }

// Broken returns a seed outside the bounds.
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

// Fit removes the seed.
func (a Seeds) Fit(f *Fitting) error {
	f.Seed = nil
	if i := extra(f.Request, a.Field); i >= 0 {
		f.Extra = slices.Delete(slices.Clone(f.Extra), i, i+1)
	}
	f.Drop("seed")
	return nil
}

func (a Seeds) String() string {
	if a.Most == math.MaxInt64 {
		return "A seed is at least " + strconv.FormatInt(a.Least, 10)
	}
	return fmt.Sprintf("A seed is from %d to %d", a.Least, a.Most)
}

// Positive requires a number above 0.
type Positive struct {
	Field   string // as in Within
	Instead string // sent instead of 0
}

// Broken returns the field of a number that is not above 0.
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

// Fit sends the smallest accepted number.
func (a Positive) Fit(f *Fitting) error {
	*number(f.Request, a.Field) = new(json.Number(a.Instead))
	f.Drop(a.Field + " of 0")
	return nil
}

func (a Positive) String() string { return "`" + a.Field + "` is above 0" }
