package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/conversation"
)

// groups stores responses by slow writes, and records the size and the time of each.
type groups struct {
	together
	mu    sync.Mutex
	sizes []int
}

const writeTime = time.Millisecond

func (g *groups) write(_ context.Context, group []*keeping) {
	time.Sleep(writeTime)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sizes = append(g.sizes, len(group))
}

func (g *groups) one(ctx context.Context) error {
	k := &keeping{Record: &conversation.Record{}, size: 1000, next: make(chan struct{}, 1), done: make(chan struct{})}
	return g.keep(ctx, k, g.write)
}

// TestTogetherBatchesWrites checks the number of responses that one transaction stores.
func TestTogetherBatchesWrites(t *testing.T) {
	t.Run("one client waits for its own write alone", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g, began := &groups{}, time.Now()
			for range 5 {
				if err := g.one(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if took := time.Since(began); took != 5*writeTime || !slices.Equal(g.sizes, []int{1, 1, 1, 1, 1}) {
				t.Errorf("needed %s for groups of %v", took, g.sizes)
			}
		})
	})
	t.Run("clients that come again are a group", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := &groups{}
			var clients sync.WaitGroup
			for range 10 {
				clients.Go(func() {
					for range 20 {
						if err := g.one(t.Context()); err != nil {
							t.Error(err)
						}
						time.Sleep(writeTime / 10)
					}
				})
			}
			clients.Wait()
			// The order of goroutines decides how many of the last requests find company.
			if writes := len(g.sizes); writes > 40 {
				t.Errorf("20 requests of each of 10 clients needed %d writes, want at most 40: %v", writes, g.sizes)
			}
		})
	})
	t.Run("nobody waits long for those who do not come", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := &groups{together: together{last: 10, ended: time.Now()}}
			began := time.Now()
			if err := g.one(t.Context()); err != nil || time.Since(began) != gatherTime+writeTime {
				t.Errorf("needed %s, %v", time.Since(began), err)
			}
			began = time.Now()
			if err := g.one(t.Context()); err != nil || time.Since(began) != writeTime {
				t.Errorf("the next needed %s, %v", time.Since(began), err)
			}
		})
	})
	t.Run("whoever gives up is not written, and who is written is told", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := &groups{}
			gone, leave := context.WithCancel(t.Context())
			var clients sync.WaitGroup
			clients.Go(func() {
				if err := g.one(t.Context()); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			clients.Go(func() {
				if err := g.one(gone); !errors.Is(err, context.Canceled) {
					t.Errorf("gave up with %v", err)
				}
			})
			synctest.Wait()
			leave()
			clients.Wait()
			if err := g.one(t.Context()); err != nil || !slices.Equal(g.sizes, []int{1, 1}) {
				t.Errorf("groups of %v, %v", g.sizes, err)
			}
		})
	})
}
