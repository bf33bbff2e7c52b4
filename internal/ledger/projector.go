package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// batchDelay and batchBytes bound how long and how many bytes of the journal the projector collects before it
	// writes. batchRecords bounds the number of records in one write.
	batchDelay   = 500 * time.Millisecond
	batchBytes   = 512 << 10
	batchRecords = 2000
	// outagePause is the pause after a database error.
	outagePause = 500 * time.Millisecond
	applyLimit  = 30 * time.Second
	// keepSegments and keepApplied bound the part of the journal that is retained after the database has it, in case
	// the database is restored to an earlier state.
	keepApplied  = time.Hour
	keepSegments = 64
	pruneEvery   = time.Minute
)

// projector copies the synced journal into the database. Only the projector knows which attempts are open.
type projector struct {
	journal *Journal
	store   Store
	log     *slog.Logger
	fault   func(string)
	now     func() time.Time

	reader reader
	loaded bool // reader and open match the database
	open   map[AttemptID]*Attempt
	opened []AttemptID // in the batch
	spare  spareAttempts
	names  names
	batch  Batch

	doubt    doubt
	unknown  atomic.Int64 // attempts stored as unknown since the start
	setAside atomic.Int64 // records of this journal that are set aside in the database

	kick  chan struct{} // a caller waits for a flush
	stale atomic.Bool   // the database has gone back

	mu      sync.Mutex
	done    Position      // the database's position
	moved   chan struct{} // closed and replaced when done moves
	problem error         // the database's last error
}

func newProjector(j *Journal, store Store, log *slog.Logger, fault func(string), now func() time.Time) *projector {
	return &projector{
		journal: j, store: store, log: log, fault: fault, now: now, reader: reader{journal: j}, names: names{},
		kick: make(chan struct{}, 1), moved: make(chan struct{}),
	}
}

// run projects the journal until ctx ends.
func (p *projector) run(ctx context.Context) {
	prune := time.NewTicker(pruneEvery)
	defer prune.Stop()
	for {
		more, err := p.step(ctx)
		if err != nil && ctx.Err() != nil {
			return // it is stopped: no outage
		}
		p.note(err)
		if more {
			continue
		}
		var pause <-chan time.Time
		if err != nil {
			pause = time.After(outagePause)
		}
		select {
		case <-ctx.Done():
			return
		case <-pause:
		case <-prune.C:
			p.prune(ctx)
		case <-p.kick:
		case <-p.journal.advanced:
			p.collect(ctx)
		}
	}
}

// collect lets a batch grow unless a caller waits for it, because a transaction with few requests costs nearly as much
// as one with many.
func (p *projector) collect(ctx context.Context) {
	delay := time.NewTimer(batchDelay)
	defer delay.Stop()
	for Position(p.journal.synced.Load())-p.reader.pos < batchBytes {
		select {
		case <-ctx.Done():
			return
		case <-p.kick:
			return
		case <-delay.C:
			return
		case <-p.journal.advanced:
		}
	}
}

// step projects one batch. More reports that another batch is ready, which may be a smaller part of a rejected one.
func (p *projector) step(ctx context.Context) (more bool, err error) {
	if err := p.load(ctx); err != nil {
		return false, err
	}
	more, err = p.fill()
	if err != nil {
		p.loaded = false
		return false, err
	}
	if p.batch.To == p.batch.From {
		return false, nil
	}
	err = p.apply(ctx)
	p.doubt.applied(&p.batch, err)
	if p.doubt.at != 0 && len(p.batch.Settled) > 1 {
		err = errors.Join(err, p.settleEach(ctx))
	}
	if err != nil {
		p.loaded = false
		return p.doubt.records > 1, err
	}
	return more || p.doubt.records > 0, nil
}

// load reads the position and the open attempts from the database, at the start and after every failure.
func (p *projector) load(ctx context.Context) error {
	if p.stale.Swap(false) {
		p.loaded = false
	}
	if p.loaded {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, applyLimit)
	defer cancel()
	pos, err := p.store.Position(ctx, p.journal.id)
	if err != nil {
		return fmt.Errorf("read the journal's position: %w", err)
	}
	open, err := p.store.OpenAttempts(ctx, p.journal.id)
	if err != nil {
		return fmt.Errorf("read open attempts: %w", err)
	}
	aside, err := p.store.SetAside(ctx, p.journal.id)
	if err != nil {
		return fmt.Errorf("count the records that are set aside: %w", err)
	}
	p.setAside.Store(aside)
	p.open = make(map[AttemptID]*Attempt, len(open))
	for _, a := range open { // each a copy: those that are used again would keep all
		p.open[a.ID] = &a
	}
	p.reader.seek(pos)
	p.mu.Lock()
	p.done = pos // may be lower than before
	p.mu.Unlock()
	p.loaded = true
	return nil
}

