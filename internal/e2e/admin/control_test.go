package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/e2e/harness"
	"weir/internal/store/pgtest"
)

// keyedUpstream is a provider that accepts only certain keys.
type keyedUpstream struct {
	url   string
	taken sync.Map // of string
}

func newKeyedUpstream(t *testing.T) *keyedUpstream {
	up, k := harness.NewUpstream(t), &keyedUpstream{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := k.taken.Load(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")); !ok {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprintf(w, `{"error":{"message":"no such key: %s"}}`, r.Header.Get("Authorization"))
			return
		}
		up.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	k.url = s.URL
	return k
}

// control is an installation of two nodes, with all their answers.
type control struct {
	t        *testing.T
	nodes    []*harness.Gateway
	admin    string
	answered strings.Builder
}

func openControl(t *testing.T) *control {
	server := pgtest.New(t)
	yaml := fmt.Sprintf("database: %q\nproviders: {}\nsecrets: {key: %q}\n", server.URL("postgres"), strings.Repeat("0123456789abcdef", 4))
	first := harness.Open(t, harness.Setup{YAML: yaml})
	second := harness.Open(t, harness.Setup{YAML: yaml, Dir: t.TempDir(), Key: first.Key})
	c := &control{t: t, nodes: []*harness.Gateway{first, second}}
	c.admin = first.NewKey(account.KeyOptions{Account: account.DefaultName, Label: "operator", Permissions: []account.Permission{account.Admin}})
	return c
}

// call sends a request to the administration of a node.
func (c *control) call(node int, method, path, body string) map[string]any {
	c.t.Helper()
	r := c.nodes[node].Do(harness.Ask{Method: method, Path: "/admin/v1" + path, Body: body, Key: c.admin})
	c.answered.WriteString(r.Body)
	if r.Status != http.StatusOK {
		c.t.Fatalf("%s %s: got %d %s", method, path, r.Status, r.Body)
	}
	out := map[string]any{}
	harness.Decode(c.t, r.Body, &out)
	return out
}

// both waits until a condition is true on both nodes, and logs the duration.
func (c *control) both(what string, holds func(*harness.Gateway) bool) {
	c.t.Helper()
	began := time.Now()
	for i, node := range c.nodes {
		harness.Await(c.t, fmt.Sprintf("%s, at node %d", what, i+1), func() bool { return holds(node) })
	}
	c.t.Logf("%s: on both nodes after %s", what, time.Since(began).Round(time.Millisecond))
}

func (c *control) inForce(version string) {
	c.t.Helper()
	for i := range c.nodes {
		harness.Await(c.t, "version "+version, func() bool { return at(c.call(i, "GET", "/config", ""), "version_in_force") == version })
	}
}

// load sends 50 requests a second to both nodes together until end is called, which returns the numbers of requests and
// failures.
func (c *control) load(model string) (end func() (asked, failed int64)) {
	ctx, stop := context.WithCancel(c.t.Context())
	var running sync.WaitGroup
	var asked, failed atomic.Int64
	running.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			running.Go(func() {
				asked.Add(1)
				if c.nodes[n%2].Chat(model).Status != http.StatusOK {
					failed.Add(1)
				}
			})
		}
	})
	return func() (int64, int64) {
		stop()
		running.Wait()
		return asked.Load(), failed.Load()
	}
}

