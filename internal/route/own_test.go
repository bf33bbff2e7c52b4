package route_test

import (
	"slices"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/provider"
	"weir/internal/route"
)

// first returns the first target for an account.
func (w *world) first(account string) string {
	w.account = account
	p := w.plan("two")
	defer p.Release()
	return p.Target().FullName()
}

// fails has the account's requests to a/m fail n times.
func (w *world) fails(account string, f *provider.Failure, n int) {
	for range n {
		w.account = account
		p := w.plan("a/m")
		p.Failed(f, w.now)
		p.Release()
	}
}

func (w *world) wantFirst(when, target string, accounts ...string) {
	w.t.Helper()
	for _, account := range accounts {
		if got := w.first(account); got != target {
			w.t.Errorf("%s: %s is the first target for %s, want %s", when, got, account, target)
		}
	}
}

func pair(t *testing.T) *world {
	t.Helper()
	return newWorld(t, map[string]route.Alias{"two": {Targets: []string{"a/m", "b/m"}}}, 0)
}

// TestOwnCircuit has an account's requests cause failures: the target is skipped only for it, and its public health
// does not change until another account has the same failures.
func TestOwnCircuit(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]*provider.Failure{
		"unexpected shape": fault(provider.KindProtocol), "404": status(404, llm.CodeModelNotFound), "late": fault(provider.KindFirstByteTimeout), "too long": fault(provider.KindTotalTimeout),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := pair(t)
			w.fails("hostile", f, 30)
			w.wantFirst("after one account's failures", "b/m", "hostile")
			w.wantFirst("after one account's failures", "a/m", "good", "another")
			if len(w.told) != 1 || w.told[0].Account != "hostile" {
				t.Errorf("got the events %+v, want one of one account", w.told)
			}
			c := w.condition("a")
			if c.State != route.StateFailing || c.Failures != 0 || c.LastError != "" || c.Alone != 1 {
				t.Errorf("shown %+v, want it failing for one account alone, and not why", c)
			}

			w.fails("good", f, 1)
			w.wantFirst("when another met the same", "b/m", "hostile", "good", "another")
			if len(w.told) != 2 || w.told[1].Account != "" || w.told[1].Available {
				t.Errorf("got the events %+v, want one of all accounts", w.told)
			}
			if c := w.condition("a"); c.State != route.StateOpen || c.LastError == "" {
				t.Errorf("shown %+v, want it unavailable", c)
			}
		})
	}
}

func (w *world) condition(provider string) route.Condition {
	return w.table.Providers(w.now)[index(w, provider)].Targets[0]
}

// index returns the place of a provider among those of the table.
func index(w *world, provider string) int {
	return slices.IndexFunc(w.table.Providers(w.now), func(c route.ProviderCondition) bool { return c.Name == provider })
}

// TestOwnFailuresStayOwn checks the events after which an account's failures do not count for all: another kind of
// failure, an answer to anybody between, and time.
func TestOwnFailuresStayOwn(t *testing.T) {
	t.Parallel()
	odd, late := fault(provider.KindProtocol), fault(provider.KindFirstByteTimeout)
	for name, between := range map[string]func(w *world){
		"another kind": func(w *world) { w.fails("good", late, 1) },
		"an answer": func(w *world) {
			w.account = "good"
			p := w.plan("a/m")
			p.Succeeded(w.now, 0)
			w.fails("good", odd, 1)
		},
		"time": func(w *world) {
			w.now = w.now.Add(6 * time.Minute)
			w.fails("good", odd, 1)
		},
	} {
		w := pair(t)
		w.fails("hostile", odd, 30)
		between(w)
		if got := w.first("another"); got != "a/m" {
			t.Errorf("%s: %s is the first target, want a/m", name, got)
		}
	}
}

// TestOwnProbe checks an account's own circuit after its pause: one request of the account probes it, and an answer
// closes it.
func TestOwnProbe(t *testing.T) {
	t.Parallel()
	w := pair(t)
	odd := fault(provider.KindProtocol)
	w.fails("a", odd, 5)
	w.wantFirst("at once", "b/m", "a")
	w.now = w.now.Add(30 * time.Second)
	w.account = "a"
	probe := w.plan("two")
	if got := probe.Target().FullName(); got != "a/m" {
		t.Errorf("%s is the target after half a minute, want a/m", got)
	}
	w.wantFirst("beside the probe", "b/m", "a")
	probe.Failed(odd, w.now)
	w.now = w.now.Add(59 * time.Second)
	w.wantFirst("after a failed probe", "b/m", "a")
	w.now = w.now.Add(time.Second)
	w.account = "a"
	probe = w.plan("two")
	probe.Succeeded(w.now, 0)
	w.wantFirst("after a good probe", "a/m", "a", "b")
	if len(w.told) != 2 || !w.told[1].Available || w.told[1].Account != "a" {
		t.Errorf("got the events %+v, want it available to the account again", w.told)
	}
}

// TestAccountsOfEachFailure checks for which accounts each failure counts.
func TestAccountsOfEachFailure(t *testing.T) {
	t.Parallel()
	all, one, none := "all", "one", "none"
	got := map[string]string{}
	want := map[string]string{}
	for _, test := range []struct {
		name string
		f    *provider.Failure
		want string
	}{
		{"no connection", fault(provider.KindRefused), all},
		{"no file or port for one", fault(provider.KindShortage), none},
		{"none in time", fault(provider.KindConnectTimeout), all},
		{"reset", fault(provider.KindReset), all},
		{"no further byte", fault(provider.KindIdleTimeout), all},
		{"500", status(500, llm.CodeProviderError), all},
		{"503", status(503, llm.CodeProviderUnavailable), all},
		{"401", status(401, llm.CodeProviderError), all},
		{"402", status(402, llm.CodeProviderError), all},
		{"403", status(403, llm.CodeProviderError), all},
		{"404", status(404, llm.CodeModelNotFound), one},
		{"no first byte", fault(provider.KindFirstByteTimeout), one},
		{"not the protocol", fault(provider.KindProtocol), one},
		{"400", status(400, llm.CodeInvalidRequest), none},
		{"413", status(413, llm.CodeRequestTooLarge), none},
		{"422", status(422, llm.CodeInvalidRequest), none},
	} {
		w := pair(t)
		w.fails("a", test.f, 5)
		for _, c := range []struct{ account, counts string }{{"a", one}, {"b", all}} {
			w.account = c.account
			p := w.plan("a/m")
			if want[test.name] = test.want; p.Unavailable(w.now) {
				got[test.name] = c.counts
			}
		}
		if got[test.name] == "" {
			got[test.name] = none
		}
	}
	must.Equal(t, got, want, "the accounts for which failures count")
}
