package provider

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	noticeTime     = 200 * time.Millisecond
	maxNoticeReply = 16 << 10
)

// IsHere reports whether the server of an entry with a Notice answers on this machine, such as Ollama
// (https://docs.ollama.com/api-reference/get-version). It takes at most 200 ms. Dial is that of a net.Dialer.
func (e *Entry) IsHere(ctx context.Context, dial func(ctx context.Context, network, address string) (net.Conn, error),
) bool {
	u, err := url.Parse(e.BaseURL)
	if err != nil || e.Notice == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, noticeTime)
	defer cancel()
	conn, err := dial(ctx, "tcp", u.Host)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok && conn.SetDeadline(deadline) != nil {
		return false
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", e.Notice, u.Host)
	if err != nil {
		return false
	}
	return saysVersion(io.LimitReader(conn, maxNoticeReply))
}

func saysVersion(r io.Reader) bool {
	res, err := http.ReadResponse(bufio.NewReader(r), nil)
	if err != nil || res.StatusCode != http.StatusOK {
		return false
	}
	defer func() { _ = res.Body.Close() }()
	var reply struct {
		Version string `json:"version"`
	}
	return json.NewDecoder(res.Body).Decode(&reply) == nil && reply.Version != ""
}
