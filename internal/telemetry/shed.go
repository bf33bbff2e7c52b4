package telemetry

// Priority is how little a request minds to be refused.
type Priority uint8

// The priorities, the most important first.
const (
	Interactive Priority = iota // somebody waits for the answer
	Batch                       // nobody does: refused first
	Priorities                  // how many there are
)

// String is the priority as a label.
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
	NotShed            Reason = iota // it did not
	Concurrency                      // as many requests as may be are in flight
	CPU                              // the process waits for processors
	Memory                           // GOMEMLIMIT is near
	Bodies                           // bodies in flight take all the room that is for them
	AccountConcurrency               // the account has its share of the requests in flight
	AccountBodies                    // the account has its share of the room for bodies
	Reasons                          // how many there are
)

// String is the reason as a label.
func (r Reason) String() string {
	return [...]string{
		"", "concurrency", "cpu", "memory", "bodies", "account_concurrency", "account_bodies", "",
	}[min(r, Reasons)]
}

// Shed counts a request that was refused.
func (m *Metrics) Shed(r Reason, p Priority) { m.shed[r][p].Add(1) }

// AllShed is how many requests were refused since the start.
func (m *Metrics) AllShed() (n uint64) {
	for r := range m.shed {
		for p := range m.shed[r] {
			n += m.shed[r][p].Load()
		}
	}
	return n
}
