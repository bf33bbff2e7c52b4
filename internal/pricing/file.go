package pricing

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weir/internal/llm"
)

// File is an operator's price file: JSON in the form of data/supplement.json.
type File struct {
	Path string // for messages
	Text []byte
}

// MaxFile is the maximum size of a price file, in bytes.
const MaxFile = 16 << 20

// IsFile reports whether a text is intended as a price file, even with mistakes: it has entries.
func IsFile(text []byte) bool {
	var file struct {
		Entries json.RawMessage `json:"entries"`
	}
	err := json.Unmarshal(text, &file)
	return err == nil && file.Entries != nil
}

// FileInfo describes a price file of a book.
type FileInfo struct {
	Path    string
	Entries int
	// Seen is the latest day of a check of the file's sources, YYYY-MM-DD; empty if no entry has one.
	Seen string
}

// fileReader reads price files and collects their mistakes.
type fileReader struct {
	book   *Book    // built from the data only
	known  []string // providers that the data does not know
	models map[string][]string
	own    map[string][]*addition // valid entries, by provider
	infos  []FileInfo

	file     File
	assumed  bool // the file is a third-party list
	found    int  // mistakes in this file
	mistakes findings
	warnings findings // these do not prevent the use of a file
}

// readFiles reads the files on top of a book of the data. Files may also name the given providers. The error is of type
// Problems: the mistakes, then the warnings.
func readFiles(files []File, b *Book, providers []string) (*fileReader, error) {
	r := &fileReader{book: b, known: providers, models: map[string][]string{}, own: map[string][]*addition{}}
	for _, f := range files {
		r.file, r.found = f, 0
		r.infos = append(r.infos, FileInfo{Path: f.Path})
		r.read()
		r.mistakes.endFile()
		r.warnings.endFile()
	}
	if len(r.mistakes.all) > 0 {
		return nil, slices.Concat(r.mistakes.all, r.warnings.all)
	}
	return r, nil
}

// report adds a mistake at that byte of the file.
func (r *fileReader) report(at int, format string, args ...any) {
	r.found++
	r.mistakes.add(&r.file, at, fmt.Sprintf(format, args...))
}

// warn adds a warning about a name that the data does not know. An update of the data may cause it, so it is not a
// mistake of the file.
func (r *fileReader) warn(at int, format string, args ...any) {
	r.warnings.add(&r.file, at, "warning: "+fmt.Sprintf(format, args...))
}

func (r *fileReader) read() {
	if len(r.file.Text) > MaxFile {
		r.report(0, "the file is longer than %d MiB", MaxFile>>20)
		return
	}
	root, err := readTree(r.file.Text)
	if err != nil {
		r.report(err.at, "%v", err)
		return
	}
	m := r.object(root, "a price file", "about", "assumed", "entries")
	r.text(m["about"], "about")
	r.assumed = r.isTrue(m["assumed"], "assumed")
	if m["entries"] == nil {
		if r.found == 0 {
			r.report(root.at, "`entries` is missing: add a list of prices")
		}
		return
	}
	for _, n := range r.list(m["entries"], "entries") {
		r.entry(n)
	}
}

// object returns the members of an object, and reports unknown and repeated names.
func (r *fileReader) object(n *node, what string, names ...string) map[string]*node {
	if !n.isObject() {
		r.report(n.at, "%s must be an object, { }", what)
		return nil
	}
	all := make(map[string]*node, len(n.members))
	for _, m := range n.members {
		switch {
		case !slices.Contains(names, m.name):
			r.report(m.at, "unknown name %s%s", quoted(m.name), suggest(m.name, names))
		case all[m.name] != nil:
			r.report(m.at, "%s appears twice; write it once", quoted(m.name))
		default:
			all[m.name] = m.value
		}
	}
	return all
}

