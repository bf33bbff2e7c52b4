package gateway

import "sync"

// shares divide something between accounts: an account may hold at most so many times what
// is free, which is how switches share the memory of their queues (A. K. Choudhury and
// E. L. Hahne, Dynamic Queue Length Thresholds for Shared-Memory Packet Switches, IEEE/ACM
// Transactions on Networking 6(2), 1998). With the factor f, one account alone gets
// f/(1+f) of what is there, and n of them that all want more get f/(1+n·f) each, as soon as
// those that came first have given back what they have beyond that. Until then the last
// part, which is kept for accounts that hold next to nothing, has room for those who come.
type shares struct {
	most   int64 // of all accounts together
	kept   int64 // of it, for accounts that hold no more than the floor
	floor  int64
	factor int64

	mu  sync.Mutex
	all int64
	by  map[string]int64 // account id; none that holds nothing
}

// A sixteenth is kept, which is the floor of sixteen accounts.
const (
	keptShare  = 16
	floorShare = 256
)

func newShares(most, factor int64) *shares {
	return &shares{
		most: most, kept: most / keptShare, floor: max(1, most/floorShare), factor: factor,
		by: map[string]int64{},
	}
}

// taken is what came of it when an account wanted more.
type taken uint8

const (
	granted  taken = iota
	ownShare       // the account has its share
	nothing        // there is no more for anybody
)

// take counts n more for the account, until as much is given back, where they are granted.
func (s *shares) take(account string, n int64) taken {
	s.mu.Lock()
	defer s.mu.Unlock()
	holds, free := s.by[account]+n, s.most-s.all
	switch shared := free - s.kept; {
	case n > free:
		return nothing
	case holds > s.floor && (n > shared || holds > s.factor*shared):
		return ownShare
	}
	s.all += n
	s.by[account] = holds
	return granted
}

func (s *shares) giveBack(account string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all -= n
	if s.by[account] -= n; s.by[account] == 0 {
		delete(s.by, account)
	}
}

// alone is how much an account may hold while no other does, taken one by one.
func (s *shares) alone() int64 {
	return min(s.most, s.factor*(s.most-s.kept+1)/(1+s.factor))
}

// below says whether the account holds less than it would if all that hold something held
// the same.
func (s *shares) below(account string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[account]*int64(len(s.by)) < s.all
}
