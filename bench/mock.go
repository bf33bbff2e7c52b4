package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	maxRequest = 64 << 10 // bytes of a body
	maxWait    = 10 * time.Second
	maxPieces  = 100_000
	replyBytes = 1100 // of a whole reply
	chunkFront = `data: {"id":"chatcmpl-bench0123456789","object":"chat.completion.chunk",` +
		`"created":1760000000,"model":"bench","choices":`
	mockUsage = `{"prompt_tokens":110,"completion_tokens":50,"total_tokens":160}`
)

func mockCommand(ctx context.Context, args []string, _, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench mock", flag.ContinueOnError)
	listen := fs.String("listen", "127.0.0.1:9000", "loopback `address` to listen on")
	cert := fs.String("cert", "", "`file` of a certificate: answer over TLS")
	key := fs.String("key", "", "`file` of its key")
	if err := parse(fs, args, stderr); err != nil {
		return err
	}
	at, err := loopback(*listen)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", at.String())
	if err != nil {
		return err
	}
	if *cert != "" {
		pair, err := tls.LoadX509KeyPair(*cert, *key)
		if err != nil {
			return errors.Join(err, l.Close())
		}
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}})
	}
	fmt.Fprintf(stderr, "mock listening on http://%s\n", l.Addr())
	return serveMock(ctx, l)
}

// loopback parses an address that other machines cannot reach.
func loopback(s string) (netip.AddrPort, error) {
	at, err := netip.ParseAddrPort(s)
	if err != nil || !at.Addr().Is4() || !at.Addr().IsLoopback() {
		return at, fmt.Errorf("%w: the address %q must be 127.0.0.1:PORT: the benchmark stays on loopback", errUsage, s)
	}
	return at, nil
}

// mock is a provider with OpenAI's Chat Completions and Anthropic's Messages that costs almost nothing: one goroutine
// per connection, prepared answers, one write each.
type mock struct{ completions, messages answers }

// answers are the prepared answers of one wire format.
type answers struct {
	whole, begin, end    []byte // a whole answer; the beginning and the end of a stream
	pieceFront, pieceEnd []byte // the parts of a piece around its sending time
}

func newMock() *mock {
	choice := func(delta, finish string) string {
		return chunkFront + `[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + "}]}\n\n"
	}
	event := func(name, rest string) string {
		return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + rest + "}\n\n"
	}
	const (
		message = `{"id":"msg_bench0123456789","type":"message","role":"assistant","model":"bench","content":[`
		begun   = `],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":110,"output_tokens":1}}`
		ended   = `"stop_reason":"end_turn","stop_sequence":null`
	)
	return &mock{
		completions: newAnswers(
			`{"id":"chatcmpl-bench0123456789","object":"chat.completion","created":1760000000,"model":"bench",`+
				`"choices":[{"index":0,"message":{"role":"assistant","content":"`,
			`"},"finish_reason":"stop"}],"usage":`+mockUsage+"}",
			[]string{choice(`{"role":"assistant","content":""}`, "null")}, choice(`{"content":"t=@ "}`, "null"),
			[]string{choice(`{}`, `"stop"`), chunkFront + `[],"usage":` + mockUsage + "}\n\n", "data: [DONE]\n\n"},
		),
		messages: newAnswers(
			message+`{"type":"text","text":"`,
			`"}],`+ended+`,"usage":{"input_tokens":110,"output_tokens":50}}`,
			[]string{
				event("message_start", `,"message":`+message+begun),
				event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`),
			},
			event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"t=@ "}`),
			[]string{
				event("content_block_stop", `,"index":0`),
				event("message_delta", `,"delta":{`+ended+`},"usage":{"output_tokens":50}`), event("message_stop", ""),
			},
		),
	}
}

// newAnswers prepares answers: a whole one of the parts around its text, and a stream of the events before, of and
// after its pieces. A piece has @ in place of its time.
func newAnswers(front, back string, begin []string, piece string, end []string) (a answers) {
	text := strings.Repeat("A weir measures a river without stopping it. ", replyBytes/40)
	a.whole = fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s%s%s",
		replyBytes, front, text[:replyBytes-len(front)-len(back)], back)
	a.begin = []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" +
		"Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n")
	for _, event := range begin {
		a.begin = append(a.begin, chunk(event, 0)...)
	}
	for _, event := range end {
		a.end = append(a.end, chunk(event, 0)...)
	}
	a.end = append(a.end, "0\r\n\r\n"...)
	a.pieceFront, a.pieceEnd, _ = bytes.Cut(chunk(piece, stampDigits-1), []byte("@"))
	return a
}

