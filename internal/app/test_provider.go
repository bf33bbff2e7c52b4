package app

import (
	"context"

	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/managed"
)

// TestProvider tests a provider like a gateway on this data directory, with a journal of its own.
func TestProvider(ctx context.Context, o Options, by audit.Actor, t managed.Trial) (f managed.Finding, err error) {
	if o.JournalDir, err = ledger.AwaitDir(ctx, o.Config.Data, true); err != nil {
		return f, err
	}
	g, err := build(ctx, &o)
	if err != nil {
		return f, err
	}
	f, err = g.admin.Configuration.Test(ctx, by, t)
	if closed := g.close(); err == nil {
		err = closed
	}
	return f, err
}
