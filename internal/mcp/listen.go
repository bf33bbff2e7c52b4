package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

// Methods and members of subscriptions.
const (
	MethodListen      = "subscriptions/listen" // from the revision Stateless on
	MethodSubscribe   = "resources/subscribe"  // before it
	MethodUnsubscribe = "resources/unsubscribe"
	MetaSubscription  = metaOwn + "subscriptionId"
)

// Methods of notifications about subscriptions.
const (
	NoteAgreed    = "notifications/subscriptions/acknowledged"
	NoteTools     = "notifications/tools/list_changed"
	NotePrompts   = "notifications/prompts/list_changed"
	NoteResources = "notifications/resources/list_changed" // also of templates
	NoteUpdated   = "notifications/resources/updated"
)

// Bounds of listening.
const (
	maxStreams   = 128             // to a server at a time
	maxShared    = 16              // of them for callers of one Session
	maxEvent     = 1 << 20         // bytes
	maxEvents    = 100             // in a second; further ones wait
	agreeWithin  = 5 * time.Second // for a server to answer that it will notify
	lingerFor    = time.Second     // for the headers of a stream that a server sends with its first event
	sayGoodbye   = 2 * time.Second // for a server to end a session
	noteInterval = time.Second     // in which maxEvents are counted
)

// ErrNoStream means that a server sends no notifications outside of answers.
var ErrNoStream = errors.New("the server has no stream of notifications")

// errBusy means that there are too many streams to the server.
var errBusy = &llm.Error{
	Code: llm.CodeOverloaded, Message: "Too many subscriptions to this MCP server are open. End some of them.",
}

// Listening describes the notifications that a caller wants.
type Listening struct {
	Lists   bool     // about changed lists of tools, prompts and resources
	URIs    []string // of resources
	Session string   // see Request
	Person  string   // see Request
	// Agreed is called once, with those URIs about which the server will notify.
	Agreed func(uris []string)
	// Notify receives the method of each notification about a list or a resource, and the URI of the resource.
	Notify func(method, uri string)
}

// streams counts the open streams to a server.
type streams struct {
	mu    sync.Mutex
	all   int
	owned map[string]int // by Session
}

// take takes a place for a stream, and reports whether one was free.
func (s *streams) take(owner string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= maxStreams || owner != "" && s.owned[owner] >= maxShared {
		return false
	}
	if s.owned == nil {
		s.owned = map[string]int{}
	}
	s.all++
	s.owned[owner]++
	return true
}

func (s *streams) leave(owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.owned[owner]--; s.owned[owner] == 0 {
		delete(s.owned, owner)
	}
}

// Listen receives notifications until ctx or the stream ends. The error is ErrNoStream, an *RPCError of the server, an
// *llm.Error or a *Failure; it is never nil.
func (c *Client) Listen(ctx context.Context, l *Listening) error {
	if !c.streams.take(l.Session) {
		return errBusy
	}
	defer c.streams.leave(l.Session)
	first, cancel := context.WithTimeoutCause(ctx, c.o.Timeout, errLate)
	defer cancel()
	s, err := c.session(first, &Request{Session: l.Session, Person: l.Person})
	if err != nil {
		return err
	}
	if s.stateless() {
		return (&notes{of: l, client: c, s: s, id: c.id()}).listen(ctx)
	}
	// Of all streams of a session, only one gets a notification: this one has a session of its own.
	if s, err = c.initialize(first, l.Person, ""); err != nil {
		return err
	}
	n := &notes{of: l, client: c, s: s}
	defer n.end(ctx)
	return n.listenInSession(ctx)
}

// notes receives the notifications of one stream.
type notes struct {
	of     *Listening
	client *Client
	s      *session
	// id is the id of the request; nil in a session. Agreed receives what the server has agreed to.
	id     []byte
	agreed func(filter []byte)

	began time.Time // of the interval in which events are counted
	count int
}

