//go:build unix

package crashtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"weir/internal/ledger"
)

const (
	backups = 2
	// backupLag is the longest time after its end in which an attempt may be missing in the journal: batched records
	// are written before the client has its answer.
	backupLag = 50 * time.Millisecond
)

// backedUp holds a backup and the data restored from it.
type backedUp struct {
	began, ended time.Time
	rows         map[ledger.AttemptID]row
}

// TestBackupUnderLoadRestores makes backups of a gateway under load, which is killed now and then, and restores each. A
// restored ledger verifies, has all attempts that were settled before the backup began, and none that the ledger does
// not have.
func TestBackupUnderLoadRestores(t *testing.T) {
	seed := seed()
	ctx, cancel := deadline(t)
	defer cancel()
	h := newGateway(ctx, t, seed)
	defer h.close()
	working, rest := context.WithCancel(ctx)
	defer rest()
	load := newLoad(h.members, h.gate)
	load.begin(working, seed)
	var all []backedUp
	for i := range backups {
		process := h.serve(plan{})
		ready := h.awaitReady(process, h.gate)
		if ready.IsZero() {
			t.Fatalf("the gateway does not start; its output:\n%s", process.LastLines())
		}
		process.EndsWithin(between(h.rng, 200*time.Millisecond, 900*time.Millisecond))
		if i == backups-1 { // while no gateway runs
			h.gate.shut()
			process.Kill()
		}
		all = append(all, h.backUp(i))
		h.gate.shut()
		process.Kill()
		h.ended(process, atMoment, ready)
	}
	rest()
	load.end()
	books := h.read()
	rows := map[ledger.AttemptID]row{}
	for _, r := range books.rows {
		rows[r.id] = r
	}
	for i := range all {
		settled, wrong := all[i].compare(rows)
		t.Logf("backup %d: took %s, %d rows, %d of them settled before it began", i,
			all[i].ended.Sub(all[i].began).Round(time.Millisecond), len(all[i].rows), settled)
		for _, w := range wrong[:min(len(wrong), mostShown)] {
			t.Errorf("backup %d: %s", i, w)
		}
		if settled == 0 {
			t.Errorf("backup %d: nothing was settled before it began", i)
		}
	}
	// The comparison finds missing rows: the first backup lacks the later ones.
	late := all[0]
	late.began = late.began.Add(time.Hour)
	if _, wrong := late.compare(rows); len(wrong) == 0 {
		t.Error("an outdated backup: found nothing missing")
	}
}

// shipEvery is the interval at which the journal is copied in TestMachineLost, and shipTime the longest duration of a
// copy here.
const (
	shipEvery = time.Second
	shipTime  = 2 * time.Second
)

// TestMachineLost kills a gateway that backs up to a directory, and restores from that directory. Only the records
// since the last copy of the journal may be lost.
func TestMachineLost(t *testing.T) {
	t.Parallel()
	seed := seed()
	ctx, cancel := deadline(t)
	defer cancel()
	h := newGateway(ctx, t, seed)
	defer h.close()
	to := filepath.Join(h.dir, "backups")
	h.env = append(h.env, "WEIR_BACKUP_TO="+to, "WEIR_BACKUP_EVERY="+shipEvery.String(), "WEIR_BACKUP_FULL=1m")
	working, rest := context.WithCancel(ctx)
	defer rest()
	load := newLoad(h.members, h.gate)
	load.rest = 100 * time.Millisecond // the loss is one of time
	load.begin(working, seed)
	var all []backedUp
	for i := range 2 { // the second life continues the first one
		process := h.serve(plan{})
		ready := h.awaitReady(process, h.gate)
		if ready.IsZero() {
			t.Fatalf("the gateway does not start; its output:\n%s", process.LastLines())
		}
		process.EndsWithin(6 * time.Second)
		h.gate.shut()
		process.Kill()
		h.ended(process, atMoment, ready)
		b := backedUp{began: process.Ended.Add(-shipEvery - shipTime)}
		h.restored(&b, to, i)
		all = append(all, b)
	}
	rest()
	load.end()
	rows := map[ledger.AttemptID]row{}
	for _, r := range h.read().rows {
		rows[r.id] = r
	}
	for i := range all {
		settled, wrong := all[i].compare(rows)
		t.Logf("loss %d: %d rows are left, %d were settled %s before", i, len(all[i].rows), settled, shipEvery+shipTime)
		for _, w := range wrong[:min(len(wrong), mostShown)] {
			t.Errorf("loss %d: %s", i, w)
		}
		if settled == 0 {
			t.Errorf("loss %d: nothing was settled in time", i)
		}
	}
	h.run("backup", "check", to)
	early := filepath.Join(h.dir, "early")
	h.run("restore", to, "--data", early, "--until", h.lives[0].ended.UTC().Format(time.RFC3339))
	if got := len(h.exported("--data", early)); got < len(all[0].rows)/2 || got >= len(all[1].rows) {
		t.Errorf("rows until the first loss: got %d, want at least half of %d, and fewer than %d", got, len(all[0].rows), len(all[1].rows))
	}
}

