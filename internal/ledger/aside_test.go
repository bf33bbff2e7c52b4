package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/promptcache"
)

// TestSettlementWithoutOutcomeIsRefused checks that the attempt stays open and can be settled properly.
func TestSettlementWithoutOutcomeIsRefused(t *testing.T) {
	t.Parallel()
	db := newLockedDB()
	l := openTest(t, t.TempDir(), db, nil)
	for _, s := range []Settlement{
		{},
		{Provenance: Exact},
		{Outcome: OutcomeOK},
		{Outcome: OutcomeOpen, Provenance: Exact},
		{Outcome: OutcomeUnknown, Provenance: Exact},
		{Outcome: OutcomeOK, Provenance: Unknown},
		{Outcome: "odd", Provenance: Exact},
		{Outcome: OutcomeOK, Provenance: "odd"},
		{Outcome: OutcomeOK, Provenance: Exact, Code: "\x00"},
		{Outcome: OutcomeOK, Provenance: Exact, Finish: "\xff"},
		{Outcome: OutcomeOK, Provenance: Exact, Missed: Missed{Miss: promptcache.Miss{Tokens: 1}}},
		{Outcome: OutcomeOK, Provenance: Exact, Cached: Cached{Hit: true, Saved: -1}},
	} {
		h := must.Get(l.Open(testAttempt(uuid.New(), 1)))(t)
		if _, err := h.Settle(s); !errors.Is(err, errRecord) || h.Settled() {
			t.Errorf("Settle(%+v): got %v, settled %v; want %v, and an open attempt", s, err, h.Settled(), errRecord)
		}
		if _, _, err := h.Next(s, testAttempt(h.attempt.ID.Request, 2)); !errors.Is(err, errRecord) {
			t.Errorf("Next(%+v): got %v, want %v", s, err, errRecord)
		}
		if _, err := l.Record(testAttempt(uuid.New(), 1), s); !errors.Is(err, errRecord) {
			t.Errorf("Record(%+v): got %v, want %v", s, err, errRecord)
		}
		if _, err := h.Settle(Settlement{Outcome: OutcomeOK, Provenance: Exact}); err != nil {
			t.Errorf("settle after the refusal: %v", err)
		}
	}
	closeTest(t, l)
	if len(db.rows) != 12 || len(db.open) != 0 || len(db.aside) != 0 {
		t.Errorf("got %d rows, %d open, %d set aside; want 12, 0, 0", len(db.rows), len(db.open), len(db.aside))
	}
}

