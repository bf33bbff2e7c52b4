package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// withinAll bounds the time of all steps of a new user, and withinPackaged the time from the package on.
const (
	withinAll      = 5 * time.Minute
	withinPackaged = 20 * time.Second
)

// newcomer follows the documented steps in an empty home directory: docs/install.md, then docs/quickstart.md, with
// requests of a browser for the pages.
type newcomer struct {
	home, weir string // weir is the installed program
	log        io.Writer
	gateway    *exec.Cmd
	out        string // file with the gateway's output
	base       string // address of the gateway
	key        string
	browser    *http.Client
}

func newcomerCommand(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("newcomer", flag.ContinueOnError)
	root := flags.String("root", "..", "the clone that the package is made from")
	file := flags.String("package", "", "the package to install, a .deb or .tar.gz; empty for one that is made first")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, withinAll)
	defer cancel()
	home, err := os.MkdirTemp("", "weir-newcomer-")
	if err != nil {
		return err
	}
	n := &newcomer{home: home, log: os.Stdout}
	return errors.Join(n.walk(ctx, *root, *file), os.RemoveAll(home))
}

// walk runs all steps and prints the duration of each.
func (n *newcomer) walk(ctx context.Context, root, file string) (err error) {
	begun := time.Now()
	if file == "" {
		made := func(ctx context.Context) error { file, err = n.makePackage(ctx, root); return err }
		if err := n.step(ctx, "make the package", made); err != nil {
			return err
		}
	}
	packaged := time.Now()
	defer func() { err = errors.Join(err, n.stop()) }()
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{"install the package", func(ctx context.Context) error { return n.install(ctx, file) }},
		{"start the gateway", n.start},
		{"first chat, with the printed key", n.chat},
		{"set up the dashboard", n.setUp},
		{"first key on the page", n.makeKey},
		{"chat with that key", n.chat},
		{"first chart", n.chart},
		{"first budget, on the page", n.setBudget},
		{"a budget that is spent refuses", n.refused},
		{"stop", func(context.Context) error { return n.stop() }},
	}
	for _, s := range steps {
		if err := n.step(ctx, s.name, s.do); err != nil {
			return err
		}
	}
	took, all := time.Since(packaged), time.Since(begun)
	fmt.Fprintf(n.log, "%8.2f s  from the package on (at most %s); %.2f s in all (at most %s)\n", took.Seconds(),
		withinPackaged, all.Seconds(), withinAll)
	if took > withinPackaged || all > withinAll {
		return errors.New("the steps took too long")
	}
	return nil
}

func (n *newcomer) step(ctx context.Context, name string, do func(context.Context) error) error {
	begun := time.Now()
	if err := do(ctx); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(n.log, "%8.2f s  %s\n", time.Since(begun).Seconds(), name)
	return nil
}

// makePackage builds a release for this machine and returns its Debian package, or its archive if it cannot be unpacked
// here.
func (n *newcomer) makePackage(ctx context.Context, root string) (string, error) {
	s, err := describe(ctx, root, true)
	if err != nil {
		return "", err
	}
	here := target{runtime.GOOS, runtime.GOARCH}
	r := &release{source: s, targets: []target{here}, out: filepath.Join(n.home, "release"), log: io.Discard}
	if r.root, err = filepath.Abs(root); err != nil {
		return "", err
	}
	if err := r.make(ctx); err != nil {
		return "", err
	}
	if _, err := exec.LookPath("dpkg-deb"); err == nil && here.system == "linux" {
		return r.file("_%s.deb", here), nil
	}
	return r.file("_%s.tar.gz", here), nil
}

// install unpacks a package below the home directory, so that the machine is not changed.
func (n *newcomer) install(ctx context.Context, file string) error {
	installed := filepath.Join(n.home, "installed")
	if err := os.Mkdir(installed, 0o755); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "tar", "-xzf", file, "-C", installed, "--strip-components=1")
	n.weir = filepath.Join(installed, "weir")
	if strings.HasSuffix(file, ".deb") {
		cmd = exec.CommandContext(ctx, "dpkg-deb", "--extract", file, installed)
		n.weir = filepath.Join(installed, "usr/bin/weir")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	_, err := n.run(ctx, "version")
	return err
}

// environment returns an environment without provider keys and configuration.
func (n *newcomer) environment() []string {
	return []string{"HOME=" + n.home, "PATH=" + os.Getenv("PATH")}
}

