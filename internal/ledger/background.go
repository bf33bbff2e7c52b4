package ledger

import (
	"context"
	"sync"
	"time"
)

// run syncs the journal and reserves its segments in the background until ctx ends.
func (j *Journal) run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { j.runSync(ctx) })
	wg.Go(func() { j.runPrepare(ctx) })
	wg.Wait()
}

func (j *Journal) runSync(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-j.dirty:
			timer.Reset(syncDelay)
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
		}
		_ = j.Sync() // fail has logged the error and stopped new requests
	}
}

func (j *Journal) runPrepare(ctx context.Context) {
	warned := false
	for {
		err := j.prepare()
		if err != nil && !warned {
			j.log.Error("no disk space for the next journal segment; new requests will be refused when the current "+
				"one is full",
				"err", err)
		}
		warned = err != nil
		var retry <-chan time.Time
		if warned {
			retry = time.After(spareRetry)
		}
		select {
		case <-ctx.Done():
			return
		case <-retry:
		case <-j.wanted:
		}
	}
}
