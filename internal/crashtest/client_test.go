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

// order is one request as it is to be made.
type order struct {
	gate      *gate // to the gateway that is asked
	member    *member
	clientAPI string // the path
	model     string
	stream    bool
	wantUsage bool // asks OpenAI's client API for the usage of a stream
	maxTokens int
	choices   int // answers asked for at OpenAI's client API; 0 is one
	prompt    string
	key       string // the Idempotency-Key; empty for none

	leaveAfter  int           // pieces of a stream after which the client hangs up; 0 for never
	leaveBefore time.Duration // how long it waits for all of the answer; 0 for as long as it takes
	slow        time.Duration // that it takes for each line of a stream; 0 for none
}

// receipt is what the client knows of one request when it is over.
type receipt struct {
	order
	began, ended time.Time
	request      string // X-Request-Id; empty where no header came
	status       int    // 0 where no header came
	attempts     int    // X-Weir-Attempts, or what the last piece of a stream says; 0 where neither did
	replayed     bool
	counted      bool // by the gateway itself: no provider was asked
	whole        bool // all of the answer came: its end marker, or as many bytes as were promised
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

// ask makes the request and writes down what comes of it.
func ask(ctx context.Context, client *http.Client, base string, o order) (got receipt) {
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
	// It was told so to the end, which is not well formed.
	got.failed = got.failed && errors.Is(lines.Err(), io.ErrUnexpectedEOF)
}

func (got *receipt) event(data []byte) {
	var p piece
	if json.Unmarshal(data, &p) != nil {
		return
	}
	if weir := cmp.Or(p.Weir, p.Response.Weir); weir != nil {
		got.attempts = weir.Attempts // the header left before the last of them
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
