package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"

	"weir/internal/audit"
	"weir/internal/contentlog"
)

const contentColumns = "account, request, key, created, sealed"

func scanContent(row scanner) (r contentlog.Record, err error) {
	var request string
	var created int64
	if err = row.Scan(&r.Account, &request, &r.Key, &created, &r.Sealed); err != nil {
		return r, err
	}
	r.Created = fromMicros(created)
	r.Request, err = uuid.Parse(request)
	return r, err
}

// Has reports whether the content of a request is logged and not older than since.
func (s *Content) Has(ctx context.Context, account string, request uuid.UUID, since time.Time) (has bool, err error) {
	err = s.read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM content WHERE account = ? AND request = ?"+
		" AND created >= ?)", account, request.String(), micros(since)).Scan(&has)
	return has, err
}

// Read returns the content of a request and records in the audit log that the actor has seen it. The error is
// contentlog.ErrNotFound if there is none, or if it was logged before since.
func (s *Content) Read(ctx context.Context, by audit.Actor, account string, request uuid.UUID, since time.Time) (
	r contentlog.Record, err error,
) {
	err = s.write(ctx, s.sure, "read content", func(tx *sql.Tx) error {
		r, err = scanContent(tx.QueryRowContext(ctx, "SELECT "+contentColumns+" FROM content WHERE account = ?"+
			" AND request = ? AND created >= ?", account, request.String(), micros(since)))
		if isNone(err) {
			return contentlog.ErrNotFound
		}
		if err != nil {
			return err
		}
		return s.tell(ctx, tx, audit.Entry{
			Actor: by, Action: audit.ContentRead, Account: account,
			Object: audit.Object{Kind: "request", ID: request.String()},
		}, nil, nil)
	})
	return r, err
}

// ContentQuery selects content of an account.
type ContentQuery struct {
	Account     string // id
	From, Until time.Time
}

// contentPiece is how many records an export reads at a time.
const contentPiece = 16

// Export calls fn with the content that a query selects, oldest first, and before that records in the audit log that
// the actor has seen it. No connection is held while fn runs.
func (s *Content) Export(ctx context.Context, by audit.Actor, account audit.Object, q ContentQuery,
	fn func(*contentlog.Record) error,
) error {
	err := s.write(ctx, s.sure, "export content", func(tx *sql.Tx) error {
		return s.tell(ctx, tx, audit.Entry{
			Actor: by, Action: audit.ContentExported, Account: q.Account, Object: account,
		}, nil, facts{"from": q.From.UTC().Format(time.RFC3339), "to": q.Until.UTC().Format(time.RFC3339)})
	})
	if err != nil {
		return err
	}
	from, after := micros(q.From), ""
	for {
		list, err := reportList(ctx, s.conn, q.Account, "export content", scanContent, "SELECT "+contentColumns+
			" FROM content WHERE account = ? AND (created, request) > (?, ?) AND created < ? ORDER BY created, request"+
			" LIMIT ?", q.Account, from, after, micros(q.Until), contentPiece)
		if err != nil {
			return err
		}
		for i := range list {
			if err := fn(&list[i]); err != nil {
				return fmt.Errorf("export content: %w", err)
			}
		}
		if len(list) < contentPiece {
			return nil
		}
		last := &list[len(list)-1]
		from, after = micros(last.Created), last.Request.String()
	}
}
