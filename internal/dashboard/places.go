package dashboard

import (
	"sync"
	"time"

	"weir/internal/llm"
)

// Files are written while their readers take them, which may be slowly: so many at
// once on a node. Each file of the audit log has a connection to the database until
// its end, of which there are four (SQLite), and pages need them too.
const (
	maxUsageFiles   = 4
	maxUsageFilesOf = 2 // of them, of one person
	maxAuditFiles   = 2
	filesWait       = 10 * time.Second // before somebody asks again
)

// places are what so many may have at once. All its methods may be called at once.
type places struct {
	most, mostOf int // in all, and of one person
	mu           sync.Mutex
	taken        int
	of           map[string]int // by the id of who has them
}

// take gives a place, until leave, unless there are none: one person does not take
// all where mostOf is less than most. The error is a *llm.Error with
// CodeRateLimited and RetryAfter.
func (p *places) take(who string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.taken >= p.most:
		return &llm.Error{
			Code: llm.CodeRateLimited, RetryAfter: filesWait,
			Message: "As many files are being downloaded as can be at once. Try again in ten seconds.",
		}
	case p.of[who] >= p.mostOf:
		return &llm.Error{
			Code: llm.CodeRateLimited, RetryAfter: filesWait,
			Message: "You are downloading other files already. Try again when one has come.",
		}
	}
	if p.of == nil {
		p.of = map[string]int{}
	}
	p.taken++
	p.of[who]++
	return nil
}

func (p *places) leave(who string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	if p.of[who]--; p.of[who] == 0 {
		delete(p.of, who)
	}
}