// list returns the items of a list, and reports an empty list; nil for an absent node.
func (r *fileReader) list(n *node, what string) []*node {
	switch {
	case n == nil:
		return nil
	case !n.isList():
		r.report(n.at, "`%s` must be a list, [ ]", what)
	case len(n.items) == 0:
		r.report(n.at, "`%s` is empty", what)
	}
	return n.items
}

// text returns a string, and reports an empty one; "" for an absent node.
func (r *fileReader) text(n *node, what string) string {
	if n == nil {
		return ""
	}
	s, ok := n.value.(string)
	if !ok || s == "" {
		r.report(n.at, "`%s` must be a non-empty text in quotes", what)
	}
	return s
}

// entry reads one entry, and adds it if it has no mistakes.
func (r *fileReader) entry(n *node) {
	before := r.found
	m := r.object(n, "an entry", "provider", "models", "adds", "free", "mode", "times", "rates", "fills", "since",
		"until", "ceiling", "when", "source", "seen", "note")
	if m == nil {
		return
	}
	whole := r.found == before // otherwise the missing name may be the misspelt one
	for _, name := range []string{"provider", "models", "source"} {
		if m[name] == nil && whole {
			r.report(n.at, "`%s` is missing in this entry", name)
		}
	}
	a := &addition{
		file: r.file.Path, Assumed: r.assumed, Provider: r.provider(m["provider"]),
		Source: r.text(m["source"], "source"), Note: r.text(m["note"], "note"),
	}
	a.Since, a.When, a.Seen = r.day(m["since"], "since"), r.windows(m["when"]), r.seen(m["seen"])
	r.until(m, a)
	if said := saidIn(m); said != 1 && whole {
		r.report(n.at, "an entry must have exactly one of `rates`, `times`, `fills` and `free`, not %d of them", said)
	}
	r.price(m, a)
	a.Adds = r.rule(m["adds"])
	if a.Provider != "" && m["models"] != nil && (m["adds"] == nil || a.Adds != nil) {
		r.named(m, a)
	}
	if r.found == before && a.Provider != "" {
		r.take(a)
	}
}

// provider returns the name of a provider that the data or the configuration knows; "" for an unknown one. Its entry is
// then omitted.
func (r *fileReader) provider(n *node) string {
	name := r.text(n, "provider")
	if name == "" || r.book.source(name) != "" || slices.Contains(r.known, name) {
		return name
	}
	right := slices.Concat(slices.Sorted(maps.Keys(r.book.index.Vendors)), r.known)
	r.warn(n.at, "provider %s is unknown%s; the entry is ignored", quoted(name), suggest(name, right))
	return ""
}

// saidIn returns the number of members of an entry that set a price.
func saidIn(m map[string]*node) (said int) {
	for _, name := range []string{"rates", "times", "fills", "free"} {
		if m[name] != nil {
			said++
		}
	}
	return said
}

// price reads the price of an entry and its mode.
func (r *fileReader) price(m map[string]*node, a *addition) {
	if mode := m["mode"]; mode != nil {
		if a.Mode = r.text(mode, "mode"); llm.ModeName(a.Mode) == "" {
			r.report(mode.at, "the mode %s is the usual one; remove `mode`", quoted(a.Mode))
		} else if name := llm.ModeName(a.Mode); name != a.Mode {
			r.report(mode.at, "write the mode as %q", name)
		}
	}
	if rates := m["rates"]; rates != nil {
		r.rates(rates)
		a.Rates = r.file.Text[rates.at:rates.end]
	}
	if times := m["times"]; times != nil {
		a.Times = r.times(times, "times")
		if a.Mode == "" {
			r.report(times.at, "`times` needs `mode`: the mode whose price is that multiple of the usual price")
		}
	}
	if fills := m["fills"]; fills != nil {
		a.Fills = r.fills(fills)
	}
	if free := m["free"]; free != nil {
		if a.Free = r.isTrue(free, "free"); a.Mode != "" || a.Since != nil || a.When != nil {
			r.report(free.at, "`free` cannot be combined with `mode`, `since` and `when`; use rates of \"0\"")
		}
	}
}

