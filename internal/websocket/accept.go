package websocket

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/coder/websocket"
	"golang.org/x/net/http/httpguts"
)

// IsUpgrade reports whether a request asks for a WebSocket, correctly or not.
func IsUpgrade(r *http.Request) bool {
	return httpguts.HeaderValuesContainsToken(r.Header["Upgrade"], "websocket")
}

// version is the only version of the protocol.
const version = "13"

// ErrHandshake is a malformed request for a WebSocket, and ErrVersion one of another version or over another HTTP than
// HTTP/1.1. ErrVersion is for status 426 with the headers of AskUpgrade.
var (
	ErrHandshake = errors.New("websocket: no handshake")
	ErrVersion   = errors.New("websocket: another version")
)

// AskUpgrade sets the headers of a 426 answer, which names the protocol and its version (RFC 9110, section 15.5.22; RFC
// 6455, section 4.4).
func AskUpgrade(h http.Header) {
	h["Upgrade"], h["Connection"] = []string{"websocket"}, []string{"Upgrade"}
	h["Sec-Websocket-Version"] = []string{version}
}

// Check returns why a request cannot be accepted: ErrHandshake or ErrVersion, with the reason; nil if it can.
func Check(r *http.Request) error {
	key := r.Header["Sec-Websocket-Key"]
	switch {
	case !IsUpgrade(r), !httpguts.HeaderValuesContainsToken(r.Header["Connection"], "upgrade"), r.ProtoMajor != 1,
		r.ProtoMinor == 0:
		return fmt.Errorf("%w: it needs HTTP/1.1 with Connection: Upgrade and Upgrade: websocket", ErrVersion)
	case r.Header.Get("Sec-WebSocket-Version") != version:
		return fmt.Errorf("%w: Sec-WebSocket-Version must be %s", ErrVersion, version)
	case r.Method != http.MethodGet:
		return fmt.Errorf("%w: the method must be GET", ErrHandshake)
	case len(key) != 1 || !isKey(key[0]):
		return fmt.Errorf("%w: Sec-WebSocket-Key must be 16 bytes in base64", ErrHandshake)
	case r.ContentLength != 0:
		return fmt.Errorf("%w: the request must have no body", ErrHandshake)
	}
	return nil
}

func isKey(s string) bool {
	v, err := base64.StdEncoding.DecodeString(strings.TrimSpace(s))
	return err == nil && len(v) == 16
}

// Accept answers a request that Check has accepted with status 101 and the headers set on w, and returns the WebSocket.
// protocols lists the subprotocols that the gateway has, the most preferred first. The caller has checked the Origin.
// The connection is closed when the handler returns.
func Accept(w http.ResponseWriter, r *http.Request, b Bounds, protocols ...string) (*Conn, error) {
	u := &upgrade{ResponseWriter: w}
	ws, err := websocket.Accept(u, r, &websocket.AcceptOptions{
		Subprotocols: protocols, InsecureSkipVerify: true,
		OnPingReceived: func(ctx context.Context, b []byte) bool { return u.wire.answersPing(ctx, b) },
	})
	if err != nil {
		return nil, err
	}
	return newConn(ws, u.wire, b), nil
}

// upgrade lets a wire lie between the connection and the WebSocket.
type upgrade struct {
	http.ResponseWriter
	wire *wire
}

// Hijack implements http.Hijacker.
func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, buffers, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	rest, _ := buffers.Peek(buffers.Reader.Buffered())
	if len(rest) > 0 {
		c = &begun{c, io.MultiReader(bytes.NewReader(bytes.Clone(rest)), c)}
	}
	u.wire = newWire(c)
	buffers.Reader.Reset(u.wire)
	buffers.Writer.Reset(u.wire)
	return u.wire, buffers, nil
}

// begun is a connection of which some bytes were read already.
type begun struct {
	net.Conn
	from io.Reader
}

// Read implements net.Conn.
func (b *begun) Read(p []byte) (int, error) { return b.from.Read(p) }

// Dial opens a WebSocket over a connection to a server, with the path and query of target, a URL of the scheme http. If
// the server refuses, the response has its status, headers and the first bytes of its body, and the error is not nil.
// Ctx bounds the handshake.
func Dial(ctx context.Context, c net.Conn, target string, h http.Header, b Bounds, protocols ...string) (
	*Conn, *http.Response, error,
) {
	w := newWire(c)
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	transport := &http.Transport{
		DialContext:            func(context.Context, string, string) (net.Conn, error) { return w, nil },
		MaxResponseHeaderBytes: maxHead, DisableCompression: true, ReadBufferSize: upstreamBuffer,
		WriteBufferSize: upstreamBuffer,
	}
	ws, res, err := websocket.Dial(context.WithoutCancel(ctx), target, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport, CheckRedirect: noRedirect}, HTTPHeader: h,
		Subprotocols: protocols,
	})
	if err != nil {
		_ = c.Close()
		return nil, res, err
	}
	return newConn(ws, w, b), res, nil
}

const (
	maxHead        = 64 << 10 // bytes of an answer's head
	upstreamBuffer = 4 << 10
)

// noRedirect returns a redirect as the answer.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
