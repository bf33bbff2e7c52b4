package budget_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
)

// TestRepeatsAfterHangUp has clients disconnect by a timeout of their own while a whole answer is generated, and repeat
// the request, at every client API: the repetition gets the same answer, which is charged once.
func TestRepeatsAfterHangUp(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: patientYAML(up.URL)})
	h.SetBudget(1000*llm.USD, budget.PeriodTotal)
	all := harness.ChatAPIs()
	atOnce(t, all, func(t *testing.T, i int, api *harness.ChatAPI) {
		tokens, ttft := 41+i, []string{"1s", "200ms"}[i%2]
		ask, _ := api.Ask("", fmt.Sprintf("house/chat:tokens=%d,ttft=%s", tokens, ttft), false)
		id := hangUp(t, h, up, ask, tokens)
		if i%2 == 0 {
			awaitNotice(t, h, id)
		} else {
			h.Row(id) // the answer has been read
		}
		r := h.Do(ask)
		of, cost := r.Header.Get("X-Weir-Answer-Of"), r.Header.Get("X-Weir-Cost-USD")
		if r.Status != 200 || of != id || cost == "" {
			t.Fatalf("a repeat: %d, answer of %q, cost %q, want 200, %q and its cost: %s", r.Status, of, cost, id, r.Body)
		}
		if row := h.Row(id); row.Out != int64(tokens) || row.Provenance != "exact" || !row.Counts {
			t.Errorf("the ledger has %+v, want %d tokens of output", row, tokens)
		}
		if n := servedWith(t, up, tokens); n != 1 {
			t.Errorf("the provider served %d answers, want 1", n)
		}
		if again := h.Do(ask); again.Status != 200 || again.Header.Get("X-Weir-Answer-Of") != "" || servedWith(t, up, tokens) != 2 {
			t.Errorf("after the answer was repeated once: %d, answer of %q, want a new request", again.Status, again.Header.Get("X-Weir-Answer-Of"))
		}
	})
	want := fmt.Sprint(2 * len(all))
	harness.Await(t, want+" requests in the ledger", func() bool { return h.Uses("").Total.Requests.String() == want })
	h.Verify(t)
}

// awaitNotice waits until the gateway knows that the client of a request has left.
func awaitNotice(t *testing.T, h *harness.Gateway, id string) {
	t.Helper()
	harness.Await(t, "the gateway's notice", func() bool {
		return strings.Contains(h.Log.String(), `a client hung up, and repeats of its request may get the answer" request=`+id)
	})
}

// patientYAML configures a provider that may take long.
func patientYAML(url string) string {
	return "log: {level: debug, format: text}\nproviders:" + harness.ProviderYAML("house", url) + `
prices:
  house/*: {input: "1", output: "1000"}
`
}

// hangUp sends a request for an answer with the given number of tokens, disconnects once the provider has it, and
// returns the request's id.
func hangUp(t *testing.T, h *harness.Gateway, up *harness.Upstream, ask harness.Ask, tokens int) (id string) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		if resp, err := h.Client.Do(h.Request(ask).WithContext(ctx)); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			t.Errorf("%s: %d before the client left", ask.Path, resp.StatusCode)
		}
	}()
	harness.Await(t, "the request at the provider", func() bool {
		for r := range up.Ledger().Records(0) {
			if strings.Contains(r.Model, fmt.Sprintf("tokens=%d,", tokens)) {
				id = harness.RequestOf(&r)
			}
		}
		return id != ""
	})
	leave()
	<-left
	return id
}

