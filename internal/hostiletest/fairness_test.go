//go:build linux

package hostiletest_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

const messagesPath = "/v1/messages"

// fairnessAttacks takes processor time from others with small or cheap requests.
func fairnessAttacks() []attack {
	return []attack{
		{
			name: "800 clients of one account that have 2,000 messages in 60 KB translated", hostile: denseBodies, lasts: strict(6*time.Second, 3*time.Second),
			held: "what takes long for its length is done in turns, account by account", check: only("200", "529"),
		},
		{
			name: "3,500 streams whose clients leave at once", hostile: hangUps, lasts: strict(16*time.Second, 6*time.Second),
			held: "few settle at once, account by account", check: only("streams"),
		},
	}
}

// denseBodies sends bodies just below 64 KiB that need much work to translate.
func denseBodies(a *attacker) {
	a.key = a.bad[0] // of one account
	const message = `{"role":"user","content":"a"}`
	body := `{"model":"wide/quick","max_tokens":5,"messages":[` + strings.Repeat(message+",", 1999) + message + `]}`
	a.many(long(200, 5), time.Millisecond, func(int) { a.post(messagesPath, strings.NewReader(body)) })
}

// hangUps has all clients leave their streams at once, and begin others. Around that time good clients arrive at a
// fixed rate, because those that wait for one answer after the other would hardly notice it.
func hangUps(a *attacker) {
	const (
		opening = 4 * time.Second
		ahead   = 500 * time.Millisecond // the others arrive this much earlier
		probes  = 200
		rate    = 10 * time.Millisecond
	)
	body := `{"model":"wide/steady","stream":true,"messages":[{"role":"user","content":"` + strings.Repeat("Tell me. ", 100) + `"}]}`
	request := a.head(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body))
	var probing sync.WaitGroup
	defer probing.Wait()
	for a.ctx.Err() == nil {
		began := time.Now()
		var streams []net.Conn
		for range long(875, 20) {
			if conn := a.dial(); conn != nil {
				_, _ = io.WriteString(conn, request)
				streams = append(streams, conn)
				a.count("streams")
			}
			a.pause(4 * time.Millisecond)
		}
		a.pause(time.Until(began.Add(opening)))
		if a.number == 0 {
			probing.Go(func() { a.probe(long(probes, 2), rate) })
		}
		a.pause(ahead)
		for _, conn := range streams {
			_ = conn.Close()
		}
		a.pause(time.Second)
	}
}

// probe has good clients send requests, one after each pause, without waiting for the earlier ones.
func (a *attacker) probe(n int, pause time.Duration) {
	var all sync.WaitGroup
	defer all.Wait()
	for i := range n {
		all.Go(func() {
			began := time.Now()
			err := a.chat(a.transport, a.good[i%sides], goodModel, i&1 > 0)
			a.result.good.add(time.Since(began), err)
		})
		if !a.pause(pause) {
			return
		}
	}
}