// chunk returns data as an HTTP chunk, for more bytes than data has by more.
func chunk(data string, more int) []byte {
	return fmt.Appendf(nil, "%x\r\n%s\r\n", len(data)+more, data)
}

// serveMock answers on l until ctx ends.
func serveMock(ctx context.Context, l net.Listener) error {
	var running sync.WaitGroup
	defer running.Wait()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	m := newMock()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		running.Go(func() {
			defer func() { _ = conn.Close() }()
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			if err := m.serve(conn); !errors.Is(err, io.EOF) {
				const head = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
				_, _ = fmt.Fprintf(conn, head, len(err.Error()), err)
			}
		})
	}
}

// serve answers the requests of a connection until it ends with io.EOF or another error.
func (m *mock) serve(conn net.Conn) error {
	in, buf := bufio.NewReader(conn), []byte(nil)
	for {
		h, err := readHead(in)
		if err != nil {
			return err
		}
		if h.opens() {
			return m.talk(conn, in, h.key)
		}
		if buf, err = h.bounded(in, buf[:0]); err != nil {
			return err
		}
		to := &m.completions
		if strings.Contains(h.first, "/messages") {
			to = &m.messages
		}
		if err := to.send(conn, buf); err != nil {
			return err
		}
	}
}

func (a *answers) send(conn net.Conn, body []byte) error {
	_, rest, _ := bytes.Cut(body, []byte(`"model":"`))
	name, _, _ := bytes.Cut(rest, []byte(`"`))
	model := string(name)
	if bytes.Contains(body, []byte(`"stream":true`)) {
		pieces, delay, err := parseShape(model)
		if err != nil {
			return err
		}
		return a.stream(conn, pieces, delay)
	}
	if text, ok := strings.CutPrefix(model, "w"); ok { // w100ms answers after 100 ms
		if d, err := time.ParseDuration(text); err == nil {
			time.Sleep(min(d, maxWait))
		}
	}
	_, err := conn.Write(a.whole)
	return err
}

var errTooLong = fmt.Errorf("send a body of at most %d bytes", maxRequest)

// bounded appends the body of a request to buf.
func (h *head) bounded(in *bufio.Reader, buf []byte) ([]byte, error) {
	if h.chunked {
		body := bytes.NewBuffer(buf)
		err := h.readBody(in, func(r io.Reader) error {
			if n, err := io.Copy(body, io.LimitReader(r, maxRequest+1)); err != nil || n <= maxRequest {
				return err
			}
			return errTooLong
		})
		return body.Bytes(), err
	}
	if h.length < 0 || h.length > maxRequest {
		return nil, errTooLong
	}
	buf = append(buf, make([]byte, h.length)...)
	_, err := io.ReadFull(in, buf)
	return buf, err
}

// stream sends the pieces, each in a write of its own, at times that do not drift.
func (a *answers) stream(conn net.Conn, pieces int, delay time.Duration) error {
	if _, err := conn.Write(a.begin); err != nil {
		return err
	}
	piece, due := []byte(nil), time.Now()
	for range pieces {
		piece = strconv.AppendInt(append(piece[:0], a.pieceFront...), time.Now().UnixNano(), 10)
		piece = append(piece, a.pieceEnd...)
		if _, err := conn.Write(piece); err != nil {
			return err
		}
		if delay > 0 {
			due = due.Add(delay)
			time.Sleep(time.Until(due))
		}
	}
	_, err := conn.Write(a.end)
	return err
}

// parseShape reads the shape of a stream from a model's name, behind its last slash: "s50d10ms" means 50 pieces, 10 ms
// apart.
func parseShape(model string) (pieces int, delay time.Duration, err error) {
	text, isStream := strings.CutPrefix(model[strings.LastIndexByte(model, '/')+1:], "s")
	count, wait, _ := strings.Cut(text, "d")
	pieces, err = strconv.Atoi(count)
	delay, waitErr := time.ParseDuration(wait)
	if !isStream || err != nil || waitErr != nil || pieces < 1 || pieces > maxPieces || delay < 0 || delay > maxWait {
		return 0, 0, fmt.Errorf(
			"the model %.40q does not describe a stream: write s<pieces>d<delay>, such as s50d10ms", model)
	}
	return pieces, delay, nil
}