func (n *newcomer) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, n.weir, args...)
	cmd.Dir, cmd.Env = n.home, n.environment()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("weir %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

var (
	listening = regexp.MustCompile(`listening on (http://\S+)`)
	firstKey  = regexp.MustCompile(`wk_[0-9A-Za-z]{46}`)
	setupLink = regexp.MustCompile(`http://\S+/setup/\S+`)
)

// start starts the gateway and waits for the output of its first start.
func (n *newcomer) start(ctx context.Context) error {
	n.out = filepath.Join(n.home, "printed")
	printed, err := os.Create(n.out)
	if err != nil {
		return err
	}
	defer printed.Close() //nolint:errcheck // the gateway has a descriptor of its own
	// stop ends the gateway.
	n.gateway = exec.Command(n.weir, "serve", "--listen", "127.0.0.1:0")
	n.gateway.Dir, n.gateway.Env = n.home, n.environment()
	n.gateway.Stdout, n.gateway.Stderr = printed, printed
	if err := n.gateway.Start(); err != nil {
		n.gateway = nil
		return err
	}
	for {
		text, err := os.ReadFile(n.out)
		if err != nil {
			return err
		}
		at, key := listening.FindSubmatch(text), firstKey.Find(text)
		if at != nil && key != nil && setupLink.Match(text) {
			n.base, n.key = string(at[1]), string(key)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; it printed %s", ctx.Err(), text)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (n *newcomer) stop() error {
	if n.gateway == nil {
		return nil
	}
	g := n.gateway
	n.gateway = nil
	if err := g.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return g.Wait()
}

// ask sends a request and returns the text of the answer, at most a megabyte.
func (n *newcomer) ask(ctx context.Context, method, path, kind, body string) (status int, text string, err error) {
	r, err := http.NewRequestWithContext(ctx, method, n.base+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	client := n.browser
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	if kind == "application/json" {
		client = http.DefaultClient
		r.Header.Set("Authorization", "Bearer "+n.key)
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	all, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	return answer.StatusCode, string(all), err
}

// page opens a page or, with fields, submits its form, and returns the resulting page.
func (n *newcomer) page(ctx context.Context, path string, fields url.Values) (string, error) {
	method, kind := http.MethodGet, ""
	if fields != nil {
		method, kind = http.MethodPost, "application/x-www-form-urlencoded"
	}
	status, text, err := n.ask(ctx, method, path, kind, fields.Encode())
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s %s answers %d: %s", method, path, status, text)
	}
	return text, err
}

func (n *newcomer) sendChat(ctx context.Context) (int, string, error) {
	return n.ask(ctx, http.MethodPost, "/v1/chat/completions", "application/json",
		`{"model": "demo/chat", "messages": [{"role": "user", "content": "What is a weir?"}]}`)
}

func (n *newcomer) chat(ctx context.Context) error {
	status, text, err := n.sendChat(ctx)
	if err == nil && (status != http.StatusOK || !strings.Contains(text, `"assistant"`)) {
		err = fmt.Errorf("the answer is %d: %s", status, text)
	}
	return err
}

func (n *newcomer) setUp(ctx context.Context) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	n.browser = &http.Client{Jar: jar}
	printed, err := os.ReadFile(n.out)
	if err != nil {
		return err
	}
	path := strings.TrimPrefix(string(setupLink.Find(printed)), n.base)
	_, err = n.page(ctx, path, url.Values{
		"name": {"Ada Lovelace"}, "email": {"ada@example.com"}, "password": {"a weir measures a river"},
	})
	return err
}

// once matches the token that prevents a form from being submitted twice.
var once = regexp.MustCompile(`name="once" value="([^"]+)"`)

func (n *newcomer) makeKey(ctx context.Context) error {
	const path = "/accounts/default/keys/new"
	text, err := n.page(ctx, path, nil)
	if err != nil {
		return err
	}
	fields := url.Values{"label": {"laptop"}, "permissions": {"chat", "uses"}, "expires": {"never"}}
	if m := once.FindStringSubmatch(text); m != nil {
		fields.Set("once", m[1])
	}
	if text, err = n.page(ctx, path, fields); err != nil {
		return err
	}
	key := firstKey.FindString(text)
	if key == "" || key == n.key {
		return errors.New("the page shows no new key")
	}
	n.key = key
	return nil
}

// chart waits until the overview shows a chart of the usage, which the gateway writes to the database within a second.
func (n *newcomer) chart(ctx context.Context) error {
	for begun := time.Now(); time.Since(begun) < 10*time.Second; time.Sleep(50 * time.Millisecond) {
		text, err := n.page(ctx, "/accounts/default", nil)
		if err != nil {
			return err
		}
		if strings.Contains(text, `<path class="axis"`) && strings.Contains(text, "demo/chat") {
			return nil
		}
	}
	return errors.New("the overview has no chart of demo/chat after 10 s")
}

func (n *newcomer) setBudget(ctx context.Context) error {
	_, err := n.page(ctx, "/operator/accounts/default/budget/set", url.Values{
		"budget": {"0.000001"}, "period": {"day"},
	})
	return err
}

// refused waits until a budget below the amount spent takes effect.
func (n *newcomer) refused(ctx context.Context) error {
	said := ""
	for begun := time.Now(); time.Since(begun) < 5*time.Second; time.Sleep(50 * time.Millisecond) {
		status, text, err := n.sendChat(ctx)
		if err != nil {
			return err
		}
		said = text
		if status != http.StatusOK && strings.Contains(text, `"insufficient_quota"`) {
			return nil
		}
	}
	return fmt.Errorf("5 s after the budget was set, a request is answered with %s", said)
}
