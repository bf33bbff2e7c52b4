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
	// reportStale is after how long a gateway that says nothing is taken not to run: it
	// writes at least every reportLong.
	reportLong  = 10 * time.Second
	reportStale = 3 * reportLong
)

// healthReport is what a running gateway leaves in a file for commands beside it.
type healthReport struct {
	At        time.Time           `json:"at"`
	Providers []ProviderCondition `json:"providers"`
}

// Report writes into a file how the providers fare, whenever that has changed, and deletes it
// when ctx ends.
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
			log.Debug("provider health could not be written", "err", err)
		}
		select {
		case <-ctx.Done():
			_ = os.Remove(path) // nobody knows any more
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

// Reported is what a running gateway has written into the file; false where none runs.
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
