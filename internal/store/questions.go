package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
)

func insertQuestions() *insertion {
	return &insertion{
		head:    "INSERT INTO questions (attempt, provider, reply, due, until) VALUES ",
		columns: 5,
		tail:    " ON CONFLICT (attempt) DO NOTHING",
	}
}

// question writes questions to providers about attempts of the batch.
func (a *applier) question(ctx context.Context, list []ledger.Entry, now time.Time) error {
	var ask []*ledger.Entry
	for i := range list {
		if e := &list[i]; e.Ask && now.Before(e.Opened.Add(ledger.QuestionFor)) {
			ask = append(ask, e)
		}
	}
	due := micros(now.Add(ledger.QuestionPauses()[0]))
	_, err := a.bulk.insert(ctx, a.questions, len(ask), func(dst []any, i int) []any {
		e := ask[i]
		return append(dst, e.ID.String(), e.Provider, e.ReplyID, due, micros(e.Opened.Add(ledger.QuestionFor)))
	})
	return err
}

// TakeQuestions leases at most n due questions to those providers, those due earliest first. Each becomes due again
// after its next pause, and never after the last one. A power cut may lose the lease: then the question is asked once
// more.
func (s *Corrections) TakeQuestions(ctx context.Context, providers []string, n int) (
	list []ledger.Question, err error,
) {
	err = s.writeFast(ctx, "take questions", func(tx *sql.Tx) error {
		now, err := s.clock.read(ctx, tx)
		if err != nil {
			return err
		}
		list, err = takeQuestions(ctx, tx, providers, n, now)
		return err
	})
	return list, err
}

// takeQuestions has the condition on due twice, as takeDue does, because two nodes may select the same rows.
func takeQuestions(ctx context.Context, tx *sql.Tx, providers []string, n int, now int64) ([]ledger.Question, error) {
	var next strings.Builder
	var args []any
	for i, pause := range ledger.QuestionPauses()[1:] {
		next.WriteString(" WHEN asked = ? THEN CAST(? AS BIGINT)")
		args = append(args, int64(i), now+pause.Microseconds())
	}
	args = append(args, now)
	for _, p := range providers {
		args = append(args, p)
	}
	rows, err := tx.QueryContext(ctx, "UPDATE questions SET due = CASE"+next.String()+
		" END, asked = asked + 1 WHERE due <= ? AND attempt IN"+
		" (SELECT attempt FROM questions WHERE "+among("provider", len(providers))+
		" AND due <= ? AND until > ? ORDER BY due LIMIT ?)"+
		" RETURNING attempt, provider, reply", append(args, now, now, int64(n))...)
	return collect(rows, err, func(row scanner) (q ledger.Question, err error) {
		var attempt string
		if err = row.Scan(&attempt, &q.Provider, &q.ReplyID); err == nil {
			q.ID, err = ledger.ParseAttemptID(attempt)
		}
		return q, err
	})
}

// AnswerQuestion resolves an attempt by its provider's answer about the reply, stores the provider's own cost, and
// deletes the question. If the answer decides nothing, it reports false and changes nothing else: see
// ledger.Row.Tell.
func (s *Corrections) AnswerQuestion(ctx context.Context, id ledger.AttemptID, r *llm.Reply, billByProvider bool) (
	resolved bool, err error,
) {
	err = s.write(ctx, s.sure, "resolve attempt "+id.String(), func(tx *sql.Tx) error {
		resolved = false
		if _, err := tx.ExecContext(ctx, "DELETE FROM questions WHERE attempt = ?", id.String()); err != nil {
			return err
		}
		a, err := s.attemptAlone(ctx, tx, id)
		if err == nil {
			err = priceBook{}.fillAll(ctx, tx, &a.Attempt)
		}
		if errors.Is(err, ledger.ErrNoAttempt) || errors.Is(err, errNoPrice) {
			return nil // retention deleted the attempt or its price
		}
		if err != nil {
			return err
		}
		c, ok := a.Tell(r, billByProvider)
		if resolved = ok; !ok {
			return nil
		}
		if told := r.ProviderCost; told != nil && *told >= 0 {
			a.ProviderCost = told
			if err := s.rewrite(ctx, tx, &a.Entry); err != nil {
				return err
			}
		}
		return s.correct(ctx, tx, audit.Gateway(), []decision{{a, c}})
	})
	return resolved && err == nil, err
}

// RetainQuestions deletes expired questions.
func (s *Corrections) RetainQuestions(ctx context.Context) error {
	now := micros(s.clock.now())
	return s.clear(ctx, &leftover{"questions", "attempt", "until < ?", []any{now}})
}

// rewrite writes the settlement of an existing row again. It keeps the fields that this program does not know.
func (s *Corrections) rewrite(ctx context.Context, tx *sql.Tx, e *ledger.Entry) error {
	day := dayOf(e.Arrived)
	var w rowWriter
	w.begin(s.clock.now())
	_, err := packOld(ctx, tx, &w, "day = ? AND request = ? AND n = ?", day, e.ID.Request.String(),
		int64(e.ID.N))
	if err != nil {
		return err
	}
	id := rowID(nil, e.ID)
	var data []byte
	err = tx.QueryRowContext(ctx, "SELECT data FROM attempt_rows WHERE day = ? AND id = ?", day, id).Scan(&data)
	if err == nil {
		data, err = ledger.Repack(data, &e.Attempt, &e.Settlement)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE attempt_rows SET data = ? WHERE day = ? AND id = ?", data, day, id)
	}
	return err
}
