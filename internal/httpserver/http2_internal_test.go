package httpserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"weir/internal/must"
)

// overHTTP2 serves a handler over TLS, and returns its URL and a function that creates a client with a connection of
// its own.
func overHTTP2(t *testing.T, h http.HandlerFunc) (url string, client func() *http.Client) {
	t.Helper()
	example := httptest.NewTLSServer(nil)
	example.Close()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := New(Options{
		Handler: h, Secure: &tls.Config{Certificates: example.TLS.Certificates, MinVersion: tls.VersionTLS12},
		Most: 10, MaxHead: 32 << 10, HeadTime: time.Minute, IdleTime: time.Minute,
	})
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
	})
	return "https://" + l.Addr().String(), func() *http.Client {
		config := example.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		return &http.Client{
			Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true},
		}
	}
}

// TestHeadsOverHTTP2 checks that heads over HTTP/2 have the bounds of those over HTTP/1.1.
func TestHeadsOverHTTP2(t *testing.T) {
	t.Parallel()
	url, client := overHTTP2(t, func(http.ResponseWriter, *http.Request) {})
	lines := func(n int) http.Header {
		h := http.Header{}
		for i := range n {
			h.Add(fmt.Sprintf("X-%d", i/2), "y") // two fields of each name
		}
		return h
	}
	for name, c := range map[string]struct {
		header http.Header
		want   int
	}{
		"few":                 {lines(20), http.StatusOK},
		"many":                {lines(150), http.StatusRequestHeaderFieldsTooLarge},
		"an expectation":      {http.Header{"Expect": {"200-ok"}}, http.StatusExpectationFailed},
		"the one expectation": {http.Header{"Expect": {"100-continue"}}, http.StatusOK},
	} {
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))(t)
		r.Header = c.header
		resp := must.Get(client().Do(r))(t)
		_ = resp.Body.Close()
		if resp.StatusCode != c.want || resp.ProtoMajor != 2 {
			t.Errorf("%s: got %s over %s, want %d over HTTP/2", name, resp.Status, resp.Proto, c.want)
		}
	}
}

// TestFieldsShareOneBound checks that the bytes of fields of all requests in flight are bounded, and released.
func TestFieldsShareOneBound(t *testing.T) {
	t.Parallel()
	s := New(Options{MaxHead: 32 << 10})
	large := http.Header{"X": {strings.Repeat("y", 31<<10)}}
	taken := int64(0)
	for taken < maxHeads {
		n, err := s.countFields(large)
		if err != nil {
			break
		}
		if n < 20<<10 {
			t.Fatalf("31 KiB count for %d bytes, want the excess over %d", n, freeHead)
		}
		taken += n
	}
	if taken < maxHeads-32<<10 || taken > maxHeads {
		t.Errorf("fields were accepted up to %d bytes, want about %d", taken, maxHeads)
	}
	if _, err := s.countFields(large); !errors.Is(err, errHeads) {
		t.Errorf("beyond the bound: got %v, want %v", err, errHeads)
	}
	s.heads.grow(-taken)
	if _, err := s.countFields(large); err != nil {
		t.Errorf("when all are over: %v", err)
	}
}

