package dashboard

import (
	"sync"
	"time"

	"weir/internal/llm"
)

// slots limits how many operations run at once on a node. One person cannot occupy all slots if mostOf is less than
// most. Its methods are safe for concurrent use.
type slots struct {
	most, mostOf int // in all, and per person
	code         llm.Code
	wait         time.Duration // time after which a refused person may retry
	full, own    string        // messages if most slots, or mostOf of a person, are taken
	mu           sync.Mutex
	taken        int
	of           map[string]int // by the id of their owner
}

// take takes a slot, until leave. The error is a *llm.Error with RetryAfter.
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

// Files are written while clients read them, possibly slowly, so their number at once is bounded per node.
const (
	maxUsageFiles   = 4
	maxUsageFilesOf = 2 // of them, per person
	maxAuditFiles   = 2
)

func fileSlots(most, mostOf int) *slots {
	return &slots{
		most: most, mostOf: mostOf, code: llm.CodeRateLimited, wait: 10 * time.Second,
		full: "The maximum number of downloads is running. Try again in ten seconds.",
		own:  "You already have other downloads running. Try again when one has finished.",
	}
}
