package simulator

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// serveLedger streams the records as a JSON array, the newest last. The query may have since, a sequence number, and
// attempt, an X-Client-Request-Id.
func (s *Server) serveLedger(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	since, err := int64(0), error(nil)
	if text := q.Get("since"); text != "" {
		since, err = strconv.ParseInt(text, 10, 64)
	}
	if err != nil || since < 0 {
		http.Error(w, "since must be a sequence number. Send a whole number from 0.", http.StatusBadRequest)
		return
	}
	attempt, chosen := q.Get("attempt"), q.Has("attempt")
	w.Header().Set("Content-Type", "application/json")
	b := []byte{'['}
	first := true
	for rec := range s.ledger.Records(since) {
		if chosen && rec.Attempt != attempt {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = rec.append(append(b, '\n'))
		if len(b) > 32<<10 {
			if _, err := w.Write(b); err != nil {
				return
			}
			b = b[:0]
		}
	}
	_, _ = w.Write(append(b, "\n]\n"...))
}

// serveTotals returns the sums of the ledger.
func (s *Server) serveTotals(w http.ResponseWriter, _ *http.Request) {
	t := s.ledger.Totals()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(t.append(nil), '\n'))
}

// serveClear removes all records, and the counts of requests with faults.
func (s *Server) serveClear(w http.ResponseWriter, _ *http.Request) {
	s.Reset()
	w.WriteHeader(http.StatusNoContent)
}

// object writes one JSON object, member by member.
type object struct{ b []byte }

func (o *object) name(name string) {
	o.b = rawjson.AppendName(o.b, name)
}

func (o *object) text(name, v string) {
	o.name(name)
	o.b = rawjson.AppendString(o.b, v)
}

func (o *object) number(name string, v int64) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, v, 10)
}

func (o *object) truth(name string, v bool) {
	o.name(name)
	o.b = strconv.AppendBool(o.b, v)
}

func (o *object) raw(name, v string) {
	o.name(name)
	o.b = append(o.b, v...)
}

func (o *object) time(name string, v time.Time) {
	if v.IsZero() {
		o.raw(name, "null")
		return
	}
	o.name(name)
	o.b = append(v.UTC().AppendFormat(append(o.b, '"'), time.RFC3339Nano), '"')
}

// usage writes the classes that are not 0.
func (o *object) usage(name string, u *llm.Usage) {
	if u == nil {
		o.raw(name, "null")
		return
	}
	o.name(name)
	o.b = append(o.b, '{')
	for c, n := range u {
		if n != 0 {
			o.number(llm.Class(c).String(), n)
		}
	}
	o.b = append(o.b, '}')
}

// append writes the record as the JSON object of /ledger.
func (r *Record) append(dst []byte) []byte {
	o := object{append(dst, '{')}
	o.number("seq", r.Seq)
	o.text("attempt", r.Attempt)
	o.text("dialect", r.Dialect)
	o.text("model", r.Model)
	o.text("key", r.Key)
	o.truth("stream", r.Stream)
	o.time("received", r.Received)
	o.time("ended", r.Ended)
	o.text("outcome", string(r.Outcome))
	o.text("fault", r.Fault)
	o.number("status", int64(r.Status))
	o.usage("usage", &r.Usage)
	o.usage("reported", r.Reported)
	if r.ReportedRaw != "" {
		o.raw("reported_raw", r.ReportedRaw)
	}
	if r.Tier != "" {
		o.text("tier", r.Tier)
	}
	if r.Cost != nil {
		o.raw("cost", r.Cost.String())
	}
	if m := r.Missed; m != nil {
		o.name("missed")
		missed := object{append(o.b, '{')}
		missed.number("tokens", m.Tokens)
		missed.text("cause", string(m.Cause))
		if m.Cause == MissChanged {
			missed.number("message", int64(m.Place))
		}
		o.b = append(missed.b, '}')
	}
	o.number("pieces", r.Pieces)
	o.truth("end_marker", r.EndMarker)
	o.truth("canceled", r.Canceled)
	if r.Canceled {
		o.number("canceled_after_ms", r.Ended.Sub(r.Received).Milliseconds())
	}
	return append(o.b, '}')
}

func (t *Totals) append(dst []byte) []byte {
	o := object{append(dst, '{')}
	o.number("requests", t.Requests)
	o.number("dropped", t.Dropped)
	o.number("canceled", t.Canceled)
	o.name("outcomes")
	o.b = append(o.b, '{')
	var names []string
	for name := range t.Outcomes {
		names = append(names, string(name))
	}
	slices.Sort(names)
	for _, name := range names {
		o.number(name, t.Outcomes[Outcome(name)])
	}
	o.b = append(o.b, '}')
	o.usage("usage", &t.Usage)
	o.usage("reported", &t.Reported)
	if t.Missed != nil {
		o.name("missed")
		o.b = append(o.b, '{')
		for _, cause := range slices.Sorted(maps.Keys(t.Missed)) {
			o.number(string(cause), t.Missed[cause])
		}
		o.b = append(o.b, '}')
	}
	return append(o.b, '}')
}
