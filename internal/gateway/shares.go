package gateway

import "sync"

// shares bound what all accounts hold of something together, and what one of them does.
type shares struct {
	mu   sync.Mutex
	all  int64
	by   map[string]int64 // account id; none that holds nothing
	most int64            // of all
	each int64            // of one account
}

// newShares leaves half to others, but for one request of the greatest size.
func newShares(most, greatest int64) *shares {
	return &shares{by: map[string]int64{}, most: most, each: min(most, max(most/2, greatest))}
}

// take counts n more for the account, until as much is given back, and reports whether that
// is within the bounds.
func (s *shares) take(account string, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all += n
	s.by[account] += n
	return s.all <= s.most && s.by[account] <= s.each
}

func (s *shares) giveBack(account string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all -= n
	if s.by[account] -= n; s.by[account] == 0 {
		delete(s.by, account)
	}
}
