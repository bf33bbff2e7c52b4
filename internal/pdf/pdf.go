// Package pdf reads how many pages a PDF has, and how much text can be taken from it at most.
package pdf

import (
	"bytes"
	"iter"
)

// Size is how large a PDF is at most.
type Size struct {
	Pages int64
	Text  int64 // bytes of UTF-8
}

const (
	// mostInflated is how many bytes are inflated of the PDFs of one request, beside as many as they have, and
	// timesInflated how many times as many as they have at most: a page of text has ten.
	mostInflated, timesInflated = 8 << 20, 32
	// mostObjects is how many objects a file has at most that is read.
	mostObjects = 200_000
)

// Room is how many bytes may yet be inflated.
type Room int

// RoomFor is the room for the PDFs of a request of so many bytes.
func RoomFor(n int) Room { return Room(min(timesInflated*n, mostInflated+n)) }

// Read reads the size of a PDF. It is an upper bound for any reader that follows the standard (ISO 32000-1): what may
// be read in more than one way, or may repeat text without limit, is not bounded, and it reports false. So it does
// for what is encrypted, has forms, or content in an unusual filter, and where there is no room left.
func Read(b []byte, room *Room) (Size, bool) {
	if !bytes.HasPrefix(b, []byte("%PDF-")) {
		return Size{}, false
	}
	f := file{
		left: room, streams: map[int64][]stream{}, packed: map[int64]bool{}, kids: map[int64]bool{},
		contents: map[int64]int64{}, mappings: map[int64]int64{}, fonts: fonts{two: map[uint16]meaning{}},
	}
	if !f.readStreams(b) || !f.readObjects(unescaped(b)) {
		return Size{}, false
	}
	for _, objects := range f.objects {
		if !f.readObjects(objects) {
			return Size{}, false
		}
	}
	return f.size()
}

// file is what is known of a PDF.
type file struct {
	left    *Room
	streams map[int64][]stream // by the number of their objects, each as many as there are
	defined map[int64]int      // how often each object is defined in the file itself
	packed  map[int64]bool     // objects within streams of objects
	objects [][]byte           // the contents of these

	pages    int64 // that were found by their type
	kids     map[int64]bool
	contents map[int64]int64 // how often each stream is content
	mappings map[int64]int64 // of fonts' codes to characters
	fonts    fonts
}

// stream is one that may be content.
type stream struct {
	dict []byte
	body []byte
}

// size is how large the file is, once all of it was read.
func (f *file) size() (s Size, ok bool) {
	s.Pages = max(f.pages, int64(len(f.kids)))
	for n := range f.mappings {
		for text := range f.contentOf(n) {
			if text == nil || !f.fonts.readMapping(text) {
				return Size{}, false
			}
		}
	}
	for n, times := range f.contents {
		for text := range f.contentOf(n) {
			if text == nil {
				return Size{}, false
			}
			s.Text += times * f.fonts.textOf(text)
		}
	}
	return s, s.Pages > 0
}

// contentOf is what the streams have that an object is; nil for one that cannot be read, and where it may be no stream.
func (f *file) contentOf(n int64) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if f.packed[n] || len(f.streams[n]) == 0 || len(f.streams[n]) != f.defined[n] {
			yield(nil)
			return
		}
		for _, s := range f.streams[n] {
			if text, ok := f.inflate(&s); !ok || !yield(text) {
				if !ok {
					yield(nil)
				}
				return
			}
		}
	}
}

// unbounded are names of what may repeat text without limit, or of what is not read here: encryption, forms and what is
// drawn with them, replacement texts that content names, and filters but for one.
func unbounded() []string {
	return []string{
		"/Encrypt", "/Form", "/AP", "/XFA", "/ActualText", "/LZWDecode", "/LZW", "/ASCII85Decode", "/A85",
		"/ASCIIHexDecode", "/AHx", "/RunLengthDecode", "/RL", "/Crypt", "/Fl", "/FFilter",
	}
}

// readObjects reads what objects say of pages, content and fonts.
func (f *file) readObjects(text []byte) bool {
	for _, name := range unbounded() {
		if count(text, name) > 0 {
			return false
		}
	}
	f.pages += count(text, "/Page")
	return f.readKids(text) && f.fonts.read(text) && each(text, "/ToUnicode", func(value []byte) bool {
		n, _, ok := reference(value)
		f.mappings[n]++
		return ok
	}) && f.readContents(text)
}

// readKids reads the lists of pages. A page in two of them would be two pages.
func (f *file) readKids(text []byte) bool {
	return each(text, "/Kids", func(value []byte) bool {
		refs, ok := references(value)
		if !ok || len(value) == 0 || value[0] != '[' {
			return false
		}
		for _, n := range refs {
			if f.kids[n] {
				return false
			}
			f.kids[n] = true
		}
		return true
	})
}

// readContents reads which streams are content. Of an annotation the contents are a text, which is drawn by a form.
func (f *file) readContents(text []byte) bool {
	return each(text, "/Contents", func(value []byte) bool {
		if len(value) > 0 && (value[0] == '(' || value[0] == '<') {
			return true
		}
		refs, ok := references(value)
		for _, n := range refs {
			f.contents[n]++
		}
		return ok
	})
}
