package simulator

import (
	"iter"
	"maps"
	"sync"
	"time"

	"weir/internal/llm"
)

// Outcome is the end of an answer.
type Outcome string

// The outcomes.
const (
	Open       Outcome = "open"        // in progress
	Served     Outcome = "served"      // sent to its end
	Rejected   Outcome = "rejected"    // an error status in place of an answer
	Cut        Outcome = "cut"         // broken off by a fault
	Broken     Outcome = "broken"      // sent to its end, but in violation of the protocol
	Silent     Outcome = "silent"      // stopped by a fault with the connection open
	ClientGone Outcome = "client_gone" // the client disconnected before the end
)

// Record is the true result of one request.
type Record struct {
	Seq      int64     // from 1, in the order of arrival
	Reply    string    // the id of the answer; the same for the same request
	Attempt  string    // the request's X-Client-Request-Id, at most 128 bytes
	Dialect  string    // by name
	Model    string    // as requested
	Key      string    // fingerprint of the key; empty for none
	Stream   bool      // the client asked for a stream
	Received time.Time // time of the request
	Ended    time.Time // time of the answer's end or of the client's disconnection; zero before that
	Outcome  Outcome
	Fault    string // its fault; empty for none
	Status   int    // HTTP status; 0 if none was sent
	// Usage is the true usage up to the end: the whole input once an answer had begun, and one output or reasoning
	// token for every piece that was passed to the connection; with after=bill the whole answer in any case.
	Usage llm.Usage
	// Reported is the usage reported to the client; nil if none was, or one that only ReportedRaw can express.
	Reported    *llm.Usage
	Tier        string     // service tier of the answer; empty for none
	Cost        *llm.Money // the provider's own cost figure; nil for none
	ReportedRaw string     // JSON text of the reported usage, if a variant falsified it
	Pieces      int64      // passed to the connection
	EndMarker   bool       // the stream's end marker was sent
	// Missed is input that was not read from the prompt cache and could have been; nil for none, or without a cache.
	Missed   *Miss
	Canceled bool // the client disconnected; Ended is the time of detection
}

// Totals sums up a ledger.
type Totals struct {
	Requests int64 // all since the start or the last Reset, including dropped ones
	Dropped  int64 // records that the ledger no longer holds
	Canceled int64
	Outcomes map[Outcome]int64
	Usage    llm.Usage
	Reported llm.Usage // reported usage that can be summed
	Missed   map[MissCause]int64
}

// Ledger holds the newest records of a simulator, up to a bound. It is safe for concurrent use.
type Ledger struct {
	mu      sync.Mutex
	most    int
	ring    []*entry // sequence numbers ascend from start
	start   int
	last    int64 // the newest sequence number
	dropped Totals
}

func newLedger(most int) *Ledger {
	return &Ledger{most: most, dropped: Totals{Outcomes: map[Outcome]int64{}}}
}

// open adds the record of a new request.
func (l *Ledger) open(r Record) *entry {
	e := &entry{attempt: r.Attempt, dialect: r.Dialect, key: r.Key, received: r.Received, outcome: Open}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e.seq = l.last
	if len(l.ring) < l.most {
		l.ring = append(l.ring, e)
		return e
	}
	old := l.ring[l.start].record()
	l.dropped.add(&old)
	l.dropped.Dropped++
	l.ring[l.start] = e
	l.start = (l.start + 1) % len(l.ring)
	return e
}

// Records yields the records with a sequence number above since, the oldest first, including those added meanwhile.
func (l *Ledger) Records(since int64) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		for {
			batch := l.batch(since)
			if len(batch) == 0 {
				return
			}
			for _, e := range batch {
				r := e.record()
				since = r.Seq
				if !yield(r) {
					return
				}
			}
		}
	}
}

// Attempt returns the records of the requests with that X-Client-Request-Id.
func (l *Ledger) Attempt(id string) []Record {
	var found []Record
	for r := range l.Records(0) {
		if r.Attempt == id {
			found = append(found, r)
		}
	}
	return found
}

const batchSize = 1024

// batch returns the next entries above a sequence number.
func (l *Ledger) batch(since int64) []*entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	oldest := l.last - int64(len(l.ring)) + 1
	skip := max(since+1-oldest, 0)
	n := min(int64(len(l.ring))-skip, batchSize)
	if n <= 0 {
		return nil
	}
	batch := make([]*entry, n)
	for i := range batch {
		batch[i] = l.ring[(l.start+int(skip)+i)%len(l.ring)]
	}
	return batch
}

// Totals sums up all records, including dropped ones.
func (l *Ledger) Totals() Totals {
	l.mu.Lock()
	t := l.dropped
	t.Outcomes = map[Outcome]int64{}
	for o, n := range l.dropped.Outcomes {
		t.Outcomes[o] = n
	}
	t.Missed = maps.Clone(l.dropped.Missed)
	held := make([]*entry, len(l.ring))
	copy(held, l.ring)
	l.mu.Unlock()
	for _, e := range held {
		r := e.record()
		t.add(&r)
	}
	return t
}

