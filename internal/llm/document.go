package llm

import (
	"path"
	"slices"
	"strings"
)

// Document holds what a client says of a document beside its content.
type Document struct {
	Cited   bool   // the answer is to cite it
	Context string // what the model is to know of it, and does not cite
	// Chunks are the texts in which it is cited, where the client cut it; the medium has no content beside them then.
	Chunks []string
	// Source is the address, or another name, of a result of the client's own search; empty for a document.
	Source string
}

// IsCited reports whether an answer is to cite a part.
func (p *Part) IsCited() bool {
	return p.Kind == PartDocument && p.Media != nil && p.Media.Document != nil && p.Media.Document.Cited
}

// Place is a part of a document that a citation names. The zero Place is an unknown one.
type Place struct {
	Kind     PlaceKind
	From, To int // the part begins with From and ends before To
}

// PlaceKind says what a place counts.
type PlaceKind uint8

// The kinds of place.
const (
	PlaceCharacters PlaceKind = iota + 1 // from 0
	PlacePages                           // from 1
	PlaceChunks                          // from 0
	// PlaceResult counts the chunks, from 0, of a result of the client's own search. The source's Document counts these
	// results then.
	PlaceResult
)

// CitedDocument holds the names by which a client knows a document of its request.
type CitedDocument struct {
	Title  string
	Place  PlaceKind // what places in it count
	Source string    // of a result of the client's own search; empty for a document
}

// Documents holds the documents of a request, in its order. The zero value has none.
type Documents struct {
	all, results []CitedDocument
	named        map[string]int // numbers in all, by letters and digits of the title; 0 where several have these
}

// DocumentsOf returns the documents of messages, if one of them is to be cited; else none.
func DocumentsOf(messages []Message) (d Documents) {
	cited := false
	for i := range messages {
		d.add(messages[i].Parts, &cited)
	}
	if !cited {
		return Documents{}
	}
	return d
}

func (d *Documents) add(parts []Part, cited *bool) {
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Result != nil:
			d.add(p.Result.Parts, cited)
		case p.Elsewhere != nil:
			d.add(p.Elsewhere.Parts, cited)
		case p.Kind == PartDocument && p.Media != nil:
			*cited = *cited || p.IsCited()
			c := CitedDocument{Title: p.Media.Name, Place: p.Media.place()}
			if c.Place == PlaceResult {
				c.Source = p.Media.Document.Source
			}
			d.append(c)
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

// Known returns the source as the client of the request knows it: by the title that the client gave the document,
// with a place of the kind that its documents have. A provider may tell no number, and call the document by a name of
// its own.
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
	known.Title, known.File = of.Title, "" // not by a name of the provider's
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

// Uncited returns the parts of a message with the documents of which their client says something as a model reads them
// that cites none: the title and the context as texts, and texts in place of chunks. Documents of which keeps holds are
// left as they are; a nil keeps holds of none. It reports whether one of the others was to be cited.
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

// isDescribed reports whether a part is a document of which its client says something.
func isDescribed(p *Part) bool {
	return p.Kind == PartDocument && p.Media != nil && p.Media.Document != nil
}

// uncited returns a document as a model reads it that cites none.
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

// Address returns the name of a source as an address, or as another name.
func Address(source string) (url, name string) {
	if strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://") {
		return source, ""
	}
	return "", source
}
