package quote

import (
	"strings"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// UnreportedTools returns, by class, the most runs of the provider's own tools that its reply may not report. It reads
// the bytes of a request in the target's wire format; only such a request has these tools.
func (q *Quote) UnreportedTools() *llm.Usage {
	in := &q.Dialect.Inputs
	if !q.unreportedRead && q.Op.Op == llm.OpChat && q.Speaks == q.Dialect && (!q.Head.Usual || in.Upload != "") {
		r := Inputs{searchInFee: q.hasSearchInFee()}
		q.unreported = r.unreportedIn(q.Body, in)
	}
	q.unreportedRead = true
	return &q.unreported
}

// mostNested bounds the depth of lists in which tools are searched: the contents of a tool result are in three.
const mostNested = 4

func (r *Inputs) unreportedIn(body []byte, in *dialect.Inputs) (most llm.Usage) {
	r.ranBy(body, in, mostNested)
	if r.uploads {
		r.unreported = r.unreported.With(llm.CodeSessions)
	}
	for c, n := range r.tools {
		if r.unreported.Has(llm.Class(c)) {
			most[c] = n
		}
	}
	return most
}

// ranBy adds the tools that the fields of an object, and of the objects in its lists, make the provider run.
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
	if !runs || lists < mostNested && isToolList(object) {
		return
	}
	for m := range rawjson.Members(object) {
		r.toolsBy(plain(m.Name()), m.Value, in)
	}
}

// mayRun reports whether a field of that name may make a provider run tools. It does not allocate for a short name.
func mayRun(key []byte) bool {
	switch string(key) {
	case "role", "content", "type", "text", "model", "messages", "stream", "max_tokens": // nearly all
		return false
	}
	var short [32]byte
	name := appendPlain(short[:0], key)
	_, works := working[string(name)]
	return works || strings.HasSuffix(string(name), toolList)
}
