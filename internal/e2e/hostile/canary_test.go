package hostile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/e2e/harness"
	"weir/internal/gateway"
	"weir/internal/must"
	"weir/internal/report"
)

// canary matches a text that belongs to one request of one account.
var canary = regexp.MustCompile(`canary-[a-z]+-[0-9]+-[a-z]+`)

// parrot is a provider that repeats the canary of a request. It finds canaries of several requests in one.
func parrot(t *testing.T) http.HandlerFunc {
	const chunk = `data: {"id":"%s","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,` +
		`"delta":{"content":"%s "},"finish_reason":null}]}` + "\n\n"
	return func(w http.ResponseWriter, r *http.Request) {
		body := string(must.Get(io.ReadAll(r.Body))(t))
		own := canary.FindString(body)
		for _, other := range canary.FindAllString(body, -1) {
			if other != own {
				t.Errorf("one request to the provider has %s and %s", own, other)
			}
		}
		pause := func() { time.Sleep(time.Duration(rand.IntN(8)) * time.Millisecond) }
		fault := own[strings.LastIndex(own, "-")+1:]
		if pause(); fault == "refused" {
			http.Error(w, `{"error":{"message":"`+own+` is not wanted","type":"invalid_request_error"}}`, http.StatusBadRequest)
			return
		}
		if fault == "late" {
			time.Sleep(150 * time.Millisecond)
		}
		if !strings.Contains(body, `"stream":true`) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, strings.ReplaceAll(goodReply, "Hi", strings.Repeat(own+" ", 20)))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 10 {
			if fault == "cut" && i == 5 {
				panic(http.ErrAbortHandler)
			}
			fmt.Fprintf(w, chunk, own, own)
			_ = http.NewResponseController(w).Flush()
			pause()
		}
		_, _ = io.WriteString(w, `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":`+
			`[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,`+
			`"total_tokens":2}}`+"\n\ndata: [DONE]\n\n")
	}
}

// chirper sends the requests of one account over connections that all accounts share.
type chirper struct {
	h    *harness.Gateway
	key  string
	name string
}

// chirp sends one request with a canary and checks that its answer has no other one.
func (c *chirper) chirp(n int) {
	fault := []string{"none", "none", "none", "refused", "cut", "late", "leaves"}[rand.IntN(7)]
	own := fmt.Sprintf("canary-%s-%d-%s", c.name, n, fault)
	path := []string{"/v1/chat/completions", "/v1/messages"}[rand.IntN(2)]
	long := strings.Repeat("Say it again. ", []int{1, 20, 3000}[rand.IntN(3)])
	stream := rand.IntN(2) == 0
	body := fmt.Sprintf(`{"model":"house/m","max_tokens":99,"stream":%t,"messages":[{"role":"user","content":"%s %s"}]}`,
		stream, long, own)
	ctx, cancel := context.WithCancel(c.h.T.Context())
	defer cancel()
	if fault == "leaves" {
		time.AfterFunc(time.Duration(rand.IntN(20))*time.Millisecond, cancel)
	}
	r := c.h.Request(harness.Ask{Path: path, Body: body, Key: c.key, Header: []string{"X-Weir-Tags", "own=" + own}})
	if rand.IntN(4) == 0 {
		r.Header.Set("Idempotency-Key", own)
	}
	for range 1 + rand.IntN(2) { // a repeat may get a late or a stored reply
		again := r.Clone(ctx)
		again.Body = io.NopCloser(strings.NewReader(body))
		answer, err := c.h.Client.Do(again)
		if err != nil {
			return
		}
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		for _, seen := range canary.FindAllString(string(text)+fmt.Sprint(answer.Header), -1) {
			if seen != own {
				c.h.T.Errorf("the answer to %s has %s", own, seen)
			}
		}
		if fault == "none" && answer.StatusCode == http.StatusOK && !strings.Contains(string(text), own) {
			c.h.T.Errorf("%s: want its own text in\n%s", own, text)
		}
	}
}

// checkLogged checks that the content of each request of an account has its own canary only, in request and answer.
func checkLogged(h *harness.Gateway, name, of string) {
	t, ctx := h.T, context.Background()
	data := must.Get(admin.Open(ctx, h.Config(), config.Options{}, harness.Discard()))(t)
	defer data.Close()
	a := must.Get(data.Accounts.Account(ctx, of))(t)
	n := 0
	must.Do(t, data.Content.Export(ctx, audit.Gateway(), &a, time.Time{}, time.Time{}, func(c *admin.LoggedContent) error {
		n++
		own := canary.FindString(string(c.Request))
		for _, seen := range canary.FindAllString(string(c.Request)+string(c.Answer), -1) {
			if seen != own || !strings.Contains(seen, "-"+name+"-") {
				t.Errorf("the content of a request of %s with %s has %s", name, own, seen)
			}
		}
		return nil
	}))
	if n < 100 {
		t.Errorf("got the content of %d requests of %s, want most of 360", n, name)
	}
}

// TestReusedMemoryHasNoCanaryOfAnother has two accounts send requests that end in every way, over the same connections:
// no answer, no request to the provider, no logged content and no row in the ledger has the text of another request.
func TestReusedMemoryHasNoCanaryOfAnother(t *testing.T) {
	t.Parallel()
	ts := httptest.NewServer(parrot(t))
	t.Cleanup(ts.Close)
	h := harness.Open(t, harness.Setup{
		YAML:   harness.Hasty(harness.ProvidersYAML(ts.URL), "100ms", "10s"),
		Timing: gateway.Timing{DrainAnswer: time.Second},
	})
	accounts := map[string]string{"ours": account.DefaultName, "theirs": "theirs"}
	theirs := h.KeyOfNew("theirs")
	h.Administer(func(ctx context.Context, s *account.Service) (err error) {
		for _, name := range accounts {
			_, e := s.UpdateAccount(ctx, audit.Gateway(), name, account.Update{ContentPercent: new(int64(100))})
			err = errors.Join(err, e)
		}
		return err
	})
	var all sync.WaitGroup
	for name, key := range map[string]string{"ours": h.Key, "theirs": theirs} {
		for first := range 6 {
			c := &chirper{h, key, name}
			all.Go(func() {
				for n := range 60 {
					c.chirp(100*first + n)
				}
			})
		}
	}
	all.Wait()
	rows := 0
	h.EachEntry(func(e *report.Exported) {
		rows++
		own, _ := e.Attribution.Tag("own")
		if name := map[bool]string{true: "theirs", false: "ours"}[e.AccountName == "theirs"]; !strings.Contains(own, name) {
			t.Errorf("a row of the account %s has the tag %s", e.AccountName, own)
		}
	})
	must.Do(t, h.Stop())
	for name, of := range accounts {
		checkLogged(h, name, of)
	}
	if rows < 200 {
		t.Errorf("got %d rows, want most of 720 requests", rows)
	}
}
