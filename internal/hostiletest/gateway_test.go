//go:build linux

package hostiletest_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/processtest"
)

// sides is how many good clients there are, and how many hostile ones. Each has an account.
const sides = 4

// providerKey is the key of the hostile provider, and no other server may receive it.
const providerKey = "only-for-this-provider"

const configuration = `
providers:
  house: {dialect: openai, base_url: "http://%[1]s/v1", allow_private: true, api_keys: [%[4]s], retries: 0}
  foreign: {dialect: anthropic, base_url: "http://%[1]s/v1", allow_private: true, api_keys: [any], retries: 0}
  bad:
    dialect: openai
    base_url: http://%[2]s/v1
    allow_private: true
    api_keys: [%[3]s]
    retries: 0
    timeouts: {first_byte: 1s, idle: 1s, total: 1500ms}
  wide: {dialect: openai, base_url: "http://%[2]s/v1", allow_private: true, api_keys: [%[3]s], retries: 0}
  # Not asked: it has hundreds of models.
  openrouter: {base_url: "http://%[1]s/v1", allow_private: true, api_keys: [any]}
aliases:
  # Who is passed on to the second target, because the circuit of the first is open, has no answer.
  shared: {targets: [bad/shared, "house/chat:fault=content-policy"]}
prices:
  house/*: {input: "0.15", output: "0.60"}
  foreign/*: {input: "0.15", output: "0.60"}
  bad/*: {input: "0.15", output: "0.60"}
  wide/*: {input: "0.15", output: "0.60"}
limits: {rejected_per_key: %[5]d}
`

// testbed holds the common parts of all attacks: the program, an unused data directory with accounts and keys, and both
// providers.
type testbed struct {
	dir, bin  string
	good, bad [sides]string // keys
	limited   [sides]string // keys of the hostile accounts that allow one request a minute
	charged   string        // the key of an account with a price list
	admin     string        // an operator's key that a hostile client has
	guests    guests
	provider  *hostileProvider
}

func newGround(t *testing.T) *testbed {
	t.Helper()
	g := &testbed{dir: t.TempDir(), bin: *binaryFlag} // an absolute path: commands run in dir
	if g.bin == "" {
		g.bin = processtest.Build(t, g.dir, "weir/cmd/weir")
	}
	simulator := processtest.Start(t, g.command(t, "simulate", "--strict", "--listen", "127.0.0.1:0"), filepath.Join(g.dir, "simulator.log"), "simulating")
	g.provider = newHostileProvider(t)
	text := fmt.Sprintf(configuration, simulator.AwaitAddress(t), g.provider.address(), providerKey, houseKey, rejected)
	must.Do(t, os.WriteFile(filepath.Join(g.dir, "weir.yaml"), []byte(text), 0o600))
	for i := range sides {
		g.good[i] = g.key(t, fmt.Sprintf("good-%d", i))
		g.bad[i] = g.key(t, fmt.Sprintf("bad-%d", i))
		g.limited[i] = g.key(t, fmt.Sprintf("bad-%d", i), "--rpm", "1")
	}
	g.charged, g.admin = g.key(t, "charged"), g.key(t, "good-0", "--permission", "admin")
	processtest.Run(t, g.command(t, "accounts", "prices", "charged", "--markup", "2500"))
	g.guests = g.invite(t)
	must.Do(t, os.WriteFile(filepath.Join(g.dir, "secret"), []byte(variable), 0o600))
	return g
}

// command returns a weir command with these arguments, in the directory of its configuration.
func (g *testbed) command(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), g.bin, args...)
	cmd.Dir, cmd.Env = g.dir, processtest.Environ()
	return cmd
}

// key creates a key, and its account if it is missing.
func (g *testbed) key(t *testing.T, account string, more ...string) string {
	t.Helper()
	if len(more) == 0 {
		processtest.Run(t, g.command(t, "accounts", "create", account))
	}
	args := append([]string{"keys", "create", "--account", account, "--label", "attack"}, more...)
	return strings.TrimSpace(string(processtest.Run(t, g.command(t, args...))))
}

// testGateway is one gateway on this ground.
type testGateway struct {
	*testbed
	process *processtest.Process
	address string      // host and port
	roots   *tls.Config // of the clients; nil for plain http
}

// open starts a gateway of its own for one attack, on a copy of the data.
func (g *testbed) open(t *testing.T, a *attack) *testGateway {
	t.Helper()
	h := &testGateway{testbed: g}
	data := filepath.Join(t.TempDir(), "data")
	must.Do(t, os.CopyFS(data, os.DirFS(filepath.Join(g.dir, "weir-data"))))
	cmd := g.command(t, "serve", "--listen", "127.0.0.1:0", "--data", data)
	cmd.Env = append(cmd.Env, "HOSTILE_VARIABLE="+variable)
	if a.files > 0 {
		args := limited(strconv.Itoa(a.files), cmd.Args...)
		cmd.Path, cmd.Args = must.Get(exec.LookPath(args[0]))(t), args
	}
	if a.secure {
		cert, key, config := certificate(t)
		h.roots = config
		cmd.Env = append(cmd.Env, "WEIR_TLS_CERT="+cert, "WEIR_TLS_KEY="+key)
	}
	h.process = processtest.Start(t, cmd, filepath.Join(t.TempDir(), "gateway.log"), "listening")
	h.address = h.process.AwaitAddress(t)
	return h
}

func (h *testGateway) url(path string) string {
	if h.roots != nil {
		return "https://" + h.address + path
	}
	return "http://" + h.address + path
}

// transport makes connections to the gateway, for several requests or for one each.
func (h *testGateway) transport(keep bool) *http.Transport {
	return &http.Transport{TLSClientConfig: h.roots.Clone(), DisableKeepAlives: !keep, ForceAttemptHTTP2: keep}
}

// certificate creates one for 127.0.0.1, in files, and the settings of clients that trust it.
func certificate(t *testing.T) (certFile, keyFile string, config *tls.Config) {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "weir"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	cert := must.Get(x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key))(t)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must.Do(t, err)
	dir := t.TempDir()
	write := func(name, kind string, bytes []byte) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600))
		return path
	}
	roots := x509.NewCertPool()
	parsed := must.Get(x509.ParseCertificate(cert))(t)
	roots.AddCert(parsed)
	return write("cert.pem", "CERTIFICATE", cert), write("key.pem", "PRIVATE KEY", private), &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}
