//go:build unix

package crashtest_test

import (
	"context"
	"flag"
	"testing"
	"time"
)

var (
	nodesFlag   = flag.Bool("nodes.long", false, "take the long form of the tests over several nodes")
	outagesFlag = flag.Bool("nodes.outages", false, "take away what the nodes share, too, which takes a minute or two")
)

// form sets the durations of the tests over several nodes.
type form struct {
	races  int           // of each kind
	racers int           // requests at once in each
	outage time.Duration // of the database
	gap    time.Duration // between the end of a primary and its standby's promotion
	cuts   int           // of connections
	asking time.Duration // of a limit's clients
	before time.Duration // how long Valkey works, each time,
	broken time.Duration // and how long it does not
	pause  time.Duration // between two of the requests whose latency is measured
	added  time.Duration // the longest time that the limit may add to an answer, at p99
	told   time.Duration // the longest time until a node knows of a change, or of another node's spending
}

// theForm returns the long one, or one for busy machines.
func theForm() form {
	if *nodesFlag {
		return form{ // judges time
			races: 20, racers: 1000, outage: time.Minute, gap: 5 * time.Second, cuts: 200, asking: 190 * time.Second,
			before: 10 * time.Second, broken: 20 * time.Second, pause: 3 * time.Millisecond, added: 10 * time.Millisecond,
			told: toldWithin,
		}
	}
	return form{
		races: 1, racers: 200, outage: 8 * time.Second, gap: time.Second, cuts: 20, asking: 64 * time.Second,
		before: 4 * time.Second, broken: 4 * time.Second, pause: 30 * time.Millisecond, added: patience, told: patience,
	}
}

// TestNodes runs three gateways over one database, and breaks them and their shared servers.
func TestNodes(t *testing.T) {
	t.Parallel() // concurrently with TestWebhooks, which mostly waits
	ctx, cancel := deadline(t)
	defer cancel()
	bin := build(t)
	t.Run("All", func(t *testing.T) {
		t.Run("Limit", func(t *testing.T) { // which waits more than it works
			outages(t)
			t.Parallel()
			testLimit(ctx, t, bin)
		})
		t.Run("Rest", func(t *testing.T) {
			t.Parallel()
			testRest(ctx, t, bin)
		})
	})
}

// testRest runs the tests one after the other, so that each has the whole machine.
func testRest(ctx context.Context, t *testing.T, bin string) {
	for _, c := range []struct {
		name string
		test func(ctx context.Context, t *testing.T, bin string)
	}{
		{"Race", testRaces},
		{"Forgetful", testForgetful},
		{"Boundless", testBoundless},
		{"Tools", testTools},
		{"Cut", testCut},
		{"Sockets", testSockets},
		{"ForgetfulSockets", testForgetfulSockets},
		{"Accounts", testAccounts},
		{"Period", testPeriod},
		{"Stopped", testStopped},
		{"Failover", testFailover},
		{"Restored", testRestored},
		{"Valkey", testValkey},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(ctx, t, bin) })
	}
}

// outages skips the long tests unless they are requested.
func outages(t *testing.T) {
	t.Helper()
	if !*outagesFlag && !*nodesFlag {
		t.Skip("takes a minute or two: make crash runs it")
	}
}
