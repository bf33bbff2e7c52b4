package route_test

import (
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/provider"
	"weir/internal/route"
)

// TestSessionsOfOneAccountEndForItAlone checks that the answers of sessions count in the state and the hour of their
// provider, and that sessions that end early do so for the other accounts once one of them has the same.
func TestSessionsOfOneAccountEndForItAlone(t *testing.T) {
	t.Parallel()
	w := pair(t)
	p := w.plan("a/m")
	target := p.Target()
	p.Release()
	follow := func(account string) *route.Plan {
		f := route.Follow(w.table, account, target, w.now)
		return &f
	}
	hour := func() route.Traffic { return w.table.Providers(w.now)[index(w, "a")].Hour }

	must.Equal(t, hour().Attempts, int64(0), "attempts before the session")
	follow("good").Succeeded(w.now, 300*time.Millisecond)
	if got := hour(); got.Attempts != 1 || got.Failed != 0 || got.FirstToken != 300*time.Millisecond {
		t.Errorf("after an answer the hour is %+v", got)
	}
	if c := w.condition("a"); c.State != route.StateOK || c.LatencyMS != 300 {
		t.Errorf("after an answer the target is %+v", c)
	}
	for range 30 {
		follow("hostile").Failed(provider.SessionEnded(), w.now)
	}
	must.Equal(t, hour().Failed, int64(30), "failures in the hour")
	w.wantFirst("after sessions of one account", "b/m", "hostile")
	w.wantFirst("after sessions of one account", "a/m", "good")
	follow("good").Failed(provider.SessionEnded(), w.now)
	w.wantFirst("when another met the same", "b/m", "hostile", "good", "another")
}
