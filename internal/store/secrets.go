package store

import (
	"context"
	"database/sql"
	"fmt"

	"weir/internal/audit"
	"weir/internal/seal"
	"weir/internal/signin"
	"weir/internal/webhook"
)

// Reseal encrypts all secrets in the database with the newest key of the ring, in one transaction, and returns how
// many there are.
func (s *Webhooks) Reseal(ctx context.Context, by audit.Actor, ring *seal.Ring) (n int, err error) {
	newest := ring.Newest()
	err = s.write(ctx, s.sure, "reseal secrets", func(tx *sql.Tx) error {
		if err := s.inTurn(ctx, tx); err != nil {
			return err
		}
		before, err := masterKey(ctx, tx)
		if err != nil {
			return err
		}
		if n, err = resealWebhooks(ctx, tx, ring); err != nil {
			return err
		}
		versions, err := resealManaged(ctx, tx, ring)
		if err != nil {
			return err
		}
		factors, err := resealFactors(ctx, tx, ring)
		if err != nil {
			return err
		}
		content, err := resealContent(ctx, tx, ring)
		if err != nil {
			return err
		}
		connections, err := resealConnections(ctx, tx, ring)
		if err != nil {
			return err
		}
		n += versions + factors + content + connections
		_, err = tx.ExecContext(
			ctx, "INSERT INTO master_key (id, name) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET name = excluded.name",
			newest)
		if err != nil {
			return err
		}
		return s.tell(ctx, tx, audit.Entry{
			Actor: by, Action: audit.SecretsResealed, Object: audit.Object{Kind: "secrets"},
		}, facts{"key": orNone(before)}, facts{"key": newest, "secrets": n})
	})
	return n, err
}

// resealWebhooks encrypts the secrets of webhook endpoints.
func resealWebhooks(ctx context.Context, tx *sql.Tx, ring *seal.Ring) (n int, err error) {
	type row struct{ id, secret, former string }
	rows, err := tx.QueryContext(ctx, "SELECT id, secret, former FROM webhooks ORDER BY id")
	all, err := collect(rows, err, func(r scanner) (x row, err error) { return x, r.Scan(&x.id, &x.secret, &x.former) })
	if err != nil {
		return 0, err
	}
	for _, x := range all {
		for _, text := range []*string{&x.secret, &x.former} {
			if *text == "" {
				continue
			}
			if *text, err = ring.Reseal(*text, webhook.SecretOf(x.id)); err != nil {
				return 0, fmt.Errorf("secret of webhook %s: %w", x.id, err)
			}
			n++
		}
		if _, err := tx.ExecContext(ctx, "UPDATE webhooks SET secret = ?, former = ? WHERE id = ?", x.secret, x.former,
			x.id); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// resealFactors encrypts the secrets of second factors.
func resealFactors(ctx context.Context, tx *sql.Tx, ring *seal.Ring) (n int, err error) {
	type row struct{ id, secret string }
	rows, err := tx.QueryContext(ctx, "SELECT id, totp FROM users WHERE totp <> '' ORDER BY id")
	all, err := collect(rows, err, func(r scanner) (x row, err error) { return x, r.Scan(&x.id, &x.secret) })
	if err != nil {
		return 0, err
	}
	for _, x := range all {
		sealed, err := ring.Reseal(x.secret, signin.FactorOf(x.id))
		if err != nil {
			return 0, fmt.Errorf("second factor of user %s: %w", x.id, err)
		}
		if _, err := tx.ExecContext(ctx, "UPDATE users SET totp = ? WHERE id = ?", sealed, x.id); err != nil {
			return 0, err
		}
	}
	return len(all), nil
}

// SealedWith returns how many secrets in the database are encrypted with each master key, by its name.
func (s *Webhooks) SealedWith(ctx context.Context) (map[string]int, error) {
	rows, err := s.read.QueryContext(
		ctx, "SELECT secret FROM webhooks UNION ALL SELECT former FROM webhooks WHERE former <> ''"+
			" UNION ALL SELECT document FROM managed_versions UNION ALL SELECT totp FROM users WHERE totp <> ''"+
			" UNION ALL SELECT sealed FROM mcp_connections UNION ALL SELECT sealed FROM mcp_clients"+
			" UNION ALL SELECT sealed FROM content_keys WHERE "+encrypts)
	all, err := collect(rows, err, func(row scanner) (text string, err error) { return text, row.Scan(&text) })
	if err != nil {
		return nil, fmt.Errorf("read secrets: %w", err)
	}
	counts := map[string]int{}
	for _, text := range all {
		counts[seal.NameOf(text)]++
	}
	return counts, nil
}

// orNone returns a text as a fact; nil if it is empty.
func orNone(text string) any {
	if text == "" {
		return nil
	}
	return text
}
