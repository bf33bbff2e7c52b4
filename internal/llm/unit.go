package llm

import (
	"slices"
	"strings"
	"time"
)

// Some modes describe a unit, and not how a request was served: the price of an image depends on its size and quality
// ("image:2k:low", "image:1024x1024"), that of a container on its memory ("container:4g"). Such a mode has a rate
// only for the units of its class, and applies together with any other mode.

// unitKind is a kind of such modes, with the class that they price.
type unitKind struct {
	name  string
	class Class
}

func unitKinds() [2]unitKind { return [...]unitKind{{"image", Images}, {"container", CodeSessions}} }

// containers returns the kind whose units are charged by their lifetime.
func containers() unitKind { return unitKinds()[1] }

// isUnit reports whether a mode describes a unit.
func isUnit(mode string) bool {
	for _, k := range unitKinds() {
		if k.has(mode) {
			return true
		}
	}
	return false
}

func (k unitKind) has(mode string) bool {
	kind, _, of := strings.Cut(mode, ":")
	return of && kind == k.name
}

// isSaid reports whether modes, separated by commas, include one of the kind.
func (k unitKind) isSaid(modes string) bool {
	for name := range strings.SplitSeq(modes, ",") {
		if k.has(name) {
			return true
		}
	}
	return false
}

// ImageMode returns the mode of an image of that size and quality; empty values are unknown.
func ImageMode(size, quality string) string {
	return "image:" + unitWord(size) + ":" + unitWord(quality)
}

// ContainerMode returns the mode of a container with that memory, such as "4g".
func ContainerMode(memory string) string { return "container:" + unitWord(memory) }

// unitWord normalises a value of a client or a provider for the name of a mode. It returns an empty string for
// "auto", which leaves the choice to the provider, and "unknown", which no mode has, for an invalid value.
func unitWord(word string) string {
	const (
		longest = 16 // bytes
		usual   = "0123456789abcdefghijklmnopqrstuvwxyz.-_"
	)
	word = strings.ToLower(word)
	switch {
	case word == "auto":
		return ""
	case len(word) > longest || strings.Trim(word, usual) != "":
		return "unknown"
	}
	return word
}

// fits compares a mode with a description of a unit: may reports whether they are compatible, is whether the
// description specifies all of the mode.
func (m *Mode) fits(said string) (may, is bool) {
	is = true
	want, given := m.Name, said
	for want != "" {
		var w, g string
		w, want, _ = strings.Cut(want, ":")
		g, given, _ = strings.Cut(given, ":")
		switch {
		case w == "" || w == g:
		case g == "":
			is = false
		default:
			return false, false
		}
	}
	return true, is
}

// goesBy reports whether the price of the kind's units depends on their properties.
func (p *Price) goesBy(k unitKind) bool {
	for i := range p.Modes {
		if k.has(p.Modes[i].Name) {
			return true
		}
	}
	return false
}

// unitPrice is the price of a unit: the best estimate, the most, and whether the exact price is open.
type unitPrice struct {
	rate, most Rate
	open       bool
}

// unit returns the price of a unit of the kind, described by modes separated by commas. If the description is
// incomplete, the estimate is the rate without a mode. The price is unknown if no mode fits. Of several descriptions,
// the highest price counts.
func (p *Price) unit(k unitKind, said string) (u unitPrice) {
	if !k.isSaid(said) {
		return p.unitOf(k, k.name)
	}
	for name := range strings.SplitSeq(said, ",") {
		if !k.has(name) {
			continue
		}
		v := p.unitOf(k, name)
		if !v.rate.Known() {
			return unitPrice{}
		}
		u = unitPrice{max(u.rate, v.rate), max(u.most, v.most), u.open || v.open}
	}
	return u
}

