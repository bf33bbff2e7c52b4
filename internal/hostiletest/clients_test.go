//go:build linux

package hostiletest_test

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const chatPath = "/v1/chat/completions"

const (
	responsesPath = "/v1/responses"
	countPath     = "/v1/messages/count_tokens"
)

// connections returns the number that each hostile client opens in an attack with about 5,000 of them.
func connections() int { return long(1250, 100) }

func clientAttacks() []attack {
	return []attack{
		{name: "slow heads", held: "a head has 10 s, then its connection is closed", hostile: slowHeads, lasts: 20 * time.Second, meets: closed, check: func(t *testing.T, r *result) {
			if n, opened := r.counted[closed], r.counted["connections"]; *strictFlag && n < opened { // a busy machine opens the last ones late
				t.Errorf("%d of %d connections were closed by the gateway in 20 s, want all", n, opened)
			}
		}},
		{name: "large heads that do not end", held: "503 beyond 64 MiB of all; heads of up to 8 KiB always have room", hostile: largeHeads, lasts: strict(6*time.Second, 3*time.Second)},
		{name: "large heads of requests without a key whose bodies never come", held: "they count until they are refused", hostile: refusedHeads, lasts: strict(6*time.Second, 3*time.Second)},
		{name: "slow bodies", held: "no account takes the places of others", hostile: slowBodies, lasts: strict(6*time.Second, 3*time.Second)},
		{name: "slow readers of streams", held: "a stream that is not taken waits, and others go on", hostile: slowReaders, lasts: strict(6*time.Second, 3*time.Second)},
		{
			name: "waves of clients that take little of answers of 7 MB", hostile: slowTakers, lasts: strict(12*time.Second, 7*time.Second),
			held: "an answer counts, by account, as it comes, whatever length its provider announces, until it is taken",
		},
		{
			name: "halves of events in 3,200 streams", hostile: manyStreams(chatPath, "halves", 800), lasts: strict(10*time.Second, 5*time.Second),
			held: "what came of an event counts, by account, from 16 KiB on",
		},
		{
			name: "heads of 60 KB of answers in 3,200 streams", hostile: manyStreams(chatPath, "headed", 800), lasts: strict(10*time.Second, 5*time.Second),
			held: "of a long head only what is asked for is kept",
		},
		{
			name: "2,800 streams that are kept to their end", hostile: manyStreams(responsesPath, "long", 700), lasts: strict(10*time.Second, 5*time.Second),
			held: "what is kept counts, by account, from 4 KiB on; text for an estimate or a rescue is kept where memory is free",
		},
		{name: "floods of headers", held: "431 beyond 100 lines or 32 KiB", hostile: headerFloods, check: only("431", "closed")},
		{name: "bodies of 100 MB and without end", held: "413: at once where the length says so, else at 32 MiB", hostile: longBodies, lasts: strict(4*time.Second, 2*time.Second), check: only("413", "no answer", "503")},
		{name: "JSON 10,000 deep", held: "400 beyond 100 levels", check: only("400"), hostile: func(a *attacker) {
			// All of it is right but for its depth: the provider would answer.
			body := `{"model":"` + goodModel + `","messages":[{"role":"user","content":"x"}],"metadata":{"x":` +
				strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `}}`
			a.many(4, 10*time.Millisecond, func(int) { a.post(chatPath, strings.NewReader(body)) })
		}},
		{name: "bad keys", held: "401; what is remembered of them is bounded", hostile: badKeys, lasts: strict(6*time.Second, 2*time.Second), check: only("401")},
		{name: "compressed bodies", held: "413 where a body expands to more than 100 times its length; at 32 MiB in any case", hostile: compressedBodies, check: only("413")},
		{name: "10,000 idle connections", held: "they stay, and others go on", hostile: idle},
	}
}

// closed is counted for a connection that the gateway closed.
const closed = "closed by the gateway"

// dial opens a connection; nil if that fails.
func (a *attacker) dial() net.Conn {
	conn, err := net.DialTimeout("tcp4", a.address, patience)
	if err != nil {
		a.count("not connected")
		return nil
	}
	return conn
}

// post sends a request as any client does, and counts the status of its answer.
func (a *attacker) post(path string, body io.Reader, header ...string) {
	a.ask(http.MethodPost, path, body, header...)
}

