package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"weir/internal/config"
	"weir/internal/route"
)

const (
	healthFile  = "providers.json"
	healthEvery = time.Second
	// healthStale is after how long a gateway that says nothing is taken not to
	// run: it writes at least every healthLong.
	healthLong  = 10 * time.Second
	healthStale = 3 * healthLong
)

// healthReport is what a running gateway leaves in the data directory for
// commands beside it.
type healthReport struct {
	At        time.Time                 `json:"at"`
	Providers []route.ProviderCondition `json:"providers"`
}

// reportHealth writes how the providers fare, whenever that has changed.
func (g *instance) reportHealth(ctx context.Context) {
	every := time.NewTicker(healthEvery)
	defer every.Stop()
	var last []byte
	var written time.Time
	for {
		now := g.options.Now()
		all := g.router.Table().Providers(now)
		text, err := json.Marshal(all)
		if err == nil && (!bytes.Equal(text, last) || now.Sub(written) >= healthLong) {
			err = writeHealth(g.options.Config.Data, healthReport{now.UTC(), all})
			last, written = text, now
		}
		if err != nil {
			g.options.Log.Debug("provider health could not be written", "err", err)
		}
		select {
		case <-ctx.Done():
			_ = os.Remove(filepath.Join(g.options.Config.Data, healthFile)) // nobody knows any more
			return
		case <-every.C:
		}
	}
}

func writeHealth(dir string, r healthReport) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, healthFile)
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Providers are the configured providers and, where a gateway runs on the data
// directory, how they fare there.
func Providers(ctx context.Context, cfg config.Config, getenv func(string) string, log *slog.Logger) (
	all []route.ProviderCondition, running bool, err error,
) {
	text, err := os.ReadFile(filepath.Join(cfg.Data, healthFile))
	if err == nil {
		var r healthReport
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, false, fmt.Errorf("read %s: %w", healthFile, err)
		}
		if time.Since(r.At) < healthStale {
			return r.Providers, true, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	f := newFleet(&Options{Config: cfg, Getenv: getenv, Log: log}, nil)
	defer f.close()
	table, err := f.table(ctx, &cfg)
	if err != nil {
		return nil, false, err
	}
	defer table.Close()
	return table.Providers(time.Now()), false, nil
}
