// Package fixturetest reads exchanges recorded with real providers. They are not part of the repository, but next to
// it, in ../shared/fixtures, if present.
package fixturetest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"weir/internal/must"
)

// Exchange is one request of a real client with the answer of a real provider.
type Exchange struct {
	Name        string // the provider and the case
	URL         string
	Status      int
	Stream      bool
	ContentType string // of the answer
	Request     []byte
	Response    []byte
	Expected    []byte // the result of the vendor's SDK, as JSON; nil for none
}

// Find returns the directory of the exchanges; an fs.ErrNotExist if there is none.
func Find() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for !exists(filepath.Join(dir, "go.mod")) {
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("no directory above the package has a go.mod")
		}
		dir = above
	}
	dir = filepath.Join(dir, "..", "shared", "fixtures")
	_, err = os.Stat(dir)
	return dir, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Dir returns the directory of the exchanges. It skips the test if there is none.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := Find()
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no recorded exchanges at %s", dir)
	}
	must.Do(t, err)
	return dir
}

// Exchanges returns the exchanges with a URL that fit accepts. It fails the test if there are none.
func Exchanges(t testing.TB, fit func(url string) bool) (list []Exchange) {
	t.Helper()
	dir := Dir(t)
	metas, err := filepath.Glob(filepath.Join(dir, "*", "*", "meta.json"))
	must.Do(t, err)
	for _, path := range metas {
		at := filepath.Dir(path)
		var meta struct {
			URL     string
			Status  int
			Stream  bool
			Headers map[string]string
		}
		if err := json.Unmarshal(read(t, path), &meta); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if !fit(meta.URL) {
			continue
		}
		bodies, err := filepath.Glob(filepath.Join(at, "response.*"))
		if err != nil || len(bodies) != 1 {
			t.Fatalf("%s: %d response files, want 1: %v", at, len(bodies), err)
		}
		name, err := filepath.Rel(dir, at)
		must.Do(t, err)
		e := Exchange{
			Name: name, URL: meta.URL, Status: meta.Status, Stream: meta.Stream,
			ContentType: meta.Headers["content-type"],
		}
		e.Request, e.Response = read(t, filepath.Join(at, "request.json")), read(t, bodies[0])
		if e.Expected, err = os.ReadFile(filepath.Join(at, "expected.json")); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	if len(list) == 0 {
		t.Fatalf("no fitting exchange at %s", dir)
	}
	return list
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b := must.Get(os.ReadFile(path))(t)
	return b
}
