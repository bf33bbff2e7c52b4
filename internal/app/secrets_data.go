package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"

	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/seal"
)

// MasterKey is a key that seals secrets in the database.
type MasterKey struct {
	Name string
	// From is the place of the key: a file's path, or a key of the configuration. It is empty for a missing key,
	// without which its secrets are lost.
	From    string
	Seals   bool // new secrets are sealed with it
	Secrets int  // number of secrets in the database that it seals
}

// MasterKeys returns the available keys, in the gateway's order, and then missing keys that seal secrets.
func (d *Data) MasterKeys(ctx context.Context) ([]MasterKey, error) {
	r, err := newRing(&d.cfg)
	if err != nil {
		return nil, err
	}
	return d.masterKeys(ctx, r)
}

func (d *Data) masterKeys(ctx context.Context, r *ring) ([]MasterKey, error) {
	all, err := d.keysAtHand(r)
	if err != nil {
		return nil, err
	}
	counts, err := d.store.Webhooks.SealedWith(ctx)
	if err != nil {
		return nil, err
	}
	master, err := d.store.Webhooks.MasterKey(ctx, "")
	if err != nil {
		return nil, err
	}
	if master != "" && counts[master] == 0 {
		counts[master] = 0 // keep it in the list
	}
	for i := range all {
		all[i].Secrets, all[i].Seals = counts[all[i].Name], all[i].Name == master || master == "" && i == 0
		delete(counts, all[i].Name)
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, MasterKey{Name: name, Seals: name == master, Secrets: counts[name]})
	}
	return all, nil
}

// keysAtHand returns the keys of the configuration, or of the file, with their places.
func (d *Data) keysAtHand(r *ring) (all []MasterKey, err error) {
	from := []string{"secrets.key", "secrets.previous"}
	keys := []seal.Key(nil)
	if r.path != "" {
		from = []string{r.path}
		keys, err = seal.ReadKeys(r.path)
	} else {
		keys, err = configuredKeys(&d.cfg.Secrets)
	}
	for i, k := range keys {
		all = append(all, MasterKey{Name: k.Name(), From: from[min(i, len(from)-1)]})
	}
	return all, err
}

// Rotation reports the result of RotateSecrets.
type Rotation struct {
	Key     string // name of the key
	Secrets int    // number of secrets that it seals now
	// File is the path of the key; empty for the configuration, where secrets.previous is no longer needed.
	File string
}

// RotateSecrets seals all secrets in the database again: with secrets.key of the configuration, or else with a new
// key, which replaces all others in the key file. If it is interrupted, nothing is lost, and another run completes
// it.
func (d *Data) RotateSecrets(ctx context.Context, by audit.Actor) (result Rotation, err error) {
	r, err := newRing(&d.cfg)
	if err != nil {
		return result, err
	}
	if r.path == "" {
		return d.rotateConfigured(ctx, by, r)
	}
	if err := d.checkAlone(ctx); err != nil {
		return result, err
	}
	unlock, err := d.lockKeys()
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return d.rotateFile(ctx, by, r, d.awaitSigned)
}

// signedFor is an upper bound of how long a secret is in use after it was read.
const signedFor = 2 * time.Second

// awaitSigned waits until no running gateway uses a secret that it read before the rotation. Such a secret may need a
// key that the gateway never had.
func (d *Data) awaitSigned(ctx context.Context) error {
	err := d.checkRunning(ctx)
	if errors.Is(err, errNoGateway) {
		return nil
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(signedFor):
		return err
	}
}

// rotateConfigured seals all secrets with secrets.key.
func (d *Data) rotateConfigured(ctx context.Context, by audit.Actor, r *ring) (result Rotation, err error) {
	keys, err := d.checkAtHand(ctx, r)
	if err != nil {
		return result, err
	}
	if len(keys) == 1 && keys[0].Seals {
		return result, errors.New("all secrets are already sealed with secrets.key: set secrets.key to a new key and " +
			"secrets.previous to the present one, restart all gateways, and run this command again")
	}
	n, err := d.store.Webhooks.Reseal(ctx, by, r.Ring)
	return Rotation{Key: r.Newest(), Secrets: n}, err
}

