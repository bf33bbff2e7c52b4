package app

import (
	"context"
	"time"

	"weir/internal/admin"
	"weir/internal/ledger"
)

// adoptEvery is the interval for checking whether the former gateway has ended.
const adoptEvery = 2 * time.Second

// adoptOthers settles the open attempts in the journal of a former gateway, once that has ended. The journal remains
// for the next takeover.
func (g *instance) adoptOthers(ctx context.Context) {
	look := time.NewTicker(adoptEvery)
	defer look.Stop()
	for _, dir := range ledger.Dirs(g.options.Config.Data) {
		for done := dir == g.journal; !done; {
			held, err := ledger.Held(dir)
			if err == nil && !held {
				err = admin.Replay(ctx, g.store, dir, g.options.Log)
				done = err == nil
			}
			if err != nil && ctx.Err() == nil {
				g.options.Log.Error("the journal of an earlier gateway could not be read; "+
					"retrying", "journal", dir, "err", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-look.C:
			}
		}
	}
}
