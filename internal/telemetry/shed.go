package telemetry

// Priority tells which requests are refused first under overload.
type Priority uint8

// The priorities, the most important first.
const (
	Interactive Priority = iota // a person waits for the answer
	Batch                       // nobody waits: refused first
	Priorities                  // number of priorities
)

// String returns the priority as a label.
func (p Priority) String() string {
	if p == Batch {
		return "batch"
	}
	return "interactive"
}

// Reason is why an overloaded gateway refused a request.
type Reason uint8

// The reasons.
const (
	NotShed            Reason = iota // not refused
	Concurrency                      // the maximum number of requests is in flight
	CPU                              // the process waits for processors
	Memory                           // memory use is close to GOMEMLIMIT
	Bodies                           // bodies in flight use all the memory reserved for them
	AccountConcurrency               // the account uses its share of the requests in flight
	AccountBodies                    // the account uses its share of the memory for bodies
	Reasons                          // number of reasons
)

// String returns the reason as a label.
func (r Reason) String() string {
	return [...]string{
		"", "concurrency", "cpu", "memory", "bodies", "account_concurrency", "account_bodies", "",
	}[min(r, Reasons)]
}

// Shed counts a refused request.
func (m *Metrics) Shed(r Reason, p Priority) { m.shed[r][p].Add(1) }

// AllShed returns how many requests were refused since the start.
func (m *Metrics) AllShed() (n uint64) {
	for r := range m.shed {
		for p := range m.shed[r] {
			n += m.shed[r][p].Load()
		}
	}
	return n
}
