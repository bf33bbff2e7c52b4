package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Models: one for whole replies, and streams that the names describe.
const (
	wholeModel = "small"
	fastModel  = "s50d0"
	slowModel  = "s50d10ms"
	heldModel  = "s600d1s"
)

// subject is a server to load.
type subject struct {
	name       string
	clientAPI  string
	target     netip.AddrPort
	streamPath string // path of streams, if it differs
	// messagesPath is where a gateway passes /v1/messages to a provider and reads the model as the provider's own;
	// empty where /v1/messages and vendor/MODEL do that.
	messagesPath string
	key          string
	ca           string // file of certificates, if it uses TLS
	http2        bool
	child        *child // nil for the mock itself, which is not measured
}

func (s *subject) pid() int {
	if s.child == nil {
		return 0
	}
	return s.child.pid()
}

// load runs the load against a subject and returns its measurements. It notes failures, because they invalidate a
// figure.
func (b *bench) load(ctx context.Context, s *subject, model string, args ...string) (*loadResult, error) {
	const grace = 2 * time.Minute // beyond the longest window, ramp and wait of a load
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	all := []string{
		"load", "--target", s.target.String(), "--api", s.clientAPI, "--pid", fmt.Sprint(s.pid()), "--model", model,
	}
	if model != wholeModel {
		all = append(all, "--stream", "--path", s.streamPath)
	}
	if s.ca != "" {
		all = append(all, "--ca", s.ca, fmt.Sprintf("--http2=%t", s.http2))
	}
	cmd := exec.CommandContext(ctx, b.self, append(all, args...)...)
	cmd.Env = append(bareEnv(b.dir), keyVariable+"="+s.key)
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("load on %s: %w: %s%s", s.name, err, strings.TrimSpace(said.String()), s.lastWords())
	}
	var r loadResult
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
		return nil, fmt.Errorf("load on %s: %w", s.name, err)
	}
	if r.Failures > 0 {
		b.note("%s had %d failures, the last: %s", s.name, r.Failures, r.Failure)
	}
	return &r, nil
}

func (s *subject) lastWords() string {
	if s.child == nil {
		return ""
	}
	return "\n" + s.child.name + " said:\n" + s.child.said()
}

// call sends one request on a new connection. It returns an error unless the answer is 200 and reports usage.
func (s *subject) call() error {
	o := loadOptions{target: s.target, clientAPI: s.clientAPI, model: wholeModel, key: s.key, ca: s.ca}
	c, err := o.prepare()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyLimit)
	defer cancel()
	defer c.close()
	var answer []byte
	status, _, err := c.call(ctx, func(body io.Reader) (err error) {
		answer, err = io.ReadAll(io.LimitReader(body, 64<<10))
		return err
	})
	if err == nil && (status != http.StatusOK || !strings.Contains(string(answer), `"usage":{`)) {
		err = fmt.Errorf("status %d, or no usage: %.300s", status, answer)
	}
	return err
}

// startMock starts the mock provider, which is also the subject without a gateway, and the same over TLS.
func (b *bench) startMock(ctx context.Context) (err error) {
	if b.direct, err = b.mock(ctx, onDirect, ""); err != nil {
		return err
	}
	if b.cert, b.key, err = writeCertificate(b.dir); err != nil {
		return err
	}
	b.secureMock, err = b.mock(ctx, "https", b.cert, "--cert", b.cert, "--key", b.key)
	return err
}

func (b *bench) mock(ctx context.Context, name, ca string, args ...string) (*subject, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	argv := append([]string{b.self, "mock", "--listen", addr.String()}, args...)
	c, err := b.start("mock-"+name, b.loadCore, argv...)
	if err != nil {
		return nil, err
	}
	s := &subject{name: name, clientAPI: "completions", target: addr, ca: ca}
	return s, c.ready(ctx, s.call)
}

// nginxConfig configures nginx as a plain reverse proxy: no log, keep-alive connections on both sides. master_process
// is off so that nginx is one process, which ends with this one.
const nginxConfig = `daemon off; master_process off; worker_processes 1;
pid %[1]s/nginx.pid;
error_log stderr error;
events { worker_connections 32768; }
http {
  access_log off;
  client_body_temp_path %[1]s/nginx-body; proxy_temp_path %[1]s/nginx-proxy;
  fastcgi_temp_path %[1]s/nginx-fastcgi; uwsgi_temp_path %[1]s/nginx-uwsgi; scgi_temp_path %[1]s/nginx-scgi;
  keepalive_requests 100000000;
  upstream mock { server %[2]s; keepalive 128; keepalive_requests 100000000; }
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  proxy_read_timeout 60s;
  server {
    listen %[3]s backlog=4096;
    location / { proxy_pass http://mock; }
    location /v1/realtime { proxy_pass http://mock; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "Upgrade"; }
    location /stream/ { proxy_pass http://mock/; proxy_buffering off; }
  }
}
`

// startNginx starts nginx if it is installed.
func (b *bench) startNginx(ctx context.Context) error {
	path, err := exec.LookPath("nginx")
	if errors.Is(err, exec.ErrNotFound) {
		b.note("nginx is not in PATH: there is nothing to compare with, and no ratio")
		return nil
	}
	if err != nil {
		return err
	}
	addr, err := freeAddr()
	if err != nil {
		return err
	}
	file := filepath.Join(b.dir, "nginx.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, nginxConfig, b.dir, b.direct.target, addr), 0o600); err != nil {
		return err
	}
	c, err := b.start(onNginx, b.gatewayCore, path, "-p", b.dir, "-e", "stderr", "-c", file)
	if err != nil {
		return err
	}
	b.nginx = &subject{
		name: onNginx, clientAPI: "completions", target: addr, streamPath: "/stream/v1/chat/completions", child: c,
	}
	return c.ready(ctx, b.nginx.call)
}

