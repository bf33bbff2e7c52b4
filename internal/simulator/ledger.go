package simulator

import (
	"iter"
	"sync"
	"time"

	"weir/internal/llm"
)

// Outcome says how an answer ended.
type Outcome string

// The outcomes.
const (
	Open       Outcome = "open"        // under way
	Served     Outcome = "served"      // given to its end
	Rejected   Outcome = "rejected"    // an error status in place of an answer
	Cut        Outcome = "cut"         // broken off by a fault
	Broken     Outcome = "broken"      // given to its end, but not as the protocol says
	Silent     Outcome = "silent"      // fell silent by a fault
	ClientGone Outcome = "client_gone" // the client left before the end
)

// Record is what one request truly got.
type Record struct {
	Seq      int64     // from 1, in the order of arrival
	Reply    string    // the id of the answer; the same for the same request
	Attempt  string    // the request's X-Client-Request-Id, at most 128 bytes
	Dialect  string    // by name
	Model    string    // as asked
	Key      string    // fingerprint of the key; empty for none
	Stream   bool      // the client asked for a stream
	Received time.Time // when the request came
	Ended    time.Time // when the answer ended or the client was found gone; zero before that
	Outcome  Outcome
	Fault    string // the fault that met it; empty for none
	Status   int    // HTTP status; 0 if none was sent
	// Usage is what was truly consumed up to the end: the whole input once an
	// answer had begun, and one output or reasoning token for every piece that
	// was handed to the connection; with after=bill the whole answer, however it ended.
	Usage llm.Usage
	// Reported is the usage that the client was told; nil when it was told
	// none, or something that only ReportedRaw can express.
	Reported    *llm.Usage
	Tier        string     // service tier as served; empty for none
	Cost        *llm.Money // the provider's own figure of what it charges; nil for none
	ReportedRaw string     // the JSON text of the usage told, where a variant falsified it
	Pieces      int64      // handed to the connection
	EndMarker   bool       // the stream's end marker was sent
	Canceled    bool       // the client left; Ended says when that was noticed
}

// Totals sums up a ledger.
type Totals struct {
	Requests int64 // all since the start or the last Reset, dropped ones included
	Dropped  int64 // records that the ledger no longer holds
	Canceled int64
	Outcomes map[Outcome]int64
	Usage    llm.Usage
	Reported llm.Usage // what was told and can be summed
}

// Ledger holds the records of a simulator, the newest of a bounded number. It
// is safe for concurrent use.
type Ledger struct {
	mu      sync.Mutex
	most    int
	ring    []*entry // sequence numbers ascending from start
	start   int
	last    int64 // the newest sequence number
	dropped Totals
}

func newLedger(most int) *Ledger {
	return &Ledger{most: most, dropped: Totals{Outcomes: map[Outcome]int64{}}}
}

// open adds the record of a request that has just come.
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

// Records yields the records with a sequence number above since, the oldest
// first. Records that come while it runs are yielded too.
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

// Attempt is the records of the requests with that X-Client-Request-Id.
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

// batch is the next entries above a sequence number.
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

// Totals sums up all records, those that were dropped included.
func (l *Ledger) Totals() Totals {
	l.mu.Lock()
	t := l.dropped
	t.Outcomes = map[Outcome]int64{}
	for o, n := range l.dropped.Outcomes {
		t.Outcomes[o] = n
	}
	held := make([]*entry, len(l.ring))
	copy(held, l.ring)
	l.mu.Unlock()
	for _, e := range held {
		r := e.record()
		t.add(&r)
	}
	return t
}

// clear forgets all records. Sequence numbers go on.
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
	if r.Reported != nil {
		t.Reported.Add(r.Reported)
	}
}

// entry is a record in the making, kept small: there may be a million.
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
	told      *llm.Usage // where it differs from what was consumed
	status    int32
	stream    bool
	reported  bool
	marker    bool
	canceled  bool
	tier      string
	cost      *llm.Money
	input     int64
	cached    int64
	searches  int64
	output    int64
	reasoning int64
	sent      int64
}

// ask notes what the request asks for.
func (e *entry) ask(model string, stream bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.model, e.stream = model, stream
}

// name notes the id of the answer.
func (e *entry) name(reply uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reply = reply
}

// meet notes the fault that meets the request.
func (e *entry) meet(fault string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fault = fault
}

// consume notes that the model has read the input and done its hidden
// thinking.
func (e *entry) consume(a *answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cached = a.cached
	e.input = a.prompt - a.cached
	e.searches = a.searches
	e.reasoning = a.thinking * a.choices
}

// consumeAll notes that the whole answer is charged for, whatever was sent of it.
func (e *entry) consumeAll(a *answer) {
	e.consume(a)
	output, reasoning := a.made()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.output = output
	e.reasoning += reasoning
}

// charge notes the service tier and the provider's own figure of the cost.
func (e *entry) charge(s *spec) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tier, e.cost = s.tier, s.ownCost()
}

// begin notes the status that is about to be sent.
func (e *entry) begin(status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status = int32(status)
}

// piece notes a piece that is about to be sent.
func (e *entry) piece(kind llm.EventKind) {
	if kind == llm.EventReasoning {
		e.pieces(0, 1)
	} else {
		e.pieces(1, 0)
	}
}

// pieces notes pieces that are about to be sent.
func (e *entry) pieces(output, reasoning int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sent += output + reasoning
	e.output += output
	e.reasoning += reasoning
}

// settle notes an answer whose last bytes are about to be sent.
func (e *entry) settle(o Outcome, told *llm.Usage, raw string, marker bool, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.outcome, e.ended, e.raw, e.marker = o, at, raw, marker
	e.reported = told != nil
	if told != nil && *told != e.consumed() {
		e.told = told
	}
}

// end notes the end of an answer that tells no usage.
func (e *entry) end(o Outcome, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.outcome, e.ended = o, at
}

// cancel notes that the client is gone. An answer that was silent by a fault
// stays so.
func (e *entry) cancel(at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.canceled, e.ended = true, at
	e.marker, e.reported, e.told, e.raw = false, false, nil, ""
	if e.outcome != Silent {
		e.outcome = ClientGone
	}
}

// usage is what has been consumed so far.
func (e *entry) usage() llm.Usage {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.consumed()
}

func (e *entry) consumed() (u llm.Usage) {
	u[llm.Input], u[llm.CacheRead] = e.input, e.cached
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
		Tier: e.tier, Cost: e.cost, Reply: replyID(e.reply),
	}
	switch {
	case e.told != nil:
		r.Reported = new(*e.told)
	case e.reported:
		r.Reported = new(r.Usage)
	}
	return r
}