// TestAttemptThatNoDatabaseStoresIsRefused checks Open with values that the engines or the reports could not take.
func TestAttemptThatNoDatabaseStoresIsRefused(t *testing.T) {
	t.Parallel()
	l := openTest(t, t.TempDir(), newLockedDB(), nil)
	defer closeTest(t, l)
	long := strings.Repeat("m", maxName+1)
	for name, change := range map[string]func(*Attempt){
		"no number":       func(a *Attempt) { a.ID.N = 0 },
		"NUL in model":    func(a *Attempt) { a.Model = "m\x00" },
		"model not UTF-8": func(a *Attempt) { a.Model = "m\xff" },
		"long model":      func(a *Attempt) { a.Model = long },
		"long names":      func(a *Attempt) { a.Model, a.Requested, a.Key, a.Region = long[1:], long[1:], long[1:], long[1:] },
		"NUL in account":  func(a *Attempt) { a.Account = "\x00" },
		"NUL in price":    func(a *Attempt) { a.Price.Version = "\x00" },
		"NUL in user":     func(a *Attempt) { a.Attribution.User = "\x00" },
		"NUL in tag":      func(a *Attempt) { a.Attribution.Tags[0].Value = "\x00" },
		"year 10000":      func(a *Attempt) { a.Arrived = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"year 1":          func(a *Attempt) { a.Opened = time.Time{} },
		"negative hold":   func(a *Attempt) { a.Hold = -1 },
		"huge hold":       func(a *Attempt) { a.Hold = llm.MaxCost + 1 },
	} {
		a := testAttempt(uuid.New(), 1)
		change(&a)
		if _, err := l.Open(a); !errors.Is(err, errRecord) {
			t.Errorf("%s: got %v, want %v", name, err, errRecord)
		}
	}
	if l.InFlight() != 0 {
		t.Errorf("in flight: got %d, want 0", l.InFlight())
	}
}

// odd are frames that cannot be stored, as an earlier or faulty weir may have written them.
func odd() map[string][]byte {
	id := AttemptID{Request: uuid.New(), N: 1}
	model := testAttempt(uuid.New(), 1)
	model.Model = "m\x00"
	short := endFrame(first(beginFrame(nil, recordSettle)), 0)
	return map[string][]byte{
		"no outcome":       appendSettle(nil, id, &Settlement{Provenance: Exact}),
		"settled open":     appendSettle(nil, id, &Settlement{Outcome: OutcomeOpen, Provenance: Exact}),
		"never opened":     appendSettle(nil, id, &Settlement{Outcome: OutcomeOK, Provenance: Exact}),
		"negative cost":    appendSettle(nil, id, &Settlement{Outcome: OutcomeOK, Provenance: Exact, Cost: -1}),
		"NUL in the model": appendOpen(nil, &model),
		"too short":        short,
	}
}

// TestRecordThatCannotBeStoredIsSetAside checks that other records, before and after it, are stored once, also after a
// restart, and that its attempt counts as unknown.
func TestRecordThatCannotBeStoredIsSetAside(t *testing.T) {
	t.Parallel()
	for name, frame := range odd() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, dir := newLockedDB(), t.TempDir()
			l := openTest(t, dir, db, nil)
			meterOne(t, l)
			must.Get(l.journal.Append(frame, 0))(t)
			meterOne(t, l)
			closeTest(t, l)
			if len(db.rows) != 4 || len(db.aside) != 1 || l.SetAside() != 1 {
				t.Fatalf("got %d rows, %d records set aside, count %d; want 4, 1, 1", len(db.rows), len(db.aside), l.SetAside())
			}
			for _, a := range db.aside {
				if a.Reason == "" || a.String() == "" || string(a.Record) != string(frame[frameHead:]) {
					t.Errorf("set aside: got %v, %q, %x; want a reason and %x", &a, a.Reason, a.Record, frame[frameHead:])
				}
			}
			l = openTest(t, dir, db, nil)
			meterOne(t, l)
			closeTest(t, l)
			if len(db.rows) != 6 || len(db.aside) != 1 || l.SetAside() != 1 || db.verify() != nil {
				t.Errorf("after a restart: got %d rows, %d set aside, count %d, %v; want 6, 1, 1", len(db.rows), len(db.aside),
					l.SetAside(), db.verify())
			}
		})
	}
}

// TestDamagedSettlementCountsAtItsBound checks that the next start settles the attempt whose settlement is set aside.
func TestDamagedSettlementCountsAtItsBound(t *testing.T) {
	t.Parallel()
	db, dir := newLockedDB(), t.TempDir()
	l := openTest(t, dir, db, nil)
	a := testAttempt(uuid.New(), 1)
	must.Get(l.Open(a))(t)
	must.Get(l.journal.Append(appendSettle(nil, a.ID, &Settlement{}), 0))(t)
	closeTest(t, l)
	if _, open := db.open[a.ID]; !open || len(db.rows) != 0 || len(db.aside) != 1 {
		t.Fatalf("got open %v, %d rows, %d set aside; want an open attempt and its settlement aside", open, len(db.rows), len(db.aside))
	}
	closeTest(t, openTest(t, dir, db, nil))
	if r := db.rows[a.ID]; r.Outcome != OutcomeUnknown || r.Cost != a.Hold || len(db.open) != 0 {
		t.Errorf("after a restart: got %+v, %d open; want an unknown outcome at $%s", r.Settlement, len(db.open), a.Hold)
	}
}

// TestRejectedRecordsAreFound checks that of a large batch only the records that the database rejects are set aside.
func TestRejectedRecordsAreFound(t *testing.T) {
	t.Parallel()
	for _, every := range []int{1, 5, 100} {
		t.Run(fmt.Sprintf("one of %d", every), func(t *testing.T) {
			t.Parallel()
			db := newLockedDB()
			bad := map[AttemptID]bool{}
			db.away.Store(true)
			db.rejects = func(b *Batch) bool {
				for i := range b.Settled {
					if bad[b.Settled[i].ID] {
						return true
					}
				}
				return false
			}
			l := openTest(t, t.TempDir(), db, nil)
			const total = 10
			for i := range total {
				a := testAttempt(uuid.New(), 1)
				bad[a.ID] = i%every == every-1
				h := must.Get(l.Open(a))(t)
				must.Get(h.Settle(Settlement{Outcome: OutcomeOK, Provenance: Exact, Usage: llm.Usage{llm.Input: 1}}))(t)
			}
			db.away.Store(false)
			closeTest(t, l)
			want := total / every
			if len(db.rows) != total-want || len(db.aside) != want || len(db.open) != want {
				t.Errorf("got %d rows, %d set aside, %d open; want %d, %d, %d", len(db.rows), len(db.aside), len(db.open),
					total-want, want, want)
			}
		})
	}
}

