package parse

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// MaxPlace bounds the numbers of pages, characters and chunks of a document that are believed.
const MaxPlace = 1 << 30

// Index reads a number from 0 on that is less than most; -1 for anything else.
func Index(v []byte, most int64) int {
	n, ok := rawjson.AsInt(v)
	if !ok || n < 0 || n >= most {
		return -1
	}
	return int(n)
}

// DocumentPlace reads a part of a document, which begins with the number from and ends before to; the zero Place where
// they are none.
func DocumentPlace(kind llm.PlaceKind, from, to []byte) llm.Place {
	p := llm.Place{Kind: kind, From: Index(from, MaxPlace), To: Index(to, MaxPlace)}
	if p.From < 0 || p.To < p.From {
		return llm.Place{}
	}
	return p
}
