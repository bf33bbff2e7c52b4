//go:build linux

package hostiletest_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// filesAttacks runs attacks on gateways that may open few files, as `ulimit -n` limits on many machines, and on the
// discarded parts of refused requests.
func filesAttacks() []attack {
	return []attack{
		{
			name: "1,000 connections of one byte, with 1,024 files", hostile: oneByte, files: 1024, lasts: strict(8*time.Second, 4*time.Second),
			held: "a head that is not whole gives way, the oldest first", check: only(closed, "not connected"),
		},
		{
			name: "700 streams of one key, with 1,024 files", hostile: manyOfOneKey, files: 1024, lasts: strict(8*time.Second, 4*time.Second),
			held: "a third of the files is for requests in flight; no provider is blamed", check: blamesNobody,
		},
		{
			name: "400 idle connections behind a burst of streams, with 256 files", hostile: idleAfterBurst, files: 256, kept: 64, lasts: strict(8*time.Second, 6*time.Second),
			held: "idle connections give way, to providers too", check: blamesNobody,
		},
		{
			name: "bodies without end of requests without a key", hostile: endlessRefused, lasts: strict(6*time.Second, 3*time.Second),
			held: "of a refused request 128 MiB are discarded, of all together with half of a processor", check: only("401", "no answer"),
		},
	}
}

// limited returns a program and its arguments with a limit on its open files.
func limited(files string, program ...string) []string {
	return append([]string{"sh", "-c", `ulimit -n "$0" && exec "$@"`, files}, program...)
}

// oneByte opens 250 connections of each client that send one byte each, and opens them again when they are closed.
func oneByte(a *attacker) { a.staggered(250, a.sendByte) }

// sendByte sends a byte, and waits until the gateway closes the connection or the attack ends.
func (a *attacker) sendByte() {
	conn := a.dial()
	if conn == nil {
		return
	}
	defer context.AfterFunc(a.ctx, func() { _ = conn.Close() })()
	_, _ = io.WriteString(conn, "G")
	_, _ = io.Copy(io.Discard, conn)
	if _ = conn.Close(); a.ctx.Err() == nil {
		a.count(closed)
	}
}

// manyOfOneKey requests streams that do not end, each on a connection of its own.
func manyOfOneKey(a *attacker) {
	a.key, a.transport.DisableKeepAlives = a.bad[0], true
	const body = `{"model":"wide/steady","stream":true,"messages":[{"role":"user","content":"x"}]}`
	a.staggered(175, func() { a.post(chatPath, strings.NewReader(body)) })
}

// staggered does the same in n goroutines that begin one after the other, once a second each.
func (a *attacker) staggered(n int, do func()) {
	var all sync.WaitGroup
	defer all.Wait()
	for range n {
		all.Go(func() { a.many(1, time.Second, func(int) { do() }) })
		if !a.pause(4 * time.Millisecond) {
			return
		}
	}
}

// idleAfterBurst has the gateway open connections to a provider, which are idle then, and opens others that stay so:
// more slowly if no time is judged, because late good clients on a busy machine would find their own idle connections
// closed.
func idleAfterBurst(a *attacker) {
	own := a.key
	a.key = a.bad[0]
	const body = `{"model":"house/chat:tokens=20","stream":true,"messages":[{"role":"user","content":"x"}]}`
	var burst sync.WaitGroup
	for range strict(38, 16) { // a busy machine has all of them in flight at once
		burst.Go(func() { a.post(chatPath, strings.NewReader(body)) })
	}
	burst.Wait()
	a.key = own
	a.transport.CloseIdleConnections()
	for range 100 {
		conn := a.dial()
		if conn == nil {
			return
		}
		defer conn.Close()
		a.count("connections")
		if !a.pause(strict(10*time.Millisecond, 40*time.Millisecond)) {
			return
		}
	}
	<-a.ctx.Done()
}

// blamesNobody returns a check that the gateway does not count its own lack of files as a provider's failure, and does
// not report one.
func blamesNobody(t *testing.T, r *result) {
	said := r.testGateway.process.Said()
	for _, word := range []string{"too many open files", "unavailable"} {
		if at := strings.Index(said, word); at >= 0 {
			t.Errorf("the gateway's log has %q: …%.300s", word, said[max(0, at-150):])
		}
	}
}

// endlessRefused sends as much as is accepted after a refused head.
func endlessRefused(a *attacker) {
	a.many(8, 20*time.Millisecond, func(i int) {
		a.key = badKey(a.number, i)
		a.post(chatPath, endless{a.ctx})
	})
}