// backUp makes a backup, restores it and reads the restored ledger.
func (h *testGateway) backUp(number int) (b backedUp) {
	h.t.Helper()
	file := filepath.Join(h.dir, fmt.Sprintf("%d.backup", number))
	b.began = time.Now()
	h.run("backup", file)
	b.ended = time.Now()
	h.run("backup", "check", file)
	h.restored(&b, file, number)
	return b
}

// restored restores a backup and reads its ledger.
func (h *testGateway) restored(b *backedUp, from string, number int) {
	h.t.Helper()
	data := filepath.Join(h.dir, fmt.Sprintf("restored-%d", number))
	h.run("restore", from, "--data", data)
	var v verification
	out := h.run("ledger", "verify", "--json", "--data", data)
	if err := json.Unmarshal(out, &v); err != nil || len(v.Differences) > 0 || v.Open > 0 || v.Unprojected > 0 {
		h.t.Errorf("backup %d: got %s, %v; want no differences and nothing open", number, out, err)
	}
	b.rows = map[ledger.AttemptID]row{}
	for _, r := range h.exported("--data", data) {
		b.rows[r.id] = r
	}
}

// mostPause is the longest pause after a failed attempt here.
const mostPause = 5 * time.Second

// writtenBy returns the time by which the settlement of an attempt was written. That of a failed one is written together
// with the opening of the next attempt, after a pause that does not belong to the attempt.
func writtenBy(rows map[ledger.AttemptID]row, r *row) time.Time {
	ended := r.opened.Add(r.duration)
	if next, ok := rows[ledger.AttemptID{Request: r.id.Request, N: r.id.N + 1}]; ok && next.opened.After(ended) {
		return next.opened
	}
	if r.outcome != ledger.OutcomeOK {
		return ended.Add(mostPause)
	}
	return ended
}

// compare returns the differences between the backup and the ledger, and the number of rows that were settled before it
// began.
func (b *backedUp) compare(rows map[ledger.AttemptID]row) (settled int, wrong []string) {
	for id, want := range rows {
		before := want.outcome != ledger.OutcomeUnknown && writtenBy(rows, &want).Add(backupLag).Before(b.began)
		if before {
			settled++
		}
		got, ok := b.rows[id]
		switch {
		case !ok && before:
			wrong = append(wrong, fmt.Sprintf("missing: %s", &want))
		case ok && got.outcome != ledger.OutcomeUnknown && got != want, ok && before && got != want:
			wrong = append(wrong, fmt.Sprintf("got %s, want %s", &got, &want))
		}
	}
	for id, got := range b.rows {
		if _, ok := rows[id]; !ok {
			wrong = append(wrong, fmt.Sprintf("not in the ledger: %s", &got))
		}
	}
	return settled, wrong
}
