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
}

func theForm() form {
	if *nodesFlag {
		return form{races: 20, outage: time.Minute, gap: 5 * time.Second, cuts: 200}
	}
	return form{races: 1, outage: 8 * time.Second, gap: time.Second, cuts: 20}
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
}
