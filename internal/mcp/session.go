package mcp

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"weir/internal/rawjson"
)

// session says how the server is spoken to.
type session struct {
	revision string
	id       string // of the server; empty for none
}

// stateless reports whether each request is independent.
func (s *session) stateless() bool { return s.revision >= Stateless }

// slot has the session of some callers. Its turn is taken while the session is begun.
type slot struct {
	turn chan struct{}
	s    *session
}

// key names the session of a request: that of its callers with the same abilities.
func (r *Request) key() string { return r.Session + " " + r.Abilities }

// session returns the session of a request, which it begins if there is none.
func (c *Client) session(ctx context.Context, r *Request) (*session, error) {
	key := r.key()
	c.mu.Lock()
	if c.era != nil {
		defer c.mu.Unlock()
		return c.era, nil
	}
	at := c.slots[key]
	if at == nil {
		c.makeRoom()
		at = &slot{turn: make(chan struct{}, 1)}
		c.slots[key] = at
	}
	known := c.sessions
	c.mu.Unlock()
	select {
	case at.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, c.failure(ctx, false, ctx.Err())
	}
	defer func() { <-at.turn }()
	if at.s != nil {
		return at.s, nil
	}
	s, err := c.begin(ctx, r, known)
	if err != nil {
		if f, ok := errors.AsType[*Failure](err); ok {
			begun := *f // another request may have it, too
			begun.Sent = false
			return nil, &begun
		}
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.stateless() {
		c.era = s
	} else {
		at.s, c.sessions = s, true
	}
	return s, nil
}

// makeRoom removes one session of the owner with the most sessions if there are too many: clients choose the ids of
// theirs. The server ends it by itself.
func (c *Client) makeRoom() {
	if len(c.slots) < maxSessions {
		return
	}
	owned, count, most := map[string]string{}, map[string]int{}, ""
	for key := range c.slots {
		owner, _, _ := strings.Cut(key, " ")
		owned[owner] = key
		if count[owner]++; count[owner] > count[most] {
			most = owner
		}
	}
	delete(c.slots, owned[most])
}

// forget removes a session that the server no longer knows.
func (c *Client) forget(r *Request, s *session) {
	key := r.key()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.era == s {
		c.era = nil
	}
	if at := c.slots[key]; at != nil && at.s == s {
		delete(c.slots, key)
	}
	c.sessions = false
}

// begin finds out which revision the server speaks, and begins a session if it has sessions.
func (c *Client) begin(ctx context.Context, r *Request, legacy bool) (*session, error) {
	if !legacy {
		s := &session{revision: Stateless}
		discover := &Request{Method: MethodDiscover, Person: r.Person}
		about, err := c.send(ctx, s, discover)
		if offers(err, Stateless) {
			about, err = c.send(ctx, s, discover)
		}
		if err == nil && supports(about, Stateless) {
			return s, nil
		}
		if err := definite(err); err != nil {
			return nil, err
		}
	}
	return c.initialize(ctx, r.Person, r.Abilities)
}

// supports reports whether a description lists a revision.
func supports(about []byte, revision string) bool {
	for _, v := range rawjson.Elements(rawjson.Get(about, "supportedVersions")) {
		if rawjson.Text(v) == revision {
			return true
		}
	}
	return false
}

// offers reports whether an error is the refusal of a revision that names another one.
func offers(err error, revision string) bool {
	e, ok := errors.AsType[*RPCError](err)
	if !ok || e.Code != CodeRevision {
		return false
	}
	for _, v := range rawjson.Elements(rawjson.Get(e.Data, "supported")) {
		if rawjson.Text(v) == revision {
			return true
		}
	}
	return false
}

// definite returns the error of a server/discover unless it means that the server has sessions: an error of the
// protocol, or one of these statuses.
func definite(err error) error {
	var f *Failure
	switch {
	case errors.As(err, new(*RPCError)), errors.Is(err, errForgotten):
		return nil
	case errors.As(err, &f) && slices.Contains([]int{
		http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusUnprocessableEntity,
	}, f.Status):
		return nil
	}
	return err
}

// initialize begins a session of the revisions before Stateless.
func (c *Client) initialize(ctx context.Context, person, abilities string) (*session, error) {
	params := `{"protocolVersion":"` + Sessions + `","capabilities":` + string(capabilitiesOf(abilities)) +
		`,"clientInfo":` + c.info + `}`
	s := new(session)
	about, err := c.send(ctx, s, &Request{Method: MethodInitialize, Params: []byte(params), Person: person})
	if err != nil {
		return nil, err
	}
	s.revision = rawjson.Text(rawjson.Get(about, "protocolVersion"))
	if !Speaks(s.revision) || s.stateless() {
		err := errors.New("it chose a revision of the protocol that Weir does not speak")
		return nil, c.failure(ctx, true, err)
	}
	return s, c.notify(ctx, s, person, "notifications/initialized")
}

// Revision returns the revision that the server speaks; empty if that is not known yet.
func (c *Client) Revision() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.era != nil {
		return c.era.revision
	}
	for _, at := range c.slots {
		select {
		case at.turn <- struct{}{}:
		default:
			continue // the session is being begun
		}
		s := at.s
		<-at.turn
		if s != nil {
			return s.revision
		}
	}
	return ""
}
