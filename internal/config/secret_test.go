package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"weir/internal/config"
	"weir/internal/must"
)

// TestRevealedIsBoundToProviderAndHost uses the placeholder of a key with other providers, and with other hosts.
func TestRevealedIsBoundToProviderAndHost(t *testing.T) {
	t.Parallel()
	const home = "https://api.example.com/v1"
	provider := func(name, url string) config.Document {
		text := "providers: {" + name + ": {dialect: openai, api_keys: [canary-key-0123456789]"
		if url != "" {
			text += ", base_url: \"" + url + "\""
		}
		return document(t, text+"}}")
	}
	for _, test := range []struct {
		what, saved, name, url string
		same                   bool
	}{
		{"as it is saved", home, "house", home, true},
		{"another path", home, "house", "https://API.example.com/v2", true},
		{"at the catalogue's host", "", "house", "", true},
		{"of another provider", home, "other", home, false},
		{"another host", home, "house", "https://api.example.org/v1", false},
		{"another port", home, "house", "https://api.example.com:8443/v1", false},
		{"without TLS", home, "house", "http://api.example.com/v1", false},
		{"a host in place of the catalogue's", "", "house", home, false},
		{"the catalogue's in place of a host", home, "house", "", false},
		{"a reference that was there", "https://${HOST}/v1", "house", "https://${HOST}/v1", true},
		{"a reference to a host", home, "house", "https://${HOST}/v1", false},
		{"a host in its user's name", home, "house", "https://api.example.com@evil.example/v1", false},
	} {
		saved := provider("house", test.saved)
		change := provider(test.name, test.url).Hidden()
		revealed, err := change.Revealed(saved)
		text := string(must.Get(revealed.JSON())(t))
		if got := err == nil && strings.Contains(text, "canary-key-0123456789"); got != test.same {
			t.Errorf("%s: got the key %v, %v; want %v", test.what, got, err, test.same)
		}
	}
}

// TestReferencesReadOnlyRegularFiles names a pipe with a writer, and a device.
func TestReferencesReadOnlyRegularFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, file, conf := filepath.Join(dir, "pipe"), filepath.Join(dir, "file"), filepath.Join(dir, "weir.yaml")
	must.Do(t, syscall.Mkfifo(pipe, 0o600))
	must.Do(t, os.WriteFile(file, []byte("a-key\n"), 0o600))
	done := make(chan struct{})
	go func() { // a pipe without a writer would never end
		defer close(done)
		if w, err := os.OpenFile(pipe, os.O_WRONLY, 0); err == nil {
			_, _ = w.WriteString("a-key\n")
			_ = w.Close()
		}
	}()
	for _, path := range []string{file, pipe, "/dev/null", dir} {
		text := "providers: {house: {base_url: \"https://x.example/v1\", api_keys: [\"${file:" + path + "}\"]}}\n"
		must.Do(t, os.WriteFile(conf, []byte(text), 0o600))
		_, err := config.Load(config.Options{File: conf, Environ: func() []string { return nil }})
		if path == file && err != nil || path != file && (err == nil || !strings.Contains(err.Error(), "regular file")) {
			t.Errorf("%s: got %v, want regular files alone to be read", path, err)
		}
	}
	r, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0) // so that the writer does not wait for ever
	must.Do(t, err)
	<-done
	must.Do(t, r.Close())
}

// TestErrorsShowNoLines reads files that are not YAML mappings: their content is not shown.
func TestErrorsShowNoLines(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"canary-line\ncanary-second\n", "- canary\n", "a: \"canary\n", "{\"a\": canary\n", "? [canary]\n: x\n", "&a canary: *b\n"} {
		if _, err := config.ParseTree("file", []byte(text)); err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: got %v, want no line of the file", text, err)
		}
		_, err := config.ParseDocument("file", []byte("providers: {house: "+strings.TrimSuffix(text, "\n")+"}"))
		if err != nil && strings.Contains(err.Error(), "canary-second") {
			t.Errorf("%q: got %v, want no line of the file", text, err)
		}
	}
}
