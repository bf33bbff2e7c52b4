package realtime

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
)

// live holds the open sessions of a node.
type live struct {
	mu  sync.Mutex
	all map[uuid.UUID]*session
}

func (l *live) add(x *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[uuid.UUID]*session{}
	}
	l.all[x.id] = x
}

func (l *live) remove(x *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, x.id)
}

// Session describes a session so far.
type Session struct {
	ID           uuid.UUID
	Account, Key string // ids
	Model        string // "<provider>/<model-name>"
	Began        time.Time
	Responses    int64     // settled ones
	Running      int64     // open ones
	Charge       llm.Money // of the settled attempts
	Uncertain    bool      // Charge may be higher
}

// Sessions returns the open sessions of this node, the oldest first.
func (s *Server) Sessions() []Session {
	s.live.mu.Lock()
	all := make([]*session, 0, len(s.live.all))
	for _, x := range s.live.all {
		all = append(all, x)
	}
	s.live.mu.Unlock()
	list := make([]Session, len(all))
	for i, x := range all {
		list[i] = x.describe()
	}
	slices.SortFunc(list, func(a, b Session) int { return strings.Compare(a.ID.String(), b.ID.String()) })
	return list
}

func (s *session) describe() Session {
	s.mu.Lock()
	running := int64(s.responses.open())
	s.mu.Unlock()
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	return Session{
		ID: s.id, Account: s.who.Account().ID, Key: s.who.Key().ID, Model: s.target.FullName(), Began: s.began,
		Responses: s.settled, Running: running, Charge: s.spent,
		Uncertain: s.uncertain,
	}
}

// End ends a session of this node, and reports whether it was open.
func (s *Server) End(id uuid.UUID) bool {
	s.live.mu.Lock()
	x := s.live.all[id]
	s.live.mu.Unlock()
	if x == nil {
		return false
	}
	x.end(&llm.Error{Code: llm.CodeForbidden, Message: "An operator has ended this session."})
	return true
}

// Stop ends all sessions of this node, so that their clients connect to another one.
func (s *Server) Stop() {
	s.live.mu.Lock()
	defer s.live.mu.Unlock()
	for _, x := range s.live.all {
		x.end(&llm.Error{Code: llm.CodeOverloaded, Message: "The gateway is stopping. Connect again."})
	}
}