// TestOneStreamBeginsAtATime checks that one stream of a connection begins at a time, until it reads its body, ends, or
// has taken too long, and that this delays no other connection.
func TestOneStreamBeginsAtATime(t *testing.T) {
	t.Parallel()
	begun, begin, end := make(chan string), make(chan struct{}), make(chan struct{})
	url, client := overHTTP2(t, func(_ http.ResponseWriter, r *http.Request) {
		begun <- r.URL.Path
		switch r.URL.Path {
		case "/body":
			<-begin
			_, _ = io.Copy(io.Discard, r.Body)
			<-end
		case "/slow":
			<-end
		case "/short":
			<-begin
		}
	})
	var asking sync.WaitGroup
	defer asking.Wait()
	ask := func(c *http.Client, path string) {
		asking.Go(func() {
			resp, err := c.Post(url+path, "text/plain", strings.NewReader("x"))
			if err != nil || resp.ProtoMajor != 2 {
				t.Errorf("%s: got %v %v, want an answer over HTTP/2", path, resp, err)
				return
			}
			_ = resp.Body.Close()
		})
	}
	nothing := func(when string) {
		t.Helper()
		select {
		case path := <-begun:
			t.Errorf("%s: %s has begun", when, path)
		case <-time.After(20 * time.Millisecond):
		}
	}
	arrives := func(when string) {
		t.Helper()
		select {
		case <-begun:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: nothing has begun", when)
		}
	}
	one, other := client(), client()
	ask(one, "/body")
	arrives("the first stream")
	ask(one, "/body")
	nothing("while the first one has not read its body")
	ask(other, "/short")
	arrives("on another connection")
	begin <- struct{}{} // either
	begin <- struct{}{}
	arrives("behind one that reads its body")
	begin <- struct{}{}
	ask(one, "/short")
	arrives("behind two that wait for their answers")
	ask(one, "/slow")
	nothing("while a short one begins")
	begin <- struct{}{}
	arrives("behind one that is over")
	ask(one, "/slow")
	arrives("behind one that takes its time")
	close(end)
}

// TestStreamsShare checks that streams are refused if their connection has more than its share.
func TestStreamsShare(t *testing.T) {
	t.Parallel()
	const most = 1000
	all := &streams{most: most}
	full := &onConnection{all: all, turn: make(chan struct{}, 1)}
	for range most {
		if !full.count(false) {
			t.Fatal("a stream was refused, but there was room")
		}
	}
	if full.count(false) {
		t.Error("a stream beyond the bound was accepted")
	}
	other := &onConnection{all: all, turn: make(chan struct{}, 1)}
	for i := range most / 2 {
		if !other.count(false) {
			t.Fatalf("stream %d of another connection was refused, want half of the most", i)
		}
	}
	if other.count(false) {
		t.Error("a stream beyond the share was accepted")
	}
	for range most {
		full.discount()
	}
	if !full.count(false) {
		t.Error("a stream was refused when the others were over")
	}
}

// TestClosedConnectionIsForgotten checks that no state remains of a connection of HTTP/2 that was closed with open
// streams.
func TestClosedConnectionIsForgotten(t *testing.T) {
	t.Parallel()
	forgotten, arrived := make(chan struct{}), make(chan struct{})
	url, client := overHTTP2(t, func(_ http.ResponseWriter, r *http.Request) {
		runtime.AddCleanup(r.Context().Value(onHTTP2{}).(*onConnection), func(c chan struct{}) { close(c) }, forgotten)
		close(arrived)
		<-r.Context().Done()
	})
	leaves := client()
	var below net.Conn
	leaves.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		below = conn
		return conn, err
	}
	go func() {
		<-arrived
		_ = below.Close()
	}()
	if resp, err := leaves.Get(url); err == nil {
		t.Fatalf("got %s, want no answer", resp.Status)
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		runtime.GC()
		select {
		case <-forgotten:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("the state of a closed connection remains")
}

// TestStreamIsOverWhenTaken checks that a stream counts until its client has read the answer, and that others of its
// connection begin meanwhile.
func TestStreamIsOverWhenTaken(t *testing.T) {
	t.Parallel()
	const answers = 3
	open := make(chan int, answers)
	url, client := overHTTP2(t, func(w http.ResponseWriter, r *http.Request) {
		c := r.Context().Value(onHTTP2{}).(*onConnection)
		c.all.mu.Lock()
		open <- c.all.waiting
		c.all.mu.Unlock()
		_, _ = io.WriteString(w, "an answer that waits")
	})
	config := client().Transport.(*http.Transport).TLSClientConfig
	config.NextProtos = []string{"h2"}
	conn := must.Get(tls.Dial("tcp", strings.TrimPrefix(url, "https://"), config))(t)
	defer func() { _ = conn.Close() }()
	must.Get(io.WriteString(conn, http2.ClientPreface))(t)
	f := http2.NewFramer(conn, conn)
	must.Do(t, f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}))
	var fields bytes.Buffer
	encoder := hpack.NewEncoder(&fields)
	for _, field := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "x"}, {":path", "/"}} {
		must.Do(t, encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1], Sensitive: true}))
	}
	for i := range answers {
		must.Do(t, f.WriteHeaders(http2.HeadersFrameParam{
			StreamID: uint32(2*i + 1), BlockFragment: fields.Bytes(), EndHeaders: true, EndStream: true,
		}))
		if got := <-open; got != i+1 {
			t.Errorf("%d streams with waiting answers, and one: %d are counted", i, got)
		}
	}
}

