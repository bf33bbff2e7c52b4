package admin_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"weir/internal/admin"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/e2e/harness"
	"weir/internal/managed"
	"weir/internal/must"
)

// fileOf returns the source of a gateway's configuration, with the variables of the process that applies a change.
func fileOf(h *harness.Gateway, variables map[string]string) config.Options {
	return config.Options{
		File: h.File, Data: h.Data, Environ: func() []string { return nil },
		Getenv: func(name string) (string, bool) { v, ok := variables[name]; return v, ok },
	}
}

// apply changes the managed configuration, and returns the paths that changed.
func apply(h *harness.Gateway, text string, variables map[string]string) (paths []string, err error) {
	h.T.Helper()
	return applyEdit(h, managed.Edit{Text: []byte(text)}, variables)
}

// applyEdit makes a change with the variables of the process that applies it.
func applyEdit(h *harness.Gateway, e managed.Edit, variables map[string]string) (paths []string, err error) {
	h.T.Helper()
	withFiles(h, fileOf(h, variables), func(ctx context.Context, d *admin.Admin) error {
		var r managed.Result
		r, err = d.Configuration.Edit(ctx, audit.Gateway(), e)
		for _, c := range r.Changes {
			paths = append(paths, c.Path)
		}
		return nil
	})
	return paths, err
}

// TestManagedConfigurationReachesNodes changes providers, aliases and prices while two nodes run: both soon have them
// in force, no request fails, an earlier version is restored, and a node leaves out a part that it cannot use.
func TestManagedConfigurationReachesNodes(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers: {}\n"})
	other := harness.Open(t, harness.Setup{YAML: "providers: {}\n", Dir: h.Data, Key: h.Key, JournalDir: t.TempDir()})
	both := func(what string, ask func(*harness.Gateway) bool) {
		t.Helper()
		for i, node := range []*harness.Gateway{h, other} {
			harness.Await(t, fmt.Sprintf("%s, at node %d", what, i+1), func() bool { return ask(node) })
		}
	}
	answers := func(model string) func(*harness.Gateway) bool {
		return func(node *harness.Gateway) bool { return node.Chat(model).Status == http.StatusOK }
	}
	provider := func(key string) string {
		return fmt.Sprintf("providers: {house: {dialect: openai, base_url: %q, allow_private: true, api_keys: [%s]}}\n", up.URL+"/v1", key)
	}
	_, err := apply(h, provider("one-key-of-the-provider")+"prices: {house/*: {input: \"1\", output: \"1\"}}\naliases: {fast: {targets: [house/echo], strategy: fallback}}", nil)
	must.Do(t, err)
	both("the alias answers", answers("fast"))
	cost := h.Chat("fast").Header.Get("X-Weir-Cost-Usd")

	failed := keepAsking(h, "fast")
	_, err = apply(h, provider("another-key-of-the-provider")+"prices: {house/*: {input: \"2\", output: \"2\"}}", nil)
	must.Do(t, err)
	both("the new price", func(node *harness.Gateway) bool { return node.Chat("fast").Header.Get("X-Weir-Cost-Usd") != cost })
	if n := failed(); n > 0 {
		t.Errorf("while the key and the price changed, %d requests failed, want none", n)
	}
	withPeople(h, func(ctx context.Context, d *admin.Admin) error {
		r, err := d.Configuration.Restore(ctx, audit.Gateway(), 1, nil)
		if len(r.Changes) != 2 {
			t.Errorf("restore: got %+v, want the provider and the price", r.Changes)
		}
		return err
	})
	both("the price of before", func(node *harness.Gateway) bool { return node.Chat("fast").Header.Get("X-Weir-Cost-Usd") == cost })

	if _, err := apply(h, "aliases: {fast: {targets: [nobody/x], strategy: fallback}}", nil); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("an alias to a provider that is not there: got %v, want an error that names it", err)
	}
	there := map[string]string{"ELSEWHERE": "a-key"}
	_, err = apply(h, provider(`"${ELSEWHERE}"`), there)
	must.Do(t, err)
	both("that version 4 cannot be used", func(node *harness.Gateway) bool {
		return strings.Contains(node.Do(harness.Ask{Path: "/readyz?verbose"}).Body, "cannot use version 4; version 3 stays")
	})
	both("what was before", answers("fast"))
	quick := "aliases: {quick: {targets: [house/echo], strategy: fallback}}\n" + provider("third-key-of-it")
	_, err = applyEdit(h, managed.Edit{Text: []byte(quick), Prune: true}, there)
	must.Do(t, err)
	both("what comes after", answers("quick"))
	both("the alias that was pruned", func(node *harness.Gateway) bool { return node.Chat("fast").Status != http.StatusOK })

	said := strings.Count(h.Log.String(), "the new configuration is invalid")
	h.Configure("providers: [")
	h.Reloads <- struct{}{}
	harness.Await(t, "the complaint about the file", func() bool {
		return strings.Count(h.Log.String(), "the new configuration is invalid") > said
	})
	if body := h.Do(harness.Ask{Path: "/readyz?verbose"}).Body; strings.Contains(body, "this node cannot use version") {
		t.Errorf("a mistake in the file: got %q, want no mention of the managed configuration", body)
	}
	h.Configure("providers: {}\n")
	neverShown(h, "one-key-of-the-provider", "another-key-of-the-provider", "third-key-of-it")
}

// neverShown fails if a key appears in the database, the log, or an export.
func neverShown(h *harness.Gateway, keys ...string) {
	h.T.Helper()
	text := h.Log.String() + string(must.Get(os.ReadFile(h.Data+"/weir.db"))(h.T))
	if wal, err := os.ReadFile(h.Data + "/weir.db-wal"); err == nil {
		text += string(wal)
	}
	withPeople(h, func(ctx context.Context, d *admin.Admin) error {
		doc, err := d.Configuration.Document(ctx)
		must.Do(h.T, err)
		text += string(must.Get(doc.YAML())(h.T))
		return nil
	})
	for _, key := range keys {
		if strings.Contains(text, key) {
			h.T.Errorf("the key %s is in the database, the log, or the export", key)
		}
	}
}

// keepAsking sends requests until the returned function is called, which returns the number of failures.
func keepAsking(h *harness.Gateway, model string) (failed func() int) {
	ctx, stop := context.WithCancel(h.T.Context())
	var asking sync.WaitGroup
	n := make([]int, 4)
	for i := range n {
		asking.Go(func() {
			for ctx.Err() == nil {
				if h.Chat(model).Status != http.StatusOK {
					n[i]++
				}
			}
		})
	}
	return func() (all int) {
		stop()
		asking.Wait()
		for _, one := range n {
			all += one
		}
		return all
	}
}

// TestFilePrecedesManagedConfiguration checks that an object of the configuration file can only be changed there.
func TestFilePrecedesManagedConfiguration(t *testing.T) {
	t.Parallel()
	h, up := harness.OpenSimulated(t)
	if _, err := apply(h, "providers: {house: {dialect: ollama, base_url: \""+up.URL+"\", allow_private: true}}", nil); err == nil || !strings.Contains(err.Error(), "change it there") {
		t.Errorf("a provider of the file: got %v, want an error about the file", err)
	}
	var export []byte
	withPeople(h, func(ctx context.Context, d *admin.Admin) error {
		doc, err := d.Configuration.Document(ctx)
		must.Do(t, err)
		export = must.Get(doc.YAML())(t)
		return nil
	})
	if paths, err := applyEdit(h, managed.Edit{Text: export, Prune: true}, nil); err != nil || len(paths) > 0 {
		t.Errorf("the export, applied: got %v, %v, want no change", paths, err)
	}
}
