#!/usr/bin/env bash
# github.com/coder/websocket v1.8.15 bounds a message by SetReadLimit, "the max number of bytes to read for a single
# message", but neither its frames nor the pings between them. One would expect the limit to bound what a peer can send
# before a message ends: a message of fragments without content never reaches it, and Read does not return, while the
# peer sends as many frames of 6 bytes as it likes. The same holds for pings, each of which the library answers.
# Gateways and servers have to count bytes below the library.
#
# Output seen on 2026-11-29:
#   1000000 fragments and 12 MB later: 0 bytes of at most 10, <nil>
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS

cat >main.go <<'GO'
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/coder/websocket"
)

func main() {
	const fragments = 1_000_000
	read := make(chan string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			panic(err)
		}
		c.SetReadLimit(10)
		_, content, err := c.Read(context.Background())
		read <- fmt.Sprintf("%d bytes of at most 10, %v", len(content), err)
	}))
	conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	go func() { _, _ = io.Copy(io.Discard, conn) }() // the handshake's answer, and those to pings
	out := bufio.NewWriter(conn)
	_, _ = out.Write([]byte{0x01, 0x80, 0, 0, 0, 0}) // a text that continues
	sent := 6
	for range fragments {
		n, _ := out.Write([]byte{0x00, 0x80, 0, 0, 0, 0, 0x89, 0x80, 0, 0, 0, 0}) // nothing, and a ping
		sent += n
	}
	_, _ = out.Write([]byte{0x80, 0x80, 0, 0, 0, 0}) // the end
	_ = out.Flush()
	fmt.Printf("%d fragments and %d MB later: %s\n", fragments, sent/1_000_000, <-read)
}
GO
go mod init look >/dev/null 2>&1
go get github.com/coder/websocket@v1.8.15 >/dev/null 2>&1

go run . | tee seen
diff seen - <<'WANT'
1000000 fragments and 12 MB later: 0 bytes of at most 10, <nil>
WANT
