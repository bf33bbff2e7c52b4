package main

import (
	"bufio"
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
	"time"
)

// client is one connection, opened on demand; with HTTP/2, all clients share one.
type client struct {
	o       *loadOptions
	request []byte
	roots   *x509.CertPool  // for TLS; nil for plain HTTP
	http2   *http.Transport // nil for HTTP/1.1
	conn    net.Conn
	in      *bufio.Reader
	release func() bool // stops the context from closing the connection
}

// prepare returns the first client of a load. The others are copies of it.
func (o *loadOptions) prepare() (*client, error) {
	c := &client{o: o, request: o.request()}
	if o.ca == "" {
		return c, nil
	}
	text, err := os.ReadFile(o.ca)
	if err != nil {
		return nil, err
	}
	c.roots = x509.NewCertPool()
	if !c.roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: no certificate in PEM", o.ca)
	}
	if o.http2 {
		c.http2 = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.roots}, ForceAttemptHTTP2: true}
	}
	return c, nil
}

// call sends the request and lets read read the body. After a failure, the next call opens a new connection.
func (c *client) call(ctx context.Context, read func(io.Reader) error) (status int, retry bool, err error) {
	if c.http2 != nil {
		status, err = c.callHTTP2(ctx, read)
		return status, false, err
	}
	if c.conn == nil {
		if err := c.dial(ctx); err != nil {
			return 0, false, err
		}
	}
	_, err = c.conn.Write(c.request)
	h := &head{}
	if err == nil {
		h, err = readHead(c.in)
	}
	if err == nil {
		err = h.readBody(c.in, read)
	}
	if err == nil && c.in.Buffered() > 0 {
		err = errors.New("bytes follow the answer")
	}
	if err != nil {
		c.close()
		return 0, false, err
	}
	if h.last {
		c.close()
	}
	return h.status(), h.retry, nil
}

func (c *client) dial(ctx context.Context) (err error) {
	if c.conn, err = (&net.Dialer{}).DialContext(ctx, "tcp4", c.o.target.String()); err != nil {
		c.conn = nil
		return err
	}
	if c.roots != nil {
		c.conn = tls.Client(c.conn, &tls.Config{RootCAs: c.roots, ServerName: c.o.target.Addr().String()})
	}
	conn := c.conn
	c.in, c.release = bufio.NewReader(conn), context.AfterFunc(ctx, func() { _ = conn.Close() })
	return nil
}

func (c *client) close() {
	if c.conn != nil {
		c.release()
		_ = c.conn.Close()
		c.conn = nil
	}
}

func (c *client) callHTTP2(ctx context.Context, read func(io.Reader) error) (int, error) {
	path, header, body := c.o.ask()
	address := "https://" + c.o.target.String() + path
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header = header
	resp, err := c.http2.RoundTrip(r)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, errors.Join(read(resp.Body), resp.Body.Close())
}

// discard reads a body to its end.
func discard(body io.Reader) error {
	_, err := io.Copy(io.Discard, body)
	return err
}

// writeCertificate writes a self-signed certificate for loopback and its key to dir.
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
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	return cert, key, errors.Join(err,
		os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: sealed}), 0o600))
}
