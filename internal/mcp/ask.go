package mcp

import (
	"context"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"weir/internal/rawjson"
	"weir/internal/sse"
)

// Ask passes a request of a server to the client whose call it belongs to. It returns the result or the error of the
// response, as JSON; the other is nil.
type Ask func(ctx context.Context, method string, params []byte) (result, failed []byte, err error)

// ability is a kind of request of a server that clients answer during a call, in the revisions before Stateless.
type ability struct {
	letter string // in a list of abilities
	member string // of a client's capabilities
	method string
}

// everyAbility returns the abilities that clients may have.
func everyAbility() []ability {
	return []ability{
		{"e", "elicitation", "elicitation/create"},
		{"s", "sampling", "sampling/createMessage"},
		{"r", "roots", "roots/list"},
	}
}

// Abilities returns the abilities that a client's capabilities declare, as a list of letters.
func Abilities(capabilities []byte) (letters string) {
	for _, a := range everyAbility() {
		if rawjson.KindOf(rawjson.Get(capabilities, a.member)) == rawjson.Object {
			letters += a.letter
		}
	}
	return letters
}

// KnownAbilities returns the letters of a list that are abilities, each once.
func KnownAbilities(list string) (letters string) {
	for _, a := range everyAbility() {
		if strings.Contains(list, a.letter) {
			letters += a.letter
		}
	}
	return letters
}

// capabilitiesOf returns the capabilities of a client with these abilities.
func capabilitiesOf(letters string) []byte {
	capabilities := []byte("{")
	for _, a := range everyAbility() {
		if strings.Contains(letters, a.letter) {
			capabilities = rawjson.AppendMember(capabilities, a.member, []byte("{}"))
		}
	}
	return append(capabilities, '}')
}

// isAsked reports whether a client with these abilities answers a method.
func isAsked(letters, method string) bool {
	for _, a := range everyAbility() {
		if a.method == method {
			return strings.Contains(letters, a.letter)
		}
	}
	return false
}

// answer answers a request of the server: by the client, if it is able to.
func (c *Client) answer(ctx context.Context, s *session, r *Request, m *Message) error {
	if r.Ask == nil || !isAsked(r.Abilities, m.Method) {
		return c.decline(ctx, s, r.Person, m)
	}
	result, failed, err := r.Ask(ctx, m.Method, m.Params)
	if err != nil {
		return err
	}
	return c.deliver(ctx, s, &Request{Method: m.Method, Person: r.Person}, AppendResponse(nil, m.ID, result, failed))
}

// call sends a request, and answers what the server asks meanwhile by the stream of the session.
func (c *Client) call(ctx context.Context, s *session, r *Request) (result []byte, err error) {
	if r.Ask == nil || s.id == "" || s.stateless() {
		return c.send(ctx, s, r)
	}
	hearing, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	opened := make(chan struct{})
	open := sync.OnceFunc(func() { close(opened) })
	running.Go(func() {
		defer open()
		hear(hearing, c, s, r, open)
	})
	timer := time.NewTimer(lingerFor) // a server may send no headers before its first event
	defer timer.Stop()
	select {
	case <-opened: // before the call, because servers drop requests for which they have no stream
	case <-timer.C:
	}
	return c.send(ctx, s, r)
}

// hear answers the requests that the server sends by the stream of the session, until ctx ends.
func hear(ctx context.Context, c *Client, s *session, r *Request, opened func()) {
	response, _, err := c.open(ctx, s, &Request{Person: r.Person, long: true}, http.MethodGet, nil)
	if err != nil {
		return // the call fails as well, or needs no stream
	}
	defer func() { _ = response.Body.Close() }() // what is left of it is not wanted
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode != http.StatusOK || kind != typeStream {
		return
	}
	opened()
	bounded := io.LimitReader(response.Body, streamed*int64(c.o.MaxAnswer))
	events := sse.NewReader(bounded, c.o.MaxAnswer)
	for {
		event, err := events.Next()
		if err != nil {
			return
		}
		if m, err := ParseMessage(event.Data); err == nil && m.IsRequest() && c.answer(ctx, s, r, &m) != nil {
			return
		}
	}
}