// clear removes all records. Sequence numbers continue.
func (l *Ledger) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ring, l.start = nil, 0
	l.dropped = Totals{Outcomes: map[Outcome]int64{}}
}

func (t *Totals) add(r *Record) {
	t.Requests++
	t.Outcomes[r.Outcome]++
	if r.Canceled {
		t.Canceled++
	}
	t.Usage.Add(&r.Usage)
	if r.Missed != nil {
		if t.Missed == nil {
			t.Missed = map[MissCause]int64{}
		}
		t.Missed[r.Missed.Cause] += r.Missed.Tokens
	}
	if r.Reported != nil {
		t.Reported.Add(r.Reported)
	}
}

// entry is a record in progress, small because there may be a million.
type entry struct {
	seq      int64
	attempt  string
	dialect  string
	key      string
	received time.Time

	mu        sync.Mutex
	model     string
	reply     uint64 // the id of the answer
	fault     string
	ended     time.Time
	outcome   Outcome
	raw       string
	told      *llm.Usage // if it differs from the consumed usage
	status    int32
	stream    bool
	reported  bool
	marker    bool
	canceled  bool
	tier      string
	cost      *llm.Money
	input     int64
	cached    int64
	written   [2]int64 // to a cache: for the usual time, for an hour
	missed    *Miss
	searches  int64
	output    int64
	reasoning int64
	sent      int64
	talk      *llm.Usage // of a response of a session; nil for others
}

// ask records the requested model and stream flag.
func (e *entry) ask(model string, stream bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.model, e.stream = model, stream
}

// name records the id of the answer.
func (e *entry) name(reply uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reply = reply
}

// meet records the fault of the request.
func (e *entry) meet(fault string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fault = fault
}

// consume records the usage of the input and of the hidden thinking.
func (e *entry) consume(a *answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cached = a.cached
	e.written = [2]int64{a.written, a.writtenHour}
	e.input = a.prompt - a.cached - a.written - a.writtenHour
	e.searches = a.searches
	e.reasoning = a.thinking * a.choices
}

// consumeAll records the usage of the whole answer, however much of it was sent.
func (e *entry) consumeAll(a *answer) {
	e.consume(a)
	output, reasoning := a.made()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.output = output
	e.reasoning += reasoning
}

// miss records what was not read from the prompt cache.
func (e *entry) miss(m *Miss) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.missed = m
}

// charge records the service tier and the provider's own cost figure.
func (e *entry) charge(s *spec) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tier, e.cost = s.tier, s.ownCost()
}

// begin records the status, before it is sent.
func (e *entry) begin(status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status = int32(status)
}

// piece records a piece, before it is sent.
func (e *entry) piece(kind llm.EventKind) {
	if kind == llm.EventReasoning {
		e.pieces(0, 1)
	} else {
		e.pieces(1, 0)
	}
}

// pieces records pieces, before they are sent.
func (e *entry) pieces(output, reasoning int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sent += output + reasoning
	e.output += output
	e.reasoning += reasoning
}

// talked records the usage of a response of a session so far, before its next piece is sent.
func (e *entry) talked(u llm.Usage) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.talk = &u
	e.sent++
}

// settle records the end of an answer, before its last bytes are sent.
func (e *entry) settle(o Outcome, told *llm.Usage, raw string, marker bool, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.outcome, e.ended, e.raw, e.marker = o, at, raw, marker
	e.reported = told != nil
	if told != nil && *told != e.consumed() {
		e.told = told
	}
}

// end records the end of an answer that reports no usage.
func (e *entry) end(o Outcome, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.outcome, e.ended = o, at
}

// cancel records that the client disconnected. An answer that is silent by a fault stays so.
func (e *entry) cancel(at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.canceled, e.ended = true, at
	e.marker, e.reported, e.told, e.raw = false, false, nil, ""
	if e.outcome != Silent {
		e.outcome = ClientGone
	}
}

// usage returns the usage so far.
func (e *entry) usage() llm.Usage {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.consumed()
}

func (e *entry) consumed() (u llm.Usage) {
	if e.talk != nil {
		return *e.talk
	}
	u[llm.Input], u[llm.CacheRead] = e.input, e.cached
	u[llm.CacheWrite], u[llm.CacheWrite1h] = e.written[0], e.written[1]
	u[llm.Output], u[llm.Reasoning], u[llm.Searches] = e.output, e.reasoning, e.searches
	return u
}

func (e *entry) record() Record {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := Record{
		Seq: e.seq, Attempt: e.attempt, Dialect: e.dialect, Model: e.model, Key: e.key, Stream: e.stream,
		Received: e.received, Ended: e.ended, Outcome: e.outcome, Fault: e.fault, Status: int(e.status),
		Usage: e.consumed(), ReportedRaw: e.raw, Pieces: e.sent, EndMarker: e.marker, Canceled: e.canceled,
		Missed: e.missed, Tier: e.tier, Cost: e.cost, Reply: replyID(e.reply),
	}
	switch {
	case e.told != nil:
		r.Reported = new(*e.told)
	case e.reported:
		r.Reported = new(r.Usage)
	}
	return r
}
