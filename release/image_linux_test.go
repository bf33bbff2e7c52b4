package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// runImage runs an image as a container engine would: with its own root, which its user may not write, as its user, and
// with its variables. Then its health check runs.
func runImage(t *testing.T, m *made, root string, config imageFile) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Log("the image is not run: that needs root")
		return
	}
	for dir := root; dir != "/"; dir = filepath.Dir(dir) { // so that the user can enter
		if err := os.Chmod(dir, 0o755); err != nil {
			break
		}
	}
	inside := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Env = slices.Concat(config.Config.Env, []string{"WEIR_LISTEN=" + freeAddress(t)})
		cmd.Dir = config.Config.WorkingDir
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}}
		return cmd
	}
	out, err := inside(slices.Concat(config.Config.Entrypoint, []string{"version"})...).CombinedOutput()
	if err != nil {
		t.Fatalf("weir version in the image: %v: %s", err, out)
	}
	holdVersion(t, m, string(out))
	serve := inside(slices.Concat(config.Config.Entrypoint, config.Config.Cmd)...)
	var log strings.Builder
	serve.Stderr = &log
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	healthy := false
	for begun := time.Now(); !healthy && time.Since(begun) < 20*time.Second; time.Sleep(100 * time.Millisecond) {
		check := inside(config.Config.Healthcheck.Test[1:]...)
		check.Env = serve.Env
		healthy = check.Run() == nil
	}
	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := serve.Wait(); err != nil || !healthy {
		t.Errorf("the gateway in the image: healthy %t, ended with %v:\n%s", healthy, err, &log)
	}
	if _, err := os.Stat(filepath.Join(root, "data/weir.db")); err != nil {
		t.Errorf("the data are not in /data: %v", err)
	}
}

// freeAddress returns an unused address.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr())
}