// TestNoRepeatAfterHangUp checks which requests do not get the answer of a disconnected client.
func TestNoRepeatAfterHangUp(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: patientYAML(up.URL)})
	hello := func(tokens int, more ...string) harness.Ask {
		return harness.Ask{Path: "/v1/chat", Body: harness.Hello(fmt.Sprintf("house/chat:tokens=%d,ttft=700ms", tokens)), Header: more}
	}
	as := func(a harness.Ask, key string) harness.Ask { a.Key = key; return a }
	for i, tt := range []struct {
		name         string
		first, again harness.Ask
		status       int
	}{
		{"another key", hello(61), as(hello(61), h.NewKey(account.KeyOptions{Account: "default"})), 200},
		{"another account", hello(62), as(hello(62), h.KeyOfNew("other")), 200},
		{"another body", hello(63), harness.Ask{Path: "/v1/chat", Body: hello(63).Body + " "}, 200},
		{"an Idempotency-Key", hello(64, "Idempotency-Key", "k64"), hello(64), 200},
		{"a stream", hello(65), hello(65, "Accept", "text/event-stream"), 200},
		{"another tag", hello(66, llm.TagsHeader, "customer=a"), hello(66, llm.TagsHeader, "customer=b"), 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tokens := 61 + i
			h.Row(hangUp(t, h, up, tt.first, tokens)) // the answer has been read
			r := h.Do(tt.again)
			if n := servedWith(t, up, tokens); r.Status != tt.status || r.Header.Get("X-Weir-Answer-Of") != "" || n != 2 {
				t.Errorf("%d, answer of %q, %d requests at the provider, want %d, none and 2: %s", r.Status,
					r.Header.Get("X-Weir-Answer-Of"), n, tt.status, r.Body)
			}
		})
	}
	t.Run("an answer that fails while a repeat waits", func(t *testing.T) {
		t.Parallel()
		ask := harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/chat:tokens=67,status=500,ttft=1s")}
		awaitNotice(t, h, hangUp(t, h, up, ask, 67))
		if r := h.Do(ask); r.Status != 502 || r.Header.Get("X-Weir-Answer-Of") != "" || servedWith(t, up, 67) < 2 {
			t.Errorf("%d, answer of %q, want a request of its own: %s", r.Status, r.Header.Get("X-Weir-Answer-Of"), r.Body)
		}
	})
	t.Run("an account whose answers are cancelled", func(t *testing.T) {
		t.Parallel()
		up := harness.NewUpstream(t)
		h := harness.Open(t, harness.Setup{YAML: patientYAML(up.URL)})
		h.SetOnDisconnect(account.DisconnectCancel)
		h.Row(hangUp(t, h, up, hello(66), 66))
		if r := h.Do(hello(66)); r.Status != 200 || r.Header.Get("X-Weir-Answer-Of") != "" || servedWith(t, up, 66) != 2 {
			t.Errorf("%d, answer of %q, want a new request", r.Status, r.Header.Get("X-Weir-Answer-Of"))
		}
	})
}

// TestHangUpsAtAnyTime has clients disconnect at any time of an answer and repeat at once: in every order of events,
// each repetition is answered, one with the answer of the first request has no cost of its own, and the ledger has each
// request that the provider received, once.
func TestHangUpsAtAnyTime(t *testing.T) {
	t.Parallel()
	const clients = 40
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: patientYAML(up.URL)})
	h.SetBudget(1000*llm.USD, budget.PeriodTotal)
	var all sync.WaitGroup
	given := make([]string, clients) // the request whose answer a repetition received
	for i := range clients {
		all.Go(func() {
			tokens := 100 + i
			ask := harness.Ask{Path: "/v1/chat/completions", Body: harness.Completion(fmt.Sprintf("house/chat:tokens=%d,ttft=200ms", tokens), "")}
			ctx, leave := context.WithTimeout(t.Context(), time.Duration(rand.IntN(400))*time.Millisecond)
			if resp, err := h.Client.Do(h.Request(ask).WithContext(ctx)); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			leave()
			time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
			r := h.Do(ask)
			if r.Status != 200 {
				t.Errorf("a repeat: %d %s", r.Status, r.Body)
			}
			given[i] = r.Header.Get("X-Weir-Answer-Of")
		})
	}
	all.Wait()
	asked := map[string][]string{} // the requests that the provider got, by the model's name
	records := up.Records(t)
	for i := range records {
		asked[records[i].Model] = append(asked[records[i].Model], harness.RequestOf(&records[i]))
	}
	paid := 0
	for i, of := range given {
		requests := asked[fmt.Sprintf("chat:tokens=%d,ttft=200ms", 100+i)]
		if of != "" {
			paid++
		}
		if of != "" && !slices.Equal(requests, []string{of}) || len(requests) == 0 || len(requests) > 2 {
			t.Errorf("client %d: the provider got %q, and the repeat the answer of %q", i, requests, of)
		}
	}
	t.Logf("%d of %d repeats got the answer of a client that hung up", paid, clients)
	want := fmt.Sprint(len(records))
	harness.Await(t, want+" requests in the ledger", func() bool { return h.Uses("").Total.Requests.String() == want })
	h.Verify(t)
}
