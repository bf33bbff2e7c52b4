// Package kept is how much is kept for clients, and how much may be: replies for an
// Idempotency-Key, and responses of the Responses API.
package kept

// Quota bounds what is kept. 0 is no bound.
type Quota struct {
	Bytes    int64 // for an account, of replies and responses together, as they are sealed
	Number   int64 // for an account, of both together
	FreeDisk int64 // bytes that have to be free on the database's disk, where that is ours, for anything to be kept
}

// Refusal is the error of what is not kept.
type Refusal string

// The refusals.
const (
	OverQuota Refusal = "quota" // the account has as much as it may
	DiskFull  Refusal = "disk"  // too little of the disk is free
	TooLarge  Refusal = "size"  // no reply or response of that size is kept
)

// Error says why.
func (r Refusal) Error() string {
	switch r {
	case OverQuota:
		return "as much is kept for the account as may be (kept.bytes_per_account, kept.replies_per_account)"
	case DiskFull:
		return "less of the disk is free than has to be (kept.min_free_disk)"
	}
	return "it is larger than what is kept"
}

// Kind is what is kept.
type Kind string

// The kinds.
const (
	Reply    Kind = "reply"    // for an Idempotency-Key
	Response Kind = "response" // of the Responses API
)

// Usage is what is kept, of an account or of all.
type Usage struct {
	Account       string // its id; empty for the administration's replies, which belong to none
	Replies       int64
	ReplyBytes    int64
	Responses     int64
	ResponseBytes int64 // with what they are found by
}

// Add adds another one's numbers.
func (u *Usage) Add(o *Usage) {
	u.Replies, u.ReplyBytes = u.Replies+o.Replies, u.ReplyBytes+o.ReplyBytes
	u.Responses, u.ResponseBytes = u.Responses+o.Responses, u.ResponseBytes+o.ResponseBytes
}
