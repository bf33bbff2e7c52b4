package llm

import (
	"path"
	"slices"
	"strings"
)

// Document holds a client's settings for a document, without its content.
type Document struct {
	Cited   bool   // the answer must cite it
	Context string // background for the model, which is not cited
	// Chunks are the citable texts of a document that the client cut; the medium has no content of its own then.
	Chunks []string
	// Source is the address, or another name, of a result of the client's own search; empty for a document.
	Source string
}

// IsCited reports whether an answer must cite a part.
func (p *Part) IsCited() bool {
	return p.Kind == PartDocument && p.Media != nil && p.Media.Document != nil && p.Media.Document.Cited
}

// Place is the range of a document that a citation names. The zero Place is unknown.
type Place struct {
	Kind     PlaceKind
	From, To int // half-open: From is included, To is not
}

// PlaceKind is the unit of a place.
type PlaceKind uint8

// The kinds of place.
const (
	PlaceCharacters PlaceKind = iota + 1 // from 0
	PlacePages                           // from 1
	PlaceChunks                          // from 0
	// PlaceResult counts the chunks, from 0, of a result of the client's own search. The source's Document then
	// counts these results.
	PlaceResult
)

// CitedDocument describes a document of the request in the client's terms.
type CitedDocument struct {
	Title  string
	Place  PlaceKind // the unit of places in it
	Source string    // of a result of the client's own search; empty for a document
}

// Documents holds the documents of a request, in order. The zero value has none.
type Documents struct {
	all, results []CitedDocument
	named        map[string]int // numbers in all, by letters and digits of the title; 0 if ambiguous
}

// DocumentsOf returns the documents of messages if at least one must be cited, and otherwise the zero value.
func DocumentsOf(messages []Message) (d Documents) {
	cited := false
	EachDocument(messages, func(p *Part, _ bool) {
		cited = cited || p.IsCited()
		c := CitedDocument{Title: p.Media.Name, Place: p.Media.place()}
		if c.Place == PlaceResult {
			c.Source = p.Media.Document.Source
		}
		d.append(c)
	})
	if !cited {
		return Documents{}
	}
	return d
}

// EachDocument calls a function for each document of messages in the order that numbers them, in the form for other
// wire formats. within says that the document is in a tool's result.
func EachDocument(messages []Message, with func(p *Part, within bool)) {
	for i := range messages {
		eachDocument(messages[i].Parts, false, with)
	}
}

func eachDocument(parts []Part, within bool, with func(p *Part, within bool)) {
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Result != nil:
			eachDocument(p.Result.Parts, true, with)
		case p.Elsewhere != nil:
			eachDocument(p.Elsewhere.Parts, within, with)
		case p.Kind == PartDocument && p.Media != nil:
			with(p, within)
		}
	}
}

func (d *Documents) append(c CitedDocument) {
	if c.Place == PlaceResult {
		d.results = append(d.results, c)
		return
	}
	d.all = append(d.all, c)
	if d.named == nil {
		d.named = map[string]int{}
	}
	names := []string{alphanumeric(c.Title), alphanumeric(strings.TrimSuffix(c.Title, path.Ext(c.Title)))}
	for _, name := range slices.Compact(names) {
		if _, is := d.named[name]; is {
			d.named[name] = 0
		} else if name != "" {
			d.named[name] = len(d.all)
		}
	}
}

// place returns the kind of places in a document.
func (m *Media) place() PlaceKind {
	switch d := m.Document; {
	case d != nil && d.Source != "":
		return PlaceResult
	case d != nil && d.Chunks != nil:
		return PlaceChunks
	case strings.HasPrefix(m.MIME, "text/"):
		return PlaceCharacters
	}
	return PlacePages
}

// Known translates a source into the client's terms: the title that the client gave the document, and a place of the
// kind that its documents have. It finds a document without a number by its title, because a provider may omit the
// number and rename the document.
func (c *Called) Known(s *Source) Source {
	known := *s
	if c == nil {
		return known
	}
	d := &c.Documents
	list := d.all
	if s.Place.Kind == PlaceResult {
		list = d.results
	}
	if known.Document == 0 && s.URL == "" && s.Place.Kind != PlaceResult {
		known.Document = d.named[alphanumeric(s.Title)]
	}
	if known.Document < 1 || known.Document > len(list) {
		return known
	}
	of := &list[known.Document-1]
	known.Title, known.File = of.Title, "" // drops the provider's own name
	if of.Place == PlaceResult {
		known.URL, known.File = Address(of.Source)
	}
	if known.Place.Kind == 0 {
		known.Place = Place{Kind: of.Place}
	}
	return known
}

func alphanumeric(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, s)
}

// Uncited rewrites documents that have settings of the client for a model that does not cite: it turns title, context
// and chunks into texts. It leaves documents unchanged for which keeps returns true; nil means for none. cited
// reports whether a rewritten document had to be cited.
func Uncited(parts []Part, keeps func(*Part) bool) (plain []Part, cited bool) {
	changes := func(p *Part) bool { return isDescribed(p) && (keeps == nil || !keeps(p)) }
	found := false
	for i := range parts {
		found = found || changes(&parts[i])
	}
	if !found {
		return parts, false
	}
	for i := range parts {
		p := parts[i]
		p.At = uint32(p.Index(i)) + 1
		if !changes(&parts[i]) {
			plain = append(plain, p)
			continue
		}
		cited = cited || p.IsCited()
		plain = append(plain, p.uncited()...)
	}
	return plain, cited
}

// isDescribed reports whether a part is a document with settings of the client.
func isDescribed(p *Part) bool {
	return p.Kind == PartDocument && p.Media != nil && p.Media.Document != nil
}

// uncited returns a document in the form for a model that does not cite.
func (p *Part) uncited() (parts []Part) {
	d, text := p.Media.Document, func(s string) Part { return Part{Kind: PartText, Text: s, At: p.At} }
	if d.Chunks == nil {
		media := *p.Media
		media.Document = nil
		document := *p
		document.Media = &media
		if d.Context != "" {
			parts = append(parts, text(d.Context))
		}
		return append(parts, document)
	}
	var lines []string
	for _, s := range []string{p.Media.Name, d.Source, d.Context} {
		if s != "" {
			lines = append(lines, s)
		}
	}
	if len(lines) > 0 {
		parts = append(parts, text(strings.Join(lines, "\n")))
	}
	for _, chunk := range d.Chunks {
		parts = append(parts, text(chunk))
	}
	if len(parts) > 0 {
		parts[len(parts)-1].CacheControl = p.CacheControl
	}
	return parts
}

// Address returns a source either as a URL or, if it is not one, as a name.
func Address(source string) (url, name string) {
	if strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://") {
		return source, ""
	}
	return "", source
}
