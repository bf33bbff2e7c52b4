//go:build unix

package crashtest_test

import (
	"context"
	"flag"
	"testing"
	"time"
)

var nodesFlag = flag.Bool("nodes.long", false, "take the long form of the tests over several nodes")

// form is how long the tests over several nodes take.
type form struct {
	races  int           // of each kind
	outage time.Duration // of the database
	gap    time.Duration // between the end of a primary and its standby's beginning
	cuts   int           // of connections
	asking time.Duration // of a limit's clients
	before time.Duration // how long Valkey works, each time,
	broken time.Duration // and how long it does not
}

func theForm() form {
	if *nodesFlag {
		return form{races: 20, outage: time.Minute, gap: 5 * time.Second, cuts: 200, asking: 190 * time.Second, before: 10 * time.Second, broken: 20 * time.Second}
	}
	return form{races: 1, outage: 8 * time.Second, gap: time.Second, cuts: 20, asking: 64 * time.Second, before: 4 * time.Second, broken: 4 * time.Second}
}

// TestNodes runs three gateways over one database, and breaks them and what
// they share.
func TestNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("not with -short")
	}
	ctx, cancel := deadline(t)
	defer cancel()
	bin := build(ctx, t, t.ArtifactDir())
	for _, c := range []struct {
		name string
		test func(ctx context.Context, t *testing.T, bin string)
	}{
		{"Race", testRaces},
		{"Forgetful", testForgetful},
		{"Stopped", testStopped},
		{"Failover", testFailover},
		{"Cut", testCut},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(ctx, t, bin) })
	}
	t.Run("Together", func(t *testing.T) { // which wait more than they work
		for _, c := range []struct {
			name string
			test func(ctx context.Context, t *testing.T, bin string)
		}{
			{"Limit", testLimit},
			{"Valkey", testValkey},
			{"Accounts", testAccounts},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.test(ctx, t, bin)
			})
		}
	})
}
