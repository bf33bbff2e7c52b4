package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/conversation"
	"weir/internal/dialect"
	"weir/internal/gateway"
	"weir/internal/idempotency"
)

// away is a database that has gone away for responses.
type away struct{ conversation.Store }

var errAway = errors.New("the database is away")

func (away) KeepResponse(context.Context, *conversation.Record) error { return errAway }

func (away) ResponseChain(context.Context, string, int) ([]conversation.Link, error) {
	return nil, errAway
}

// deafClaims is a database that does not hear the end of a request.
type deafClaims struct{ idempotency.Store }

func (deafClaims) Keep(context.Context, idempotency.Claim, []byte) error { return errAway }

// TestKeptUnheard is that a request which was answered is not made again, though nobody
// could note its end.
func TestKeptUnheard(t *testing.T) {
	t.Parallel()
	g := newInstance(t)
	key := newKey(t, g, "asks")
	server := gateway.New(gateway.Options{
		Accounts: g.accounts, Ledger: g.ledger, Router: g.router, Idempotency: deafClaims{g.claims}, Limits: g.limits, Kept: g.kept,
		Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	d := g.fleet.dialect("native")
	handler := server.Handler("POST /v1/chat", d, []*dialect.Operation{&d.Operation}, account.Chat)
	for _, accept := range []string{"application/json", "text/event-stream"} {
		for i, want := range []int{200, 409} {
			r := httptest.NewRequest("POST", "/v1/chat", strings.NewReader(`{"model":"demo/chat","messages":[{"role":"user","prompt":"Hi"}]}`))
			r.Header.Set("Authorization", "Bearer "+key)
			r.Header.Set("Accept", accept)
			r.Header.Set("Idempotency-Key", accept)
			w := httptest.NewRecorder()
			if handler.ServeHTTP(w, r); w.Code != want {
				t.Errorf("%s, request %d: %d %s, want %d", accept, i+1, w.Code, w.Body, want)
			}
		}
	}
}

// TestKeptNowhere is that who asks gets an answer, whole or streamed, though it
// cannot be kept; but none without what it is to go on from.
func TestKeptNowhere(t *testing.T) {
	t.Parallel()
	g := newInstance(t)
	key := newKey(t, g, "asks")
	var log bytes.Buffer
	server := gateway.New(gateway.Options{
		Accounts: g.accounts, Ledger: g.ledger, Router: g.router, Idempotency: g.claims, Limits: g.limits,
		Kept: conversation.New(conversation.Options{Store: away{g.store}, Now: time.Now, TTL: time.Hour}),
		Now:  time.Now, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	d := g.fleet.dialect("responses")
	handler := server.Handler("POST /v1/responses", d, []*dialect.Operation{&d.Operation}, account.Chat)
	for _, test := range []struct {
		members string
		status  int
		want    string
		logged  int
	}{
		{`"input":"Hi"`, 200, `"status":"completed"`, 1},
		{`"input":"Hi","stream":true`, 200, "event: response.completed", 1},
		{`"input":"Hi","store":false`, 200, `"status":"completed"`, 0},
		{`"input":"Hi","previous_response_id":"resp_1"`, 503, "cannot be read right now", 0},
	} {
		log.Reset()
		r := httptest.NewRequest("POST", "/v1/responses", strings.NewReader(`{"model":"demo/chat",`+test.members+`}`))
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.want) || strings.Contains(w.Body.String(), errAway.Error()) {
			t.Errorf("%s: %d %s; want %d and %q", test.members, w.Code, w.Body, test.status, test.want)
		}
		if n := strings.Count(log.String(), `msg="a response was not kept"`); n != test.logged {
			t.Errorf("%s: logged %d times, want %d: %s", test.members, n, test.logged, &log)
		}
	}
}
