package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"weir/internal/config"
	"weir/internal/llm"
	"weir/internal/seal"
	"weir/internal/store"
)

// secretsFile holds the master keys if the configuration has none, the newest one first.
const secretsFile = "secrets.key"

// KeyRing holds the master keys and the path of their file.
type KeyRing struct {
	*seal.Ring
	path string // empty if the keys are in the configuration
	// master returns the name of the key that seals; see store.Webhooks.MasterKey.
	master func(ctx context.Context, newest string) (string, error)
}

// CheckKeys returns the reason why the keys of the configuration, or of the file, cannot be used; nil if they can.
func CheckKeys(cfg *config.Config) error {
	_, _, err := readKeys(cfg)
	return err
}

// openKeys reads the keys of the configuration, or else of the file, which may not exist yet.
func openKeys(cfg *config.Config, db *store.DB) (*KeyRing, error) {
	ring, path, err := readKeys(cfg)
	if err != nil {
		return nil, err
	}
	return &KeyRing{Ring: ring, path: path, master: db.Webhooks.MasterKey}, nil
}

// readKeys returns the keys and the path of their file.
func readKeys(cfg *config.Config) (ring *seal.Ring, path string, err error) {
	load := func() ([]seal.Key, error) { return configuredKeys(&cfg.Secrets) }
	if cfg.Secrets.Key.IsZero() {
		path = filepath.Join(cfg.Data, secretsFile)
		load = func() ([]seal.Key, error) { return seal.ReadKeys(path) }
	}
	if ring, err = seal.NewRing(load); err != nil {
		return nil, path, fmt.Errorf("secrets: %w", err)
	}
	return ring, path, nil
}

func configuredKeys(s *config.Secrets) (keys []seal.Key, err error) {
	for _, secret := range append([]llm.Secret{s.Key}, s.Previous...) {
		key, err := seal.ParseKey(secret.Reveal())
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// Sealed seals a text with the installation's key, and creates the key if there is none.
func (k *KeyRing) Sealed(ctx context.Context, text []byte, about string) (string, error) {
	if k.Newest() == "" {
		if err := k.make(); err != nil {
			return "", err
		}
	}
	name, err := k.master(ctx, k.Newest())
	if err != nil {
		return "", err
	}
	return k.Seal(name, text, about)
}

// make creates the first key if neither the configuration nor the file has one. If two processes do so at once, one
// succeeds, and the other uses that key.
func (k *KeyRing) make() error {
	if k.path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(k.path), 0o700); err != nil { // with PostgreSQL the directory may not exist yet
		return err
	}
	err := seal.WriteKeys(k.path, []seal.Key{seal.NewKey()}, os.Link)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create %s: %w", secretsFile, err)
	}
	return k.Reload()
}
