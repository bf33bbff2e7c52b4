package provider_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// upstreamVariable makes the test binary a provider for benchmarks, whose
// processor time is then not the client's.
const upstreamVariable = "WEIR_TEST_UPSTREAM"

const (
	benchStreamHead = "HTTP/1.1 200 OK\r\ndate: Fri, 20 Nov 2026 12:00:00 GMT\r\nserver: uvicorn\r\n" +
		"content-type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
	benchPiece = "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1763640000,\"model\":\"small\"," +
		"\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"finish_reason\":null}]}\n\n"
)

// benchReply is what a small chat answers.
func benchReply() string {
	body := `{"id":"chatcmpl-1","object":"chat.completion","created":1763640000,"model":"small","choices":[{"index":0,` +
		`"message":{"role":"assistant","content":"` + strings.Repeat("some words ", 30) + `"},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":12,"completion_tokens":60,"total_tokens":72}}`
	return fmt.Sprintf("HTTP/1.1 200 OK\r\ndate: Fri, 20 Nov 2026 12:00:00 GMT\r\nserver: uvicorn\r\n"+
		"content-length: %d\r\ncontent-type: application/json\r\n\r\n%s", len(body), body)
}

// serveUpstream answers by path: /whole with a reply, /stream with one piece
// every 10 ms, /hold with one piece and then silence. Its address is its first
// line of output; it ends with its input.
func serveUpstream() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(ln.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for {
		c, err := ln.Accept()
		if err != nil {
			panic(err)
		}
		go answerAll(c)
	}
}

func answerAll(c net.Conn) {
	defer func() { _ = c.Close() }()
	r := bufio.NewReader(c)
	whole := []byte(benchReply())
	chunk := fmt.Appendf(nil, "%x\r\n%s\r\n", len(benchPiece), benchPiece)
	for {
		path, err := skipRequest(r)
		if err != nil {
			return
		}
		if path == "/whole" {
			if _, err := c.Write(whole); err != nil {
				return
			}
			continue
		}
		_, err = c.Write(append([]byte(benchStreamHead), chunk...))
		for err == nil && path == "/stream" {
			time.Sleep(10 * time.Millisecond)
			_, err = c.Write(chunk)
		}
		_, _ = io.Copy(io.Discard, c)
		return
	}
}

// skipRequest gives the path of the base URL that the request went to.
func skipRequest(r *bufio.Reader) (string, error) {
	req, err := http.ReadRequest(r)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(io.Discard, req.Body)
	return strings.TrimSuffix(req.URL.Path, "/chat/completions"), err
}

// startUpstream starts the provider in a process of its own.
func startUpstream(b *testing.B) string {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), upstreamVariable+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return "http://" + strings.TrimSpace(address)
}
