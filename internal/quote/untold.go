package quote

import (
	"strings"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Untold is how often the provider may run tools of its own at most, by class, of which its
// reply may say nothing. It is read from the bytes of a request that goes to the target in its
// client's words; no other has such tools.
func (q *Quote) Untold() *llm.Usage {
	if !q.untoldRead && q.Op.Op == llm.OpChat && q.Speaks == q.Dialect {
		r := Inputs{searchInFee: q.hasSearchInFee()}
		q.untold = r.untoldIn(q.Body, &q.Dialect.Inputs)
	}
	q.untoldRead = true
	return &q.untold
}

// mostNested is in how many lists, each within an object of another, tools are looked for:
// the contents of a result of a tool are in three.
const mostNested = 4

func (r *Inputs) untoldIn(body []byte, in *dialect.Inputs) (most llm.Usage) {
	r.ranBy(body, in, mostNested)
	if r.uploads {
		r.untold = r.untold.With(llm.CodeSessions)
	}
	for c, n := range r.tools {
		if r.untold.Has(llm.Class(c)) {
			most[c] = n
		}
	}
	return most
}

// ranBy takes note of the tools that the fields of an object have the provider run, and those
// of the objects in its lists.
func (r *Inputs) ranBy(object []byte, in *dialect.Inputs, lists int) {
	runs := false
	for m := range rawjson.Members(object) {
		if m.Is("type") && in.Upload != "" && rawjson.Text(m.Value) == in.Upload {
			r.uploads = true
		}
		if mayRun(m.Key()) {
			runs = true
			continue
		}
		for _, e := range rawjson.Elements(m.Value) {
			if lists > 0 {
				r.ranBy(e, in, lists-1)
			}
		}
	}
	if !runs || lists < mostNested && isTold(object) {
		return
	}
	for m := range rawjson.Members(object) {
		r.toolsBy(plain(m.Name()), m.Value, in)
	}
}

// mayRun says whether a field of that name may have a provider run tools, and takes no room
// from the heap for a short one.
func mayRun(key []byte) bool {
	var short [32]byte
	name := appendPlain(short[:0], key)
	_, works := working[string(name)]
	return works || strings.HasSuffix(string(name), toolList)
}
