package gateway

import (
	"sync"
	"time"

	"weir/internal/llm"
)

// leastSenders is how many requests any account may be sending at once.
const leastSenders = 16

// senders counts the requests of each account whose body is still to come. Each
// of them has a place among the requests in flight, and no account may take all
// of those by sending slowly.
type senders struct {
	mu   sync.Mutex
	by   map[string]int64 // account id; none that sends nothing
	most int64            // of one account
}

// newSenders leaves half of the places to others.
func newSenders(places int64) *senders {
	return &senders{by: map[string]int64{}, most: max(leastSenders, places/2)}
}

// begin counts one more; it is an error where there are too many.
func (s *senders) begin(account string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[account] >= s.most {
		return &llm.Error{
			Code:       llm.CodeOverloaded,
			Message:    "Too many requests of this account are still being sent. Try again when their bodies have arrived.",
			RetryAfter: time.Second,
		}
	}
	s.by[account]++
	return nil
}

// end counts one less.
func (s *senders) end(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[account]--; s.by[account] == 0 {
		delete(s.by, account)
	}
}
