//go:build unix

package browsertest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/signin/oidctest"
)

var (
	browserFlag = flag.Bool("browser", false, "drive Chromium; make browser installs what that takes")
	shotsFlag   = flag.String("browser.shots", "", "`directory` for screenshots of every page")

	picturesFlag = flag.String("browser.pictures", "", "`directory` for the README's pictures")
)

// patience bounds the whole run of the browser, and promptness the start of a
// gateway.
const (
	patience   = 8 * time.Minute
	promptness = 20 * time.Second
)

// TestDashboardInChromium drives a gateway from its set-up link to single sign-on in Chromium.
func TestDashboardInChromium(t *testing.T) {
	if !*browserFlag {
		t.Skip("make browser drives Chromium")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	identities, err := oidctest.Start(oidctest.Person{Subject: "s-grace", Email: "grace@example.com", Verified: true, Name: "Grace Hopper", Groups: []string{"engineers"}})
	must.Do(t, err)
	defer identities.Close()
	dir := t.TempDir()
	bin := build(ctx, t, dir)
	base, setup := serve(ctx, t, bin, dir, identities.URL)
	shots := *shotsFlag
	if shots != "" {
		if shots, err = filepath.Abs(shots); err != nil {
			t.Fatal(err)
		}
	}
	drive(ctx, t, "suite.mjs", map[string]string{"base": base, "setup": setup, "issuer": identities.URL, "shots": shots})
}

// TestPicturesOfReadme takes the README's pictures, of a gateway with two months of use.
func TestPicturesOfReadme(t *testing.T) {
	if *picturesFlag == "" {
		t.Skip("make screenshots takes pictures")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	to := must.Get(filepath.Abs(*picturesFlag))(t)
	dir := t.TempDir()
	bin := build(ctx, t, dir)
	must.Do(t, os.Mkdir(filepath.Join(dir, "data"), 0o700))
	tomorrow := time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly)
	run(ctx, t, "go", "run", "weir/bench", "seed", "--data", filepath.Join(dir, "data"),
		"--requests", "400000", "--rows", "8000", "--days", "60", "--accounts", "12", "--end", tomorrow)
	file := filepath.Join(dir, "weir.yaml")
	must.Do(t, os.WriteFile(file, fmt.Appendf(nil, "listen: 127.0.0.1:0\ndata: %s\n", filepath.Join(dir, "data")), 0o600))
	base := start(ctx, t, bin, file, nil)
	link := strings.TrimSpace(run(ctx, t, bin, "operators", "add", "ada@example.com", "--config", file))
	drive(ctx, t, "pictures.mjs", map[string]string{"base": base, "link": link[strings.LastIndex(link, "/invite/"):], "to": to})
}

// run runs a command to its end, and returns its output.
func run(ctx context.Context, t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, stderr.String())
	}
	return string(out)
}

func build(ctx context.Context, t *testing.T, dir string) (bin string) {
	t.Helper()
	bin = filepath.Join(dir, "weir")
	run(ctx, t, "go", "build", "-race=false", "-buildvcs=false", "-o", bin, "weir/cmd/weir")
	return bin
}

// drive runs the browser's steps.
func drive(ctx context.Context, t *testing.T, steps string, of map[string]string) {
	t.Helper()
	told := must.Get(json.Marshal(of))(t)
	node := exec.CommandContext(ctx, "node", steps, string(told))
	node.Cancel = func() error { return node.Process.Signal(syscall.SIGTERM) } // so that it ends its browser
	node.WaitDelay = promptness
	out, err := node.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("the browser: %v", err)
	}
}

var setupLink = regexp.MustCompile(`http://\S+/setup/\S+`)

// serve runs a gateway until the test ends, and returns its address and its set-up
// link.
func serve(ctx context.Context, t *testing.T, bin, dir, issuer string) (base, setup string) {
	t.Helper()
	file := filepath.Join(dir, "weir.yaml")
	config := fmt.Sprintf(`listen: 127.0.0.1:0
data: %s
webhooks: {allow_private: true}
oidc:
  issuer: %s
  client_id: %s
  client_secret: %s
  name: Example ID
  sign_up: true
  accounts: {research: {viewer: [engineers]}}
`, filepath.Join(dir, "data"), issuer, oidctest.ClientID, oidctest.ClientSecret)
	must.Do(t, os.WriteFile(file, []byte(config), 0o600))
	base = start(ctx, t, bin, file, &setup)
	return base, setup
}

// start runs a gateway until the test ends, and returns its address; setup, unless it is nil, becomes its set-up link.
func start(ctx context.Context, t *testing.T, bin, file string, setup *string) (base string) {
	t.Helper()
	dir := filepath.Dir(file)
	cmd := exec.CommandContext(context.WithoutCancel(ctx), bin, "serve", "--config", file) // the gateway ends on a signal
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	stdout := must.Get(cmd.StdoutPipe())(t)
	stderr, err := cmd.StderrPipe()
	must.Do(t, err)
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the gateway: %v", err)
		}
	})
	base = find(t, stderr, regexp.MustCompile(`listening on (http://\S+)`))
	if setup != nil {
		*setup = find(t, stdout, setupLink)
	}
	return base
}

// find waits for a match in a process's output, and reads on so that the process can write.
func find(t *testing.T, from io.Reader, what *regexp.Regexp) string {
	t.Helper()
	found := make(chan string, 1)
	go func() { // until the process ends
		lines := bufio.NewScanner(from)
		for lines.Scan() {
			if m := what.FindStringSubmatch(lines.Text()); m != nil {
				found <- m[len(m)-1]
			}
			if strings.Contains(lines.Text(), "level=ERROR") {
				fmt.Fprintln(os.Stderr, lines.Text())
			}
		}
	}()
	select {
	case text := <-found:
		return text
	case <-time.After(promptness):
		t.Fatalf("the gateway's output has no %s within %s", what, promptness)
		return ""
	}
}