func (p *Price) unitOf(k unitKind, said string) (u unitPrice) {
	for i := range p.Modes {
		m := &p.Modes[i]
		if !k.has(m.Name) {
			continue
		}
		may, is := m.fits(said)
		if is {
			return unitPrice{rate: m.Rates[k.class], most: m.Rates[k.class]}
		}
		if may {
			u = unitPrice{p.Rates[k.class], max(u.most, m.Rates[k.class]), true}
		}
	}
	u.most = max(u.rate, u.most)
	if !u.rate.Known() {
		u.rate = u.most
	}
	return u
}

// setUnits sets the rates of units by their description: the estimates, or the highest if worst is set.
func (p *Price) setUnits(r *Rates, said string, worst bool) {
	if len(p.Modes) == 0 {
		return
	}
	for _, k := range unitKinds() {
		if !p.goesBy(k) {
			continue
		}
		u := p.unit(k, said)
		r[k.class] = u.rate
		if worst {
			r[k.class] = u.most
		}
	}
}

// SearchPreview is the mode of searches by the preview version of a tool. An answer shows it by the tools that it
// repeats, which some proxies omit.
const SearchPreview = "search:preview"

// Served returns the modes in which an answer was served, separated by commas: the reported ones, and the requested
// units and search tool if the answer does not report them. It omits modes that the price does not depend on.
func (p *Price) Served(told, asked string) string {
	modes := told
	for _, k := range unitKinds() {
		switch {
		case !p.goesBy(k):
			modes = k.without(modes)
		case !k.isSaid(told) && k.isSaid(asked):
			modes = strings.Trim(modes+","+k.of(asked), ",")
		}
	}
	if strings.Contains(asked, SearchPreview) && !strings.Contains(told, SearchPreview) && p.Charges(SearchPreview) {
		modes = strings.Trim(modes+","+SearchPreview, ",")
	}
	return modes
}

// of returns only the modes of the kind.
func (k unitKind) of(modes string) string { return k.filter(modes, true) }

func (k unitKind) without(modes string) string {
	if !k.isSaid(modes) {
		return modes
	}
	return k.filter(modes, false)
}

func (k unitKind) filter(modes string, of bool) string {
	names := strings.Split(modes, ",")
	return strings.Join(slices.DeleteFunc(names, func(name string) bool { return k.has(name) != of }), ",")
}

// sessionLength is the lifetime of a container for the price of a session, and the time until an unused one expires:
// https://developers.openai.com/api/docs/guides/tools-code-interpreter (undated copy).
const sessionLength = 20 * time.Minute

// Sessions returns the most container sessions that a request is charged for, by its duration and the sessions that
// its answer shows. If the price depends on the container, it also depends on its lifetime
// (https://developers.openai.com/api/docs/pricing): while the request uses it, and until it expires. If a request
// allows a container, the provider may create one that the answer does not show.
func (p *Price) Sessions(shown int64, said string, took time.Duration) int64 {
	k := containers()
	if !p.goesBy(k) || shown == 0 && !k.isSaid(said) {
		return shown
	}
	return max(1, shown) + int64((max(0, took)+sessionLength-1)/sessionLength)
}

// AtMost returns the highest cost of a fully reported usage in which only the properties of units and the lifetime of
// containers are open, for a request of that duration. If nothing of that is open, the result is certain and equals
// CostAtMost.
func (p *Price) AtMost(u *Usage, served string, took time.Duration) (most Money, certain bool) {
	if !p.Known() {
		return 0, true
	}
	r, _ := p.ratesFor(u.InputTokens(), served)
	if len(p.Modes) == 0 {
		return p.Dearest(r.cost(u)), true
	}
	p.setUnits(&r, served, true)
	longest := *u
	if r[CodeSessions].Known() {
		longest[CodeSessions] = p.Sessions(u[CodeSessions], served, took)
	}
	certain = longest == *u
	for _, k := range unitKinds() {
		certain = certain && (u[k.class] == 0 || !p.goesBy(k) || !p.unit(k, served).open)
	}
	return p.Dearest(r.cost(&longest)), certain
}
