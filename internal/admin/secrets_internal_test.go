package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/must"
	"weir/internal/seal"
	"weir/internal/webhook"
)

func opened(t *testing.T, cfg *config.Config) *Admin {
	t.Helper()
	a := must.Get(Open(t.Context(), *cfg, config.Options{}, slog.New(slog.DiscardHandler)))(t)
	t.Cleanup(func() { a.Close() })
	return a
}

// tester returns the actor of these tests.
func tester() audit.Actor { return audit.Actor{Kind: audit.Command, Name: "test"} }

// rotation is a gateway with an endpoint, and a command that replaces the key under it.
type rotation struct {
	gateway, command *Admin
	endpoint         string // id
}

func newRotation(t *testing.T) *rotation {
	t.Helper()
	cfg := config.Config{Data: t.TempDir()}
	x := &rotation{gateway: opened(t, &cfg), command: opened(t, &cfg)}
	e, _, err := x.gateway.Webhooks.Add(t.Context(), tester(), webhook.Endpoint{URL: "https://example.com/hook"})
	must.Do(t, err)
	x.endpoint = e.ID
	return x
}

// TestRotateWhileGatewayRuns checks that a gateway decrypts every secret that it reads, and creates and rotates others,
// while the key is replaced again and again.
func TestRotateWhileGatewayRuns(t *testing.T) {
	t.Parallel()
	x := newRotation(t)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	turns := make(chan struct{}) // signals that the gateway has used the secrets that it read
	running.Go(func() {
		defer close(turns)
		for ctx.Err() == nil {
			if err := useSecrets(t.Context(), x.gateway, x.endpoint); err != nil {
				t.Error(err)
				return
			}
			select {
			case turns <- struct{}{}:
			case <-ctx.Done():
			}
		}
	})
	settle := func(context.Context) error {
		<-turns
		return nil
	}
	for range 30 {
		if _, err := x.command.Secrets.rotateFile(t.Context(), tester(), settle); err != nil {
			t.Errorf("rotate: %v", err)
		}
	}
	stop()
	running.Wait()
	keys, err := x.gateway.Secrets.Keys(t.Context())
	if err != nil || len(keys) != 1 || !keys[0].Seals || keys[0].Secrets != 2 {
		t.Errorf("keys at the end: got %+v, %v; want one that seals 2 secrets", keys, err)
	}
}

// useSecrets takes deliveries of an endpoint, changes its secret, and then decrypts the taken deliveries, like a late
// try.
func useSecrets(ctx context.Context, a *Admin, id string) error {
	jobs, err := takeTest(ctx, a, id)
	if err != nil {
		return err
	}
	if _, _, err := a.Webhooks.RotateSecret(ctx, tester(), id); err != nil {
		return err
	}
	return openSecrets(a.MasterKeys, jobs)
}

// takeTest sends an endpoint a test event, and takes the delivery.
func takeTest(ctx context.Context, a *Admin, id string) ([]webhook.Job, error) {
	if _, err := a.Webhooks.Test(ctx, id); err != nil {
		return nil, err
	}
	return a.store.Deliveries.TakeDeliveries(ctx, id, 1)
}

func openSecrets(r *KeyRing, jobs []webhook.Job) error {
	for _, j := range jobs {
		for _, sealed := range j.Secrets {
			if _, err := r.Open(sealed, webhook.SecretOf(j.Webhook)); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestRotateBeforeSigned checks that secrets read before a rotation can be decrypted as long as the rotation waits for
// the gateway, with a key that the gateway did not have before.
func TestRotateBeforeSigned(t *testing.T) {
	t.Parallel()
	x := newRotation(t)
	for n := range 5 {
		jobs, err := takeTest(t.Context(), x.gateway, x.endpoint)
		if err != nil || len(jobs) != 1 {
			t.Fatalf("rotation %d: took %d deliveries, %v; want 1", n, len(jobs), err)
		}
		waited := false
		_, err = x.command.Secrets.rotateFile(t.Context(), tester(), func(context.Context) error {
			waited = true
			return openSecrets(x.gateway.MasterKeys, jobs)
		})
		if err != nil || !waited {
			t.Errorf("rotation %d: waited %v, %v; want it to wait and the secrets read before to open", n, waited, err)
		}
	}
}

// TestRotateAgain checks that an interrupted rotation has lost nothing, and that another one finishes it.
func TestRotateAgain(t *testing.T) {
	t.Parallel()
	by := tester()
	for name, begin := range map[string]func(*Admin) error{
		"before everything was sealed anew": func(a *Admin) error {
			path := a.MasterKeys.path
			keys, err := seal.ReadKeys(path)
			return errors.Join(err, seal.WriteKeys(path, append([]seal.Key{seal.NewKey()}, keys...), os.Rename))
		},
		"after everything was sealed anew": func(a *Admin) error {
			_, err := a.Secrets.rotateFile(context.Background(), by, func(context.Context) error { return errEnded })
			if !errors.Is(err, errEnded) || !strings.Contains(err.Error(), "run this command again") {
				return fmt.Errorf("ended: got %w, want to be told to run it again", err)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config.Config{Data: t.TempDir()}
			command := opened(t, &cfg)
			e, _, err := command.Webhooks.Add(t.Context(), by, webhook.Endpoint{URL: "https://example.com/hook"})
			must.Do(t, err)
			must.Do(t, begin(command))
			checkKeys(t, &cfg, e.ID, 2)
			must.Get(command.Secrets.Rotate(t.Context(), by))(t)
			checkKeys(t, &cfg, e.ID, 1)
		})
	}
}

var errEnded = errors.New("ended")

// checkKeys checks the number of keys in the file, and that a starting gateway can use the endpoint's secret.
func checkKeys(t *testing.T, cfg *config.Config, id string, want int) {
	t.Helper()
	a := opened(t, cfg)
	keys, err := a.Secrets.Keys(t.Context())
	if err != nil || len(keys) != want {
		t.Errorf("keys: got %+v, %v; want %d", keys, err, want)
	}
	if err := useSecrets(t.Context(), a, id); err != nil {
		t.Errorf("use secrets with %+v: %v", keys, err)
	}
}

// TestRotateOnceAtATime checks that a second command refuses while one runs.
func TestRotateOnceAtATime(t *testing.T) {
	t.Parallel()
	cfg := config.Config{Data: t.TempDir()}
	secrets := opened(t, &cfg).Secrets
	unlock := must.Get(secrets.lockKeys())(t)
	by := tester()
	if r, err := secrets.Rotate(t.Context(), by); err == nil || !strings.Contains(err.Error(), "another weir secrets rotate is running") {
		t.Errorf("while another one runs: got %+v, %v; want a refusal", r, err)
	}
	if keys, err := seal.ReadKeys(filepath.Join(cfg.Data, secretsFile)); err != nil || len(keys) > 0 {
		t.Errorf("the file after that: got %d keys, %v; want none", len(keys), err)
	}
	must.Do(t, unlock())
	if r, err := secrets.Rotate(t.Context(), by); err != nil || r.Secrets != 0 {
		t.Errorf("after the other one: got %+v, %v; want no secret to be sealed", r, err)
	}
}
