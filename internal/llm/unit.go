package llm

import (
	"slices"
	"strings"
	"time"
)

// Some modes say what a unit is, and not how a request was served: an image costs what its
// size and quality do ("image:2k:low", "image:1024x1024"), a container in which code runs
// what its memory does ("container:4g"). Such a mode has a rate for the units of its class
// alone, and goes with any other mode.

// unitKind is a kind of such modes, and the class that they price.
type unitKind struct {
	name  string
	class Class
}

func unitKinds() [2]unitKind { return [...]unitKind{{"image", Images}, {"container", CodeSessions}} }

// containers is the kind whose units are charged for by the time that they live.
func containers() unitKind { return unitKinds()[1] }

// isUnit reports whether a mode says what a unit is.
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

// isSaid reports whether some modes, with commas, say anything of the kind.
func (k unitKind) isSaid(modes string) bool {
	for name := range strings.SplitSeq(modes, ",") {
		if k.has(name) {
			return true
		}
	}
	return false
}

// ImageMode is the mode of an image of that size and quality, each of which is empty where
// nobody said it.
func ImageMode(size, quality string) string {
	return "image:" + unitWord(size) + ":" + unitWord(quality)
}

// ContainerMode is the mode of a container with so much memory, such as "4g".
func ContainerMode(memory string) string { return "container:" + unitWord(memory) }

// unitWord makes a client's or a provider's word one in the name of a mode. What leaves it
// to the provider is empty, and what no provider has is a word that no mode has.
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

// fits reports whether a unit of which that is said may be one of the mode, and whether it
// is one for certain.
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

// goesBy reports whether the price of the kind's units depends on what they are.
func (p *Price) goesBy(k unitKind) bool {
	for i := range p.Modes {
		if k.has(p.Modes[i].Name) {
			return true
		}
	}
	return false
}

// unitPrice is what a unit costs: the best estimate and the most, and whether that is open.
type unitPrice struct {
	rate, most Rate
	open       bool
}

// unit is what a unit of the kind costs by what is said of it in modes with commas. Where
// nobody said enough, the estimate is the rate without a mode. It is unknown for a unit that
// no mode fits. Of several the dearest counts.
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

// setUnits sets what units cost by what is said of them, or the most that they can.
func (p *Price) setUnits(r *Rates, said string, worst bool) {
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

// SearchPreview is the mode of searches by the preview of a tool. An answer tells it by the tools that it repeats, which
// some proxies leave out.
const SearchPreview = "search:preview"

// Served are the modes in which an answer was served, with commas: those that it tells, and
// what the request says of units and of the tool that searches where the answer does not. What the price does not go by
// is left out.
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

// of are the modes of the kind alone, without all others.
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

// sessionLength is how long a container lives for the price of a session, and after how
// long one that is not used expires:
// https://developers.openai.com/api/docs/guides/tools-code-interpreter (undated copy).
const sessionLength = 20 * time.Minute

// Sessions is the most sessions of containers that a request is charged for which took so
// long, and whose answer shows so many. Where the price goes by what a container is, it goes
// by the time that it lives, too (https://developers.openai.com/api/docs/pricing): while the
// request uses it, and until it expires. A request that allows one may have one made which
// its answer does not show.
func (p *Price) Sessions(shown int64, said string, took time.Duration) int64 {
	k := containers()
	if !p.goesBy(k) || shown == 0 && !k.isSaid(said) {
		return shown
	}
	return max(1, shown) + int64((max(0, took)+sessionLength-1)/sessionLength)
}

// AtMost is the most that a usage can cost which was told in full, but for what the units
// are and how long containers lived, of a request that took so long. Where nothing of that
// is open it is certain, and is CostAtMost.
func (p *Price) AtMost(u *Usage, served string, took time.Duration) (most Money, certain bool) {
	if !p.Known() {
		return 0, true
	}
	r, _ := p.ratesFor(u.InputTokens(), served)
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
