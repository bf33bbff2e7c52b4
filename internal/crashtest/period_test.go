//go:build unix

package crashtest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"weir/internal/llm"
)

// changeLimit is the budget of the account with the changing period.
const changeLimit = 37 * llm.USD

// testPeriod changes the period of a budget while clients on three nodes request more than it covers: once, several
// times with pauses, and so often that no node has read one change before the next. The budget is not exceeded, and in
// the end all of it can be spent.
func testPeriod(ctx context.Context, t *testing.T, bin string) {
	const body = `{"model":"toll/chat:ttft=700ms,tokens=3","messages":[{"role":"user","content":"Hi"}]}`
	f := newFleet(ctx, t, &founding{bin: bin, seed: seed(), nodes: 3, server: newServer(t), yaml: stormYAML})
	defer f.close()
	f.watch()
	for _, c := range []struct {
		name    string
		changes int
		pause   time.Duration
	}{{"once", 1, 0}, {"slowly", 3, time.Second}, {"often", 20, 100 * time.Millisecond}} {
		m := f.wealthy("changed-"+c.name, changeLimit)
		asking, stop := context.WithCancel(ctx)
		var clients sync.WaitGroup
		for i := range 12 * len(f.nodes) {
			clients.Go(func() {
				for asking.Err() == nil {
					_, _ = f.chat(f.nodes[i%len(f.nodes)].base(), &m, body, patience)
					time.Sleep(breath)
				}
			})
		}
		time.Sleep(500 * time.Millisecond)
		for i := range c.changes {
			f.run("accounts", "budget", m.name, "--usd", changeLimit.String(), "--period", []string{"month", "day"}[i%2])
			time.Sleep(c.pause)
		}
		time.Sleep(2 * time.Second)
		stop()
		clients.Wait()
		f.settled(&m) // holds make a node refuse
		f.fill(&m, `{"model":"toll/chat","messages":[{"role":"user","content":"Hi"}]}`)
		f.settled(&m)
		got := f.spent(&m) // each request costs a dollar, exactly as in its row
		t.Logf("changed %s: spent $%s of $%s", c.name, got, changeLimit)
		if got != changeLimit {
			t.Errorf("changed %s: spent $%s, want $%s", c.name, got, changeLimit)
		}
	}
	f.stopAll()
}
