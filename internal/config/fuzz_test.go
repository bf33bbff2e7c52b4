package config_test

import (
	"errors"
	"strings"
	"testing"

	"weir/internal/config"
)

// FuzzLoad checks that no bytes make Load panic, that every mistake has a place and one line, and that a shown
// configuration is valid.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(wholeFile))
	for _, c := range mistakes() {
		f.Add([]byte(c.in))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		cfg, err := fromFile(string(src))
		if err != nil {
			checkProblems(t, err)
			return
		}
		for _, p := range cfg.Providers {
			if len(p.APIKeys) > 0 {
				return // hidden keys do not read back
			}
		}
		shown := cfg.Redacted()
		if _, err := fromFile(string(shown)); err != nil {
			t.Errorf("Load(%q), shown as\n%s\nis read back with error\n%v", src, shown, err)
		}
	})
}

func checkProblems(t *testing.T, err error) {
	t.Helper()
	problems, ok := errors.AsType[config.Problems](err)
	if !ok || len(problems) == 0 {
		t.Fatalf("got error %T %v, want Problems", err, err)
	}
	for _, p := range problems {
		if p.File != "weir.yaml" || p.Line < 0 || (p.Line == 0) != (p.Column == 0) {
			t.Errorf("got problem %+v, want the file and a place in it", p)
		}
		if p.Message == "" || strings.Contains(p.Message, "\n") || len(p.Message) > 600 {
			t.Errorf("got message %q, want one short line", p.Message)
		}
	}
}
