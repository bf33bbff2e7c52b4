//go:build unix

package crashtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"weir/internal/websocket"
)

// suitSocket lets some streams of the Responses API come over a WebSocket. A provider with the same wire format keeps
// its own id in the answer, by which no row is found.
func (o *order) suitSocket(rng *rand.Rand) {
	own := strings.HasPrefix(o.model, clientAPIs()["responses"].provider+"/")
	o.socket = o.clientAPI == responsesAPI && o.stream && o.key == "" && !own && rng.IntN(2) == 0
}

// askOverSocket makes the request over a WebSocket of its own, and records its result.
func askOverSocket(ctx context.Context, base string, o order) (got receipt) {
	got = receipt{order: o, began: time.Now()}
	defer func() { got.ended = time.Now() }()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", base)
	if err != nil {
		return got
	}
	c, res, err := websocket.Dial(ctx, conn, "http://"+base+responsesAPI, o.header(), websocket.Bounds{
		Message: 64 << 20, Read: patience, Write: patience,
	})
	if err != nil {
		if res != nil && res.StatusCode != http.StatusSwitchingProtocols {
			got.status, got.whole = res.StatusCode, true
		}
		return got
	}
	defer c.Abort()
	stop := context.AfterFunc(ctx, c.Abort)
	defer stop()
	if o.leaveBefore > 0 {
		timer := time.AfterFunc(o.leaveBefore, c.Abort)
		defer timer.Stop()
	}
	body := append([]byte(`{"type":"response.create",`), bytes.TrimPrefix(o.body(), []byte{'{'})...)
	if c.Send(websocket.Text, body) == nil {
		got.readMessages(c)
	}
	got.left = !got.whole && (o.leaveBefore > 0 || o.leaveAfter > 0)
	return got
}

// readMessages reads messages up to the end of the answer, or until the client leaves.
func (got *receipt) readMessages(c *websocket.Conn) {
	for !got.whole && !got.failed {
		_, text, err := c.Receive(nil)
		if err != nil {
			return
		}
		time.Sleep(got.slow)
		var about struct {
			Type     string
			Status   int
			Response struct{ ID string }
		}
		if json.Unmarshal(text, &about) != nil {
			return
		}
		if about.Type == "error" && about.Status > 0 {
			got.status, got.whole = about.Status, true
			return
		}
		if got.status == 0 {
			got.status, got.attempts = http.StatusOK, 1 // of several attempts the last event has the number
		}
		if id, ok := strings.CutPrefix(about.Response.ID, "resp_"); ok {
			got.request = id
		}
		got.event(text)
		if got.leaveAfter > 0 && got.pieces >= int64(got.leaveAfter) {
			return
		}
	}
}
