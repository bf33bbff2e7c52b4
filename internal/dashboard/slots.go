package dashboard

import (
	"sync"
	"time"

	"weir/internal/llm"
)

// slots are what so many may have at once on a node: one person does not take all
// where mostOf is less than most. All its methods may be called at once.
type slots struct {
	most, mostOf int // in all, and of one person
	code         llm.Code
	wait         time.Duration // before somebody who had none asks again
	full, own    string        // what is said where most, and where mostOf are taken
	mu           sync.Mutex
	taken        int
	of           map[string]int // by the id of who has them
}

// take gives a slot, until leave, unless there are none. The error is a *llm.Error
// with RetryAfter.
func (s *slots) take(who string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.of[who] >= s.mostOf:
		return &llm.Error{Code: s.code, RetryAfter: s.wait, Message: s.own}
	case s.taken >= s.most:
		return &llm.Error{Code: s.code, RetryAfter: s.wait, Message: s.full}
	}
	if s.of == nil {
		s.of = map[string]int{}
	}
	s.taken++
	s.of[who]++
	return nil
}

func (s *slots) leave(who string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	if s.of[who]--; s.of[who] == 0 {
		delete(s.of, who)
	}
}

// Files are written while their readers take them, which may be slowly: so many at
// once on a node.
const (
	maxUsageFiles   = 4
	maxUsageFilesOf = 2 // of them, of one person
	maxAuditFiles   = 2
)

func fileSlots(most, mostOf int) *slots {
	return &slots{
		most: most, mostOf: mostOf, code: llm.CodeRateLimited, wait: 10 * time.Second,
		full: "The maximum number of downloads is running. Try again in ten seconds.",
		own:  "You already have other downloads running. Try again when one has finished.",
	}
}
