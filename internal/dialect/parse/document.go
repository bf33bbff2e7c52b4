package parse

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// MaxPlace bounds the numbers of pages, characters and chunks of a document; larger ones are invalid.
const MaxPlace = 1 << 30

// Index reads an integer from 0 to most-1; it returns -1 for any other value.
func Index(v []byte, most int64) int {
	n, ok := rawjson.AsInt(v)
	if !ok || n < 0 || n >= most {
		return -1
	}
	return int(n)
}

// DocumentPlace reads the half-open range of a document between from and to; it returns the zero Place if they are
// invalid.
func DocumentPlace(kind llm.PlaceKind, from, to []byte) llm.Place {
	p := llm.Place{Kind: kind, From: Index(from, MaxPlace), To: Index(to, MaxPlace)}
	if p.From < 0 || p.To < p.From {
		return llm.Place{}
	}
	return p
}
