//go:build linux

package hostiletest_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// told identifies a cost of the hostile provider. It is long because ids of requests can have any four digits.
const told = "42424242"

// costs lists places of an answer in which vendors and gateways report its cost: at the top of each object, within a
// choice, and before the events of a stream.
var costs = [][3]string{
	{`"x_nanogpt_pricing":{"amount":0.42424242,"costUsd":0.42424242},`, "", ""},
	{"", `"provider_metadata":{"gateway":{"cost":"0.42424242"}},"usage":{"cost":0.42424242},`, ""},
	{`"remainingBalance":0.42424242,"credits_used":0.42424242,"billing":{"amount":0.42424242},`, "", ""},
	{`"a":[[[[[[[[[[{"b":[{"total_price":0.42424242}]}]]]]]]]]]],`, "", ""},
	{`"C\u006fST":0.42424242,`, "", ""},
	{"", "", ": cost 0.42424242\nid: 0.42424242\nretry: 42424242\nx-cost: 0.42424242\n"},
	{"", "", "event: cost=0.42424242\n"},
	{"", "", "data: {\"cost\":0.42424242}\n\n"},
}

// costly answers with a cost in the shape that the message names; beyond the last one it refuses with one.
func costly(c *net.TCPConn, q *question) {
	shape := len(costs)
	if len(q.Messages) > 0 {
		shape, _ = strconv.Atoi(q.Messages[0].Content) // anything but a number is the first
	}
	if shape >= len(costs) {
		body := `{"error":{"message":"Budget has been exceeded! Current cost: 0.42424242, Max budget: 1","type":"budget_exceeded","param":"cost 0.42424242"}}`
		say(c, strings.Replace(jsonHead, "200 OK", "400 Bad Request", 1)+"Content-Length: %d\r\n\r\n%s", len(body), body)
		return
	}
	top, choice, before := costs[shape][0], costs[shape][1], costs[shape][2]
	with := func(text string) string {
		text = strings.Replace(text, `{"id"`, `{`+top+`"id"`, 1)
		return strings.Replace(text, `{"index"`, `{`+choice+`"index"`, 1)
	}
	if q.Stream {
		say(c, "%s%s%s%s", strings.Replace(streamHead, "\r\n\r\n", "\r\nX-Litellm-Response-Cost: 0.42424242\r\n\r\n", 1), before, with(piece), with(lastPiece))
		return
	}
	reply := with(goodReply)
	say(c, jsonHead+"X-Litellm-Response-Cost: 0.42424242\r\nContent-Length: %d\r\n\r\n%s", len(reply), reply)
}

// moneyAttacks returns attacks on the secrecy of costs, and on the ledger.
func moneyAttacks() []attack {
	return []attack{
		{
			name: "costs of the provider in all shapes, for an account with a price list", hostile: stampedCosts, check: only("200", "400", "429"),
			held: "no member, header, comment, foreign field or text of an error that tells a cost goes on",
		},
		{
			name: "floods of requests that the provider rejects for nothing", hostile: rejections, meets: "429", check: fewRows,
			held: "a key leaves 100 rows of them a minute, as it is configured here, then 429",
		},
	}
}

// stampedCosts requests answers in all shapes, and searches them for the cost.
func stampedCosts(a *attacker) {
	a.key = a.charged
	a.many(4, 5*time.Millisecond, func(i int) {
		body := fmt.Sprintf(`{"model":"bad/costly","stream":%t,"messages":[{"role":"user","content":"%d"}]}`, i%2 == 0, i/2%(len(costs)+1))
		resp, err := a.begin(http.MethodPost, chatPath, strings.NewReader(body))
		if err != nil {
			return
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) { // which is how a stream ends that fails
			return
		}
		a.count(resp.StatusCode)
		if all := fmt.Sprint(resp.Header, string(text)); strings.Contains(all, told) {
			a.wrong("%s: the account learns the cost of the provider: %.500s", body, all)
		}
	})
}

// rejected is how many requests a minute of a key providers may reject.
const rejected = 100

// inFlight is how many requests of a hostile client are at the provider at a time in a flood.
const inFlight = 16

// rejections requests models that the provider does not have, all with one key.
func rejections(a *attacker) {
	a.key = a.bad[0]
	a.many(inFlight, time.Millisecond, func(i int) {
		body := fmt.Sprintf(`{"model":"wide/rejected-%d-%d","messages":[{"role":"user","content":"x"}]}`, a.number, i)
		a.post(chatPath, strings.NewReader(body))
	})
}

// fewRows returns a check that the key's rejected requests were bounded, and would have exceeded the bound.
func fewRows(t *testing.T, r *result) {
	only("404", "429")(t, r)
	if got, most := r.counted["404"], rejected+sides*inFlight; got > most {
		t.Errorf("%d requests of a key were rejected by the provider, want at most %d", got, most)
	}
}
