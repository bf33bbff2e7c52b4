package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir/internal/audit"
)

// AuditLog reads the audit log. Every change adds an entry to it.
type AuditLog struct{ *conn }

// record adds an entry to the audit log, in the transaction of the change. Entries are written in turn.
func (s *conn) record(ctx context.Context, tx *sql.Tx, e audit.Entry) error {
	if err := s.inTurn(ctx, tx); err != nil {
		return err
	}
	var before audit.Hash
	var last string
	err := tx.QueryRowContext(ctx, "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1").Scan(&e.Seq, &last)
	if err == nil {
		err = before.UnmarshalText([]byte(last))
	} else if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	e.Seq++
	e.At = fromMicros(micros(s.clock.now()))
	e.Prove()
	proofs := proofColumns(e.Proofs)
	if err == nil {
		e.Hash, err = e.HashAfter(before)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, "INSERT INTO audit ("+auditColumns+
			") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			e.Seq, micros(e.At), string(e.Actor.Kind), e.Actor.ID, e.Actor.Name, e.Actor.Address, e.Actor.Request,
			string(e.Action),
			e.Object.Kind, e.Object.ID, e.Object.Name, e.Account, orNull(e.Before), orNull(e.After), e.Hash.String(),
			proofs[0], proofs[1], proofs[2], proofs[3], e.Actor.Tool)
	}
	if err != nil {
		return fmt.Errorf("write audit log: %w", err)
	}
	return nil
}

const auditColumns = "seq, at, actor_kind, actor_id, actor_name, address, request, action, object_kind, object_id, " +
	"object_name, account, was, became, hash, actor_salt, actor_proof, object_salt, object_proof, tool"

// proofColumns returns the four columns of the proofs.
func proofColumns(p *audit.Proofs) (c [4]string) {
	if p == nil {
		return c
	}
	if p.Actor != nil {
		c[0], c[1] = p.Actor.Salt, p.Actor.Hash
	}
	if p.Object != nil {
		c[2], c[3] = p.Object.Salt, p.Object.Hash
	}
	return c
}

// proofsOf decodes the output of proofColumns.
func proofsOf(c [4]string) *audit.Proofs {
	var p audit.Proofs
	if c[1] != "" {
		p.Actor = &audit.Proof{Salt: c[0], Hash: c[1]}
	}
	if c[3] != "" {
		p.Object = &audit.Proof{Salt: c[2], Hash: c[3]}
	}
	if p == (audit.Proofs{}) {
		return nil
	}
	return &p
}

func orNull(raw json.RawMessage) any {
	if raw == nil {
		return nil
	}
	return string(raw)
}

func scanAudit(row scanner) (e audit.Entry, err error) {
	var at int64
	var was, became sql.NullString
	var hash string
	var proofs [4]string
	err = row.Scan(&e.Seq, &at, &e.Actor.Kind, &e.Actor.ID, &e.Actor.Name, &e.Actor.Address, &e.Actor.Request,
		&e.Action, &e.Object.Kind, &e.Object.ID, &e.Object.Name, &e.Account, &was, &became, &hash,
		&proofs[0], &proofs[1], &proofs[2], &proofs[3], &e.Actor.Tool)
	if err != nil {
		return e, err
	}
	e.At, e.Proofs = fromMicros(at), proofsOf(proofs)
	if was.Valid {
		e.Before = json.RawMessage(was.String)
	}
	if became.Valid {
		e.After = json.RawMessage(became.String)
	}
	return e, e.Hash.UnmarshalText([]byte(hash))
}

// auditWhere returns the condition of a query, with its arguments.
func auditWhere(q *audit.Query) (condition string, args []any) {
	where := []string{"1 = 1"}
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if q.Account != "" {
		add("account = ?", q.Account)
	}
	if q.Actor != "" {
		add("(actor_id = ? OR actor_name = ?)", q.Actor, q.Actor)
	}
	if q.Action != "" {
		add("substr(action, 1, ?) = ?", int64(len(q.Action)), string(q.Action))
	}
	if q.Object != "" {
		add("object_id = ?", q.Object)
	}
	if !q.From.IsZero() {
		add("at >= ?", micros(q.From))
	}
	if !q.To.IsZero() {
		add("at < ?", micros(q.To))
	}
	if q.Before > 0 {
		add("seq < ?", q.Before)
	}
	if q.After > 0 {
		add("seq > ?", q.After)
	}
	return strings.Join(where, " AND "), args
}

// Entries returns the entries of the audit log that a query selects, newest first.
func (s *AuditLog) Entries(ctx context.Context, q audit.Query) ([]audit.Entry, error) {
	where, args := auditWhere(&q)
	order := "seq DESC"
	if q.After > 0 {
		order = "seq"
	}
	list, err := reportList(ctx, s.conn, "", "read audit log", scanAudit, "SELECT "+auditColumns+" FROM audit WHERE "+
		where+" ORDER BY "+order+" LIMIT ?", append(args, int64(max(1, q.Limit)))...)
	if q.After > 0 {
		slices.Reverse(list)
	}
	return list, err
}

// Export calls fn with every entry of the audit log that a query selects, oldest first, including entries that are
// written meanwhile. It ignores the query's limit.
func (s *AuditLog) Export(ctx context.Context, q audit.Query, fn func(*audit.Entry) error) error {
	return s.each(ctx, "export audit log", q, fn)
}

// Verify checks the whole audit log: whether each entry's hash follows from the previous one, and whether the head of
// an earlier verification, from, is among them. A zero from skips the latter.
func (s *AuditLog) Verify(ctx context.Context, from audit.Hash) (audit.Verification, error) {
	chain := audit.NewChain(from)
	err := s.each(ctx, "verify audit log", audit.Query{}, func(e *audit.Entry) error {
		chain.Add(e)
		return nil
	})
	return chain.Verification, err
}

// auditPiece is how many entries are read at a time.
const auditPiece = 500

// each calls fn with every entry that a query selects, oldest first. It reads them in pieces, so that no connection
// is held while fn waits for a client. Entries are never deleted, and change only when a person's data is deleted.
func (s *AuditLog) each(ctx context.Context, doing string, q audit.Query, fn func(*audit.Entry) error) error {
	for {
		where, args := auditWhere(&q)
		list, err := reportList(ctx, s.conn, "", doing, scanAudit, "SELECT "+auditColumns+" FROM audit WHERE "+where+
			" ORDER BY seq LIMIT ?", append(args, auditPiece)...)
		for i := 0; i < len(list) && err == nil; i++ {
			if err = fn(&list[i]); err != nil {
				err = fmt.Errorf("%s: %w", doing, err)
			}
		}
		if err != nil || len(list) < auditPiece {
			return err
		}
		q.After = list[len(list)-1].Seq
	}
}
