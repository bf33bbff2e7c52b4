package meter_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/must"
	"weir/internal/report"
	"weir/internal/upstream"
)

// priceFile returns the text of a price file in which a million input tokens of house/small have the given price, and
// output tokens are free.
func priceFile(input string) string {
	return fmt.Sprintf(`{"entries": [{"provider": "house", "models": ["small"], "rates": {"input_mtok": %q, "output_mtok": "0"}, "source": "contract", "seen": "2026-11-20"}]}`, input)
}

// TestPriceFilesReload checks that a price file counts, that the configuration precedes it, that it is read again after
// a change and at SIGHUP, and that a mistake in it leaves the earlier prices in force. Rows keep their prices.
func TestPriceFilesReload(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "prices.json")
	write := func(text string) {
		t.Helper()
		must.Do(t, os.WriteFile(file+".new", []byte(text), 0o600))
		must.Do(t, os.Rename(file+".new", file))
	}
	write(priceFile("10000"))
	yaml := "prices_file: " + file + "\nprices:\n  house/own: {input: \"20000\", output: \"0\"}\nproviders:" + harness.ProviderYAML("house", anyModel(t))
	h := harness.Open(t, harness.Setup{YAML: yaml})
	cost := func(model string) (cost, id string) {
		t.Helper()
		r := h.Chat(model)
		if r.Status != http.StatusOK {
			t.Fatalf("%s: got %d %s", model, r.Status, r.Body)
		}
		return r.Header.Get("X-Weir-Cost-USD"), r.Header.Get("X-Request-Id")
	}
	want := func(model, want string) {
		t.Helper()
		harness.Await(t, model+" to cost "+want, func() bool { got, _ := cost(model); return got == want })
	}
	first, id := cost("house/small")
	if first != "1" {
		t.Fatalf("by the file: got $%s, want $1", first)
	}
	want("house/own", "2")
	if got := h.Do(harness.Ask{Path: "/metrics", Key: harness.NoKey}).Body; !strings.Contains(got, `weir_price_data_timestamp_seconds{source="prices.json"} 1.7951328e+09`) || !strings.Contains(got, `source="shipped"} 1.7`) || !strings.Contains(got, "weir_price_files_rejected 0") {
		t.Errorf("metrics: %s", grep(got, "weir_price"))
	}

	write(priceFile("30000"))
	want("house/small", "3")

	write(strings.Replace(priceFile("1"), "models", "model", 1))
	harness.Await(t, "the mistake in the log", func() bool {
		return strings.Contains(h.Log.String(), file+`:1:36: unknown name \"model\"; did you mean \"models\"?`)
	})
	want("house/small", "3")
	if got := h.Do(harness.Ask{Path: "/metrics", Key: harness.NoKey}).Body; !strings.Contains(got, "weir_price_files_rejected 1") {
		t.Errorf("metrics: %s", grep(got, "weir_price"))
	}
	if r := h.Do(harness.Ask{Path: "/readyz?verbose", Key: harness.NoKey}); r.Status != http.StatusOK || !strings.Contains(r.Body, "[-] prices of 20") || !strings.Contains(r.Body, "days old a price file has a mistake") || strings.Contains(r.Body, file) {
		t.Errorf("readyz: %d %s", r.Status, r.Body)
	}

	// The rest of the configuration comes into force despite a wrong file.
	h.Configure(strings.Replace(yaml, "20000", "40000", 1))
	h.Reloads <- struct{}{}
	want("house/own", "4")
	want("house/small", "3")

	write(priceFile("50000"))
	want("house/small", "5")
	want("house/own", "4")
	if r := h.Do(harness.Ask{Path: "/readyz?verbose", Key: harness.NoKey}); !strings.Contains(r.Body, "[+] prices of 20") {
		t.Errorf("readyz: %s", r.Body)
	}

	// A refused configuration leaves no price.
	h.Configure(strings.Replace(yaml, "20000", "90000", 1) + "aliases: {x: {targets: [nobody/y]}}\n")
	h.Reloads <- struct{}{}
	harness.Await(t, "the mistake in the log", func() bool { return strings.Contains(h.Log.String(), "the running one stays in force") })
	write(priceFile("60000"))
	want("house/small", "6")
	want("house/own", "4")

	if got := h.Row(id); got.Cost != "1" {
		t.Errorf("the first row: got $%s, want $1 still", got.Cost)
	}
	if _, last := cost("house/small"); h.Row(last).Cost != "6" {
		t.Errorf("the last row: got $%s, want $6", h.Row(last).Cost)
	}
	versions := map[string]string{}
	h.EachEntry(func(e *report.Exported) { versions[e.FullModel()+" $"+e.Cost.String()] = e.Price.Version })
	if a, b := versions["house/small $1"], versions["house/small $6"]; !strings.HasPrefix(a, "file/house/small#") || !strings.HasPrefix(b, "file/house/small#") || a == b {
		t.Errorf("got versions %v", versions)
	}
}