// startRival starts another gateway by the command in --rival; the flag's help describes it.
func (b *bench) startRival(ctx context.Context) error {
	if b.rivalCommand == "" {
		return nil
	}
	addr, err := freeAddr()
	if err != nil {
		return err
	}
	c, err := b.start(onRival, b.gatewayCore, "/usr/bin/env", "BENCH_LISTEN="+addr.String(),
		"BENCH_PORT="+strconv.Itoa(int(addr.Port())), "BENCH_PROVIDER=http://"+b.direct.target.String()+"/v1",
		"sh", "-c", "exec "+b.rivalCommand)
	if err != nil {
		return err
	}
	b.rival = &subject{
		name: onRival, clientAPI: "completions", target: addr, key: os.Getenv(rivalKeyVariable), child: c,
		messagesPath: b.rivalMessages,
	}
	return c.ready(ctx, b.rival.call)
}

// gatewayConfig is a typical configuration: providers of two wire formats with prices, and all defaults.
const gatewayConfig = `listen: %[1]s
data: %[2]s
max_concurrency: 40000
%[3]sproviders:
  house:
    dialect: openai
    base_url: %[4]s/v1
    allow_private: true
    api_keys: [bench]
    models: [small, s50d0, s50d10ms, s600d1s]
  vendor:
    dialect: anthropic
    base_url: %[4]s/v1
    allow_private: true
    api_keys: [bench]
    models: [small, s50d0]
models:
  house/small: {context: 32768, max_output: 4096}
  vendor/small: {context: 32768, max_output: 4096}
prices:
  vendor/small: {input: "0.15", output: "0.60"}
  vendor/s50d0: {input: "0.15", output: "0.60"}
  house/small: {input: "0.15", output: "0.60"}
  house/s50d0: {input: "0.15", output: "0.60"}
  house/s50d10ms: {input: "0.15", output: "0.60"}
  house/s600d1s: {input: "0.15", output: "0.60"}
`

// site is a configured gateway with its data, before it is started.
type site struct {
	name    string
	gateway string // file of the program
	config  string // file
	addr    netip.AddrPort
	key     string
	ca      string // file of certificates, if it uses TLS
	core    int    // core to run on; allCores for all
}

// settings are the unusual settings of a gateway.
type settings struct {
	gateway        string // file of the program; empty for the measured one
	durability     string // empty for batched
	database       string // empty for SQLite
	secureProvider bool   // https
	secure         bool   // clients use TLS
	allCores       bool   // it runs on all cores, together with the load and the mock
}

func (b *bench) newSite(name string, of settings) (*site, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	s := &site{
		name: name, gateway: cmp.Or(of.gateway, b.gateway), config: filepath.Join(b.dir, name+".yaml"), addr: addr,
		core: b.gatewayCore,
	}
	if of.allCores {
		s.core = allCores
	}
	extra, provider := "", "http://"+b.direct.target.String()
	if of.durability != "" {
		extra += "durability: " + of.durability + "\n"
	}
	if of.database != "" {
		extra += fmt.Sprintf("database: %q\n", of.database)
	}
	if of.secure {
		extra += fmt.Sprintf("tls: {cert: %q, key: %q}\n", b.cert, b.key)
		s.ca = b.cert
	}
	if of.secureProvider {
		extra += fmt.Sprintf("outbound: {ca_file: %q}\n", b.cert)
		provider = "https://" + b.secureMock.target.String()
	}
	text := fmt.Appendf(nil, gatewayConfig, addr, filepath.Join(b.dir, name), extra, provider)
	return s, os.WriteFile(s.config, text, 0o600)
}

// startSite starts the gateway and returns the time from before its process was created to the first answer 200 to a
// chat request. On its first start the gateway prints its key.
func (b *bench) startSite(ctx context.Context, s *site) (*child, time.Duration, error) {
	began := time.Now()
	c, err := b.start(s.name, s.core, s.gateway, "serve", "--config", s.config)
	if err != nil {
		return nil, 0, err
	}
	err = c.ready(ctx, func() error {
		if s.key == "" {
			s.key = firstKey(c.log)
		}
		if s.key == "" {
			return errors.New("it has not printed its first key")
		}
		return s.subject(onCompletions, c).call()
	})
	return c, time.Since(began), err
}

var keyPattern = regexp.MustCompile(`\bwk_[0-9A-Za-z]{46}\b`)

func firstKey(log string) string {
	text, err := os.ReadFile(log)
	if err != nil {
		return "" // not written yet
	}
	return string(keyPattern.Find(text))
}

// createKey creates the benchmark's key by the command line.
func (b *bench) createKey(ctx context.Context, s *site) error {
	cmd := exec.CommandContext(ctx, s.gateway, "keys", "create", "--config", s.config, "--account", "default",
		"--label", "bench")
	cmd.Dir, cmd.Env = b.dir, bareEnv(b.dir)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("keys create: %w: %s", err, exit.Stderr)
	}
	if err != nil {
		return fmt.Errorf("keys create: %w", err)
	}
	s.key = strings.TrimSpace(string(out))
	return nil
}

func (s *site) subject(name string, c *child) *subject {
	clientAPI := "completions"
	if name == onChat {
		clientAPI = "chat"
	}
	return &subject{name: name, clientAPI: clientAPI, target: s.addr, key: s.key, ca: s.ca, child: c}
}
