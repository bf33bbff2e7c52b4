package signin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weir/internal/llm"
	"weir/internal/people"
)

// touchEvery is the precision of the time at which a session was last used.
const touchEvery = time.Minute

// Sessions recognizes signed-in people, and ends their sessions.
type Sessions struct {
	*base
	idle time.Duration
	oidc *OIDC // nil for none
}

// Visitor returns the visitor whose session has that token; nil without an error if there is none or it is over.
func (s *Sessions) Visitor(ctx context.Context, session string, o people.Origin) (*people.Visitor, error) {
	if session == "" || len(session) > maxToken {
		return nil, nil
	}
	v, err := s.stores.Sessions.VisitorBySession(ctx, people.HashOf(session))
	if errors.Is(err, people.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find session: %w", err)
	}
	now := s.now()
	if s.over(v.Session(), now) {
		return nil, nil
	}
	if now.Sub(v.Session().Seen) >= touchEvery {
		v.Session().Seen, v.Session().Address = now, o.Address
		if err := s.stores.Sessions.TouchSession(ctx, *v.Session()); err != nil {
			s.log.Warn("the last use of a session could not be recorded", "session", v.Session().ID, "err", err)
		}
	}
	s.oidc.confine(v)
	return v, nil
}

// over reports whether a session has no rights any more.
func (s *Sessions) over(n *people.Session, now time.Time) bool {
	return n.Pending || !now.Before(n.Expires) || !now.Before(n.Seen.Add(s.idle)) ||
		!s.directory.Passwords() && (n.Method == people.ByPassword || n.Method == people.ByInvitation ||
			n.Method == people.ByReset)
}

// SignOut ends the visitor's session.
func (s *Sessions) SignOut(ctx context.Context, v *people.Visitor, o people.Origin) error {
	if v.Session() == nil {
		return nil
	}
	if _, err := s.stores.Sessions.EndSessions(ctx, v.Actor(o), v.User().ID, Ending{Only: v.Session().ID}); err != nil {
		return fmt.Errorf("sign out: %w", err)
	}
	return nil
}

// List returns the visitor's own active sessions, last used first.
func (s *Sessions) List(ctx context.Context, v *people.Visitor) ([]people.Session, error) {
	if err := v.May(people.SignedIn, ""); err != nil {
		return nil, err
	}
	list, err := s.stores.Sessions.Sessions(ctx, v.User().ID)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	now := s.now()
	return slices.DeleteFunc(list, func(n people.Session) bool { return s.over(&n, now) }), nil
}

// End ends one of the visitor's own sessions. The error is a *llm.Error with CodeNotFound if they have no such
// session.
func (s *Sessions) End(ctx context.Context, v *people.Visitor, id string, o people.Origin) error {
	if err := v.May(people.SignedIn, ""); err != nil {
		return err
	}
	n := 0
	var err error
	if id != "" { // an empty id would end all
		n, err = s.stores.Sessions.EndSessions(ctx, v.Actor(o), v.User().ID, Ending{Only: id})
	}
	if err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	if n == 0 {
		return llm.Errorf(llm.CodeNotFound, "You have no such session, or it has ended.")
	}
	return nil
}

// EndOthers ends all sessions of the visitor except this one.
func (s *Sessions) EndOthers(ctx context.Context, v *people.Visitor, o people.Origin) error {
	if err := v.May(people.SignedIn, ""); err != nil {
		return err
	}
	e := Ending{}
	if v.Session() != nil {
		e.Except = v.Session().ID
	}
	if _, err := s.stores.Sessions.EndSessions(ctx, v.Actor(o), v.User().ID, e); err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	return nil
}
