package store_test

import (
	"fmt"
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/store"
)

// TestEndpointOfInstallationRecoversAlertsFromBeforeLimitsOfAccounts migrates a database with an event of an alert that
// was for the account and for the installation. It checks that an endpoint of the installation recovers it, and not
// that of an alert that is the account's own.
func TestEndpointOfInstallationRecoversAlertsFromBeforeLimitsOfAccounts(t *testing.T) {
	t.Parallel()
	on(t, withoutSchema(), func(t *testing.T, o store.Options) {
		const before = 51 // the last migration without limits of accounts
		migrateTo(t, o, before)
		tamper(t, o, "INSERT INTO accounts (id, name, suspended, on_hangup, budget, budget_period, created) VALUES ('a', 'a', 0, 'cancel', 0, '', 0)")
		const shared = "019aa39e-51f1-7b3c-9d40-6a2f0c1e8b78"
		tamper(t, o, "INSERT INTO alerts (id, kind, account, subject, value, bound, text, fired) VALUES ('"+shared+"', 'error_rate', 'a', '', 1, 1, '', 0)")
		for id, account := range map[string]string{"w": "", "own": "a"} {
			tamper(t, o, fmt.Sprintf("INSERT INTO webhooks (id, account, url, types, allow_private, secret, former, former_until, rests, why, created)"+
				" VALUES ('%s', '%s', 'https://example.com/', '[]', 0, '', '', 0, 0, '', 0)", id, account))
		}
		now := time.Now().UnixMicro()
		event := func(id, alert string) {
			tamper(t, o, fmt.Sprintf("INSERT INTO events (id, type, account, at, body) VALUES ('%s', 'alert.fired', 'a', %d, '{\"data\":{\"alert\":{\"id\":\"%s\"}}}')",
				id, now, alert))
		}
		event("019aa39e-51f1-7b3c-9d40-6a2f0c1e8b70", shared)
		s := open(t, o)
		event("019aa39e-51f1-7b3c-9d40-6a2f0c1e8b71", "019aa39e-51f1-7b3c-9d40-6a2f0c1e8b79")
		for id, want := range map[string]int{"w": 1, "own": 2} {
			n := must.Get(s.Deliveries.Recover(t.Context(), id, time.UnixMicro(now).Add(-time.Hour)))(t)
			must.Equal(t, n, want, "events that %s recovers", id)
		}
	})
}
