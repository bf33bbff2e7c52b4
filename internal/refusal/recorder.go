package refusal

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	flushEvery = time.Second
	// soonAfter is the time after which the refusals are written that a reader waits for, and waitMost bounds the wait.
	soonAfter = 20 * time.Millisecond
	waitMost  = time.Second
	writeFor  = 10 * time.Second // bounds one write
	finishFor = 3 * time.Second  // bounds the last write
	// mostCounts bounds the buckets that wait for a write. Beyond it refusals are counted by account and reason, and
	// beyond twice that by reason alone.
	mostCounts = 20_000
	// mostWaiting bounds the refusals that wait to be stored individually.
	mostWaiting = 10_000
)

// Options configures a Recorder. All are required.
type Options struct {
	// Write adds a batch to the stored counts.
	Write func(context.Context, Batch) error
	// Counted is called for each refusal. It must not block.
	Counted func(Refusal)
	Now     func() time.Time
	Log     *slog.Logger
}

// Recorder counts refusals, and writes them while Run runs. A nil Recorder counts nothing. Its methods may be called
// concurrently.
type Recorder struct {
	options Options
	readers chan chan struct{} // of those who wait for a write

	mu     sync.Mutex
	fresh  waiting             // since the last flush
	named  map[named]struct{}  // the models that are counted by name in this hour
	models map[string]int      // number of them, by account
	places map[Bucket]struct{} // the counts of this hour, without the minute
	counts map[string]int      // number of them, by account
	hour   int64

	flushing sync.Mutex // guards the fields below; it is locked before mu
	unsaved  waiting    // could not be written
	log      lines
}

// waiting holds refusals that are not written yet.
type waiting struct {
	counts map[Bucket]*int64
	latest map[string]recent // by account
	stored int               // number of refusals in latest
}

// recent holds the latest refusals of an account by key.
type recent map[string]*ring

// named is a model of an account.
type named struct{ account, model string }

// ring holds the latest refusals of a key.
type ring struct {
	all  []Refusal
	next int // index of the oldest one, once it is full
}

// NewRecorder returns a Recorder without refusals.
func NewRecorder(o Options) *Recorder {
	return &Recorder{
		options: o, readers: make(chan chan struct{}), fresh: newWaiting(), unsaved: newWaiting(),
		named: map[named]struct{}{}, models: map[string]int{},
		places: map[Bucket]struct{}{}, counts: map[string]int{},
		log: lines{to: o.Log, all: map[who]*line{}},
	}
}

func newWaiting() waiting {
	return waiting{counts: map[Bucket]*int64{}, latest: map[string]recent{}}
}

// Add counts a refusal.
func (r *Recorder) Add(x Refusal) {
	if r == nil {
		return
	}
	r.options.Counted(x)
	r.mu.Lock()
	defer r.mu.Unlock()
	at := x.At.Unix()
	b := Bucket{at - at%60, x.Account, x.Key, x.Reason, x.Model}
	if n := r.fresh.counts[b]; n != nil {
		*n++
	} else {
		b.Model = r.name(&x)
		r.fresh.add(r.place(b), 1)
	}
	r.fresh.keep(&x)
}

// name returns the name by which the model of a refusal is counted.
func (r *Recorder) name(x *Refusal) string {
	if hour := x.At.Unix() / 3600; hour > r.hour { // a slow request may have arrived in an earlier hour
		r.hour = hour
		clear(r.named)
		clear(r.models)
		clear(r.places)
		clear(r.counts)
	}
	n := named{x.Account, x.Model}
	if _, known := r.named[n]; known || x.Model == "" {
		return x.Model
	}
	if r.models[x.Account] >= MostModels || len(r.named) >= mostCounts {
		return OtherModels
	}
	r.named[n] = struct{}{}
	r.models[x.Account]++
	return x.Model
}

// place returns the bucket in which a refusal is counted: without its key and model if its account has too many others
// in this hour.
func (r *Recorder) place(b Bucket) Bucket {
	p := b
	p.Minute = 0
	if _, known := r.places[p]; known {
		return b
	}
	if r.counts[b.Account] >= MostCounts || len(r.places) >= mostCounts {
		if b.Key = ""; b.Model != "" {
			b.Model = OtherModels
		}
		return b
	}
	r.places[p] = struct{}{}
	r.counts[b.Account]++
	return b
}

// add adds n refusals to a bucket, or to a coarser one if there are too many.
func (w *waiting) add(b Bucket, n int64) {
	if w.counts[b] == nil && len(w.counts) >= mostCounts {
		b.Key, b.Model = "", ""
		if w.counts[b] == nil && len(w.counts) >= 2*mostCounts {
			b.Account, b.Minute = "", b.Minute-b.Minute%3600
		}
	}
	if w.counts[b] == nil {
		w.counts[b] = new(int64)
	}
	*w.counts[b] += n
}