// TestManyRejectedRecordsStopTheProjection checks that a damaged database does not move the whole journal aside: the
// next record is tried again unchanged, and one that cannot be read is an error.
func TestManyRejectedRecordsStopTheProjection(t *testing.T) {
	t.Parallel()
	a := testAttempt(uuid.New(), 1)
	for name, aside := range map[string]int{"last that may be": mostAside - 1, "one too many": mostAside} {
		p := newProjector(nil, newLockedDB(), quiet(), nil, time.Now)
		p.open, p.doubt = map[AttemptID]*Attempt{}, doubt{records: 1, at: 7, reason: ErrRejected, aside: aside}
		kind, payload, _ := readFrame(appendOpen(nil, &a))
		rejected := p.takeOrSetAside(&record{kind: kind, payload: payload, end: 7})
		set := len(p.batch.Aside)
		p.batch.Aside = p.batch.Aside[:0]
		short := p.takeOrSetAside(&record{kind: recordSettle, end: 8})
		if stops := aside == mostAside; rejected != nil || stops != (set == 0 && p.open[a.ID] != nil) || stops != (short != nil) {
			t.Errorf("%s: got %v, %d set aside, opened %v; then %v", name, rejected, set, p.open[a.ID] != nil, short)
		}
	}
}

// TestRejectedAttemptLeavesNoOtherOpen checks that of the attempts that a dead process left open only the one that the
// database rejects stays open.
func TestRejectedAttemptLeavesNoOtherOpen(t *testing.T) {
	t.Parallel()
	db, dir := newLockedDB(), t.TempDir()
	var bad AttemptID
	db.rejects = func(b *Batch) bool {
		return slices.ContainsFunc(b.Settled, func(e Entry) bool { return e.ID == bad })
	}
	l := openTest(t, dir, db, nil)
	for i := range 5 {
		a := testAttempt(uuid.New(), 1)
		must.Get(l.Open(a))(t)
		if i == 2 {
			bad = a.ID
		}
	}
	closeTest(t, l)
	for start := range 2 {
		l = openTest(t, dir, db, nil)
		meterOne(t, l)
		closeTest(t, l)
		if _, open := db.open[bad]; !open || len(db.open) != 1 || len(db.rows) != 4+2*(start+1) || db.verify() != nil {
			t.Errorf("start %d: got %d open, %d rows, %v; want the rejected attempt open and %d rows", start, len(db.open),
				len(db.rows), db.verify(), 4+2*(start+1))
		}
	}
}

// TestNewerRecordIsNotSetAside checks that the projection waits for the weir that can read the record.
func TestNewerRecordIsNotSetAside(t *testing.T) {
	t.Parallel()
	body, start := beginFrame(nil, recordSettle+1)
	a := testAttempt(uuid.New(), 1)
	outcome := endFrame(append(appendID(first(beginFrame(nil, recordSettle)), a.ID), 0, byte(len(outcomes)), 0, 0, 0), 0)
	for name, frame := range map[string][]byte{"type": endFrame(body, start), "outcome": outcome} {
		db := newLockedDB()
		p := newProjector(nil, db, quiet(), nil, time.Now)
		p.open = map[AttemptID]*Attempt{a.ID: &a}
		kind, payload, n := readFrame(frame)
		err := p.takeOrSetAside(&record{kind: kind, payload: payload, end: 1})
		if n == 0 || !errors.Is(err, errNewer) || len(p.batch.Aside) > 0 {
			t.Errorf("%s: got %v, %d set aside, a frame of %d bytes; want %v", name, err, len(p.batch.Aside), n, errNewer)
		}
	}
}

func first(b []byte, _ int) []byte { return b }
