package webhook

import "time"

// State is how a delivery stands.
type State string

// The states.
const (
	Pending   State = "pending"   // it is to be tried, for the first time or again
	Delivered State = "delivered" // the receiver answered with 2xx
	Failed    State = "failed"    // it was tried for three days, or the endpoint is gone
)

// States are all of them.
func States() []State { return []State{Pending, Delivered, Failed} }

// Delivery is one event on its way to one endpoint.
type Delivery struct {
	ID      string // UUIDv7
	Webhook string // id of the endpoint
	Event   string // id, the header webhook-id
	Type    Type
	At      time.Time // of the event
	State   State
	Due     *time.Time // of the next try; nil where there is none
	Ended   *time.Time
	Tries   int // that have ended; MaxTries for more
	// Last is the last try; nil before the first one.
	Last *Try
}

// Detail is a delivery with what was sent and what came back.
type Detail struct {
	Delivery
	URL     string // of the endpoint, as it is now
	Payload []byte
	History []Try // the last ones, MaxTries at most, in their order
}

// Try is one request to an endpoint.
type Try struct {
	N      int       // from 1; one that was cut short is left out
	At     time.Time // of the header webhook-timestamp
	Took   time.Duration
	Status int    // of the answer; 0 for none
	Error  string // what went wrong, for people; empty for a success
	// Answer is how the answer's body began, at most 512 bytes of UTF-8; empty for
	// tries before the last TriesInFull.
	Answer string
}

// DeliveryQuery selects deliveries of an endpoint, the newest first.
type DeliveryQuery struct {
	Webhook string
	State   State  // empty for all
	Before  string // id; only older ones; empty for no bound
	Limit   int    // at least 1
}

// Job is a delivery that this node has taken, for as long as a lease lasts.
type Job struct {
	ID      string
	Webhook string
	Event   string
	Payload []byte
	URL     string
	// AllowPrivate is the endpoint's.
	AllowPrivate bool
	// Secrets are sealed, the present one first.
	Secrets []string
	Take    int           // how often it was taken: the number of the try
	Failed  int           // tries of this round that failed before
	Age     time.Duration // since it was due first in this round
	At      time.Time     // when it was taken, by the clock that all nodes share
}

// Outcome is how a try ended, for the database.
type Outcome struct {
	Job    *Job
	Try    Try
	State  State         // Pending where it is to be tried again
	After  time.Duration // until then, from when it is written
	Rest   time.Duration // for which the receiver wants to hear nothing; 0 for none
	Gone   bool          // the receiver said 410: nothing is to be sent to it any more
	Undone bool          // it was no try: somebody is to make it, when After is over
	// Unsigned says that this node could not sign, which another one may.
	Unsigned bool
}
