package toolserver

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"weir/internal/llm"
	"weir/internal/mcp"
	"weir/internal/tool"
)

const (
	// mostInSession bounds the resources of a session, and mostSessions the number of sessions with resources.
	mostInSession = 16
	mostSessions  = 4096
	// mostOfKey bounds the sessions of a key that have resources, and mostOfAccount those of an account.
	mostOfKey     = 64
	mostOfAccount = 512
	// maxID bounds the id of a session, in bytes. Weir's own have 36.
	maxID = 128
	// sessionFor is how long a session without a stream keeps its resources.
	sessionFor = 5 * time.Minute
)

// sessions has the resources to which clients have subscribed, in the revisions in which a stream of its own has the
// notifications. They are in the memory of this gateway.
type sessions struct {
	now     func() time.Time
	mu      sync.Mutex
	all     map[sessionKey]*session
	streams map[sessionKey]*tool.Subscription
}

// sessionKey identifies a session: nobody can name one of another key.
type sessionKey struct{ account, key, bundle, id string }

// session has the resources of one session.
type session struct {
	uris []string
	used time.Time
}

func sessionOf(x *exchange) sessionKey {
	p := x.principal
	return sessionKey{p.Account().ID, p.Key().ID, x.caller().Bundle, x.r.Header.Get(mcp.HeaderSession)}
}

// subscribe answers resources/subscribe and resources/unsubscribe.
func subscribe(x *exchange) (json.RawMessage, error) {
	key, uri := sessionOf(x), textAt(x.message.Params, "uri")
	switch {
	case key.id == "" || len(key.id) > maxID:
		return nil, status(http.StatusBadRequest, &mcp.RPCError{
			Code: mcp.CodeRequest, Message: "A subscription needs the " + mcp.HeaderSession + " of initialize.",
		})
	case uri == "" || len(uri) > mostURI:
		return nil, &mcp.RPCError{Code: mcp.CodeParams, Message: "params needs the uri of a resource"}
	}
	x.tool = uri
	if x.message.Method == mcp.MethodUnsubscribe {
		x.server.sessions.remove(key, uri)
		return json.RawMessage("{}"), nil
	}
	if _, err := x.server.o.Tools.FindResource(x.r.Context(), x.caller(), uri); err != nil {
		return nil, err
	}
	stream, err := x.server.sessions.add(key, uri, x.server.o.Now())
	if err != nil {
		return nil, err
	}
	if stream != nil && len(stream.Follow(x.r.Context(), []string{uri})) == 0 {
		x.server.sessions.remove(key, uri)
		return nil, llm.Errorf(llm.CodeInvalidRequest, "The server of this resource does not notify about it. Read it "+
			"again from time to time.")
	}
	return json.RawMessage("{}"), nil
}

// add adds a resource to a session, and returns the session's stream; nil if there is none, or the resource is known.
func (s *sessions) add(key sessionKey, uri string, now time.Time) (*tool.Subscription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.all[key]
	if of == nil {
		if !s.makeRoom(key, now) {
			return nil, &llm.Error{Code: llm.CodeOverloaded, Message: "Too many sessions have subscriptions."}
		}
		of = &session{}
		s.all[key] = of
	}
	of.used = now
	switch {
	case slices.Contains(of.uris, uri):
		return nil, nil //nolint:nilnil // there is nothing to do
	case len(of.uris) == mostInSession:
		return nil, llm.Errorf(llm.CodeInvalidRequest, "A session subscribes to at most %d resources.", mostInSession)
	}
	of.uris = append(of.uris, uri)
	return s.streams[key], nil
}

// makeRoom removes sessions that have ended, and reports whether there is room for another one of a key.
func (s *sessions) makeRoom(by sessionKey, now time.Time) bool {
	ofKey, ofAccount := 0, 0
	for k, of := range s.all {
		if s.streams[k] == nil && now.Sub(of.used) > sessionFor {
			delete(s.all, k)
			continue
		}
		if k.key == by.key {
			ofKey++
		}
		if k.account == by.account {
			ofAccount++
		}
	}
	return ofKey < mostOfKey && ofAccount < mostOfAccount && len(s.all) < mostSessions
}

// remove removes a resource from a session.
func (s *sessions) remove(key sessionKey, uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.all[key]
	if of == nil {
		return
	}
	if of.uris = slices.DeleteFunc(of.uris, func(u string) bool { return u == uri }); len(of.uris) == 0 {
		delete(s.all, key)
	}
	if stream := s.streams[key]; stream != nil {
		stream.Unfollow(uri)
	}
}

// attach gives a session its stream until detach, and returns the resources of the session. A session with two streams
// has its notifications in the later one.
func (s *sessions) attach(key sessionKey, stream *tool.Subscription) (uris []string, detach func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key.id == "" || len(key.id) > maxID {
		return nil, func() {}
	}
	s.streams[key] = stream
	if of := s.all[key]; of != nil {
		uris = slices.Clone(of.uris)
	}
	return uris, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.streams[key] == stream {
			delete(s.streams, key)
		}
		if of := s.all[key]; of != nil {
			of.used = s.now()
		}
	}
}
