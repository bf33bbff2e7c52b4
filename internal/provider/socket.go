package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/websocket"
)

// Connecting describes a WebSocket to a provider.
type Connecting struct {
	// Dialect is a wire format that the provider supports; nil means its usual one.
	Dialect *dialect.Dialect
	Op      llm.Op
	Model   string // for explanations of a refusal
	// Target is the path and query below BaseURL, such as "/realtime?model=gpt-realtime". With {version} in it, it
	// replaces the end of BaseURL, which is the version.
	Target string
	// Dated is the path and query of a session of the beta that takes the place of Target if the base URL ends with
	// /openai/v1, as Azure's: beside that version
	// (https://learn.microsoft.com/azure/foundry/openai/how-to/realtime-audio-websockets, copy of 2026-11-30).
	Dated     string
	AttemptID string           // as in Call
	Header    []dialect.Header // as in Call
	Key       int              // as in Call
	Protocols []string         // subprotocols; nil for none
	Bounds    websocket.Bounds
	// Hold is required and consumed before anything is sent, because a WebSocket lets its holder spend money.
	Hold Permit
}

var (
	errNoSockets = errors.New("a provider inside this process has no WebSocket")
	errVersion   = errors.New("the base URL does not end with a version, as in /v1beta")
)

// Connect opens a WebSocket to the provider: through the configured proxy, with the certificates, addresses, timeouts
// and credentials of its requests. A proxy for plain HTTP makes a tunnel for it. Every error is a *Failure. When ctx is
// cancelled before the handshake has ended, it is aborted. The caller must close the WebSocket, which counts as one
// of the connections to all providers.
func (p *Provider) Connect(ctx context.Context, c *Connecting) (*websocket.Conn, error) {
	w, ok := p.wire.(*http1)
	if !ok {
		return nil, p.internal(errNoSockets)
	}
	d := cmp.Or(c.Dialect, p.opts.Dialect)
	call := Call{
		Dialect: d, Op: c.Op, Model: c.Model, AttemptID: c.AttemptID, Header: c.Header, Key: c.Key, Hold: c.Hold,
	}
	target, err := p.socketTarget(&call, c.at(p.prefix))
	if err == nil {
		err = c.Hold.Use()
	}
	if err != nil {
		return nil, p.internal(err)
	}
	x := p.newExchange(ctx, true)
	defer x.abandon()
	x.follow()
	x.call = call
	if f := p.sign(x, &x.call, target); f != nil {
		return nil, f
	}
	return w.connectSocket(x, c, target)
}

// socketTarget returns the path and query of a WebSocket, or the mistake in the call.
func (p *Provider) socketTarget(c *Call, target string) (string, error) {
	switch {
	case c.Hold == nil:
		return "", errNoPermit
	case c.Dialect.For(c.Op) == nil:
		return "", fmt.Errorf("operation %q: %w", c.Op, errNoPath)
	case target == "" || target[0] != '/': // otherwise it could name another host
		return "", fmt.Errorf("the path %q does not begin with \"/\"", target)
	}
	if err := p.check(c); err != nil {
		return "", err
	}
	return p.versioned(target)
}

// unversioned begins a target beside the version of the base URL.
const unversioned = "/{unversioned}"

// at returns the target below a base URL with that path.
func (c *Connecting) at(prefix string) string {
	if c.Dated != "" && strings.HasSuffix(prefix, "/openai/v1") {
		return unversioned + c.Dated
	}
	return c.Target
}

// versioned returns a target with the version of the base URL in place of {version}, or without it, and else below it.
func (p *Provider) versioned(target string) (string, error) {
	before, after, ok := strings.Cut(target, "{version}")
	beside, isBeside := strings.CutPrefix(target, unversioned)
	if !ok && !isBeside {
		return p.escape(p.prefix + target)
	}
	at := strings.LastIndexByte(p.prefix, '/')
	version := p.prefix[at+1:]
	if len(version) < 2 || version[0] != 'v' || version[1] < '0' || version[1] > '9' {
		return "", errVersion
	}
	if isBeside {
		return p.escape(p.prefix[:max(0, at)] + beside)
	}
	return p.escape(p.prefix[:max(0, at)] + before + version + after)
}

// connectSocket dials and makes the handshake.
func (w *http1) connectSocket(x *exchange, c *Connecting, target string) (*websocket.Conn, error) {
	ctx, cancel := context.WithCancel(x.parent)
	defer cancel()
	if !x.attach(cancel) {
		return nil, x.failure(errGivenUp, false)
	}
	tunnel := *w.route
	tunnel.tunnels = true
	conn, err := tunnel.dial(ctx)
	if err != nil {
		return nil, x.failure(err, false)
	}
	x.sent.Store(true)
	header := http.Header{}
	x.headers(&x.call, header.Set)
	for _, name := range []string{"Content-Type", "Accept", "Accept-Encoding"} {
		header.Del(name)
	}
	address := "http://" + w.host + target                                              // conn has TLS already
	s, res, err := websocket.Dial(ctx, conn, address, header, c.Bounds, c.Protocols...) //nolint:bodyclose // in memory
	if err != nil {
		return nil, x.socketFailure(res, err)
	}
	return s, nil
}

// socketFailure returns the failure of a handshake, by its answer if there was one.
func (x *exchange) socketFailure(res *http.Response, err error) *Failure {
	if res == nil || res.StatusCode < http.StatusBadRequest {
		return x.failure(err, false)
	}
	r := &Response{
		Status: res.StatusCode, Header: localFields{res.Header}, exchange: x, dialect: x.call.Dialect,
		model: x.call.Model,
	}
	body := make([]byte, 1<<10) // websocket.Dial has no more
	n, _ := res.Body.Read(body)
	return r.statusFailure(body[:n])
}
