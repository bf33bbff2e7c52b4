package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"

	"weir/internal/backup"
	"weir/internal/config"
	"weir/internal/ledger"
)

const (
	shipLimit = 2 * time.Minute // bounds a round, except for a backup of the database
	lastShip  = 5 * time.Second // bounds the last round, at a stop
)

// ShipOptions holds the parts of a gateway that a shipper reads.
type ShipOptions struct {
	Config  *config.Config
	Ledger  *ledger.Ledger
	Journal string // directory of the journal
	Now     func() time.Time
	Log     *slog.Logger
	Version string // of this program
}

// Shipper copies the journal to the backup target, and regularly the database.
type Shipper struct {
	options ShipOptions
	cfg     *config.Backup
	target  backup.Target
	packer  packer

	known    bool   // whether the state of the target is known
	segment  string // the target has the journal up to this segment and offset
	offset   int64
	lastFull time.Time
	missing  bool // the target lacks some of the journal, so it needs the database

	failed error
	// shipped is when the target last had the whole journal, and full when it last received the database: in Unix
	// time, 0 if not since the start.
	shipped, full atomic.Int64
}

// Shipper returns the shipper of the configuration; nil without a backup target.
func (a *Admin) Shipper(o ShipOptions) (*Shipper, error) {
	cfg := o.Config
	if cfg.Backup.To == "" {
		return nil, nil //nolint:nilnil // no backups are configured
	}
	target, err := backup.OpenTarget(cfg.Backup.To, bucketOptions(cfg))
	if err != nil {
		return nil, fmt.Errorf("backup.to: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(cfg.Data, packing+"*"))
	for _, path := range left { // left by a killed process
		err = errors.Join(err, os.RemoveAll(path))
	}
	return &Shipper{options: o, cfg: &cfg.Backup, target: target, packer: packer{a.store, a.MasterKeys, cfg.Data}}, err
}

// CheckTarget returns the reason why the backup target of the configuration cannot be used, without connecting to it;
// nil if there is none.
func CheckTarget(cfg *config.Config) error {
	if cfg.Backup.To == "" {
		return nil
	}
	_, err := backup.OpenTarget(cfg.Backup.To, bucketOptions(cfg))
	return err
}

// Shipped returns when the target last had the whole journal: in Unix time, 0 if not since the start.
func (s *Shipper) Shipped() int64 { return s.shipped.Load() }

// Full returns when the target last received the database: in Unix time, 0 if not since the start.
func (s *Shipper) Full() int64 { return s.full.Load() }

func bucketOptions(cfg *config.Config) backup.BucketOptions {
	s := &cfg.Backup.S3
	return backup.BucketOptions{
		Endpoint: s.Endpoint, Region: s.Region, AccessKeyID: s.AccessKeyID, SecretAccessKey: s.SecretAccessKey,
		Proxy: cfg.Outbound.Proxy, CAFile: cfg.Outbound.CAFile,
	}
}

// Run runs rounds until ctx ends, and then ships the last records.
func (s *Shipper) Run(ctx context.Context) {
	tick := time.NewTicker(s.cfg.Every)
	defer tick.Stop()
	for {
		s.note(ctx, s.round(ctx))
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastShip)
			defer cancel()
			s.note(last, s.ship(last))
			return
		case <-tick.C:
		}
	}
}

// note logs the first failure of an outage, and its end.
func (s *Shipper) note(ctx context.Context, err error) {
	log := s.options.Log
	switch {
	case err != nil && ctx.Err() != nil: // stopping
	case err != nil && s.failed == nil:
		log.Error("the backup failed; retrying", "to", s.cfg.To, "err", err)
	case err == nil && s.failed != nil:
		log.Info("the backup works again", "to", s.cfg.To)
	}
	s.failed = err
}

func (s *Shipper) round(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, shipLimit)
	defer cancel()
	if err := s.look(limited); err != nil {
		return err
	}
	if err := s.ship(limited); err != nil {
		return err
	}
	if !s.missing && s.options.Now().Sub(s.lastFull) < s.cfg.Full {
		return nil
	}
	return s.backUp(ctx)
}

// look reads the state of the target.
func (s *Shipper) look(ctx context.Context) error {
	if s.known {
		return nil
	}
	chunks, err := backup.Chunks(ctx, s.target, s.options.Ledger.Journal().String())
	if err != nil {
		return err
	}
	if n := len(chunks); n > 0 {
		s.segment, s.offset = chunks[n-1].Segment, chunks[n-1].Offset+chunks[n-1].Length
	}
	fulls, err := backup.Fulls(ctx, s.target)
	if n := len(fulls); n > 0 {
		s.lastFull = fulls[n-1]
	}
	s.known = err == nil
	return err
}

// ship copies the new records of the journal.
func (s *Shipper) ship(ctx context.Context) error {
	if !s.known {
		return nil
	}
	began := s.options.Now()
	extents, complete := s.options.Ledger.SyncedAfter(s.segment, s.offset)
	s.missing = s.missing || !complete
	for _, e := range extents {
		c := backup.Chunk{
			Journal: s.options.Ledger.Journal().String(), Segment: e.Segment, Offset: e.Offset, Length: e.Length,
			At: began,
		}
		if err := s.put(ctx, &c); err != nil {
			return err
		}
		s.segment, s.offset = e.Segment, e.Offset+e.Length
	}
	s.shipped.Store(began.Unix())
	return nil
}

func (s *Shipper) put(ctx context.Context, c *backup.Chunk) error {
	f, err := os.Open(filepath.Join(s.options.Journal, c.Segment))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it is only read
	var packed bytes.Buffer
	z, err := zstd.NewWriter(&packed, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return err
	}
	n, err := io.Copy(z, io.NewSectionReader(f, c.Offset, c.Length))
	if err == nil && n != c.Length {
		err = fmt.Errorf("%s has %d bytes, not %d", c.Segment, c.Offset+n, c.Offset+c.Length)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		return err
	}
	return s.target.Put(ctx, c.Name(), &packed, int64(packed.Len()))
}

// backUp stores a backup of the database in the target, and deletes files that are no longer needed.
func (s *Shipper) backUp(ctx context.Context) (err error) {
	temp, err := os.MkdirTemp(s.packer.data, packing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	o := &s.options
	done, err := s.packer.pack(ctx, filepath.Join(temp, databaseFile), &BackupOptions{
		Version: o.Version, Now: o.Now, Log: o.Log,
	})
	if err != nil {
		return err
	}
	f, err := os.Open(done.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	created := done.Manifest.Created
	if err := s.target.Put(ctx, backup.FullName(created), f, done.Size); err != nil {
		return err
	}
	s.lastFull, s.missing = created, false
	s.full.Store(created.Unix())
	return s.prune(ctx)
}

// prune retains the newest backups of the database, and the journal since the oldest of them.
func (s *Shipper) prune(ctx context.Context) error {
	fulls, err := backup.Fulls(ctx, s.target)
	extra := len(fulls) - s.cfg.Keep
	if err != nil || extra <= 0 {
		return err
	}
	for _, began := range fulls[:extra] {
		if err := s.target.Remove(ctx, backup.FullName(began)); err != nil {
			return err
		}
	}
	chunks, err := backup.Chunks(ctx, s.target, "")
	for i := range chunks {
		if err == nil && chunks[i].At.Before(fulls[extra]) {
			err = s.target.Remove(ctx, chunks[i].Name())
		}
	}
	return err
}