// times returns a multiple: a decimal above 0.
func (r *fileReader) times(n *node, what string) string {
	s := r.text(n, what)
	if _, places, _ := strings.Cut(s, "."); !isDecimal(s) || len(places) > 3 || strings.Trim(s, "0.") == "" {
		r.report(n.at, "`%s` must be a decimal above 0 with at most 3 places, in quotes, such as \"0.5\"", what)
	}
	return s
}

// isTrue reports whether a node is present, and reports a value other than true as a mistake.
func (r *fileReader) isTrue(n *node, what string) bool {
	if n != nil && n.value != true {
		r.report(n.at, "`%s` must be true or absent", what)
	}
	return n != nil
}

// until reads the last day that the source of a price covers, and the ceiling of the price after it.
func (r *fileReader) until(m map[string]*node, a *addition) {
	a.Until = r.day(m["until"], "until")
	if a.Until != nil && (m["mode"] != nil || a.Since != nil && *a.Until < *a.Since) {
		r.report(m["until"].at, "`until` must not be before `since`, and cannot be combined with `mode`")
	}
	if n := m["ceiling"]; n != nil {
		if a.Ceiling = r.times(n, "ceiling"); a.Until == nil && !a.Assumed {
			r.report(n.at, "`ceiling` needs `until`, or a file that is `assumed`: other prices are certain")
		}
	}
}

// isDecimal reports whether a text is a non-negative plain decimal.
func isDecimal(s string) bool {
	whole, places, dot := strings.Cut(s, ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return digits(whole) && (!dot || digits(places))
}

// rateNames returns the names of rates that a file may use.
func rateNames() (names []string) {
	for name, u := range units {
		if !u.uncounted {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (r *fileReader) rates(n *node) {
	names := rateNames()
	for name, v := range r.object(n, "`rates`", names...) {
		if !v.isObject() {
			r.amount(v, name)
			continue
		}
		m := r.object(v, "`"+name+"`", "base", "tiers")
		if m["base"] == nil || m["tiers"] == nil {
			r.report(v.at, "`%s` must have `base` and `tiers`, or be a decimal in quotes", name)
			continue
		}
		r.amount(m["base"], name)
		r.tiers(m["tiers"], name)
	}
	if n.isObject() && len(n.members) == 0 {
		r.report(n.at, "`rates` is empty")
	}
}

// amount checks a price in US dollars.
func (r *fileReader) amount(n *node, name string) {
	s, ok := n.value.(string)
	if !ok || !isDecimal(s) {
		r.report(n.at, "`%s` must be US dollars as a decimal in quotes, such as \"0.15\"", name)
		return
	}
	if _, err := pico(s, units[name].per); err != nil {
		r.report(n.at, "`%s`: %v", name, err)
	}
}

func (r *fileReader) tiers(n *node, name string) {
	last := int64(0)
	for _, item := range r.list(n, "tiers") {
		m := r.object(item, "a tier", "above", "price")
		if m["above"] == nil || m["price"] == nil {
			r.report(item.at, "a tier needs `above`, in tokens of input, and `price`")
			continue
		}
		r.amount(m["price"], name)
		number, _ := m["above"].value.(json.Number)
		above, err := strconv.ParseInt(number.String(), 10, 64)
		if err != nil || above <= last {
			r.report(m["above"].at, "`above` must be a whole number of tokens, higher than in the tier before")
		}
		last = above
	}
}

func (r *fileReader) fills(n *node) map[string]string {
	var classes []string
	for c := range llm.Class(llm.NumTokens) {
		classes = append(classes, c.String())
	}
	all := map[string]string{}
	for to, v := range r.object(n, "`fills`", classes...) {
		from := r.text(v, to)
		if !slices.Contains(classes, from) {
			r.report(v.at, "unknown class %s%s", quoted(from), suggest(from, classes))
		}
		all[to] = from
	}
	return all
}