// TestPriceFileMetrics checks that metrics name price files without their directories, and distinguish files of the
// same name.
func TestPriceFileMetrics(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"a/prices.json", "own.json", "b/prices.json", "shipped"} {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Do(t, os.WriteFile(path, []byte(priceFile("1")), 0o600))
		paths = append(paths, path)
	}
	h := harness.Open(t, harness.Setup{YAML: "prices_file: [" + strings.Join(paths, ", ") + "]\nproviders:" + harness.ProviderYAML("house", anyModel(t))})
	got := grep(h.Do(harness.Ask{Path: "/metrics", Key: harness.NoKey}).Body, "weir_price_data_timestamp_seconds{")
	for _, source := range []string{"prices.json#1", "own.json", "prices.json#3", "shipped#4", "shipped"} {
		if strings.Count(got, `{source="`+source+`"}`) != 1 {
			t.Errorf("want one of source %s; got:\n%s", source, got)
		}
	}
	if strings.Contains(got, dir) {
		t.Errorf("got a directory:\n%s", got)
	}
}

// TestPriceFileAtStart checks that a gateway does not start with a wrong price file.
func TestPriceFileAtStart(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "none.json")
	h := harness.NewGateway(t, harness.Setup{YAML: "prices_file: [" + missing + "]\nproviders:" + harness.ProviderYAML("house", anyModel(t))})
	o := upstream.Options{Config: h.Config(), Getenv: func(string) string { return "" }, Log: harness.Discard()}
	_, err := o.Models(t.Context(), "")
	if err == nil || !strings.Contains(err.Error(), missing+": cannot be read: no such file") {
		t.Errorf("got %v, want that %s cannot be read", err, missing)
	}
}

// TestPriceFileOfAnotherRelease checks that a gateway starts if a price file names something that its data does not
// know, logs that, and has the other prices in force.
func TestPriceFileOfAnotherRelease(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "prices.json")
	text := strings.Replace(priceFile("10000"), `{"entries": [`, `{"entries": [
{"provider": "gone", "models": ["a"], "rates": {"input_mtok": "1"}, "source": "contract"},
{"provider": "openai", "models": ["gone"], "rates": {"input_mtok": "1"}, "source": "contract"},`, 1)
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	h := harness.Open(t, harness.Setup{YAML: "prices_file: " + file + "\nproviders:" + harness.ProviderYAML("house", anyModel(t))})
	if got := h.Chat("house/small").Header.Get("X-Weir-Cost-USD"); got != "1" {
		t.Errorf("by the file: got $%s, want $1", got)
	}
	said := grep(h.Log.String(), "the price files contain unknown names")
	if !strings.Contains(said, "level=WARN") || !strings.Contains(said, file+`:2:14: warning: provider \"gone\" is unknown`) || !strings.Contains(said, "(and 1 more)") {
		t.Errorf("the log: %s", said)
	}
	if got := h.Do(harness.Ask{Path: "/metrics", Key: harness.NoKey}).Body; !strings.Contains(got, "weir_price_files_rejected 0") {
		t.Errorf("metrics: %s", grep(got, "weir_price"))
	}
}

// grep returns the lines of a text that contain a word.
func grep(text, word string) (lines string) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			lines += line
		}
	}
	return lines
}
