package websocket

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // the protocol's
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"

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
// The connection is closed when the handler returns, or the function of Serve.
func Accept(w http.ResponseWriter, r *http.Request, b Bounds, protocols ...string) (*Conn, error) {
	if err := Check(r); err != nil {
		return nil, err
	}
	h, protocol := w.Header(), ""
	h["Upgrade"], h["Connection"] = []string{"websocket"}, []string{"Upgrade"}
	h["Sec-Websocket-Accept"] = []string{acceptOf(strings.TrimSpace(r.Header["Sec-Websocket-Key"][0]))}
	for _, p := range protocols {
		if httpguts.HeaderValuesContainsToken(r.Header["Sec-Websocket-Protocol"], p) {
			protocol = p
			h["Sec-Websocket-Protocol"] = []string{p}
			break
		}
	}
	w.WriteHeader(http.StatusSwitchingProtocols)
	conn, buffers, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, fmt.Errorf("websocket: %w", err)
	}
	if own, ok := conn.(wire); ok {
		return newConn(own, false, b, protocol, nil), nil
	}
	early, _ := buffers.Peek(buffers.Reader.Buffered())
	return newConn(&buffered{Conn: conn}, false, b, protocol, bytes.Clone(early)), nil
}

// acceptOf returns the server's answer to a key (RFC 6455, section 4.2.2).
func acceptOf(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // the protocol's; no secret
	return base64.StdEncoding.EncodeToString(sum[:])
}
