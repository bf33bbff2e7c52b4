package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"

	"weir/internal/backup"
	"weir/internal/config"
)

const (
	shipLimit = 2 * time.Minute // bounds a round, except for a backup of the database
	lastShip  = 5 * time.Second // bounds the last round, at a stop
)

// shipper copies the journal to the backup target, and regularly the database.
type shipper struct {
	instance *instance
	cfg      *config.Backup
	target   backup.Target
	data     Data
	now      func() time.Time

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

func (g *instance) openBackup() error {
	cfg := &g.options.Config
	if cfg.Backup.To == "" {
		return nil
	}
	target, err := backup.OpenTarget(cfg.Backup.To, bucketOptions(cfg))
	if err != nil {
		return fmt.Errorf("backup.to: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(cfg.Data, packing+"*"))
	for _, path := range left { // left by a killed process
		err = errors.Join(err, os.RemoveAll(path))
	}
	g.shipper = &shipper{
		instance: g, cfg: &cfg.Backup, target: target, data: Data{cfg: *cfg, store: g.store}, now: g.options.Now,
	}
	return err
}

func bucketOptions(cfg *config.Config) backup.BucketOptions {
	s := &cfg.Backup.S3
	return backup.BucketOptions{
		Endpoint: s.Endpoint, Region: s.Region, AccessKeyID: s.AccessKeyID, SecretAccessKey: s.SecretAccessKey,
		Proxy: cfg.Outbound.Proxy, CAFile: cfg.Outbound.CAFile,
	}
}

// run runs rounds until ctx ends, and then ships the last records.
func (s *shipper) run(ctx context.Context) {
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
func (s *shipper) note(ctx context.Context, err error) {
	log := s.instance.options.Log
	switch {
	case err != nil && ctx.Err() != nil: // stopping
	case err != nil && s.failed == nil:
		log.Error("the backup failed; retrying", "to", s.cfg.To, "err", err)
	case err == nil && s.failed != nil:
		log.Info("the backup works again", "to", s.cfg.To)
	}
	s.failed = err
}

func (s *shipper) round(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, shipLimit)
	defer cancel()
	if err := s.look(limited); err != nil {
		return err
	}
	if err := s.ship(limited); err != nil {
		return err
	}
	if !s.missing && s.now().Sub(s.lastFull) < s.cfg.Full {
		return nil
	}
	return s.backUp(ctx)
}

// look reads the state of the target.
func (s *shipper) look(ctx context.Context) error {
	if s.known {
		return nil
	}
	chunks, err := backup.Chunks(ctx, s.target, s.instance.ledger.Journal().String())
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
func (s *shipper) ship(ctx context.Context) error {
	if !s.known {
		return nil
	}
	began := s.now()
	extents, complete := s.instance.ledger.SyncedAfter(s.segment, s.offset)
	s.missing = s.missing || !complete
	for _, e := range extents {
		c := backup.Chunk{
			Journal: s.instance.ledger.Journal().String(), Segment: e.Segment, Offset: e.Offset, Length: e.Length,
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

func (s *shipper) put(ctx context.Context, c *backup.Chunk) error {
	f, err := os.Open(filepath.Join(s.instance.journal, c.Segment))
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
func (s *shipper) backUp(ctx context.Context) (err error) {
	temp, err := os.MkdirTemp(s.data.cfg.Data, packing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	o := s.instance.options
	done, err := s.data.pack(ctx, filepath.Join(temp, databaseFile), &BackupOptions{
		Version: o.Version, Now: s.now, Log: o.Log,
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
func (s *shipper) prune(ctx context.Context) error {
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
