package tool

import (
	"fmt"
	"strings"
	"time"

	"weir/internal/llm"
)

// unlisted returns the error of a name that no list has: none, unless a server that may have the name has never sent a
// list. The caller learns only of servers that the account, and the key with that name, may use.
func (t *table) unlisted(c *Caller, none *llm.Error, may func(*source) bool, now time.Time) error {
	for _, of := range t.sources {
		if !admits(of.Accounts, c.Principal) || !may(of) {
			continue
		}
		if problem, wait := of.unanswered(now); problem != "" {
			return &llm.Error{
				Code: llm.CodeProviderUnavailable, RetryAfter: wait,
				Message: fmt.Sprintf("%s It has sent no lists yet, and is asked again in %d s.", problem,
					int(wait/time.Second)),
			}
		}
	}
	return none
}

// ownName returns what a tool or prompt is called at the server, by the name that the caller knows. It reports false if
// that name is another server's.
func (s *source) ownName(name string, b *Bundle) (own string, is bool) {
	if b != nil && b.Plain {
		return name, true
	}
	return strings.CutPrefix(name, s.Name+separator)
}

// unanswered returns why a server has never sent its lists, and when it is asked again; empty if it has, or if nobody
// has asked it.
func (s *source) unanswered(now time.Time) (problem string, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read {
		return "", 0
	}
	return s.problem, max(time.Second, s.until.Sub(now).Round(time.Second))
}
