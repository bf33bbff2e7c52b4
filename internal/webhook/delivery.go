package webhook

import "time"

// State is the state of a delivery.
type State string

// These are the states.
const (
	Pending   State = "pending"   // waits for the first try or a retry
	Delivered State = "delivered" // the receiver answered with 2xx
	Failed    State = "failed"    // failed for three days, or the endpoint is gone
)

// States returns all states.
func States() []State { return []State{Pending, Delivered, Failed} }

// Delivery is the delivery of one event to one endpoint.
type Delivery struct {
	ID      string // UUIDv7
	Webhook string // id of the endpoint
	Event   string // id, the header webhook-id
	Type    Type
	At      time.Time // of the event
	State   State
	Due     *time.Time // time of the next try; nil if there is none
	Ended   *time.Time
	Tries   int // finished tries; at most MaxTries
	// Last is the last try; nil before the first one.
	Last *Try
}

// Detail is a delivery with the sent payload and the receiver's answers.
type Detail struct {
	Delivery
	URL     string // of the endpoint, as it is now
	Payload []byte
	History []Try // the last MaxTries, in order
}

// Try is one request to an endpoint.
type Try struct {
	N      int       // from 1; interrupted tries are omitted
	At     time.Time // of the header webhook-timestamp
	Took   time.Duration
	Status int    // of the answer; 0 for none
	Error  string // the reason of a failure, for people; empty for a success
	// Answer is the start of the response body, at most 512 bytes of UTF-8; empty for tries before the last
	// TriesInFull.
	Answer string
}

// DeliveryQuery selects deliveries of an endpoint, newest first.
type DeliveryQuery struct {
	Webhook string
	State   State  // empty for all
	Before  string // id; only older ones; empty for no bound
	Limit   int    // at least 1
}

// Job is a delivery that this node has leased.
type Job struct {
	ID      string
	Webhook string
	Event   string
	Payload []byte
	URL     string
	// Format and AllowPrivate are the endpoint's fields.
	Format       Format
	AllowPrivate bool
	// Secrets are sealed; the current one is first.
	Secrets []string
	Take    int           // number of leases so far: the number of the try
	Failed  int           // failed tries of this round
	Age     time.Duration // since it was first due in this round
	At      time.Time     // when it was leased, by the clock that all nodes share
}

// Outcome is the result of a try, for the database.
type Outcome struct {
	Job    *Job
	Try    Try
	State  State         // Pending if there will be a retry
	After  time.Duration // delay of the retry from when the result is stored
	Rest   time.Duration // pause that the receiver asked for; 0 for none
	Gone   bool          // the receiver answered 410: the endpoint gets no more events
	Undone bool          // the request was not completed: repeat the try after After
	// Unsigned reports that this node could not sign; another node may be able to.
	Unsigned bool
}
