package provider

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	ollamaAddress  = "127.0.0.1:11434"
	noticeTime     = 200 * time.Millisecond
	maxNoticeReply = 16 << 10
)

// NoticeOllama reports whether an Ollama answers at its usual port on this
// machine (https://docs.ollama.com/api-reference/get-version). It takes 200 ms
// at most. Dial is that of a net.Dialer.
func NoticeOllama(ctx context.Context, dial func(ctx context.Context, network, address string) (net.Conn, error)) bool {
	ctx, cancel := context.WithTimeout(ctx, noticeTime)
	defer cancel()
	conn, err := dial(ctx, "tcp", ollamaAddress)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok && conn.SetDeadline(deadline) != nil {
		return false
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	const request = "GET /api/version HTTP/1.1\r\nHost: " + ollamaAddress + "\r\nConnection: close\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
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
