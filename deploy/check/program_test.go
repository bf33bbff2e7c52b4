package check_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/must"
)

// standalone describes a proxy that is a program of its own. In its texts DIR stands for a directory of the test's,
// PORT for the port to listen on, CERT and KEY for the files of the certificate, and CONF for the proxy's file, or for
// the one that includes it.
type standalone struct {
	program string
	file    string   // in deploy
	edits   []string // pairs of replaced text and its replacement
	main    string   // the file that includes it as weir.conf; empty for none
	args    []string
	check   string // the argument that only checks the file
	stay    string // the one that keeps it in the foreground; empty for none
}

// start checks the proxy's file, and starts a gateway behind the proxy with that file.
func (s *standalone) start(t *testing.T) *proxied {
	t.Helper()
	name, text := program(t, s.program), read(t, s.file)
	return start(t, text, func(gateway, port string) {
		cert, key := certificate(t)
		dir := t.TempDir()
		conf := filepath.Join(dir, "weir.conf")
		pairs := []string{"DIR", dir, "PORT", port, "CERT", cert, "KEY", key}
		fill := strings.NewReplacer(pairs...).Replace
		edits := []string{"127.0.0.1:8080", gateway}
		for _, e := range s.edits {
			edits = append(edits, fill(e))
		}
		must.Do(t, os.WriteFile(conf, []byte(replaced(t, text, edits...)), 0o600))
		if s.main != "" {
			conf = filepath.Join(dir, "main.conf")
			must.Do(t, os.WriteFile(conf, []byte(fill(s.main)), 0o600))
		}
		args := []string{}
		for _, a := range s.args {
			args = append(args, strings.ReplaceAll(fill(a), "CONF", conf))
		}
		if out, err := run(t, name, append(args, s.check)...); err != nil {
			t.Fatalf("%s %s: %v: %s", s.program, s.check, err, out)
		}
		if s.stay != "" {
			args = append(args, s.stay)
		}
		serve(t, port, name, args...)
	})
}
