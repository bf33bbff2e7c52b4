package stamp

import (
	"weir/internal/rawjson"
)

// costs are the members in which providers say what an answer costs, as OpenRouter, Perplexity, xAI, Ollama and other
// gateways name them, and holders those in which usage stands, in an answer or in an event of any wire format.
var (
	costs = rawjson.Names{
		"cost", "cost_details", "cost_in_usd_ticks", "is_byok", "cost_usd", "total_cost", "weir",
	}
	holders = rawjson.Names{
		"usage", "usageMetadata", "response", "message", "delta", "meta", "x_groq",
	}
)

// deepest is how deep a usage stands at most.
const deepest = 3

// WithoutCost is a reply, or the data of one stream event, without what its provider says that it costs. What says
// nothing of it is given back as it is.
func WithoutCost(data []byte) []byte {
	edits := costEdits(nil, data, 0, 0)
	if len(edits) == 0 {
		return data
	}
	return rawjson.Splice(nil, data, edits...)
}

// costEdits appends the edits that leave the members out of an object that begins at a place, with a comma of each.
func costEdits(edits []rawjson.Edit, object []byte, at, depth int) []rawjson.Edit {
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
		end := m.Start + len(m.Value)
		switch {
		case costs.Has(m.Name()) && !kept:
			edits = append(edits, rawjson.Edit{Start: at + start, End: at + behindComma(object, end)})
			start = behindComma(object, end)
			continue
		case costs.Has(m.Name()):
			edits = append(edits, rawjson.Edit{Start: at + start, End: at + end})
		case depth < deepest && holders.Has(m.Name()):
			edits = costEdits(edits, m.Value, at+m.Start, depth+1)
		}
		kept = kept || !costs.Has(m.Name())
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
