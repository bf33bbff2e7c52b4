package budget_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/simulator"
)

// attempts returns a request's attempts by their numbers, after n are settled.
func attempts(h *harness.Gateway, r harness.Reply, n int) (rows []harness.Row) {
	h.T.Helper()
	harness.Await(h.T, fmt.Sprintf("%d settled attempts", n), func() bool {
		rows = h.Rows(r.Header.Get("X-Request-Id"))
		return len(rows) == n
	})
	return rows
}

// encrypted starts a provider with TLS, and HTTP/2 if the client offers it, and returns the configuration that trusts
// it.
func encrypted(t *testing.T) (up *harness.Upstream, outbound string) {
	s := simulator.New(simulator.Options{Dialects: registrytest.All(), Seed: 1, Strict: true})
	ts := httptest.NewUnstartedServer(s)
	ts.EnableHTTP2 = true
	ts.StartTLS()
	t.Cleanup(func() {
		s.Close()
		ts.CloseClientConnections()
		ts.Close()
	})
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ts.Certificate().Raw})
	must.Do(t, os.WriteFile(file, text, 0o600))
	return &harness.Upstream{Server: s, URL: ts.URL}, "outbound: {ca_file: " + file + "}\n"
}

// slowYAML configures a provider whose first byte is late after a second, in which a busy machine opens a connection, and
// another one.
func slowYAML(url string) string {
	return "providers:" + harness.Hasty(harness.ProviderYAML("house", url), "1s", "20s") + harness.ProviderYAML("other", url) + `
prices:
  house/*: {input: "1", output: "1000"}
  other/*: {input: "1", output: "1000"}
aliases:
  both: {targets: ["house/chat:tokens=20,ttft=3s", "other/chat:tokens=5"]}
`
}

// TestLateAnswer uses a whole answer that begins too late: the request continues without it, and it is charged as its
// provider reports.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	plain := harness.NewUpstream(t)
	tls, trust := encrypted(t)
	for name, yaml := range map[string]string{"plain": slowYAML(plain.URL), "tls": slowYAML(tls.URL) + trust} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.Open(t, harness.Setup{YAML: yaml})
			// The connection is established in advance: on a busy machine TLS may take longer than the permitted wait
			// for the first byte.
			harness.Await(t, "a connection to the provider", func() bool { return h.Chat("house/chat:tokens=1").Status == 200 })
			r := h.Chat("both")
			h.MustAnswer(r)
			if told := r.Header.Get("X-Weir-Cost-USD"); told != "" {
				t.Errorf("the answer has the cost %s before it is known", told)
			}
			rows := attempts(h, r, 2)
			if a := rows[0]; a.Outcome != "failed" || a.Provenance != "exact" || a.Out != 20 || a.Counts {
				t.Errorf("the late attempt: %+v, want it exact at 20 tokens", a)
			}
			if a := rows[1]; a.Outcome != "ok" || a.Provenance != "exact" || a.Out != 5 || !a.Counts {
				t.Errorf("the other one: %+v", a)
			}
			r = h.Chat("house/chat:tokens=7,ttft=3s")
			if r.Status != 504 {
				t.Errorf("without another target: %d %s, want 504", r.Status, r.Body)
			}
			if a := attempts(h, r, 1)[0]; a.Outcome != "failed" || a.Provenance != "exact" || a.Out != 7 || !a.Counts {
				t.Errorf("the late attempt: %+v, want it exact at 7 tokens", a)
			}
			r = h.Chat("house/chat:status=429,ttft=3s")
			if a := attempts(h, r, 1)[0]; r.Status != 504 || a.Outcome != "rejected" || a.Provenance != "exact" || a.Cost != "0" || a.Status != 429 {
				t.Errorf("a late refusal: %d, %+v, want it free", r.Status, a)
			}
			if u := h.Uses(""); u.Total.Requests.String() != "4" {
				t.Errorf("%s requests, want 4", u.Total.Requests)
			}
		})
	}
}

// TestLateAnswerGivenUp settles a late answer without waiting for it: at its upper bound.
func TestLateAnswerGivenUp(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: slowYAML(up.URL) + "drain_timeout: 1s\n"})
	bounded := func(what string, r harness.Reply) {
		t.Helper()
		if e := h.Entry(t, r.Header.Get("X-Request-Id")); e.Provenance != ledger.Estimated || e.AtMost <= e.Cost {
			t.Errorf("%s: %s, $%s and at most $%s, want its upper bound", what, e.Provenance, e.Cost, e.AtMost)
		}
	}
	bounded("cut", h.Chat("house/chat:tokens=20,ttft=3s,fault=cut,at=3"))
	r := h.Chat("house/chat:ttft=10s")
	if r.Status != 504 {
		t.Fatalf("%d %s, want 504", r.Status, r.Body)
	}
	must.Do(t, h.Stop())
	h.Start(harness.Setup{})
	bounded("a stop", r)
	h.SetOnDisconnect(account.DisconnectCancel)
	bounded("an account that cancels", h.Chat("house/chat:ttft=10s"))
	if record := up.Newest(t); !record.Canceled {
		t.Error("the provider's request was not cancelled")
	}
}

// TestLateAnswerKeepsItsHold checks that a late answer keeps its place among the concurrent requests, and its hold on a
// budget.
func TestLateAnswerKeepsItsHold(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: slowYAML(up.URL)})
	h.Administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.SetLimits(ctx, audit.Gateway(), account.DefaultName, account.Limits{Concurrency: 1})
		return err
	})
	h.SetBudget(llm.USD, budget.PeriodTotal)
	a := harness.Ask{Path: "/v1/chat", Body: `{"model":"house/chat:tokens=600,ttft=4s","max_tokens":600,"messages":[{"role":"user","prompt":"Hi"}]}`}
	late := h.Do(a)
	if late.Status != 504 {
		t.Fatalf("%d %s, want 504", late.Status, late.Body)
	}
	if r := h.Do(a); r.Status != 429 {
		t.Errorf("a second request at a time: %d %s, want 429", r.Status, r.Body)
	}
	h.Administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.SetLimits(ctx, audit.Gateway(), account.DefaultName, account.Limits{})
		return err
	})
	if e := attempts(h, late, 1)[0]; e.Provenance != "exact" || e.Out != 600 {
		t.Errorf("the late attempt: %+v, want it exact at 600 tokens", e)
	}
	if got := spent(h, t); got < 600*llm.USD/1000 || got > 610*llm.USD/1000 {
		t.Errorf("spent %s, want 60 cents and some", got)
	}
}
