package admin

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
	"weir/internal/config"
	"weir/internal/ledger"
	"weir/internal/seal"
	"weir/internal/store"
)

// Secrets lists and replaces the master keys, which seal the secrets in the database.
type Secrets struct {
	keys  *KeyRing
	cfg   *config.Config
	store *store.DB
	nodes *Nodes
}

// MasterKey is a key that seals secrets in the database.
type MasterKey struct {
	Name string `json:"name"`
	// From is the place of the key: a file's path, or a key of the configuration. It is empty for a missing key,
	// without which its secrets are lost.
	From    string `json:"from,omitempty"`
	AtHand  bool   `json:"at_hand"` // it is not missing
	Seals   bool   `json:"seals"`   // new secrets are sealed with it
	Secrets int    `json:"secrets"` // number of secrets in the database that it seals
}

// Keys returns the available keys, in the gateway's order, and then missing keys that seal secrets.
func (s *Secrets) Keys(ctx context.Context) ([]MasterKey, error) {
	all, err := s.keysAtHand()
	if err != nil {
		return nil, err
	}
	counts, err := s.store.Webhooks.SealedWith(ctx)
	if err != nil {
		return nil, err
	}
	master, err := s.store.Webhooks.MasterKey(ctx, "")
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
func (s *Secrets) keysAtHand() (all []MasterKey, err error) {
	from := []string{"secrets.key", "secrets.previous"}
	keys := []seal.Key(nil)
	if s.keys.path != "" {
		from = []string{s.keys.path}
		keys, err = seal.ReadKeys(s.keys.path)
	} else {
		keys, err = configuredKeys(&s.cfg.Secrets)
	}
	for i, k := range keys {
		all = append(all, MasterKey{Name: k.Name(), From: from[min(i, len(from)-1)], AtHand: true})
	}
	return all, err
}

// Rotation reports the result of Rotate.
type Rotation struct {
	Key     string // name of the key
	Secrets int    // number of secrets that it seals now
	// File is the path of the key; empty for the configuration, where secrets.previous is no longer needed.
	File string
}

// Rotate seals all secrets in the database again: with secrets.key of the configuration, or else with a new
// key, which replaces all others in the key file. If it is interrupted, nothing is lost, and another run completes
// it.
func (s *Secrets) Rotate(ctx context.Context, by audit.Actor) (result Rotation, err error) {
	if s.keys.path == "" {
		return s.rotateConfigured(ctx, by)
	}
	if err := s.checkAlone(ctx); err != nil {
		return result, err
	}
	unlock, err := s.lockKeys()
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return s.rotateFile(ctx, by, s.awaitSigned)
}

// signedFor is an upper bound of how long a secret is in use after it was read.
const signedFor = 2 * time.Second

// awaitSigned waits until no running gateway uses a secret that it read before the rotation. Such a secret may need a
// key that the gateway never had.
func (s *Secrets) awaitSigned(ctx context.Context) error {
	err := s.nodes.checkRunning(ctx)
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
func (s *Secrets) rotateConfigured(ctx context.Context, by audit.Actor) (result Rotation, err error) {
	keys, err := s.checkAtHand(ctx)
	if err != nil {
		return result, err
	}
	if len(keys) == 1 && keys[0].Seals {
		return result, errors.New("all secrets are already sealed with secrets.key: set secrets.key to a new key and " +
			"secrets.previous to the present one, restart all gateways, and run this command again")
	}
	n, err := s.store.Webhooks.Reseal(ctx, by, s.keys.Ring)
	return Rotation{Key: s.keys.Newest(), Secrets: n}, err
}

// checkAtHand returns an error if a key is missing, before anything is changed.
func (s *Secrets) checkAtHand(ctx context.Context) ([]MasterKey, error) {
	keys, err := s.Keys(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if k.From == "" && k.Secrets > 0 {
			return nil, fmt.Errorf("the key %s is missing, and %d secrets are sealed with it: put it back into %s; "+
				"if the key is lost, remove the webhook endpoints, delete the content log (weir content purge), run "+
				"weir secrets rotate, and add the endpoints again",
				k.Name, k.Secrets, s.keys.place())
		}
	}
	return keys, nil
}

// place returns the place where people put a missing key back.
func (k *KeyRing) place() string {
	if k.path == "" {
		return "secrets.previous"
	}
	return k.path
}

// rotateFile adds a new key to the file, seals all secrets with it, waits for settle, and removes the other keys. A
// lock excludes other rotations meanwhile.
func (s *Secrets) rotateFile(ctx context.Context, by audit.Actor, settle func(context.Context) error) (
	result Rotation, err error,
) {
	if _, err := s.checkAtHand(ctx); err != nil {
		return result, err
	}
	if err := s.keys.make(); err != nil { // a gateway may be about to create the first key
		return result, err
	}
	path, err := filepath.EvalSymlinks(s.keys.path)
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
	if err := s.keys.Reload(); err != nil {
		return result, err
	}
	n, err := s.store.Webhooks.Reseal(ctx, by, s.keys.Ring)
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

func (s *Secrets) lockKeys() (unlock func() error, err error) {
	// Every user who may enter the directory can read it.
	lock := flock.New(filepath.Join(s.cfg.Data, keysLock), flock.SetPermissions(0o644))
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
func (s *Secrets) checkAlone(ctx context.Context) error {
	own := map[uuid.UUID]bool{}
	for _, dir := range ledger.Dirs(s.cfg.Data) {
		id, _, err := ledger.Identity(dir)
		if err != nil {
			return err
		}
		own[id] = true
	}
	nodes, err := s.store.Leases.Nodes(ctx)
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
