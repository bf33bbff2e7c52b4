package check_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"weir/internal/must"
)

// mostExposure bounds the result of systemd-analyze security for the service, from 0 (best) to 10.
const mostExposure = 2.0

// TestUnitsAreValid runs systemd-analyze verify. The program of the service need not be installed.
func TestUnitsAreValid(t *testing.T) {
	t.Parallel()
	analyze := program(t, "systemd-analyze")
	dir := t.TempDir()
	service := replaced(t, read(t, "systemd/weir.service"), "/usr/bin/weir", must.Get(os.Executable())(t))
	units := map[string]string{"weir.service": service, "weir.socket": read(t, "systemd/weir.socket")}
	args := []string{"verify", "--man=no"}
	for name, text := range units {
		at := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(at, []byte(text), 0o600))
		args = append(args, at)
	}
	if out, err := run(t, analyze, args...); err != nil || out != "" {
		t.Errorf("systemd-analyze verify: %v: %s", err, out)
	}
}

// TestServiceExposureIsLow runs systemd-analyze security.
func TestServiceExposureIsLow(t *testing.T) {
	t.Parallel()
	out, err := run(t, program(t, "systemd-analyze"), "security", "--offline=true", "--no-pager",
		path("systemd/weir.service"))
	if err != nil {
		t.Fatalf("systemd-analyze security: %v: %s", err, out)
	}
	level := regexp.MustCompile(`Overall exposure level for weir\.service: ([0-9.]+)`).FindStringSubmatch(out)
	if level == nil {
		t.Fatalf("systemd-analyze security reports no level: %s", out)
	}
	t.Log(level[0])
	if got := must.Get(strconv.ParseFloat(level[1], 64))(t); got >= mostExposure {
		t.Errorf("the exposure level is %v, want less than %v:\n%s", got, mostExposure, out)
	}
}

// TestUserOfService checks that sysusers.d creates the user of the service.
func TestUserOfService(t *testing.T) {
	t.Parallel()
	user := regexp.MustCompile(`(?m)^User=(.+)$`).FindStringSubmatch(read(t, "systemd/weir.service"))
	if user == nil || !regexp.MustCompile(`(?m)^u `+user[1]+` `).MatchString(read(t, "systemd/weir.sysusers")) {
		t.Errorf("weir.sysusers does not make the user %v of weir.service", user)
	}
	root := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(root, "etc"), 0o700))
	file := must.Get(filepath.Abs(path("systemd/weir.sysusers")))(t)
	out, err := run(t, program(t, "systemd-sysusers"), "--root="+root, file)
	if err != nil {
		t.Errorf("systemd-sysusers: %v: %s", err, out)
	}
}
