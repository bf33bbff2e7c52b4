// Package pdf reads the number of pages of a PDF, and an upper bound of its extractable text.
package pdf

import (
	"bytes"
	"iter"
)

// Size bounds the size of a PDF.
type Size struct {
	Pages int64
	Text  int64 // bytes of UTF-8
}

const (
	// mostInflated bounds the bytes that are inflated for all PDFs of one request, in addition to their own size.
	// timesInflated bounds the factor; a page of text has a factor of ten.
	mostInflated, timesInflated = 8 << 20, 32
	// mostObjects is the maximum number of objects in a file that is read.
	mostObjects = 200_000
)

// Room is the number of bytes that may still be inflated.
type Room int

// RoomFor returns the room for the PDFs of a request with n bytes.
func RoomFor(n int) Room { return Room(min(timesInflated*n, mostInflated+n)) }

// Read returns the size of a PDF. It is an upper bound for every reader that follows the standard (ISO 32000-1). It
// returns false for a file with ambiguous constructs or unlimited repetition of text, with encryption, forms, or
// content in an unsupported filter, and if no room is left.
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

// file holds the contents of a PDF.
type file struct {
	left    *Room
	streams map[int64][]stream // by object number; an object may be defined several times
	defined map[int64]int      // number of definitions of each object in the file itself
	packed  map[int64]bool     // objects within object streams
	objects [][]byte           // contents of the object streams

	pages    int64 // found by type
	kids     map[int64]bool
	contents map[int64]int64 // number of uses of each stream as content
	mappings map[int64]int64 // mappings of fonts' codes to characters
	fonts    fonts
}

// stream is a stream that may be content.
type stream struct {
	dict []byte
	body []byte
}

// size returns the size of a file after all of it was read.
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

// contentOf yields the contents of an object's streams; nil for a stream that cannot be read, and for an object that
// may not be a stream.
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

// unbounded returns the names of constructs that may repeat text without limit or are not supported: encryption, forms,
// drawings by forms, replacement texts, and all filters except one.
func unbounded() []string {
	return []string{
		"/Encrypt", "/Form", "/AP", "/XFA", "/ActualText", "/LZWDecode", "/LZW", "/ASCII85Decode", "/A85",
		"/ASCIIHexDecode", "/AHx", "/RunLengthDecode", "/RL", "/Crypt", "/Fl", "/FFilter",
	}
}

// readObjects reads the pages, content and fonts of objects.
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

// readKids reads the lists of pages. It refuses a page in two lists, which would count as two pages.
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

// readContents reads which streams are content. An annotation's contents are a text, which a form draws.
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
