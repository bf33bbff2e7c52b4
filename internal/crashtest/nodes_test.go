//go:build unix

package crashtest_test

import (
	"context"
	"flag"
	"testing"
)

var nodesFlag = flag.Bool("nodes.long", false, "take the long form of the tests over several nodes")

// form is how long the tests over several nodes take.
type form struct {
	races int // of each kind
}

func theForm() form {
	if *nodesFlag {
		return form{races: 10}
	}
	return form{races: 1}
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
	for name, test := range map[string]func(context.Context, *testing.T, string){
		"Race": testRaces, "Forgetful": testForgetful,
	} {
		t.Run(name, func(t *testing.T) { test(ctx, t, bin) })
	}
}
