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

// MasterKey is a key that secrets in the database are sealed with.
type MasterKey struct {
	Name string
	// From is where it is: a file's path, or a key of the configuration; empty for
	// one that is not at hand, without which its secrets are lost.
	From    string
	Seals   bool // new secrets are sealed with it
	Secrets int  // in the database that are sealed with it
}

// MasterKeys are the keys at hand, in the order in which the gateway has them, and
// then those that secrets are sealed with and that are not at hand.
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
		counts[master] = 0 // it is to be in the list
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

// keysAtHand are the keys of the configuration, or of the file, with where they are.
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

// Rotation is what came of RotateSecrets.
type Rotation struct {
	Key     string // its name
	Secrets int    // that are sealed with it now
	// File is where the key is; empty for the configuration, whose secrets.previous
	// nothing needs any more.
	File string
}

// RotateSecrets seals all secrets in the database anew: with secrets.key of the
// configuration, or else with a new key, for which all others leave the key file.
// Whatever ends it halfway, nothing is lost, and running it again finishes it.
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

// signedFor is how long after it was read a secret is in use at most, by far.
const signedFor = 2 * time.Second

// awaitSigned waits until no running gateway is about to use a secret that it has
// read before all were sealed anew. It may need a key for that which it never had.
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

// rotateConfigured seals everything with secrets.key.
func (d *Data) rotateConfigured(ctx context.Context, by audit.Actor, r *ring) (result Rotation, err error) {
	keys, err := d.checkAtHand(ctx, r)
	if err != nil {
		return result, err
	}
	if len(keys) == 1 && keys[0].Seals {
		return result, errors.New("secrets are sealed with secrets.key already: make another one, put this one into " +
			"secrets.previous, restart all gateways, and run this again")
	}
	n, err := d.store.Webhooks.Reseal(ctx, by, r.Ring)
	return Rotation{Key: r.Newest(), Secrets: n}, err
}

// checkAtHand refuses to seal anew what cannot be opened, before anything is changed.
func (d *Data) checkAtHand(ctx context.Context, r *ring) ([]MasterKey, error) {
	keys, err := d.masterKeys(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if k.From == "" && k.Secrets > 0 {
			return nil, fmt.Errorf("the key %s is not at hand, and %d secrets are sealed with it: put it back into "+
				"%s; if it is lost, so are they: remove their webhook endpoints and add them anew", k.Name, k.Secrets,
				r.place())
		}
	}
	return keys, nil
}

// place is where people put a key back.
func (r *ring) place() string {
	if r.path == "" {
		return "secrets.previous"
	}
	return r.path
}

// rotateFile puts a new key into the file, seals everything with it, and takes the
// others out, which settle waits for. No other command does so meanwhile.
func (d *Data) rotateFile(ctx context.Context, by audit.Actor, r *ring, settle func(context.Context) error) (
	result Rotation, err error,
) {
	if _, err := d.checkAtHand(ctx, r); err != nil {
		return result, err
	}
	if err := r.make(); err != nil { // a gateway may be about to make the first one
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
		return result, fmt.Errorf("put a new key into %s: %w", path, err)
	}
	if err := r.Reload(); err != nil {
		return result, err
	}
	n, err := d.store.Webhooks.Reseal(ctx, by, r.Ring)
	if err != nil {
		return result, fmt.Errorf("%w: %s holds a new key and the ones before it, so nothing is lost: run this again",
			err, path)
	}
	err = settle(ctx)
	if err == nil {
		err = seal.WriteKeys(path, []seal.Key{next}, os.Rename)
	}
	if err != nil {
		return result, fmt.Errorf("take the former keys out of %s: %w: everything is sealed with its first key, "+
			"nothing is lost: run this again", path, err)
	}
	return Rotation{Key: next.Name(), Secrets: n, File: path}, nil
}

// keysLock is the file that says that the key file is being rotated.
const keysLock = "secrets.lock"

func (d *Data) lockKeys() (unlock func() error, err error) {
	// whoever may enter the directory
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

// checkAlone refuses a new key in a file where gateways run that have a file of their
// own: they could sign nothing until they had it too.
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
	return fmt.Errorf("other gateways share the database (%s), and would not have the new key: in the configuration "+
		"of all, set secrets.key to a new one and secrets.previous to what is in %s here, restart them one after the "+
		"other, and run this again",
		strings.Join(others, ", "), secretsFile)
}
