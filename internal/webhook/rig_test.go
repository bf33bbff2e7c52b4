package webhook_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/seal"
	"weir/internal/store"
	"weir/internal/store/opentest"
	"weir/internal/webhook"
)

// rig is a service and a database with a clock of its own; deliverers run on it as
// long as a test likes.
type rig struct {
	t       *testing.T
	store   *store.DB
	service *webhook.Service
	ring    *seal.Ring

	mu  sync.Mutex
	now time.Time
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	r.store = opentest.Open(t, store.Options{Path: filepath.Join(t.TempDir(), "weir.db"), Clock: r.clock})
	var err error
	var keys []seal.Key
	if r.ring, err = seal.NewRing(func() ([]seal.Key, error) { return keys, nil }); err != nil {
		t.Fatal(err)
	}
	r.service = webhook.NewService(webhook.Options{Stores: r.store.WebhookStores(), Ring: r.ring, Now: r.clock, NewKey: func() error {
		keys = []seal.Key{seal.NewKey()}
		return r.ring.Reload()
	}})
	return r
}

func (r *rig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *rig) advance(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

// deliver runs a deliverer until stop is called.
func (r *rig) deliver() (stop func()) {
	d := webhook.NewDeliverer(webhook.DelivererOptions{Outbox: r.store.Deliveries, Ring: r.ring, Version: "test", Log: quiet()})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); d.Run(ctx) }()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	r.t.Cleanup(stop)
	return stop
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// add creates an endpoint of the installation at a receiver.
func (r *rig) add(to *receiver) webhook.Endpoint {
	r.t.Helper()
	e, secret, err := r.service.Add(r.t.Context(), audit.Gateway(), webhook.Endpoint{URL: to.URL, AllowPrivate: true})
	must.Do(r.t, err)
	to.trust(secret)
	return e
}

func (r *rig) tell() webhook.Event {
	r.t.Helper()
	e := webhook.NewEvent(webhook.ModelUnpriced, "", r.clock(), webhook.Data{Model: "x/y"})
	must.Do(r.t, r.store.Events.Tell(r.t.Context(), e))
	return e
}

// deliveries returns all of an endpoint, the newest first.
func (r *rig) deliveries(id string) []webhook.Delivery {
	r.t.Helper()
	list := must.Get(r.service.Deliveries(r.t.Context(), webhook.DeliveryQuery{Webhook: id, Limit: 10_000}))(r.t)
	return list
}

// await waits for a condition that something else is about to make true.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timeout: %s", what)
		}
	}
}

// got holds one request to a receiver.
type got struct {
	id, at, signature string
	body              string
	signatures        int // of the secrets it knows, how many have signed
}

// receiver checks signatures with the library of the Standard Webhooks project.
type receiver struct {
	*httptest.Server
	t      *testing.T
	mu     sync.Mutex
	sides  []*standardwebhooks.Webhook
	all    []got
	answer func(n int, w http.ResponseWriter, r *http.Request) // to the n-th, from 1
}

func newReceiver(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *receiver {
	t.Helper()
	x := &receiver{t: t, answer: answer}
	x.Server = httptest.NewServer(x)
	t.Cleanup(x.Close)
	return x
}

func (x *receiver) trust(secret llm.Secret) {
	side := must.Get(standardwebhooks.NewWebhook(secret.Reveal()))(x.t)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sides = append(x.sides, side)
}

func (x *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	g := got{id: r.Header.Get("webhook-id"), at: r.Header.Get("webhook-timestamp"), signature: r.Header.Get("webhook-signature"), body: string(body)}
	x.mu.Lock()
	for _, side := range x.sides {
		if side.VerifyIgnoringTimestamp(body, r.Header) == nil {
			g.signatures++
		}
	}
	x.all = append(x.all, g)
	n := len(x.all)
	x.mu.Unlock()
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || g.signatures == 0 {
		x.t.Errorf("receiver: got %s %+v %s, want a signed POST of JSON", r.Method, r.Header, body)
	}
	if x.answer != nil {
		x.answer(n, w, r)
	}
}

func (x *receiver) came() []got {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append([]got(nil), x.all...)
}
