package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"weir/internal/config"
	"weir/internal/llm"
	"weir/internal/outbound"
)

// certificateEvery is the interval for checking the files of a certificate for changes.
const certificateEvery = 2 * time.Second

// certificate loads the certificate files of the configuration, and reloads them when they change.
type certificate struct {
	files   [2]string // paths of the chain and of its key
	log     *slog.Logger
	stamps  [2]stamp
	current atomic.Pointer[tls.Certificate]
}

// stamp identifies the content of a file by its time and size.
type stamp struct {
	changed time.Time
	size    int64
}

// secure returns the TLS configuration, or nil for plain HTTP, and a function that renews the certificate until its
// context ends.
func (g *instance) secure() (*tls.Config, func(context.Context), error) {
	cfg, keep, err := certified(g.options)
	if path := g.options.Config.TLS.ClientCA; err == nil && path != "" {
		cfg.ClientAuth = tls.VerifyClientCertIfGiven // because programs with API keys have no certificate
		cfg.ClientCAs, err = authorities(path)
	}
	return cfg, keep, err
}

// authorities reads the certificates of a PEM file.
func authorities(path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("tls.client_ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("tls.client_ca: %s has no certificate in PEM format", path)
	}
	return pool, nil
}

// checkCertificate refuses a request without a client certificate if the configuration requires one.
func checkCertificate(t *config.TLS, r *http.Request) error {
	if t.ClientCA == "" || r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return nil
	}
	return llm.Errorf(llm.CodeForbidden, "This address requires a client certificate from an authority in "+
		"tls.client_ca. Install one in the browser or, with curl, pass it with --cert and --key.")
}

// certified returns the configuration without client certificates.
func certified(o *Options) (*tls.Config, func(context.Context), error) {
	t := &o.Config.TLS
	switch {
	case t.Cert != "":
		c := &certificate{files: [2]string{t.Cert, t.Key}, log: o.Log}
		if _, err := c.load(); err != nil {
			return nil, nil, fmt.Errorf("tls: %w", err)
		}
		return &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12, CipherSuites: suites()}, c.run, nil
	case len(t.ACME.Domains) > 0:
		m, err := newACME(&o.Config)
		if err != nil {
			return nil, nil, err
		}
		first := func(ctx context.Context) { obtain(ctx, m, t.ACME.Domains, o.Log) }
		return &tls.Config{
			GetCertificate: m.GetCertificate, NextProtos: []string{acme.ALPNProto}, MinVersion: tls.VersionTLS12,
			CipherSuites: suites(),
		}, first, nil
	}
	return nil, func(context.Context) {}, nil
}

// suites returns the cipher suites of TLS 1.2 that clients may choose: only those with forward secrecy and
// authenticated encryption, not CBC (RFC 9325, section 4.2).
func suites() []uint16 {
	return []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	}
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return c.current.Load(), nil
}

// run checks the files until ctx ends. It logs an error of new files once, and the former certificate stays in force.
func (c *certificate) run(ctx context.Context) {
	look := time.NewTicker(certificateEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		switch changed, err := c.load(); {
		case err != nil:
			c.log.Error("the new certificate cannot be used; the former one stays in force",
				"cert", c.files[0], "err", err)
		case changed:
			c.log.Info("a new certificate is in force", "cert", c.files[0], "until", c.current.Load().Leaf.NotAfter)
		}
	}
}

// load reads the files if they have changed.
func (c *certificate) load() (changed bool, err error) {
	var now [2]stamp
	for i, path := range c.files {
		info, err := os.Stat(path) // follows links, by which Kubernetes changes secrets
		if err != nil {
			return false, err
		}
		now[i] = stamp{info.ModTime(), info.Size()}
	}
	if now == c.stamps {
		return false, nil
	}
	c.stamps = now
	pair, err := tls.LoadX509KeyPair(c.files[0], c.files[1])
	if err != nil {
		return false, err
	}
	c.current.Store(&pair)
	return true, nil
}

// newACME obtains certificates by ACME (RFC 8555). The authority connects to the gateway's own port (TLS-ALPN-01, RFC
// 8737).
func newACME(cfg *config.Config) (*autocert.Manager, error) {
	transport, err := outbound.Transport(cfg.Outbound.Proxy.Reveal(), cfg.Outbound.CAFile, acmeTimeout)
	if err != nil {
		return nil, err
	}
	transport.ForceAttemptHTTP2 = true
	return &autocert.Manager{
		Prompt: autocert.AcceptTOS, HostPolicy: autocert.HostWhitelist(cfg.TLS.ACME.Domains...),
		Cache: autocert.DirCache(filepath.Join(cfg.Data, "acme")), Email: cfg.TLS.ACME.Email,
		Client: &acme.Client{
			DirectoryURL: cfg.TLS.ACME.Directory, UserAgent: "weir",
			HTTPClient: &http.Client{
				Transport: &outbound.Bounded{Through: transport, Most: mostOfAuthority}, Timeout: acmeTimeout,
			},
		},
	}, nil
}

const (
	acmeTimeout = time.Minute
	// mostOfAuthority bounds the bytes of an answer of the authority.
	mostOfAuthority = 1 << 20
	obtainPause     = 10 * time.Second // after the first failure, doubled with each further one
	obtainMost      = time.Hour
)

// obtain obtains the first certificates before a client waits for one.
func obtain(ctx context.Context, m *autocert.Manager, domains []string, log *slog.Logger) {
	for pause := obtainPause; ; pause = min(2*pause, obtainMost) {
		var errs error
		for _, d := range domains {
			_, err := m.GetCertificate(&tls.ClientHelloInfo{ // of a client that accepts ECDSA
				ServerName: d, SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256},
				SupportedCurves: []tls.CurveID{tls.CurveP256},
				CipherSuites:    []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
			})
			errs = errors.Join(errs, err)
		}
		if errs == nil {
			log.Info("certificates are ready", "domains", domains)
			return
		}
		log.Error("no certificate could be obtained; retrying", "domains", domains, "pause", pause, "err", errs)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}