// fill reads a batch from the journal. More reports that the batch reached its maximum size.
func (p *projector) fill() (more bool, err error) {
	limit := Position(p.journal.synced.Load())
	b := &p.batch
	*b = Batch{
		Journal: p.journal.id, From: p.reader.pos, To: p.reader.pos,
		Prices: b.Prices[:0], Opened: b.Opened[:0], Settled: b.Settled[:0], Aside: b.Aside[:0],
	}
	p.opened = p.opened[:0]
	most := p.doubt.most()
	for n := 0; n < most; n++ {
		rec, ok, err := p.reader.next(limit)
		if corrupt, is := errors.AsType[*CorruptError](err); is {
			p.log.Error("part of the journal is lost and skipped", "err", err)
			b.lost += corrupt.To - corrupt.From
			p.reader.seek(corrupt.To)
			b.To = corrupt.To
			continue
		}
		if err != nil {
			return false, err
		}
		if !ok {
			break
		}
		if err := p.takeOrSetAside(&rec); err != nil {
			return false, err
		}
		b.To, b.records = rec.end, n+1
		more = n == most-1
	}
	for _, id := range p.opened {
		if a := p.open[id]; a != nil {
			b.Opened = append(b.Opened, *a)
		}
	}
	slices.SortFunc(b.Opened, byID)
	return more, nil
}

// take adds one record of the journal to the batch.
func (p *projector) take(rec *record) error {
	if rec.gap > 0 {
		p.log.Error("the database is older than the oldest journal segment; the records between them are lost", "bytes",
			int64(rec.gap))
		p.batch.lost += rec.gap
	}
	switch rec.kind {
	case 0: // the start of a segment
		if rec.epoch {
			p.abandon(rec.started)
		}
	case recordPrice:
		price, err := decodePrice(rec.payload)
		if err != nil {
			return err
		}
		p.batch.Prices = append(p.batch.Prices, price)
	case recordOpen:
		a, err := decodeOpen(rec.payload, p.names)
		a.Bound.Clamp()
		if err = cmp.Or(err, a.check()); err != nil {
			return err
		}
		if p.open[a.ID] == nil {
			p.open[a.ID] = p.spare.take()
			p.opened = append(p.opened, a.ID)
		}
		*p.open[a.ID] = a
	case recordSettle:
		id, s, err := decodeSettle(rec.payload, p.names)
		s.Usage.Clamp()
		if err = cmp.Or(err, s.check()); err != nil {
			return err
		}
		if p.open[id] == nil {
			return errNotOpen
		}
		p.settle(id, &s)
	default:
		return fmt.Errorf("journal record of unknown type %d: %w", rec.kind, errNewer)
	}
	return nil
}

// settle settles an open attempt.
func (p *projector) settle(id AttemptID, s *Settlement) {
	a := p.open[id]
	delete(p.open, id)
	a.take(s)
	s.Served.Price = nil
	p.batch.Settled = append(p.batch.Settled, Entry{Attempt: *a, Settlement: *s})
	p.spare.add(a)
}

func (p *projector) apply(ctx context.Context) error {
	p.point("project.before_commit")
	ctx, cancel := context.WithTimeout(ctx, applyLimit)
	defer cancel()
	if err := p.store.Apply(ctx, &p.batch); err != nil {
		return fmt.Errorf("project the journal: %w", err)
	}
	p.point("project.after_commit")
	p.report(p.batch.Aside)
	p.journal.lost.Add(int64(p.batch.lost)) // once, however often it was tried
	for i := range p.batch.Settled {
		if p.batch.Settled[i].Outcome == OutcomeUnknown {
			p.unknown.Add(1)
		}
	}
	p.mu.Lock()
	p.done = p.batch.To
	close(p.moved)
	p.moved = make(chan struct{})
	p.mu.Unlock()
	return nil
}

// note stores the result of the last database access for Lag, and logs once per outage.
func (p *projector) note(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err != nil && p.problem == nil:
		p.log.Error("the journal cannot be written to the database; requests continue, and the journal stores them",
			"err", err)
	case err == nil && p.problem != nil:
		p.log.Info("the journal is written to the database again")
	}
	p.problem = err
}

// flush waits until the database has everything before target.
func (p *projector) flush(ctx context.Context, target Position) error {
	for {
		p.mu.Lock()
		done, moved, problem := p.done, p.moved, p.problem
		p.mu.Unlock()
		if done >= target {
			return nil
		}
		_ = p.journal.Sync() // fail has logged the error
		signal(p.kick)
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("wait for the database: %w", ctx.Err()), problem)
		case <-moved:
		}
	}
}

// position returns the database's last known position.
func (p *projector) position() Position {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

// wentBack makes the projector continue from the database's earlier position.
func (p *projector) wentBack(to Position) {
	p.mu.Lock()
	p.done = min(p.done, to)
	p.mu.Unlock()
	p.stale.Store(true)
	signal(p.kick)
}

func (p *projector) lag() (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, p.journal.written.Load()-int64(p.done)), p.problem
}

// prune deletes segments that the database has stored durably for an hour. It first reads the position from the
// database, because that may have been restored to an earlier state.
func (p *projector) prune(ctx context.Context) {
	if len(p.journal.covered(p.done, p.now())) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, applyLimit)
	defer cancel()
	err := p.store.Durable(ctx)
	if err == nil {
		var at Position
		if at, err = p.store.Position(ctx, p.journal.id); err == nil {
			p.loaded = p.loaded && at == p.done
			err = p.journal.remove(p.journal.covered(at, p.now()))
		}
	}
	if err != nil {
		p.log.Error("old journal segments could not be deleted", "err", err)
	}
}

func (p *projector) close() error { return p.reader.close() }

func (p *projector) point(name string) {
	if p.fault != nil {
		p.fault(name)
	}
}