// keep adds a refusal to the latest ones of its account. Each of the account's keys has an equal share of MostLatest,
// so that a flood by one key leaves the refusals of the others.
func (w *waiting) keep(x *Refusal) {
	account, key := w.latest[x.Account], x.Key
	if len(account) >= MostLatest && account[key] == nil {
		key = "" // the keys beyond the bound share one ring
	}
	of := account[key]
	if of == nil {
		if w.stored >= mostWaiting {
			return
		}
		if account == nil {
			account = recent{}
			w.latest[x.Account] = account
		}
		of = &ring{}
		account[key] = of
	}
	switch {
	case len(of.all) < max(1, MostLatest/len(account)) && w.stored < mostWaiting:
		of.all = append(of.all, *x)
		w.stored++
	case len(of.all) > 0:
		of.all[of.next] = *x
		of.next = (of.next + 1) % len(of.all)
	}
}

// merge adds later refusals.
func (w *waiting) merge(later *waiting) {
	for b, n := range later.counts {
		w.add(b, *n)
	}
	for _, account := range later.latest {
		for _, of := range account {
			for i := range of.all {
				w.keep(&of.all[(of.next+i)%len(of.all)])
			}
		}
	}
}

// Run writes the refusals every second, or soon if somebody waits for them, and the rest when ctx ends.
func (r *Recorder) Run(ctx context.Context) {
	every := time.NewTicker(flushEvery)
	defer every.Stop()
	var soon <-chan time.Time
	var waiting []chan struct{}
	for {
		select {
		case <-ctx.Done():
			r.finish(context.WithoutCancel(ctx))
			return
		case reader := <-r.readers:
			if waiting = append(waiting, reader); soon == nil {
				soon = time.After(soonAfter)
			}
			continue
		case <-soon:
		case <-every.C:
		}
		r.tick(ctx)
		for _, reader := range waiting {
			close(reader)
		}
		soon, waiting = nil, nil
	}
}

// Await waits until the refusals until now are written, or could not be written, but at most a second. The write does
// not depend on ctx. A nil Recorder has none.
func (r *Recorder) Await(ctx context.Context) {
	if r == nil || !r.hasFresh() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, waitMost)
	defer cancel()
	written := make(chan struct{})
	select {
	case r.readers <- written:
	case <-ctx.Done():
		return
	}
	select {
	case <-written:
	case <-ctx.Done():
	}
}

// hasFresh reports whether there are refusals since the last flush.
func (r *Recorder) hasFresh() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.fresh.counts) > 0
}

// tick writes the refusals of the last second, and the log lines that are due.
func (r *Recorder) tick(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, writeFor)
	defer cancel()
	if err := r.Flush(bounded); err != nil && ctx.Err() == nil {
		r.options.Log.Warn("the counts of refused requests could not be written; they are written later", "err", err)
	}
	r.writeLines(ctx, r.options.Now())
}

// finish writes everything, within a few seconds.
func (r *Recorder) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, finishFor)
	defer cancel()
	if err := r.Flush(ctx); err != nil {
		r.options.Log.Warn("counts of refused requests are lost: the gateway is stopping", "err", err)
	}
	r.writeLines(ctx, r.options.Now().Add(lineEvery))
}

func (r *Recorder) writeLines(ctx context.Context, now time.Time) {
	r.flushing.Lock()
	defer r.flushing.Unlock()
	r.log.write(ctx, now)
}

// Flush writes the refusals that are not written yet. After an error they wait for the next call. A nil Recorder has
// none.
func (r *Recorder) Flush(ctx context.Context) error {
	if r == nil {
		return nil
	}
	r.flushing.Lock()
	defer r.flushing.Unlock()
	fresh := r.takeFresh()
	batch := fresh.batch()
	r.log.add(&batch)
	if len(r.unsaved.counts) > 0 {
		r.unsaved.merge(&fresh)
		fresh, batch = r.unsaved, r.unsaved.batch()
	}
	if len(batch.Counts) == 0 {
		return nil
	}
	if err := r.options.Write(ctx, batch); err != nil {
		r.unsaved = fresh
		return err
	}
	r.unsaved = newWaiting()
	return nil
}

// takeFresh returns the refusals since the last flush.
func (r *Recorder) takeFresh() waiting {
	empty := newWaiting()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.fresh.counts) == 0 {
		return empty
	}
	fresh := r.fresh
	r.fresh = empty
	return fresh
}

// batch returns the refusals in an order that all nodes share, so that their transactions do not deadlock.
func (w *waiting) batch() Batch {
	batch := Batch{Counts: make([]Count, 0, len(w.counts)), Latest: make([]Refusal, 0, w.stored)}
	for b, n := range w.counts {
		batch.Counts = append(batch.Counts, Count{b, *n})
	}
	slices.SortFunc(batch.Counts, func(a, b Count) int { return a.Compare(&b.Bucket) })
	for _, account := range slices.Sorted(maps.Keys(w.latest)) {
		for _, of := range w.latest[account] {
			batch.Latest = append(batch.Latest, of.all...)
		}
	}
	return batch
}