// checkAtHand returns an error if a key is missing, before anything is changed.
func (d *Data) checkAtHand(ctx context.Context, r *ring) ([]MasterKey, error) {
	keys, err := d.masterKeys(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if k.From == "" && k.Secrets > 0 {
			return nil, fmt.Errorf("the key %s is missing, and %d secrets are sealed with it: put it back into %s; "+
				"if the key is lost, remove the webhook endpoints, run weir secrets rotate, and add them again",
				k.Name, k.Secrets, r.place())
		}
	}
	return keys, nil
}

// place returns the place where people put a missing key back.
func (r *ring) place() string {
	if r.path == "" {
		return "secrets.previous"
	}
	return r.path
}

// rotateFile adds a new key to the file, seals all secrets with it, waits for settle, and removes the other keys. A
// lock excludes other rotations meanwhile.
func (d *Data) rotateFile(ctx context.Context, by audit.Actor, r *ring, settle func(context.Context) error) (
	result Rotation, err error,
) {
	if _, err := d.checkAtHand(ctx, r); err != nil {
		return result, err
	}
	if err := r.make(); err != nil { // a gateway may be about to create the first key
		return result, err
	}
	path, err := filepath.EvalSymlinks(r.path)
	if err != nil {
		return result, err
	}
	before, err := seal.ReadKeys(path)
	if err != nil {
		return result, err
	}
	next := seal.NewKey()
	if err := seal.WriteKeys(path, append([]seal.Key{next}, before...), os.Rename); err != nil {
		return result, fmt.Errorf("write a new key to %s: %w", path, err)
	}
	if err := r.Reload(); err != nil {
		return result, err
	}
	n, err := d.store.Webhooks.Reseal(ctx, by, r.Ring)
	if err != nil {
		return result, fmt.Errorf("%w: %s has both the new and the former keys, so nothing is lost: run this command "+
			"again", err, path)
	}
	err = settle(ctx)
	if err == nil {
		err = seal.WriteKeys(path, []seal.Key{next}, os.Rename)
	}
	if err != nil {
		return result, fmt.Errorf("remove the former keys from %s: %w: its first key seals all secrets, so nothing is "+
			"lost: run this command again", path, err)
	}
	return Rotation{Key: next.Name(), Secrets: n, File: path}, nil
}

// keysLock is the lock file of a rotation.
const keysLock = "secrets.lock"

func (d *Data) lockKeys() (unlock func() error, err error) {
	// Every user who may enter the directory can read it.
	lock := flock.New(filepath.Join(d.cfg.Data, keysLock), flock.SetPermissions(0o644))
	held, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", secretsFile, err)
	}
	if !held {
		return nil, errors.New("another weir secrets rotate is running: wait for it")
	}
	return lock.Unlock, nil
}

// checkAlone refuses a new key in a file if other gateways run with key files of their own: they could not sign
// events until they had the new key.
func (d *Data) checkAlone(ctx context.Context) error {
	own := map[uuid.UUID]bool{}
	for _, dir := range journalDirs(d.cfg.Data) {
		id, _, err := ledger.Identity(dir)
		if err != nil {
			return err
		}
		own[id] = true
	}
	nodes, err := d.store.Leases.Nodes(ctx)
	if err != nil {
		return err
	}
	var others []string
	for i := range nodes {
		if nodes[i].Alive && !own[nodes[i].Journal] {
			others = append(others, nodes[i].Name+" "+nodes[i].Address)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return fmt.Errorf("other gateways share the database (%s) and would not have the new key: in the configuration "+
		"of all gateways, set secrets.key to a new key and secrets.previous to the content of %s on this "+
		"machine, restart "+
		"them one after the other, and run this command again", strings.Join(others, ", "), secretsFile)
}
