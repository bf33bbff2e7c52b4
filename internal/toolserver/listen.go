package toolserver

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"weir/internal/account"
	"weir/internal/llm"
	"weir/internal/mcp"
	"weir/internal/rawjson"
	"weir/internal/tool"
)

const (
	// mostFollowed bounds the resources of a subscription, and mostURI the length of a URI, in bytes.
	mostFollowed = 100
	mostURI      = 1 << 10
	// checkEvery is the time between two looks whether the key of a stream is still valid.
	checkEvery = 500 * time.Millisecond
)

// streams ends the streams of notifications when the gateway stops.
type streams struct {
	mu      sync.Mutex
	retired chan struct{} // closed when the streams that are open now end
	stopped bool
}

// current returns the channel that is closed when a stream that begins now has to end.
func (s *streams) current() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.retired
}

// Retire ends all streams of notifications, so that their clients open new ones, possibly at another gateway.
func (s *Server) Retire() {
	s.streams.mu.Lock()
	defer s.streams.mu.Unlock()
	if !s.streams.stopped {
		close(s.streams.retired)
		s.streams.retired = make(chan struct{})
	}
}

// Stop ends all streams of notifications, and those that are opened later.
func (s *Server) Stop() {
	s.streams.mu.Lock()
	defer s.streams.mu.Unlock()
	if !s.streams.stopped {
		s.streams.stopped = true
		close(s.streams.retired)
	}
}

// listen answers subscriptions/listen: with notifications, and a result when the gateway ends the stream.
func listen(x *exchange) (json.RawMessage, error) {
	filter := rawjson.Get(x.message.Params, "notifications")
	if rawjson.KindOf(filter) != rawjson.Object {
		return nil, &mcp.RPCError{Code: mcp.CodeParams, Message: "params.notifications must be an object"}
	}
	wants := func(name string) bool {
		on, _ := rawjson.AsBool(rawjson.Get(filter, name)) // false if absent
		return on
	}
	of := tool.Interest{
		Caller: x.caller(), Tools: wants("toolsListChanged"), Prompts: wants("promptsListChanged"),
		Resources: wants("resourcesListChanged"),
	}
	var uris []string
	for _, v := range rawjson.Elements(rawjson.Get(filter, "resourceSubscriptions")) {
		uri := rawjson.Text(v)
		if len(uris) == mostFollowed || uri == "" || len(uri) > mostURI {
			return nil, llm.Errorf(llm.CodeInvalidRequest, "A subscription is for at most %d resources, with URIs of "+
				"at most %d bytes.", mostFollowed, mostURI)
		}
		if !slices.Contains(uris, uri) {
			uris = append(uris, uri)
		}
	}
	l, err := newListener(x, of)
	if err != nil {
		return nil, err
	}
	defer l.leave()
	id := string(x.message.ID)
	agreed := l.sub.Follow(x.r.Context(), uris)
	if err := x.stream.notify(agreement(id, &of, agreed)); err != nil {
		return nil, nil //nolint:nilerr,nilnil // the client has left
	}
	if goes, err := l.forward(id); err != nil || !goes {
		return nil, err
	}
	return withSubscription([]byte(`{"resultType":"complete"`), id), nil
}

// agreement returns the notification that says what the client will be notified about.
func agreement(id string, of *tool.Interest, agreed []string) []byte {
	filter := []byte("{")
	for _, f := range []struct {
		name string
		on   bool
	}{
		{"toolsListChanged", of.Tools}, {"promptsListChanged", of.Prompts}, {"resourcesListChanged", of.Resources},
	} {
		if f.on {
			filter = rawjson.AppendMember(filter, f.name, []byte("true"))
		}
	}
	if len(agreed) > 0 {
		filter = rawjson.AppendMember(filter, "resourceSubscriptions", rawjson.AppendStrings(nil, agreed))
	}
	params := rawjson.AppendMember(nil, "notifications", append(filter, '}'))
	return mcp.AppendMessage(nil, nil, mcp.NoteAgreed, withSubscription(params, id))
}

// withSubscription ends an open object, which may be nil. The id is the JSON of the request's id; empty in a session.
func withSubscription(params []byte, id string) []byte {
	if id != "" {
		params = rawjson.AppendMember(params, "_meta", []byte(`{"`+mcp.MetaSubscription+`":`+id+`}`))
	}
	if params == nil {
		return nil
	}
	return append(params, '}')
}

// listener is the stream of notifications that answers a request. It has a place like a WebSocket, and no slot.
type listener struct {
	*exchange
	sub *tool.Subscription
}

// newListener begins a stream of notifications. The caller must call leave.
func newListener(x *exchange, of tool.Interest) (*listener, error) {
	if err := x.held.SwapForSocket(); err != nil {
		return nil, err
	}
	sub, err := x.server.o.Tools.Subscribe(x.r.Context(), of)
	if err != nil {
		x.server.o.Capacity.LeaveSocket(x.principal.Account().ID)
		return nil, err
	}
	x.stream = newStream(x.w)
	return &listener{x, sub}, nil
}

// leave ends the subscription, and frees the place.
func (l *listener) leave() {
	l.sub.Close()
	l.server.o.Capacity.LeaveSocket(l.principal.Account().ID)
}

// forward writes notifications until the stream ends: goes reports that the gateway ends it, and not the client. The
// error says why the key is no longer valid.
func (l *listener) forward(id string) (goes bool, err error) {
	retired := l.server.streams.current()
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	for {
		select {
		case <-l.r.Context().Done():
			return false, nil
		case <-retired:
			return true, nil
		case <-l.sub.Over():
			return true, nil
		case <-check.C:
			if err := l.stillValid(); err != nil {
				return false, err
			}
		case <-l.sub.Noted():
			for _, n := range l.sub.Take() {
				if err := l.stream.notify(notification(n, id)); err != nil {
					return false, nil //nolint:nilerr // the client has left
				}
			}
		}
	}
}

// notification returns the message of a note.
func notification(n tool.Note, id string) []byte {
	var params []byte
	if n.URI != "" {
		params = rawjson.AppendString(rawjson.AppendName(nil, "uri"), n.URI)
	}
	return mcp.AppendMessage(nil, nil, n.Method, withSubscription(params, id))
}

// stillValid returns why the caller may no longer listen. It returns nil if that is unknown because the database is
// unavailable.
func (l *listener) stillValid() error {
	token, err := account.Token(l.r.Header)
	if err != nil {
		return err
	}
	p, err := l.server.o.Accounts.Authenticate(l.r.Context(), token)
	if err == nil {
		return p.May(l.permission)
	}
	if llm.AsError(err).Code != llm.CodeAuthentication {
		return nil
	}
	return err
}

// listenInSession answers the GET of a client of the revisions before the stateless one.
func listenInSession(x *exchange) error {
	revision := x.r.Header.Get(mcp.HeaderRevision)
	if revision >= mcp.Stateless || revision != "" && !mcp.Speaks(revision) {
		x.w.Header().Set("Allow", http.MethodPost)
		return status(http.StatusMethodNotAllowed, &mcp.RPCError{
			Code: mcp.CodeRequest, Message: "This revision has no GET. Use subscriptions/listen.",
		})
	}
	x.revision = revision
	l, err := newListener(x, tool.Interest{Caller: x.caller(), Tools: true, Prompts: true, Resources: true})
	if err != nil {
		return err
	}
	defer l.leave()
	uris, detach := x.server.sessions.attach(sessionOf(x), l.sub)
	defer detach()
	x.stream.open()
	l.sub.Follow(x.r.Context(), uris) // again, after a stream that has ended
	_, err = l.forward("")
	return err
}