// TestFramesInPieces counts frames in pieces of every size.
func TestFramesInPieces(t *testing.T) {
	t.Parallel()
	var in bytes.Buffer
	in.WriteString(http2.ClientPreface)
	f := http2.NewFramer(&in, nil)
	must.Do(t, f.WriteSettings())
	must.Do(t, f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}, EndHeaders: true}))
	must.Do(t, f.WriteData(1, true, bytes.Repeat([]byte{9}, 300)))
	must.Do(t, f.WritePing(true, [8]byte{}))
	for size := 1; size <= in.Len(); size++ {
		c, frames, streams := newFramesConn(nil, nil), 0, 0
		for rest := in.Bytes(); len(rest) > 0; rest = rest[min(size, len(rest)):] {
			n, begun := c.count(rest[:min(size, len(rest))])
			frames, streams = frames+n, streams+begun
		}
		if frames != 4 || streams != 1 || c.got != 0 || c.payload != 0 {
			t.Errorf("in pieces of %d: got %d frames, %d streams, %d bytes of a header and %d of a payload to come, want 4, 1 and none",
				size, frames, streams, c.got, c.payload)
		}
	}
}

// TestFastFramesWait checks that frames wait only if they arrive faster than permitted; that many connections share a
// common rate; and that a connection with too many frames for too long is closed.
func TestFastFramesWait(t *testing.T) {
	t.Parallel()
	now := time.Now()
	all := &Server{pace: newPace(2), closed: t.Context(), began: now.Add(-time.Hour)}
	open := func() *framesConn {
		c := newFramesConn(nil, &connection{of: all})
		c.read = now
		return c
	}
	c := open()
	if early := c.early(frameBurst, now); early > 0 {
		t.Errorf("a burst waits for %s, want no time", early)
	}
	if early := c.early(100, now); early < 100*frameTime || early > 300*frameTime {
		t.Errorf("100 more wait for %s, want their time, twice at most", early)
	}
	now = now.Add(time.Minute)
	if early := c.early(frameBurst, now); early > 0 {
		t.Errorf("a burst a minute later waits for %s, want no time", early)
	}
	for range 10 * frameBurst {
		now = now.Add(frameTime)
		if early := c.early(1, now); early > 0 {
			t.Fatalf("one frame a time waits for %s behind a burst, want no time", early)
		}
	}

	// each sends as soon as it may
	conns, next, taken := make([]*framesConn, 100), make([]time.Time, 100), 0
	for i := range conns {
		conns[i], next[i] = open(), now
	}
	const seconds = 30
	for end := now.Add(seconds * time.Second); now.Before(end); now = now.Add(time.Millisecond) {
		for i, c := range conns {
			if !next[i].After(now) {
				next[i] = now.Add(c.early(5, now))
				taken += 5
			}
		}
	}
	if each := float64(taken) / seconds; each > 70_000 || each < 40_000 {
		t.Errorf("100 connections have %.0f frames read in a second, want about 50,000", each)
	}
	if early := open().early(20, now); early > 0 {
		t.Errorf("20 frames of another connection wait for %s, want no time", early)
	}

	c.late = time.Now().Add(-2 * lateTime)
	if c.wait(time.Millisecond) {
		t.Error("a connection with too many frames for too long may stay")
	}
	c.below.bodyRead.Store(int64(all.age()))
	if !c.wait(time.Millisecond) {
		t.Error("a connection with read bodies may not stay")
	}
	c.below.bodyRead.Store(0)
	if c.early(1, now.Add(time.Minute)); !c.wait(time.Millisecond) {
		t.Error("a connection that has paused may not stay")
	}
}