// ask sends a request by any method, like post. It returns the status; 0 for none.
func (a *attacker) ask(method, path string, body io.Reader, header ...string) int {
	resp, err := a.begin(method, path, body, header...)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	switch {
	case a.ctx.Err() != nil: // the attack has ended
	case resp == nil:
		a.count("no answer")
	case err != nil:
		a.count("broken off")
	default:
		a.count(resp.StatusCode)
		return resp.StatusCode
	}
	return 0
}

// begin sends a request with these headers, as name, value, name, value, and returns the answer before its body.
func (a *attacker) begin(method, path string, body io.Reader, header ...string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(a.ctx, method, a.url(path), body)
	if err != nil {
		panic(err) // the address is one that answered
	}
	r.Header.Set("Authorization", "Bearer "+a.key)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if r.Header.Get("Cookie") != "" || method == http.MethodPost && r.Header.Get("Content-Type") != "application/json" {
		r.Header.Del("Authorization") // a browser sends none
	}
	return a.transport.RoundTrip(r)
}

// read does the same as ask, and returns the answer. It counts nothing, and returns the status 0 without an answer.
func (a *attacker) read(method, path string, body io.Reader) (status int, text string) {
	resp, err := a.begin(method, path, body)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, ""
	}
	return resp.StatusCode, string(all)
}

// head returns the head of a request for chat, without its empty line.
func (a *attacker) head(more string) string {
	return "POST " + chatPath + " HTTP/1.1\r\nHost: " + a.address + "\r\nContent-Type: application/json\r\nAuthorization: Bearer " + a.key + "\r\n" + more
}

// slowly opens connections that begin like that, 2,000 a second of all clients, and then writes a
// byte to each every second.
func (a *attacker) slowly(begin string) {
	conns := map[net.Conn]bool{}
	for range connections() {
		conn := a.dial()
		if conn == nil {
			break
		}
		defer conn.Close()
		a.count("connections")
		conns[conn] = true
		_, _ = io.WriteString(conn, begin)
		if !a.pause(2 * time.Millisecond) {
			return
		}
	}
	for a.pause(time.Second) {
		for conn := range conns {
			if _, err := conn.Write([]byte("x")); err != nil {
				a.count(closed)
				delete(conns, conn)
			}
		}
	}
}

// slowHeads sends heads that never end, without a key.
func slowHeads(a *attacker) { a.slowly("POST " + chatPath + " HTTP/1.1\r\nHost: x\r\nX-Slow: ") }

// largeHead fills a head to its limit.
func largeHead() string {
	return "POST " + chatPath + " HTTP/1.1\r\nHost: x\r\nContent-Length: 200\r\n" + strings.Repeat("X: "+strings.Repeat("y", 300)+"\r\n", 95)
}

// largeHeads sends large heads that never end.
func largeHeads(a *attacker) { a.slowly(largeHead()) }

// refusedHeads sends large heads that end, and bodies that do not.
func refusedHeads(a *attacker) { a.slowly(largeHead() + "\r\n{") }

// slowBodies sends bodies that never end, with a valid key.
func slowBodies(a *attacker) { a.slowly(a.head("Content-Length: 1000\r\n\r\n")) }

// slowReaders requests streams of large pieces, and reads nothing of them: the sent data fills the buffers of the
// gateway's connection, and it has to wait.
func slowReaders(a *attacker) {
	const body = `{"model":"wide/wide","stream":true,"messages":[{"role":"user","content":"x"}]}`
	for range long(20, 5) {
		conn := a.askSlowly(body)
		if conn == nil {
			return
		}
		defer conn.Close()
		a.count("streams")
		if !a.pause(5 * time.Millisecond) {
			return
		}
	}
	<-a.ctx.Done()
}

// manyStreams requests streams that do not end, 2,000 a second of all clients, and reads them.
func manyStreams(path, model string, most int) func(a *attacker) {
	body := fmt.Sprintf(`{"model":"wide/%s","stream":true,"input":"x","messages":[{"role":"user","content":"x"}]}`, model)
	return func(a *attacker) {
		var all sync.WaitGroup
		for range long(most, 20) {
			all.Go(func() { a.many(1, time.Second, func(int) { a.post(path, strings.NewReader(body)) }) })
			a.pause(2 * time.Millisecond)
		}
		all.Wait()
	}
}

