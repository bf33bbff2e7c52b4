package capacity

import "sync"

// shares divides a resource between accounts: an account may hold at most factor times the free amount, which is how
// switches share the memory of their queues (A. K. Choudhury and E. L. Hahne, Dynamic Queue Length Thresholds for
// Shared-Memory Packet Switches, IEEE/ACM Transactions on Networking 6(2), 1998). With the factor f, a single account
// gets f/(1+f) of the whole, and n accounts that all want more get f/(1+n·f) each, as soon as earlier ones have given
// back their excess. Until then, the reserve for accounts that hold next to nothing has room for new ones.
type shares struct {
	most   int64 // of all accounts together
	kept   int64 // reserve for accounts that hold no more than the floor
	floor  int64
	factor int64

	mu  sync.Mutex
	all int64
	by  map[string]int64 // by account id; accounts that hold nothing are absent
}

// The reserve is 1/16 of the whole, which is the floor of 16 accounts.
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

// taken is the result of a request for a share.
type taken uint8

const (
	granted  taken = iota
	ownShare       // the account's share is used up
	nothing        // the whole resource is used up
)

// take adds n to the amount that the account holds, until giveBack, if n is granted.
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

// alone returns how much an account may hold while no other holds any, taken one by one.
func (s *shares) alone() int64 {
	return min(s.most, s.factor*(s.most-s.kept+1)/(1+s.factor))
}

// below reports whether the account holds less than the average of all accounts that hold something.
func (s *shares) below(account string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[account]*int64(len(s.by)) < s.all
}
