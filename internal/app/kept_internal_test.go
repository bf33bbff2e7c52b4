package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/conversation"
	"weir/internal/dialect"
	"weir/internal/gateway"
	"weir/internal/idempotency"
	"weir/internal/must"
)

// away is a database that is unavailable for responses.
type away struct{ conversation.Store }

var errAway = errors.New("the database is away")

func (away) KeepResponse(context.Context, *conversation.Record) error { return errAway }

func (away) ResponseChain(context.Context, string, int) ([]conversation.Link, error) {
	return nil, errAway
}

// lostRecords is a database that fails at the end of a request.
type lostRecords struct{ idempotency.Store }

func (lostRecords) Keep(context.Context, idempotency.Record, []byte) error { return errAway }

// TestAnsweredRequestIsNotRepeated checks that an answered request is not made again although its end could not be
// stored.
func TestAnsweredRequestIsNotRepeated(t *testing.T) {
	t.Parallel()
	g := newInstance(t)
	key := newKey(t, g, "asks")
	server := gateway.New(gateway.Options{
		Accounts: g.admin.Accounts, Ledger: g.ledger, Router: g.router, Idempotency: lostRecords{g.idempotency}, Limits: g.limits, Kept: g.kept,
		Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	d := g.upstream.Dialects().Named("native")
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

// TestAnswersWithoutStorage checks that the client gets an answer, whole or streamed, although it cannot be stored; but
// none without the response that it continues.
func TestAnswersWithoutStorage(t *testing.T) {
	t.Parallel()
	g := newInstance(t)
	key := newKey(t, g, "asks")
	var log bytes.Buffer
	server := gateway.New(gateway.Options{
		Accounts: g.admin.Accounts, Ledger: g.ledger, Router: g.router, Idempotency: g.idempotency, Limits: g.limits,
		Kept: conversation.New(conversation.Options{Store: away{g.store.Kept}, Now: time.Now, TTL: func() time.Duration { return time.Hour }}),
		Now:  time.Now, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	d := g.upstream.Dialects().Named("responses")
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

// reads is a database that counts lookups and reads of responses.
type reads struct {
	conversation.Store
	chains, texts int
}

func (r *reads) ResponseChain(ctx context.Context, id string, most int) ([]conversation.Link, error) {
	r.chains++
	return r.Store.ResponseChain(ctx, id, most)
}

func (r *reads) Response(ctx context.Context, id string) ([]byte, error) {
	r.texts++
	return r.Store.Response(ctx, id)
}

// responder serves POST /v1/responses, and counts its reads.
func (g *instance) responder(maxBody int64) (http.Handler, *gateway.Server, *reads) {
	store := &reads{Store: g.store.Kept}
	server := gateway.New(gateway.Options{
		Accounts: g.admin.Accounts, Ledger: g.ledger, Router: g.router, Idempotency: g.idempotency, Limits: g.limits, MaxBody: maxBody,
		Kept: conversation.New(conversation.Options{Store: store, Now: time.Now, TTL: func() time.Duration { return time.Hour }}),
		Now:  time.Now, Log: slog.New(slog.DiscardHandler),
	})
	d := g.upstream.Dialects().Named("responses")
	return server.Handler("POST /v1/responses", d, []*dialect.Operation{&d.Operation}, account.Chat), server, store
}

func respond(handler http.Handler, key, members string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/v1/responses", strings.NewReader(`{`+members+`}`))
	r.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// TestRefusedRequestsReadNothingStored checks that no stored response is read for a request that is refused by its
// model, or whose key has reached its limits.
func TestRefusedRequestsReadNothingStored(t *testing.T) {
	t.Parallel()
	g := newInstance(t)
	newKey(t, g, "asks")
	make := func(o account.KeyOptions) string {
		o.Account, o.Label = "asks", "test"
		_, token, err := g.admin.Accounts.CreateKey(t.Context(), audit.Gateway(), o)
		must.Do(t, err)
		return token.Reveal()
	}
	limited, elsewhere := make(account.KeyOptions{Limits: account.Limits{RPM: 1}}), make(account.KeyOptions{Models: []string{"demo/other"}})
	handler, _, store := g.responder(0)
	for _, test := range []struct {
		key, members string
		status       int
		left         string // of the header
	}{
		{elsewhere, `"model":"demo/chat","previous_response_id":"resp_1"`, 403, ""},
		{limited, `"model":"nobody/of-this-name","previous_response_id":"resp_1"`, 404, "1"},
		{limited, `"model":"demo/chat","store":false`, 200, "0"},
		{limited, `"model":"demo/chat","previous_response_id":"resp_1"`, 429, "0"},
	} {
		w := respond(handler, test.key, `"input":"Hi",`+test.members)
		left, retry := "", w.Header().Get("Retry-After")
		for name, values := range w.Header() { // which is not in its canonical case
			if strings.EqualFold(name, "X-RateLimit-Remaining-Requests") {
				left = values[0]
			}
		}
		if w.Code != test.status || left != test.left || (retry != "") != (test.status == 429) {
			t.Errorf("%s: %d %s, %q requests left, Retry-After %q; want %d and %q", test.members, w.Code, w.Body, left, retry, test.status, test.left)
		}
	}
	if store.chains != 0 {
		t.Errorf("got %d lookups of the stored response, want none", store.chains)
	}
}

// TestStoredResponsesCountInShare checks that a stored response counts among the bodies in flight of its account before
// it is read, and only as long as it is needed.
func TestStoredResponsesCountInShare(t *testing.T) {
	t.Parallel()
	g := newInstance(t)
	key := newKey(t, g, "asks")
	ample, _, _ := g.responder(0)
	kept := respond(ample, key, `"model":"demo/chat","input":"`+strings.Repeat("x", 128<<10)+`"`)
	var o struct {
		ID     string
		Output []struct{ ID string }
	}
	if err := json.Unmarshal(kept.Body.Bytes(), &o); err != nil || len(o.Output) == 0 {
		t.Fatalf("%d %s: %v", kept.Code, kept.Body, err)
	}
	tight, server, store := g.responder(41 << 10) // 410 KiB of bodies in flight
	for _, members := range []string{`"previous_response_id":"` + o.ID + `"`, `"input":[{"type":"item_reference","id":"` + o.Output[0].ID + `"}]`} {
		w := respond(tight, key, `"model":"demo/chat",`+members)
		if w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "more than its share of the request bodies") || store.texts != 0 {
			t.Errorf("%s: %d %s, %d read; want 503 and none", members, w.Code, w.Body, store.texts)
		}
	}
	p := must.Get(g.admin.Accounts.Authenticate(t.Context(), key))(t)
	capacity, done := server.ReadCapacity(httptest.NewRequest("GET", "/", nil), p.Account().ID)
	if err := capacity.Reserve(100 << 10); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	done()
	again, _, store := g.responder(128 << 10)
	if w := respond(again, key, `"model":"demo/chat","store":false,"previous_response_id":"`+o.ID+`"`); w.Code != 200 || store.texts != 1 {
		t.Errorf("with room: %d %s, %d read", w.Code, w.Body, store.texts)
	}
}
