package store

import (
	"context"
	"fmt"

	"weir/internal/seal"
	"weir/internal/webhook"
)

// AllWebhooks are the endpoints of the installation and then those of all accounts, in
// the order in which they were made.
func (s *Store) AllWebhooks(ctx context.Context) ([]webhook.Endpoint, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT "+webhookColumns+" FROM webhooks ORDER BY CASE WHEN account = '' THEN 0 ELSE 1 END, id")
	list, err := collect(rows, err, scanWebhook)
	if err != nil {
		return nil, fmt.Errorf("read endpoints: %w", err)
	}
	for i := range list {
		list[i] = s.asOfNow(list[i])
	}
	return list, nil
}

// SealedWith is how many secrets in the database are sealed with each master key, by
// its name.
func (s *Store) SealedWith(ctx context.Context) (map[string]int, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT secret FROM webhooks UNION ALL SELECT former FROM webhooks WHERE former <> ''")
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
