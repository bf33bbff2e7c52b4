//go:build unix

package crashtest_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/llm"
)

// toldWithin is the longest time until a node knows of a change, on a quiet machine.
const toldWithin = time.Second

// testAccounts changes accounts and keys while three nodes serve them: each knows the change within a second.
func testAccounts(ctx context.Context, t *testing.T, bin string) {
	f := newFleet(ctx, t, &founding{bin: bin, seed: seed(), nodes: 3, server: newServer(t), yaml: raceYAML})
	defer f.close()
	const free, paid = `{"model":"words/chat:tokens=3","max_tokens":20,"messages":[]}`, `{"model":"house/chat","messages":[]}`
	body := strings.ReplaceAll(free, "[]", `[{"role":"user","content":"Hi"}]`)
	dollar := strings.ReplaceAll(paid, "[]", `[{"role":"user","content":"Hi"}]`)
	f.join("changing", "cancel")
	m := f.members[0]
	status := func(body string, want int) func(*node) bool {
		return func(n *node) bool {
			got, _ := f.chat(n.base(), &m, body, patience)
			return got == want
		}
	}
	f.toldAll("a new key", status(body, http.StatusOK))
	f.run("accounts", "suspend", "changing")
	f.toldAll("an account that is suspended", status(body, http.StatusForbidden))
	f.run("accounts", "resume", "changing")
	f.toldAll("an account that is resumed", status(body, http.StatusOK))
	f.run("accounts", "limits", "changing", "--rpm", "1000")
	limit := func(want string) func(*node) bool {
		return func(n *node) bool {
			got, _, header := f.converse(n.base(), &m, body, patience)
			return got == http.StatusOK && header.Get("X-RateLimit-Limit-Requests") == want
		}
	}
	f.toldAll("a limit", limit("1000"))
	f.run("accounts", "limits", "changing", "--rpm", "0")
	f.toldAll("no limit", limit(""))
	budget := func(usd string) { f.run("accounts", "budget", "changing", "--usd", usd, "--period", "total") }
	budget("4")
	time.Sleep(toldWithin)
	f.spendAll(&m, dollar, 4*llm.USD)
	budget("8")
	f.toldAll("a budget that was raised", status(dollar, http.StatusOK))
	f.spendAll(&m, dollar, 8*llm.USD)
	f.run("accounts", "budget", "changing", "--none")
	f.toldAll("no budget", status(dollar, http.StatusOK))
	f.run("keys", "revoke", m.key)
	f.toldAll("a key that is revoked", status(body, http.StatusUnauthorized))
	f.stopAll()
	f.sound()
}

// spendAll spends an account's limit, in requests of a dollar.
func (f *fleet) spendAll(m *member, body string, limit llm.Money) {
	f.t.Helper()
	f.fill(m, body)
	f.settled(m)
	if spent := f.spent(m); spent > limit || spent < limit-llm.USD {
		f.t.Errorf("spent $%s of a budget of $%s, want less than a dollar to be left", spent, limit)
	}
}

// toldAll asks all nodes until each of them answers as expected.
func (f *fleet) toldAll(what string, told func(*node) bool) {
	f.t.Helper()
	began := time.Now()
	times := make([]time.Duration, len(f.nodes))
	var asking sync.WaitGroup
	for i, n := range f.nodes {
		asking.Go(func() {
			for !told(n) && time.Since(began) < patience {
				time.Sleep(10 * time.Millisecond)
			}
			times[i] = time.Since(began).Round(time.Millisecond)
		})
	}
	asking.Wait()
	f.t.Logf("%s: known on each node after %v", what, times)
	for i, took := range times {
		if most := theForm().told; took > most {
			f.t.Errorf("%s: known on node %d after %s, want it within %s", what, i, took, most)
		}
	}
}