// askSlowly sends a chat on a connection with a small buffer; nil if that fails.
func (a *attacker) askSlowly(body string) net.Conn {
	small := net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
		failed := c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
		return cmp.Or(err, failed)
	}}
	conn, err := small.Dial("tcp4", a.address)
	if err != nil {
		a.count("not connected")
		return nil
	}
	_, _ = io.WriteString(conn, a.head("Content-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body))
	return conn
}

// slowTakers requests large answers, reads the beginning, disconnects after some seconds, and repeats that.
func slowTakers(a *attacker) {
	const body = `{"model":"bad/announced","messages":[{"role":"user","content":"x"}]}`
	for a.ctx.Err() == nil {
		var wave []net.Conn
		for range long(25, 5) {
			if conn := a.askSlowly(body); conn != nil {
				wave = append(wave, conn)
				a.count("answers")
			}
		}
		a.pause(3 * time.Second)
		for _, conn := range wave {
			_ = conn.Close()
		}
	}
}

// headerFloods sends many headers, a large one, and headers without end.
func headerFloods(a *attacker) {
	many := strings.Repeat("X-Y: z\r\n", 5000) + "\r\n"
	large := "X: " + strings.Repeat("x", 1<<20) + "\r\n\r\n"
	a.many(4, 20*time.Millisecond, func(i int) {
		conn := a.dial()
		if conn == nil {
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, err := io.WriteString(conn, a.head([]string{many, large, many[:8]}[i%3]))
		for n := 0; err == nil && i%3 == 2 && n < 10000; n++ {
			_, err = io.WriteString(conn, many[:80])
		}
		a.countAnswer(conn)
	})
}

// countAnswer counts the status received on the connection, or that it was closed: an answer to a client that still
// writes may not arrive.
func (a *attacker) countAnswer(conn net.Conn) {
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		a.count("closed")
		return
	}
	_ = resp.Body.Close()
	a.count(resp.StatusCode)
}

// endless is a body without end, of 32 MB a second: four clients that send as fast as they can
// would measure the machine.
type endless struct{ ctx context.Context }

func (e endless) Read(p []byte) (int, error) {
	select {
	case <-e.ctx.Done():
		return 0, e.ctx.Err()
	case <-time.After(time.Millisecond):
	}
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// longBodies has each client send one body without end at a time, and announce others of 100 MB.
func longBodies(a *attacker) {
	var sending sync.WaitGroup
	defer sending.Wait()
	sending.Go(func() { a.many(1, 20*time.Millisecond, func(int) { a.post(chatPath, endless{a.ctx}) }) })
	a.many(2, 20*time.Millisecond, func(int) {
		conn := a.dial()
		if conn == nil {
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, _ = io.WriteString(conn, a.head("Content-Length: 104857600\r\n\r\n"))
		a.countAnswer(conn)
	})
}

// badKeys sends unknown keys of the right form, each time another. The requests are sent in batches, 5,000 a second
// from each client at most.
func badKeys(a *attacker) {
	conn := a.dial()
	if conn == nil {
		return
	}
	defer conn.Close()
	replies := bufio.NewReader(conn)
	for n := 0; a.pause(10 * time.Millisecond); n++ {
		var batch bytes.Buffer
		for i := range 50 {
			fmt.Fprintf(&batch, "GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", badKey(a.number, n*50+i))
		}
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, _ = conn.Write(batch.Bytes()) // a failure shows below
		for range 50 {
			resp, err := http.ReadResponse(replies, nil)
			if err != nil {
				a.wrong("bad keys: %v", err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			a.count(resp.StatusCode)
		}
	}
}

// badKey returns a key with a valid form and checksum (account.TokenPattern).
func badKey(client, n int) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	body := fmt.Sprintf("wk_%040d", client*1_000_000_000+n)
	sum := [6]byte{}
	for i, rest := len(sum)-1, crc32.ChecksumIEEE([]byte(body)); i >= 0; i-- {
		sum[i] = digits[rest%62]
		rest /= 62
	}
	return body + string(sum[:])
}

// bomb is 100 MB, compressed.
var bomb = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // an existing level
	for range long(100, 10) {
		_, _ = w.Write(make([]byte, 1<<20)) // into memory
	}
	_ = w.Close()
	return b.Bytes()
})

func compressedBodies(a *attacker) {
	a.many(4, 20*time.Millisecond, func(int) {
		a.post(chatPath, bytes.NewReader(bomb()), "Content-Encoding", "gzip")
	})
}

// idle opens connections on which nothing is sent any more, half of them after an answer.
func idle(a *attacker) {
	for i := range 2 * connections() {
		conn := a.dial()
		if conn == nil {
			return
		}
		defer conn.Close()
		a.count("connections")
		if i%2 == 0 {
			_, _ = io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
			a.countAnswer(conn)
		}
	}
	<-a.ctx.Done()
}
