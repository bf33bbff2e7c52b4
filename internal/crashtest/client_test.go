//go:build unix

package crashtest_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/internal/llm"
)

// order describes one request before it is made.
type order struct {
	gate      *gate // to its gateway
	member    *member
	clientAPI string // the path
	model     string
	stream    bool
	socket    bool // over a WebSocket
	wantUsage bool // request the usage of a stream at OpenAI's client API
	maxTokens int
	choices   int // requested answers at OpenAI's client API; 0 for one
	prompt    string
	key       string // the Idempotency-Key; empty for none

	leaveAfter  int           // the client disconnects after this number of pieces of a stream; 0 for never
	leaveBefore time.Duration // the client disconnects after this wait for the whole answer; 0 for never
	slow        time.Duration // the time for each line of a stream; 0 for none
}

// receipt holds the client's record of a finished request.
type receipt struct {
	order
	began, ended time.Time
	request      string // X-Request-Id; empty without a header
	status       int    // 0 without a header
	attempts     int    // X-Weir-Attempts, or the number in the last piece of a stream; 0 without either
	replayed     bool
	counted      bool // counted by the gateway itself, without a provider
	whole        bool // all of the answer arrived: with its end marker, or as many bytes as announced
	failed       bool // an error event ended the stream
	left         bool // the client hung up
	pieces       int64
	usage        *tokens
	cost         *llm.Money
}

func (o *order) header() http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + o.member.token}}
	if o.stream && o.clientAPI == nativeAPI {
		h.Set("Accept", "text/event-stream")
	}
	if o.key != "" {
		h.Set("Idempotency-Key", o.key)
	}
	return h
}

// ask makes the request and records its result.
func ask(ctx context.Context, client *http.Client, base string, o order) (got receipt) {
	if o.socket {
		return askOverSocket(ctx, base, o)
	}
	got = receipt{order: o, began: time.Now()}
	defer func() { got.ended = time.Now() }()
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	if o.leaveBefore > 0 {
		timer := time.AfterFunc(o.leaveBefore, leave)
		defer timer.Stop()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+base+o.path(), bytes.NewReader(o.body()))
	if err != nil {
		panic(err) // the address is one that answered
	}
	r.Header = o.header()
	resp, err := client.Do(r)
	if err != nil {
		got.left = ctx.Err() != nil
		return got
	}
	defer resp.Body.Close()
	got.read(resp, leave)
	got.left = ctx.Err() != nil && !got.whole
	return got
}

func (got *receipt) read(resp *http.Response, leave func()) {
	h := resp.Header
	got.status, got.request = resp.StatusCode, h.Get("X-Request-Id")
	got.attempts, _ = strconv.Atoi(h.Get("X-Weir-Attempts")) // absent is 0
	got.replayed = h.Get("Idempotent-Replayed") == "true"
	got.counted = h.Get("X-Weir-Estimated") == "true"
	if cost, err := llm.ParseMoney(h.Get("X-Weir-Cost-USD")); err == nil {
		got.cost = &cost
	}
	if strings.HasPrefix(h.Get("Content-Type"), "text/event-stream") {
		got.readStream(resp.Body, leave)
		return
	}
	body, err := io.ReadAll(resp.Body)
	var reply piece
	if err != nil || json.Unmarshal(body, &reply) != nil {
		return
	}
	got.whole, got.usage = true, reply.used()
}

// readStream reads events up to the end marker, or until the client leaves.
func (got *receipt) readStream(body io.Reader, leave func()) {
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		line := lines.Text()
		time.Sleep(got.slow)
		data, ok := strings.CutPrefix(line, "data: ")
		switch {
		case line == "event: error":
			got.failed = true
		case !ok:
		case data == "[DONE]":
			got.whole = true
		default:
			got.event([]byte(data))
		}
		if got.leaveAfter > 0 && got.pieces >= int64(got.leaveAfter) {
			leave()
			return
		}
	}
	// The stream reported the failure up to its end, which is malformed.
	got.failed = got.failed && errors.Is(lines.Err(), io.ErrUnexpectedEOF)
}

func (got *receipt) event(data []byte) {
	var p piece
	if json.Unmarshal(data, &p) != nil {
		return
	}
	if weir := cmp.Or(p.Weir, p.Response.Weir); weir != nil {
		got.attempts = weir.Attempts // the header preceded the last attempts
	}
	got.failed = got.failed || p.failed()
	got.whole = got.whole || p.last()
	got.pieces += p.words()
	if u := p.used(); u != nil {
		got.usage = u
		if u.Cost != nil {
			got.cost = u.Cost
		}
	}
}
