package promptcache

// Cause says why input was not read from a cache.
type Cause string

// The causes.
const (
	BelowLeast  Cause = "below_least"  // the prompt is shorter than the vendor's least
	Changed     Cause = "changed"      // the conversation's last request began otherwise
	OtherTarget Cause = "other_target" // another model or provider has it in its cache
	OtherKey    Cause = "other_key"    // another key of the provider has it
	NoMark      Cause = "no_mark"      // no mark of the client covers it
	MarkDropped Cause = "mark_dropped" // the target's wire format has no mark for the client's
	Expired     Cause = "expired"      // it was in the cache, too long ago
	Unknown     Cause = "unknown"      // none of these: the vendor does not say
)

// NumCauses is the number of causes.
const NumCauses = 8

// Causes returns all causes. The journal stores a cause as its index.
func Causes() [NumCauses]Cause {
	return [...]Cause{BelowLeast, Changed, OtherTarget, OtherKey, NoMark, MarkDropped, Expired, Unknown}
}

// Miss is input that an earlier request of the conversation had sent, too, and that was not read from a cache. Without
// Tokens nothing was missed.
type Miss struct {
	Tokens int64
	Cause  Cause
	// Message is where the prompt differs from the earlier one, if that is the cause: the number of the message from 1,
	// 0 for instructions outside of the messages, -1 for tools.
	Message int
}

// LeastMiss is the smallest miss, in tokens: automatic caches store steps of that length.
const LeastMiss = 128
