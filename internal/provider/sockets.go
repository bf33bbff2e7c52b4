package provider

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"weir/internal/dialect"
	"weir/internal/websocket"
)

const (
	// mostSockets bounds the requests in flight over WebSockets to one provider. Further ones are sent over HTTP.
	mostSockets = 512
	// socketPause is how long requests are sent over HTTP after a refused handshake.
	socketPause = time.Minute
)

// ofRequests are the headers of a request that have no meaning for a WebSocket, which serves several.
var ofRequests = []string{
	"Content-Type", "Accept", "Accept-Encoding", "X-Client-Request-Id", "Traceparent", "Tracestate",
}

// sockets asks a provider for streams over WebSockets. Each serves one request at a time and is then idle, up to the
// bounds of HTTP connections, so that none reaches the 60 minutes after which OpenAI closes it
// (https://developers.openai.com/api/docs/guides/websocket-mode, looked up 2026-11-28).
type sockets struct {
	http1     *http1
	route     route
	bounds    websocket.Bounds
	handshake time.Duration // the longest duration of a handshake
	idle      pool
	busy      atomic.Int64    // requests in flight
	most      int64           // of them
	paused    atomic.Int64    // until when no handshake is made, in Unix nanoseconds
	onRefused func(err error) // is called with the error of a refused handshake
}

func newSockets(w *http1, o *Options) *sockets {
	s := &sockets{
		http1: w, route: *w.route, handshake: o.Timeouts.Connect, most: mostSockets, onRefused: o.Sockets,
		bounds: websocket.Bounds{
			// The exchange has the timers of reads.
			Message: o.MaxReply, Read: o.Timeouts.Total, Write: o.Timeouts.FirstByte,
		},
	}
	s.route.tunnels = true
	s.route.all.watch(&s.idle, true)
	return s
}

func (s *sockets) close() {
	s.route.all.watch(&s.idle, false)
	s.idle.close()
}

// send sends a request for a stream as a message, and otherwise is as wire.send. Asked is false if the request has to
// be sent over HTTP, because of its content or because no WebSocket took it: the provider has nothing to serve then.
func (s *sockets) send(x *exchange, c *Call, target string) (a answer, asked bool, err error) {
	form := c.Dialect.For(c.Op).Framing.Socket
	if form == nil {
		return answer{}, false, nil
	}
	message, ok := asMessage(c.Body, form)
	if !ok {
		return answer{}, false, nil
	}
	if s.busy.Add(1) > s.most {
		s.busy.Add(-1)
		return answer{}, false, nil
	}
	k, err := s.connect(x, c, target, form)
	if k == nil {
		s.busy.Add(-1)
		return answer{}, err != nil, err
	}
	x.follow()
	x.sent.Store(true)
	reply := &socketAnswer{pool: s, exchange: x, form: form, socket: k}
	if k.ws.Send(websocket.Text, message) != nil { // the provider does not serve a part of a message
		reply.close()
		return answer{}, !x.unsend(), errGivenUp
	}
	if a, err = reply.answer(); errors.Is(err, errTooOld) {
		return answer{}, !x.unsend(), errGivenUp
	}
	return a, true, err
}

// unsend lets a request that the provider has not served be sent in another way, unless the exchange was aborted.
func (x *exchange) unsend() bool {
	x.sent.Store(false)
	return x.link.Cut() && x.reason() == nil
}

// connect returns a WebSocket for a request, attached to its exchange. It returns nil without an error if the provider
// refuses WebSockets.
func (s *sockets) connect(x *exchange, c *Call, target string, form *dialect.Socket) (*keptSocket, error) {
	header := http.Header{}
	x.headers(c, header.Set)
	for _, name := range slices.Concat(ofRequests, form.PerRequest) {
		header.Del(name)
	}
	wanted := digest(target, header)
	found := s.idle.take(func(c *conn) bool { return c.webSocket.digest == wanted })
	switch {
	case found != nil && x.attach(found.kill):
		return found.webSocket, nil
	case found != nil:
		_ = found.Close()
		return nil, errGivenUp
	case time.Now().UnixNano() < s.paused.Load():
		return nil, nil
	}
	k, err := s.open(x, target, header)
	if k != nil && !x.attach(k.kill) {
		_ = k.Close()
		return nil, errGivenUp
	}
	if k != nil {
		k.digest = wanted
	}
	return k, err
}

// open dials and makes the handshake. It returns nil without an error if only the handshake fails.
func (s *sockets) open(x *exchange, target string, header http.Header) (*keptSocket, error) {
	ctx, cancel := context.WithCancel(x.parent)
	defer cancel()
	if !x.attach(cancel) {
		return nil, errGivenUp
	}
	c, err := s.route.dial(ctx)
	if err != nil {
		return nil, err
	}
	within, end := context.WithTimeout(ctx, s.handshake)
	defer end()
	address := "http://" + s.http1.host + target                           // c has TLS already
	socket, _, err := websocket.Dial(within, c, address, header, s.bounds) //nolint:bodyclose // in memory
	switch {
	case err == nil:
		c.webSocket = &keptSocket{conn: c, ws: socket}
		return c.webSocket, nil
	case ctx.Err() != nil:
		return nil, errGivenUp
	}
	now, before := time.Now(), s.paused.Load()
	if before < now.UnixNano() && s.paused.CompareAndSwap(before, now.Add(socketPause).UnixNano()) {
		s.onRefused(err)
	}
	return nil, nil
}

// digest identifies a target and headers, some of which are secret.
func digest(target string, header http.Header) [32]byte {
	text := append([]byte(target), 0)
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			text = append(append(append(append(text, name...), 0), value...), 0)
		}
	}
	return sha256.Sum256(text)
}
