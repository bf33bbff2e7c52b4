package websocket

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

const (
	maxHead    = 64 << 10 // bytes of an answer's head
	maxRefusal = 1 << 10  // bytes of the body of a refusal
)

// Dial opens a WebSocket over a connection to a server, with the path and query of target, a URL of the scheme http. If
// the server refuses, the response has its status, headers and the first bytes of its body, and the error is not nil.
// Ctx bounds the handshake.
func Dial(ctx context.Context, c net.Conn, target string, h http.Header, b Bounds, protocols ...string) (
	*Conn, *http.Response, error,
) {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	ws, res, err := dial(ctx, c, target, h, b, protocols)
	if !stop() && err == nil { // the connection is closed already
		err = ctx.Err()
	}
	if err != nil {
		_ = c.Close()
		return nil, res, fmt.Errorf("websocket: the handshake failed: %w", err)
	}
	return ws, res, nil
}

func dial(ctx context.Context, c net.Conn, target string, h http.Header, b Bounds, protocols []string) (
	*Conn, *http.Response, error,
) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, nil, err
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	key := base64.StdEncoding.EncodeToString(random[:])
	if h != nil {
		r.Header = h.Clone()
	}
	r.Header["Upgrade"], r.Header["Connection"] = []string{"websocket"}, []string{"Upgrade"}
	r.Header["Sec-Websocket-Version"], r.Header["Sec-Websocket-Key"] = []string{version}, []string{key}
	if len(protocols) > 0 {
		r.Header["Sec-Websocket-Protocol"] = []string{strings.Join(protocols, ",")}
	}
	if err := r.Write(c); err != nil {
		return nil, nil, err
	}
	limited := &io.LimitedReader{R: c, N: maxHead}
	in := bufio.NewReaderSize(limited, receiveBytes)
	res, err := http.ReadResponse(in, r)
	if err != nil {
		return nil, nil, err
	}
	if err := agreed(res, key, protocols); err != nil {
		body, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal))
		res.Body = io.NopCloser(bytes.NewReader(body))
		return nil, res, err
	}
	early, _ := in.Peek(in.Buffered())
	return newConn(&buffered{Conn: c}, true, b, res.Header.Get("Sec-WebSocket-Protocol"), bytes.Clone(early)), res, nil
}

// agreed returns why an answer does not open the WebSocket that was asked for (RFC 6455, section 4.1).
func agreed(res *http.Response, key string, protocols []string) error {
	protocol := res.Header.Get("Sec-WebSocket-Protocol")
	switch {
	case res.StatusCode != http.StatusSwitchingProtocols:
		return fmt.Errorf("the answer is %d instead of 101", res.StatusCode)
	case !httpguts.HeaderValuesContainsToken(res.Header["Upgrade"], "websocket"),
		!httpguts.HeaderValuesContainsToken(res.Header["Connection"], "upgrade"):
		return errors.New("the answer has another protocol")
	case res.Header.Get("Sec-WebSocket-Accept") != acceptOf(key):
		return errors.New("the answer has a wrong Sec-WebSocket-Accept")
	case res.Header.Get("Sec-WebSocket-Extensions") != "":
		return errors.New("the answer has an extension, which was not asked for")
	case protocol != "" && !slices.Contains(protocols, protocol):
		return fmt.Errorf("the answer has the subprotocol %q, which was not asked for", protocol)
	}
	return nil
}
