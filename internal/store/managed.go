package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"weir/internal/audit"
	"weir/internal/managed"
	"weir/internal/seal"
)

// mostVersions is how many versions of the managed configuration are stored.
const mostVersions = 1000

// Managed stores the managed configuration, in versions.
type Managed struct{ *conn }

// Seq returns the number of the version in force; 0 for none.
func (s *Managed) Seq(ctx context.Context) (seq int64, err error) {
	err = s.read.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM managed_versions").Scan(&seq)
	if err != nil {
		return 0, fmt.Errorf("read the version of the managed configuration: %w", err)
	}
	return seq, nil
}

// Version returns the version with that number, with its document; 0 means the one in force. Its Seq is 0 if there is
// none.
func (s *Managed) Version(ctx context.Context, seq int64) (v managed.Version, err error) {
	var at int64
	err = s.read.QueryRowContext(ctx, "SELECT seq, at, who, summary, document FROM managed_versions"+
		" WHERE seq = ? OR ? = 0 ORDER BY seq DESC LIMIT 1", seq, seq).
		Scan(&v.Seq, &at, &v.By, &v.Summary, &v.Sealed)
	if isNone(err) {
		return managed.Version{}, nil
	}
	if err != nil {
		return v, fmt.Errorf("read the managed configuration: %w", err)
	}
	v.At = fromMicros(at)
	return v, nil
}

// Versions returns up to most versions, without their documents, newest first: those before a number, or the newest
// of all if it is 0.
func (s *Managed) Versions(ctx context.Context, before int64, most int) ([]managed.Version, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT seq, at, who, summary FROM managed_versions WHERE seq < ? OR ? = 0"+
		" ORDER BY seq DESC LIMIT ?", before, before, int64(most))
	scan := func(row scanner) (v managed.Version, err error) {
		var at int64
		err = row.Scan(&v.Seq, &at, &v.By, &v.Summary)
		v.At = fromMicros(at)
		return v, err
	}
	return listed("read the versions of the managed configuration", rows, err, scan)
}

// Put adds the version after the one with number after; changes describes it for the audit log. It returns
// managed.ErrChanged if that is no longer the newest.
func (s *Managed) Put(ctx context.Context, by audit.Actor, after int64, sealed string, changes []managed.Change) error {
	return s.write(ctx, s.sure, "change the managed configuration", func(tx *sql.Tx) error {
		if err := s.inTurn(ctx, tx); err != nil {
			return err
		}
		var newest int64
		err := tx.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM managed_versions").Scan(&newest)
		if err != nil {
			return err
		}
		if newest != after {
			return managed.ErrChanged
		}
		master, err := masterKey(ctx, tx)
		if err != nil {
			return err
		}
		if master != seal.NameOf(sealed) {
			return fmt.Errorf("the managed configuration is sealed with the key %s, but the installation uses %s",
				seal.NameOf(sealed), master)
		}
		paths := make([]string, len(changes))
		for i := range changes {
			paths[i] = changes[i].Path
			if err := s.noteChange(ctx, tx, by, audit.ConfigChanged, &changes[i]); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO managed_versions (seq, at, who, summary, document)"+
			" VALUES (?, ?, ?, ?, ?)", after+1, micros(s.clock.now()), by.String(), strings.Join(paths, ", "), sealed)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM managed_versions WHERE seq <= ?", after+1-mostVersions)
		return err
	})
}

// NoteTest adds an audit log entry that an unsaved object is tested.
func (s *Managed) NoteTest(ctx context.Context, by audit.Actor, c *managed.Change) error {
	return s.write(ctx, s.sure, "note a test", func(tx *sql.Tx) error {
		return s.noteChange(ctx, tx, by, audit.ConfigTested, c)
	})
}

// noteChange adds an audit log entry about one object.
func (s *Managed) noteChange(ctx context.Context, tx *sql.Tx, by audit.Actor, a audit.Action, c *managed.Change) error {
	_, err := s.note(ctx, tx, audit.Entry{
		Actor: by, Action: a, Object: audit.Object{Kind: c.Section, Name: c.Name},
	}, factOf(c.Before), factOf(c.After))
	return err
}

// factOf returns the facts of an object of a document; nil for none.
func factOf(v any) facts {
	if v == nil {
		return nil
	}
	if object, ok := v.(map[string]any); ok {
		return object
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil // a value parsed from YAML can always be encoded
	}
	return facts{"value": string(text)}
}

// resealManaged encrypts every version with the newest key of the ring.
func resealManaged(ctx context.Context, tx *sql.Tx, ring *seal.Ring) (n int, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT seq, document FROM managed_versions ORDER BY seq")
	scan := func(r scanner) (v managed.Version, err error) { return v, r.Scan(&v.Seq, &v.Sealed) }
	all, err := collect(rows, err, scan)
	if err != nil {
		return 0, err
	}
	for i := range all {
		sealed, err := ring.Reseal(all[i].Sealed, managed.About)
		if err != nil {
			return 0, fmt.Errorf("version %d of the managed configuration: %w", all[i].Seq, err)
		}
		if _, err := tx.ExecContext(ctx, "UPDATE managed_versions SET document = ? WHERE seq = ?", sealed,
			all[i].Seq); err != nil {
			return 0, err
		}
	}
	return len(all), nil
}