// listen receives notifications by subscriptions/listen.
func (n *notes) listen(ctx context.Context) error {
	c, s, l := n.client, n.s, n.of
	wanted := []byte("{")
	if l.Lists {
		for _, name := range []string{"toolsListChanged", "promptsListChanged", "resourcesListChanged"} {
			wanted = rawjson.AppendMember(wanted, name, []byte("true"))
		}
	}
	if len(l.URIs) > 0 {
		wanted = rawjson.AppendMember(wanted, "resourceSubscriptions", rawjson.AppendStrings(nil, l.URIs))
	}
	r := &Request{
		Method: MethodListen, Person: l.Person, long: true,
		Params: append(rawjson.AppendMember(nil, "notifications", append(wanted, '}')), '}'),
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(agreeWithin, func() { cancel(errLate) })
	defer timer.Stop()
	response, sent, err := c.post(ctx, s, r, AppendMessage(nil, n.id, r.Method, c.params(s, r)))
	if err != nil {
		return c.failure(ctx, sent, err)
	}
	defer func() { _ = response.Body.Close() }() // what is left of it is not wanted
	if response.StatusCode != http.StatusOK {
		if err = c.refusal(ctx, s, response); isUnknownMethod(err) {
			err = ErrNoStream
		}
		return err
	}
	n.agreed = func(filter []byte) {
		timer.Stop()
		l.Agreed(textsIn(rawjson.Get(filter, "resourceSubscriptions")))
	}
	return n.read(ctx, response)
}

// listenInSession receives notifications by the stream of a session.
func (n *notes) listenInSession(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	type opened struct {
		response *http.Response
		err      error
	}
	done := make(chan opened, 1)
	go func() {
		r := &Request{Person: n.of.Person, long: true}
		response, sent, err := n.client.open(ctx, n.s, r, http.MethodGet, nil) //nolint:bodyclose // read closes it
		if err != nil {
			err = n.client.failure(ctx, sent, err)
		}
		done <- opened{response, err}
	}()
	var got opened
	select {
	case got = <-done:
	case <-time.After(lingerFor): // the server may wait for its first event
	}
	if got.response == nil && got.err == nil {
		n.subscribe(ctx)
		got = <-done
	} else if got.err == nil && got.response.StatusCode == http.StatusOK {
		n.subscribe(ctx)
	}
	if got.err != nil {
		return got.err
	}
	defer func() { _ = got.response.Body.Close() }() // what is left of it is not wanted
	switch status := got.response.StatusCode; status {
	case http.StatusOK:
		return n.read(ctx, got.response)
	case http.StatusMethodNotAllowed, http.StatusNotFound:
		return ErrNoStream
	default:
		return n.client.status(status)
	}
}

// subscribe subscribes to the resources in a session.
func (n *notes) subscribe(ctx context.Context) {
	var agreed []string
	for _, uri := range n.of.URIs {
		ctx, cancel := context.WithTimeoutCause(ctx, agreeWithin, errLate)
		params := append(rawjson.AppendString(rawjson.AppendName(nil, "uri"), uri), '}')
		_, err := n.client.send(ctx, n.s, &Request{Method: MethodSubscribe, Params: params, Person: n.of.Person})
		if cancel(); err == nil {
			agreed = append(agreed, uri)
		}
	}
	n.of.Agreed(agreed)
}

// end tells the server that a session has ended.
func (n *notes) end(ctx context.Context) {
	if n.s.id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sayGoodbye)
	defer cancel()
	response, _, err := n.client.open(ctx, n.s, &Request{Person: n.of.Person}, http.MethodDelete, nil)
	if err == nil {
		_ = response.Body.Close() // it has no body, and the session ends by itself otherwise
	}
}

// read reads notifications until the stream ends.
func (n *notes) read(ctx context.Context, response *http.Response) error {
	c := n.client
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != typeStream {
		return ErrNoStream // a server that has nothing to notify about may answer at once
	}
	events := sse.NewReader(response.Body, min(maxEvent, c.o.MaxAnswer))
	for {
		event, err := events.Next()
		if errors.Is(err, io.EOF) && ctx.Err() == nil {
			err = fmt.Errorf("%w: the stream of notifications ended", io.ErrUnexpectedEOF)
		}
		if err != nil {
			return c.failure(ctx, true, err)
		}
		if err := n.pause(ctx); err != nil {
			return c.failure(ctx, true, err)
		}
		if len(event.Data) == 0 {
			continue
		}
		m, err := ParseMessage(event.Data)
		switch {
		case err != nil:
			return c.failure(ctx, true, err)
		case m.IsRequest():
			if err := c.decline(ctx, n.s, n.of.Person, &m); err != nil {
				return err
			}
		case m.Method == "" && n.id != nil:
			if _, err = resultOf(&m, n.id); err == nil || isUnknownMethod(err) {
				err = ErrNoStream
			}
			return err
		default:
			n.take(&m)
		}
	}
}

// pause waits if a server sends more notifications than anybody needs.
func (n *notes) pause(ctx context.Context) error {
	now := n.client.o.Now()
	if now.Sub(n.began) >= noteInterval {
		n.began, n.count = now, 0
	}
	if n.count++; n.count <= maxEvents {
		return nil
	}
	timer := time.NewTimer(n.began.Add(noteInterval).Sub(now))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// take passes a notification about a list or a resource.
func (n *notes) take(m *Message) {
	switch m.Method {
	case NoteAgreed:
		if n.agreed != nil {
			n.agreed(rawjson.Get(m.Params, "notifications"))
			n.agreed = nil
		}
	case NoteTools, NotePrompts, NoteResources:
		n.of.Notify(m.Method, "")
	case NoteUpdated:
		n.of.Notify(m.Method, rawjson.Text(rawjson.Get(m.Params, "uri")))
	}
}

// textsIn returns the texts of an array.
func textsIn(array []byte) (texts []string) {
	for _, v := range rawjson.Elements(array) {
		texts = append(texts, rawjson.Text(v))
	}
	return texts
}
