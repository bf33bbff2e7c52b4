package pricing

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/llm"
)

// Change is a difference between the prices of two books, in US dollars as decimals, per million tokens or per unit of
// other classes; empty if unknown.
type Change struct {
	Kind   string `json:"change"`
	Model  string `json:"model"` // "<provider>/<model-name>"
	Class  string `json:"class"` // with the tier and the mode, if any
	Before string `json:"before"`
	After  string `json:"after"`
}

// These are the kinds of changes.
const (
	Added   = "added"   // the model had no price
	Changed = "changed" // the model has a price in both
	Gone    = "gone"    // the model has no price any more, or a list of its provider no longer contains it
)

// Diff returns the differences in price between two books at that time, sorted by model, for all providers that price
// files of either book name. Lists are files of the later book that are complete third-party lists: a priced model that
// they do not contain counts as gone.
func Diff(before, after *Book, at time.Time, lists ...string) (all []Change) {
	named := maps.Clone(after.own)
	if named == nil {
		named = map[string][]*addition{}
	}
	maps.Copy(named, before.own)
	for _, provider := range slices.Sorted(maps.Keys(named)) {
		models := map[string]bool{}
		for _, b := range []*Book{before, after} {
			for _, l := range b.Models(provider, at) {
				models[l.ID] = true
			}
		}
		for _, model := range slices.Sorted(maps.Keys(models)) {
			p, q := before.Price(provider, model, at), after.Price(provider, model, at)
			starts := append(startsOf(&p), startsOf(&q)...)
			found := changes(provider+"/"+model, decimals(&p, starts), decimals(&q, starts))
			for i := range found {
				found[i].Kind = kindOf(&p, &q)
			}
			if all = append(all, found...); p.Known() && after.unlistedIn(lists, provider, model) {
				all = append(all, Change{Kind: Gone, Model: provider + "/" + model})
			}
		}
	}
	return all
}

func kindOf(before, after *llm.Price) string {
	switch {
	case !before.Known():
		return Added
	case !after.Known():
		return Gone
	}
	return Changed
}

// unlistedIn reports whether a list covers the provider and none contains the model.
func (b *Book) unlistedIn(lists []string, provider, model string) bool {
	if !slices.ContainsFunc(b.own[provider], func(a *addition) bool { return slices.Contains(lists, a.file) }) {
		return false
	}
	e := b.entry(provider, model)
	return e.model == nil || e.model.own == nil || !slices.Contains(lists, e.model.own.file)
}

// changes returns the classes with different prices. It omits a tier that changes in the same way as its base price.
func changes(model string, before, after map[string]string) (all []Change) {
	classes := maps.Clone(before)
	maps.Copy(classes, after)
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		below, _, tier := strings.Cut(class, tierMark)
		same := tier && before[below] == before[class] && after[below] == after[class]
		if before[class] != after[class] && !same {
			all = append(all, Change{Model: model, Class: class, Before: before[class], After: after[class]})
		}
	}
	return all
}

// tierMark separates a class from the number of input tokens above which its tier begins.
const tierMark = " above "

// startsOf returns the numbers of input tokens above which the price's tiers begin.
func startsOf(p *llm.Price) (starts []int64) {
	add := func(tiers []llm.Tier) {
		for i := range tiers {
			starts = append(starts, tiers[i].Above)
		}
	}
	add(p.Tiers)
	for i := range p.Modes {
		add(p.Modes[i].Tiers)
	}
	return starts
}

// decimals returns all prices of a model by class, mode and tier.
func decimals(p *llm.Price, starts []int64) map[string]string {
	all := map[string]string{}
	if !p.Known() {
		return all
	}
	add := func(mode string, rates llm.Rates, tiers []llm.Tier) {
		for class, price := range rates.Decimals() {
			all[class+mode] = price
		}
		for _, start := range starts {
			r := rates
			for i := range tiers {
				if tiers[i].Above <= start {
					r = tiers[i].Rates
				}
			}
			for class, price := range r.Decimals() {
				all[class+mode+tierMark+strconv.FormatInt(start, 10)] = price
			}
		}
	}
	add("", p.Rates, p.Tiers)
	for i := range p.Modes {
		m := &p.Modes[i]
		if m.Times > 0 {
			times := fmt.Sprintf("%d.%03d", m.Times/thousand, m.Times%thousand)
			all["tokens ("+m.Name+")"] = "times " + strings.TrimSuffix(strings.TrimRight(times, "0"), ".")
			continue
		}
		add(" ("+m.Name+")", m.Rates, m.Tiers)
	}
	return all
}
