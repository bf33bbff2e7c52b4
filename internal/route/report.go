package route

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
)

const (
	reportEvery = time.Second
	// reportStale is the age of a report that no gateway updates any more: a running one writes at least every
	// reportLong.
	reportLong  = 10 * time.Second
	reportStale = 3 * reportLong
)

// healthReport is the file that a running gateway writes for commands on the same machine.
type healthReport struct {
	At        time.Time           `json:"at"`
	Providers []ProviderCondition `json:"providers"`
}

// Report writes the health of the providers to a file whenever it has changed, and deletes the file when ctx ends.
func (r *Router) Report(ctx context.Context, path string, clock func() time.Time, log *slog.Logger) {
	every := time.NewTicker(reportEvery)
	defer every.Stop()
	var last []byte
	var written time.Time
	for {
		now := clock()
		all := r.Table().Providers(now)
		text, err := json.Marshal(all)
		if err == nil && (!bytes.Equal(text, last) || now.Sub(written) >= reportLong) {
			err = healthReport{now.UTC(), all}.write(path)
			last, written = text, now
		}
		if err != nil {
			log.Debug("failed to write the provider health file", "err", err)
		}
		select {
		case <-ctx.Done():
			_ = os.Remove(path) // the report is no longer valid
			return
		case <-every.C:
		}
	}
}

func (h healthReport) write(path string) error {
	text, err := json.MarshalIndent(h, "", "  ")
	if err == nil {
		err = os.WriteFile(path+".new", append(text, '\n'), 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	return err
}

// Reported reads the file that a running gateway has written; running is false if no gateway runs.
func Reported(path string) (all []ProviderCondition, running bool, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	var h healthReport
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	if err != nil {
		return nil, false, fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	return h.Providers, time.Since(h.At) < reportStale, nil
}
