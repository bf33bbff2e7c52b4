package app_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/dialect/registry"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/simulator"
)

// attempts are those of a request, by their numbers, once all of them are settled.
func (h *testGateway) attempts(r reply, n int) (rows []row) {
	h.t.Helper()
	await(h.t, fmt.Sprintf("%d settled attempts", n), func() bool {
		rows = h.rows(r.header.Get("X-Request-Id"))
		return len(rows) == n
	})
	return rows
}

// encrypted is a provider with TLS, and HTTP/2 where the client wants it, and the
// configuration that trusts it.
func encrypted(t *testing.T) (up *upstream, outbound string) {
	s := simulator.New(simulator.Options{Dialects: registry.All(), Seed: 1})
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
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return &upstream{Server: s, url: ts.URL}, "outbound: {ca_file: " + file + "}\n"
}

// slowYAML is a provider whose first byte is late after 300 ms, and another one.
func slowYAML(url string) string {
	return "providers:" + hasty(providerYAML("house", url), "300ms", "20s") + providerYAML("other", url) + `
prices:
  house/*: {input: "1", output: "1000"}
  other/*: {input: "1", output: "1000"}
aliases:
  both: {targets: ["house/chat:tokens=20,ttft=1s", "other/chat:tokens=5"]}
`
}

// TestLateAnswer is a whole answer that begins too late: the request goes on without it,
// and it is charged as its provider tells.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	plain := newUpstream(t)
	tls, trust := encrypted(t)
	for name, yaml := range map[string]string{"plain": slowYAML(plain.url), "tls": slowYAML(tls.url) + trust} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, setup{yaml: yaml})
			r := h.chat("both")
			h.mustAnswer(r)
			if told := r.header.Get("X-Weir-Cost-USD"); told != "" {
				t.Errorf("the answer says that it cost %s before that is known", told)
			}
			rows := h.attempts(r, 2)
			if a := rows[0]; a.outcome != "failed" || a.provenance != "exact" || a.out != 20 || a.counts {
				t.Errorf("the late attempt: %+v, want it exact at 20 tokens", a)
			}
			if a := rows[1]; a.outcome != "ok" || a.provenance != "exact" || a.out != 5 || !a.counts {
				t.Errorf("the other one: %+v", a)
			}
			r = h.chat("house/chat:tokens=7,ttft=1s")
			if r.status != 504 {
				t.Errorf("nothing else to ask: %d %s, want 504", r.status, r.body)
			}
			if a := h.attempts(r, 1)[0]; a.outcome != "failed" || a.provenance != "exact" || a.out != 7 || !a.counts {
				t.Errorf("the late attempt: %+v, want it exact at 7 tokens", a)
			}
			r = h.chat("house/chat:status=429,ttft=1s")
			if a := h.attempts(r, 1)[0]; r.status != 504 || a.outcome != "rejected" || a.provenance != "exact" || a.cost != "0" || a.status != 429 {
				t.Errorf("a late refusal: %d, %+v, want it free", r.status, a)
			}
			if u := h.uses(""); u.Total.Requests.String() != "3" {
				t.Errorf("%s requests, want 3", u.Total.Requests)
			}
		})
	}
}

// TestLateAnswerGivenUp is one that is not waited for: at its upper bound.
func TestLateAnswerGivenUp(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: slowYAML(up.url) + "drain_timeout: 1s\n"})
	bounded := func(what string, r reply) {
		t.Helper()
		if e := h.entry(t, r.header.Get("X-Request-Id")); e.Provenance != ledger.Estimated || e.AtMost <= e.Cost {
			t.Errorf("%s: %s, $%s and at most $%s, want its upper bound", what, e.Provenance, e.Cost, e.AtMost)
		}
	}
	bounded("cut", h.chat("house/chat:tokens=20,ttft=1s,fault=cut,at=3"))
	r := h.chat("house/chat:ttft=10s")
	if r.status != 504 {
		t.Fatalf("%d %s, want 504", r.status, r.body)
	}
	stopped := time.Now()
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(stopped); took > 5*time.Second {
		t.Errorf("the stop took %s", took)
	}
	h.start(setup{})
	bounded("a stop", r)
	h.setOnDisconnect(account.DisconnectCancel)
	bounded("an account that cancels", h.chat("house/chat:ttft=10s"))
	if record := up.newest(t); !record.Canceled {
		t.Error("the provider was not told")
	}
}

// TestLateAnswerHolds has a late answer keep its place among the requests at a time, and
// what it holds of a budget.
func TestLateAnswerHolds(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: slowYAML(up.url)})
	h.administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.SetLimits(ctx, audit.Gateway(), account.DefaultName, account.Limits{Concurrency: 1})
		return err
	})
	h.setBudget(llm.USD, budget.PeriodTotal)
	a := ask{path: "/v1/chat", body: `{"model":"house/chat:tokens=600,ttft=2s","max_tokens":600,"messages":[{"role":"user","prompt":"Hi"}]}`}
	late := h.do(a)
	if late.status != 504 {
		t.Fatalf("%d %s, want 504", late.status, late.body)
	}
	if r := h.do(a); r.status != 429 {
		t.Errorf("a second request at a time: %d %s, want 429", r.status, r.body)
	}
	h.administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.SetLimits(ctx, audit.Gateway(), account.DefaultName, account.Limits{})
		return err
	})
	if e := h.attempts(late, 1)[0]; e.provenance != "exact" || e.out != 600 {
		t.Errorf("the late attempt: %+v, want it exact at 600 tokens", e)
	}
	if got := h.spent(t); got < 600*llm.USD/1000 || got > 610*llm.USD/1000 {
		t.Errorf("spent %s, want 60 cents and some", got)
	}
}
