package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
)

var errSim = errors.New("simulated fault")

// simDisk is a Disk that records the unsynced data.
type simDisk struct {
	rng          *rand.Rand
	files        map[string]*simFile
	full         bool
	failWrites   bool
	lieAboutSync bool // negative control
	dropEvery    int  // negative control: every nth write is not done
	writes       int
}

type simFile struct {
	disk   *simDisk
	data   []byte
	synced []byte // certainly survives a power cut
	loose  []simWrite
}

type simWrite struct {
	at   int
	data []byte
}

func (d *simDisk) List() ([]string, error) {
	return slices.Sorted(maps.Keys(d.files)), nil
}

func (d *simDisk) Create(name string, size, _ int64) (File, error) {
	if d.full {
		return nil, fmt.Errorf("no space: %w", errSim)
	}
	if d.files[name] != nil {
		return nil, fmt.Errorf("%s exists", name)
	}
	f := &simFile{disk: d, data: make([]byte, size), synced: make([]byte, size)}
	d.files[name] = f
	return f, nil
}

func (d *simDisk) Open(name string) (File, error) {
	if f := d.files[name]; f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("no file %s", name)
}

func (d *simDisk) Truncate(name string, size int64) error {
	f := d.files[name]
	f.data = f.data[:size]
	f.synced = f.synced[:min(len(f.synced), int(size))]
	return nil
}

func (d *simDisk) Remove(name string) error {
	if d.files[name] == nil {
		return fmt.Errorf("no file %s", name)
	}
	delete(d.files, name)
	return nil
}

// powerCut preserves the synced data and a random part of the rest, in sectors and in any order, as a disk's cache may
// write it.
func (d *simDisk) powerCut() {
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		f := d.files[name]
		for _, w := range f.loose {
			for at := 0; at < len(w.data); at += 512 {
				if d.rng.IntN(2) == 0 && w.at+at < len(f.synced) {
					copy(f.synced[w.at+at:], w.data[at:min(at+512, len(w.data))])
				}
			}
		}
		f.data, f.loose = slices.Clone(f.synced), nil
	}
}

func (f *simFile) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *simFile) WriteAt(p []byte, off int64) (int, error) {
	d := f.disk
	d.writes++
	if d.failWrites {
		half := len(p) / 2
		copy(f.data[off:], p[:half])
		return half, errSim
	}
	if d.dropEvery > 0 && d.writes%d.dropEvery == 0 {
		return len(p), nil
	}
	copy(f.data[off:], p)
	f.loose = append(f.loose, simWrite{int(off), slices.Clone(p)})
	return len(p), nil
}

func (f *simFile) Sync() error {
	if !f.disk.lieAboutSync {
		f.synced, f.loose = slices.Clone(f.data), nil
	}
	return nil
}

func (f *simFile) Close() error { return nil }

// simDB is a Store in memory, with rollups separate from the rows.
type simDB struct {
	rng            *rand.Rand
	position       Position
	rows           map[AttemptID]Entry
	open           map[AttemptID]Attempt
	prices         map[string]PriceRecord
	spent          map[string]llm.Money // by account
	at             time.Time
	saved          *simDB
	fail           int // 1: the next commit fails, 2: it succeeds and reports a failure
	forgetPosition int // negative control: every nth commit leaves the position
	commits        int
	aside          map[Position]Aside
	rejects        func(*Batch) bool // nil for none
}

func newSimDB(rng *rand.Rand) *simDB {
	return &simDB{
		rng: rng, rows: map[AttemptID]Entry{}, open: map[AttemptID]Attempt{},
		prices: map[string]PriceRecord{}, spent: map[string]llm.Money{}, aside: map[Position]Aside{},
	}
}

func (db *simDB) SetAside(context.Context, uuid.UUID) (int64, error) {
	return int64(len(db.aside)), nil
}

func (db *simDB) Position(context.Context, uuid.UUID) (Position, error) { return db.position, nil }

func (db *simDB) OpenAttempts(context.Context, uuid.UUID) ([]Attempt, error) {
	return slices.Collect(maps.Values(db.open)), nil
}

func (db *simDB) Durable(context.Context) error {
	db.saved = nil // durable data does not go back further than this
	return nil
}

func (db *simDB) Apply(_ context.Context, b *Batch) error {
	fail := db.fail
	db.fail = 0
	if fail == 1 {
		return errSim
	}
	if b.From != db.position {
		return ErrMoved
	}
	if db.rejects != nil && db.rejects(b) {
		return fmt.Errorf("simulated: %w", ErrRejected)
	}
	for _, a := range b.Aside {
		db.aside[a.At] = a
	}
	for _, p := range b.Prices {
		db.prices[p.Version] = p
	}
	for _, a := range b.Opened {
		db.open[a.ID] = a
	}
	for _, e := range b.Settled {
		delete(db.open, e.ID)
		db.rows[e.ID] = e
		db.spent[e.Account] += e.Cost // adds again when applied again: a double shows
	}
	db.commits++
	if db.forgetPosition == 0 || db.commits%db.forgetPosition != 0 {
		db.position = b.To
	}
	if fail == 2 {
		return errSim
	}
	return nil
}

func (db *simDB) clone() *simDB {
	c := *db
	c.rows, c.open = maps.Clone(db.rows), maps.Clone(db.open)
	c.prices, c.spent, c.aside = maps.Clone(db.prices), maps.Clone(db.spent), maps.Clone(db.aside)
	c.saved = nil
	return &c
}

func (db *simDB) snapshot(now time.Time) {
	saved := db.clone()
	saved.at = now
	db.saved = saved
}

func (db *simDB) restore() {
	saved := db.saved
	*db = *saved.clone()
	db.saved = saved
}

// verify compares the rollup with the rows, and each cost with its price.
func (db *simDB) verify() error {
	sum := map[string]llm.Money{}
	for id, e := range db.rows {
		sum[e.Account] += e.Cost
		p, ok := db.prices[e.Price.Version]
		if !ok {
			return fmt.Errorf("attempt %v: price %s is not kept", id, e.Price.Version)
		}
		price := llm.Price{Version: p.Version, Rates: p.Rates, Tiers: p.Tiers}
		if e.Provenance != Unknown && price.Cost(&e.Usage, "") != e.Cost {
			return fmt.Errorf("attempt %v: cost %v is not what its price gives", id, e.Cost)
		}
	}
	if !maps.Equal(sum, db.spent) {
		return fmt.Errorf("rollup %v, rows %v", db.spent, sum)
	}
	return nil
}