// TestControlThroughAPIOnly runs an installation only through the API: a provider is added, tested, used by an alias,
// priced from a day on, its key rotated under load, and a change undone. Both nodes follow, the audit log has each
// change, nothing shows a key.
func TestControlThroughAPIOnly(t *testing.T) {
	t.Parallel()
	c := openControl(t)
	up := newKeyedUpstream(t)
	const old, next = "canary-old-key-of-the-provider-1234", "canary-new-key-of-the-provider-5678"
	up.taken.Store(old, true)
	provider := func(keys ...string) string {
		text, _ := json.Marshal(map[string]any{"dialect": "openai", "base_url": up.url + "/v1", "allow_private": true, "api_keys": keys})
		return string(text)
	}
	tried := c.call(0, "POST", "/config/test", fmt.Sprintf(`{"name":"house","provider":%s}`, provider(next)))
	if !strings.Contains(at(tried, "problem"), "refuses the key api_keys[0] (…5678)") {
		t.Errorf("a key that the provider does not take yet: got %v", tried)
	}
	c.call(0, "PUT", "/config/providers/house", provider(old))
	c.call(1, "PUT", "/config/aliases/fast", `{"targets":["house/echo"]}`)
	cost := func(node *harness.Gateway) string { return node.Chat("fast").Header.Get("X-Weir-Cost-Usd") }
	c.both("the alias answers", func(node *harness.Gateway) bool { return node.Chat("fast").Status == http.StatusOK })
	if tried = c.call(1, "POST", "/config/test", `{"name":"house","model":"echo"}`); at(tried, "ok") != "true" {
		t.Errorf("the test: got %v", tried)
	}

	day := func(days int) string { return time.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly) }
	c.call(0, "PUT", "/config/prices/house%2F*", `{"input":"1","output":"1"}`)
	c.inForce("3")
	before := cost(c.nodes[0])
	if before == "" {
		t.Fatal("an answer has no cost")
	}
	c.call(1, "PUT", "/config/prices/house%2F*%20since%20"+day(1), `{"input":"9","output":"9"}`)
	c.inForce("4")
	c.both("the price of today stays", func(node *harness.Gateway) bool { return cost(node) == before })
	c.call(0, "PUT", "/config/prices/house%2F*%20since%20"+day(-1), `{"input":"2","output":"2"}`)
	c.both("the price of a day that has come", func(node *harness.Gateway) bool { return cost(node) != before })

	end := c.load("fast")
	objects := c.call(0, "GET", "/config", "")["objects"].([]any)
	var sealed string
	for _, o := range objects {
		if at(o, "name") == "house" {
			sealed = at(o, "value", "api_keys", "0")
		}
	}
	time.Sleep(time.Second)
	up.taken.Store(next, true)
	c.call(1, "PUT", "/config/providers/house", provider(sealed, next))
	c.inForce("6")
	time.Sleep(time.Second)
	c.call(0, "PUT", "/config/providers/house", provider(next))
	c.inForce("7")
	time.Sleep(200 * time.Millisecond) // until the requests with the old key have ended
	up.taken.Delete(old)
	time.Sleep(time.Second)
	asked, failed := end()
	t.Logf("%d requests while the key was rotated, %d failed", asked, failed)
	if failed > 0 || asked < 50 {
		t.Errorf("while the key was rotated: got %d of %d requests failed, want none", failed, asked)
	}

	undone := c.call(1, "POST", "/config/versions/3/restore", "")
	if len(undone["changes"].([]any)) != 3 { // both dated prices, and the key
		t.Errorf("undo: got %v, want three changes", undone)
	}
	up.taken.Store(old, true)
	c.both("the price of before", func(node *harness.Gateway) bool { return cost(node) == before })

	log := c.call(0, "GET", "/audit?action=config.changed&limit=100", "")
	got := map[string]int{}
	for _, e := range log["data"].([]any) {
		got[at(e, "object", "kind")+" "+strings.ReplaceAll(strings.ReplaceAll(at(e, "object", "name"), day(1), "tomorrow"), day(-1), "yesterday")]++
	}
	for object, n := range map[string]int{
		"providers house": 4, "aliases fast": 1, "prices house/*": 1, "prices house/* since tomorrow": 2, "prices house/* since yesterday": 2,
	} {
		if got[object] != n {
			t.Errorf("the audit log has %d times %s, want %d: %v", got[object], object, n, got)
		}
	}
	text := c.answered.String() + c.nodes[0].Log.String() + c.nodes[1].Log.String() + fmt.Sprint(log)
	for _, key := range []string{old, next} {
		if strings.Contains(text, key) {
			t.Errorf("the key %s is in an answer, a log or the audit log", key)
		}
	}
	c.call(0, "GET", "/config/versions", "")
}
