package app

import (
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"os"

	"weir/internal/admin"
	"weir/internal/config"
	"weir/internal/ratelimit"
	"weir/internal/store"
	"weir/internal/upstream"
)

// CheckConfig reads the configuration together with the managed one, and finds all mistakes for which a gateway would
// not start. It connects only to the database that has the managed configuration, and to model servers of this machine.
func CheckConfig(ctx context.Context, from config.Options, o upstream.Options) (config.Config, error) {
	var unread, failed error
	// The result is only the source of the database's place, so its mistakes are those of the second call.
	_, _ = config.Check(from, func(cfg *config.Config, _ *config.Report) {
		if store.CheckURL(cfg.Database) == nil {
			from.Managed, unread = admin.ManagedText(ctx, cfg, o.Log)
		}
	})
	b := upstream.New(&o)
	defer b.Close()
	cfg, err := config.Check(from, func(cfg *config.Config, found *config.Report) {
		if unread != nil {
			found.Doubt("data", "the managed configuration is not checked, because it cannot be read: %v", unread)
		}
		checkFiles(cfg, found)
		failed = b.Check(ctx, cfg, found)
	})
	if err == nil {
		err = failed
	}
	return cfg, err
}

// checkStart checks the files of a gateway before it creates or opens anything.
func checkStart(cfg *config.Config) error {
	found := cfg.Report()
	checkFiles(cfg, found)
	return found.Err()
}

// checkFiles reports the files and addresses of the configuration that a gateway could not use.
func checkFiles(cfg *config.Config, found *config.Report) {
	plain := upstream.CheckAuthorities(cfg, found)
	checkTLS(&cfg.TLS, found)
	if info, err := os.Stat(cfg.Data); err == nil && !info.IsDir() {
		found.Wrong("data", "`data` must name a directory, but %s is a file: choose another path", cfg.Data)
	} else if err := admin.CheckKeys(cfg); errors.Is(err, fs.ErrPermission) {
		found.Doubt("data", "%v: run the check as the user of weir serve", err)
	} else if err != nil {
		found.Wrong("secrets", "%v", err)
	}
	for path, err := range map[string]error{
		"database": store.CheckURL(cfg.Database), "valkey": ratelimit.CheckURL(cfg.Valkey),
		"backup.to": admin.CheckTarget(plain),
	} {
		if err != nil {
			found.Wrong(path, "`%s` is wrong: %v", path, err)
		}
	}
}

// checkTLS reports missing certificate files, and those that do not fit together.
func checkTLS(t *config.TLS, found *config.Report) {
	if t.Cert != "" && t.Key != "" {
		cert, missing := readFor("tls.cert", t.Cert, found)
		key, alsoMissing := readFor("tls.key", t.Key, found)
		if _, err := tls.X509KeyPair(cert, key); err != nil && !missing && !alsoMissing {
			found.Wrong("tls.cert", "`tls.cert` and `tls.key` cannot be used together: %v", err)
		}
	}
	if t.ClientCA != "" {
		if _, err := authorities(t.ClientCA); err != nil {
			found.File("tls.client_ca", err)
		}
	}
}

// readFor reads the file of a setting, and reports an unreadable one.
func readFor(path, file string, found *config.Report) (text []byte, missing bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		found.File(path, err)
	}
	return text, err != nil
}
