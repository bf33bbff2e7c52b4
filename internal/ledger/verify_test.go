package ledger

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"weir/internal/must"
)

// TestUnprojectedCountsRecords counts the records that a database lacks, at any position, over segments and epochs.
func TestUnprojectedCountsRecords(t *testing.T) {
	t.Parallel()
	dir, db := t.TempDir(), newLockedDB()
	for range 2 {
		l := openTest(t, dir, db, func(o *Options) { o.SegmentSize = 4 << 10 })
		for range 20 {
			meterOne(t, l)
		}
		closeTest(t, l)
	}
	id, _, err := Identity(dir)
	must.Do(t, err)
	at := must.Get(db.Position(t.Context(), id))(t)
	to, err := Written(dir)
	if err != nil || to != at {
		t.Fatalf("written: got %d, %v; want %d, where the database is", to, err, at)
	}
	// In each epoch its begin, a price, and 20 requests of two attempts with two records each.
	const epoch = 1 + 1 + 20*4
	for _, test := range []struct {
		from Position
		want Backlog
	}{{at, Backlog{}}, {at + 1, Backlog{}}, {0, Backlog{Records: 2 * epoch}}} {
		got, err := Unprojected(dir, test.from, to)
		if err != nil || got != test.want {
			t.Errorf("from %d to %d: got %+v, %v; want %+v", test.from, to, got, err, test.want)
		}
	}
	segs, _, err := loadSegments(Directory(dir))
	if err != nil || len(segs) < 4 {
		t.Fatalf("got %d segments, %v; want some in each epoch", len(segs), err)
	}
	must.Do(t, Directory(dir).Remove(segs[0].name()))
	got, err := Unprojected(dir, 0, to)
	if err != nil || got.Lost != segs[0].end || got.Records == 0 || got.Records >= 2*epoch {
		t.Errorf("without the first segment: got %+v, %v; want %d bytes lost, and fewer records", got, err, segs[0].end)
	}
}

// TestUnprojectedWhileAway counts the unprojected records of a running ledger, and none once the database is back.
func TestUnprojectedWhileAway(t *testing.T) {
	t.Parallel()
	dir, db := t.TempDir(), newLockedDB()
	l := openTest(t, dir, db, nil)
	defer closeTest(t, l)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must.Do(t, l.Flush(ctx))
	db.away.Store(true)
	at := l.proj.position()
	meterOne(t, l)
	to := must.Get(Written(dir))(t)
	if got, err := Unprojected(dir, at, to); err != nil || got != (Backlog{Records: 5}) {
		t.Errorf("while the database is away: got %+v, %v; want a price and four records", got, err)
	}
	db.away.Store(false)
	must.Do(t, l.Flush(ctx))
	if got, err := Unprojected(dir, l.proj.position(), to); err != nil || got != (Backlog{}) {
		t.Errorf("once it is back: got %+v, %v; want nothing", got, err)
	}
}

// TestHeldReportsOpenJournal checks whether a process has a journal open, and that the check never prevents opening it.
func TestHeldReportsOpenJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := func(when string, held bool) {
		t.Helper()
		if got, err := Held(dir); got != held || err != nil {
			t.Errorf("%s: got %v, %v; want %v", when, got, err, held)
		}
	}
	want("without a journal", false)
	l := openTest(t, dir, newLockedDB(), nil)
	want("while it is open", true)
	closeTest(t, l)
	want("once it is closed", false)

	look := flock.New(filepath.Join(dir, "lock")) // like Held, for longer
	if ok, err := look.TryRLock(); !ok || err != nil {
		t.Fatalf("shared lock: %v, %v", ok, err)
	}
	time.AfterFunc(20*time.Millisecond, func() { _ = look.Close() })
	closeTest(t, openTest(t, dir, newLockedDB(), nil))
}
