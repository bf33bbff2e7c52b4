package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// runSecure is the closed loop over TLS, by net/http: HTTP/1.1 on all connections, or HTTP/2 on one.
func runSecure(ctx context.Context, o *loadOptions) (*loadResult, error) {
	roots, err := readRoots(o.ca)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: o.http2, MaxIdleConnsPerHost: o.conns,
	}
	defer transport.CloseIdleConnections()
	s := &secureLoop{clock: newClock(), send: func() error {
		_, err := o.send(ctx, transport)
		return err
	}}
	var clients sync.WaitGroup
	until, stop := context.WithCancel(ctx)
	for range o.conns {
		clients.Go(func() { s.repeat(until) })
	}
	defer clients.Wait()
	defer stop()
	return s.window(ctx, o, func() { stop(); clients.Wait() })
}

// send sends the request by net/http, over TLS where there are certificates, and is an error unless
// the answer is 200.
func (o *loadOptions) send(ctx context.Context, transport *http.Transport) (answer []byte, err error) {
	scheme := "http://"
	if o.ca != "" {
		scheme = "https://"
	}
	path, header, body := o.ask()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, scheme+o.target.String()+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = header
	client := http.Client{Transport: transport, Timeout: socketTimeout}
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.300s", resp.Status, answer)
	}
	return answer, err
}

// secureLoop counts what its clients do.
type secureLoop struct {
	clock clock
	send  func() error

	mu    sync.Mutex
	count counts
}

func (s *secureLoop) repeat(ctx context.Context) {
	for ctx.Err() == nil {
		began := s.clock.now()
		err := s.send()
		s.mu.Lock()
		if err == nil {
			s.count.requests++
			s.count.latency.add(s.clock.now() - began)
		} else {
			s.count.failures++
			s.count.failure = err.Error()
		}
		s.mu.Unlock()
	}
}

// window counts for the time of the window, and reads the process once stop has ended the clients.
func (s *secureLoop) window(ctx context.Context, o *loadOptions, stop func()) (*loadResult, error) {
	w := &watch{pid: o.pid}
	if err := errors.Join(w.begin(), pause(ctx, o.warm)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.count = counts{}
	s.mu.Unlock()
	start := s.clock.now()
	if err := errors.Join(w.mark(), pause(ctx, o.duration)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	r := &loadResult{Seconds: time.Duration(s.clock.now() - start).Seconds(), Requests: s.count.requests}
	s.mu.Unlock()
	stop()
	if err := w.quiet(ctx); err != nil {
		return nil, err
	}
	r.Answers, r.Failures, r.Failure, r.Latency = s.count.requests, s.count.failures, s.count.failure, s.count.latency.spread()
	r.CPU, r.RSSBefore, r.RSSAfter = w.cpu.Seconds(), w.before, w.after
	return r, nil
}

func readRoots(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: no certificate in PEM", file)
	}
	return roots, nil
}

// writeCertificate writes a certificate for loopback, which signs itself, and its key into dir.
func writeCertificate(dir string) (cert, key string, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	public, err := x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private)
	if err != nil {
		return "", "", err
	}
	sealed, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", "", err
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	return cert, key, errors.Join(
		os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: sealed}), 0o600))
}
