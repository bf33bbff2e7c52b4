package stamp

import (
	"bytes"

	"weir/internal/rawjson"
)

// Members in which providers say what an answer costs are those whose name has one of words in it, whatever its case, as
// cost_details, cost_in_usd_ticks and estimated_cost have, and costs, as OpenRouter and other gateways name them. Usage stands in holders, in an answer or in an event of any wire format, and all objects within tellers tell of usage.
var (
	words   = [][]byte{[]byte("cost"), []byte("price")}
	costs   = rawjson.Names{"is_byok", "weir"}
	tellers = rawjson.Names{"usage", "usageMetadata", "provider_metadata", "providerMetadata"}
	holders = rawjson.Names{"response", "message", "delta", "meta", "x_groq"}
)

// deepest is how deep what tells of a cost stands at most, in objects and arrays.
const deepest = 8

// WithoutCost is a reply, or the data of one stream event, without what its provider says that it costs. What says
// nothing of it is given back as it is.
func WithoutCost(data []byte) []byte {
	edits := costEdits(nil, data, place{})
	if len(edits) == 0 {
		return data
	}
	return rawjson.Splice(nil, data, edits...)
}

// tellsCost reports whether a member of that name says what an answer costs.
func tellsCost(name []byte) bool {
	for _, w := range words {
		if bytes.Contains(bytes.ToLower(name), w) {
			return true
		}
	}
	return costs.Has(string(name))
}

// place is where an object stands in an answer.
type place struct {
	at, depth int
	tells     bool // it is in one of tellers
}

// costEdits appends the edits that leave the members out of an object, with a comma of each, or out of those of an array.
func costEdits(edits []rawjson.Edit, object []byte, p place) []rawjson.Edit {
	if p.depth > deepest {
		return edits
	}
	for _, e := range rawjson.Elements(object) { // of an array: their capacities tell where in it each begins
		edits = costEdits(edits, e, place{p.at + cap(object) - cap(e), p.depth + 1, p.tells})
	}
	if rawjson.KindOf(object) != rawjson.Object {
		return edits
	}
	start := 1 // behind the brace, or the member before
	for i, b := range object {
		if b == '{' {
			start = i + 1
			break
		}
	}
	kept := false
	for m := range rawjson.Members(object) {
		end, name := m.Start+len(m.Value), m.Name()
		tells := p.tells || tellers.Has(name)
		switch cost := tellsCost(m.Key()); {
		case cost && !kept:
			edits = append(edits, rawjson.Edit{Start: p.at + start, End: p.at + behindComma(object, end)})
			start = behindComma(object, end)
			continue
		case cost:
			edits = append(edits, rawjson.Edit{Start: p.at + start, End: p.at + end})
		case tells || holders.Has(name):
			kept = true
			edits = costEdits(edits, m.Value, place{p.at + m.Start, p.depth + 1, tells})
		default:
			kept = true
		}
		start = end
	}
	return edits
}

// behindComma is the place behind the comma that follows a place; that place itself where none does.
func behindComma(object []byte, at int) int {
	for i := at; i < len(object); i++ {
		switch object[i] {
		case ',':
			return i + 1
		case ' ', '\t', '\n', '\r':
		default:
			return at
		}
	}
	return at
}
