// Package stored defines the amount of data that is stored for clients, and its bounds: replies for an Idempotency-Key,
// and responses of the Responses API.
package stored

// Quota bounds the stored data. 0 means no bound.
type Quota struct {
	Bytes    int64 // for an account, of replies and responses together, encrypted
	Number   int64 // for an account, of both together
	FreeDisk int64 // bytes of the database's disk that must be free, if it is this machine's
}

// Refusal is the error for data that is not stored.
type Refusal string

// Refusals.
const (
	OverQuota Refusal = "quota" // the account has reached its quota
	DiskFull  Refusal = "disk"  // too little of the disk is free
	TooLarge  Refusal = "size"  // replies or responses of that size are not stored
)

// Error returns the reason.
func (r Refusal) Error() string {
	switch r {
	case OverQuota:
		return "the account has reached its quota (kept.bytes_per_account, kept.replies_per_account)"
	case DiskFull:
		return "the disk has too little free space (kept.min_free_disk)"
	}
	return "it is too large to be stored"
}

// Kind is a kind of stored data.
type Kind string

// Kinds of stored data.
const (
	Reply    Kind = "reply"    // for an Idempotency-Key
	Response Kind = "response" // of the Responses API
)

// Usage is the amount of stored data, of an account or of all.
type Usage struct {
	Account       string `json:"-"` // its id; empty for replies of the administration API, which belong to no account
	Replies       int64  `json:"replies"`
	ReplyBytes    int64  `json:"reply_bytes"`
	Responses     int64  `json:"responses"`
	ResponseBytes int64  `json:"response_bytes"` // including their index
}

// Add adds another one's numbers.
func (u *Usage) Add(o *Usage) {
	u.Replies, u.ReplyBytes = u.Replies+o.Replies, u.ReplyBytes+o.ReplyBytes
	u.Responses, u.ResponseBytes = u.Responses+o.Responses, u.ResponseBytes+o.ResponseBytes
}
