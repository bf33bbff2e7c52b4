package dashboard_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"weir/internal/admin"
	"weir/internal/config"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/route"
	"weir/internal/signin"
	"weir/internal/store"
	"weir/internal/upstream"
)

// houseFile is a configuration with the provider house in line 7.
const houseFile = `# The installation of the tests.
# It has one provider,
# and its prices.
retention:
  requests: 90d
providers:
  house: {dialect: openai, base_url: %q, allow_private: true, api_keys: [key-of-house-9f3a], admin_key: admin}
prices:
  house/*: {input: "1", output: "2"}
`

// operationsOf returns the operations on a database, with the configuration of houseFile.
func operationsOf(t testing.TB, db *store.DB, log *slog.Logger, change func(*people.Options, *signin.Options)) *admin.Admin {
	t.Helper()
	reports := httptest.NewServer(http.HandlerFunc(reportUsage))
	t.Cleanup(reports.Close)
	dir := t.TempDir()
	from := config.Options{
		File: filepath.Join(dir, "weir.yaml"), Environ: func() []string { return nil },
		Getenv: func(string) (string, bool) { return "", false },
	}
	must.Do(t, os.WriteFile(from.File, fmt.Appendf(nil, houseFile, reports.URL+"/v1"), 0o600))
	o := &admin.Options{
		Config: &config.Config{Data: dir, PublicURL: "https://weir.example.com"}, Store: db, Log: log, Files: from,
		Getenv: func(string) string { return "" }, BaseURL: func() string { return "" }, People: change,
	}
	o.InForce = sync.OnceValues(func() (*config.Config, *route.Table) {
		cfg, err := config.Load(from)
		b := upstream.New(&upstream.Options{Config: cfg, Getenv: o.Getenv, Log: log})
		t.Cleanup(b.Close)
		table, failed := b.Table(context.Background(), &cfg)
		if err = errors.Join(err, failed); err != nil {
			t.Error(err)
		}
		return &cfg, table
	})
	a := must.Get(admin.New(o))(t)
	t.Cleanup(a.Release)
	return a
}

// reportUsage answers as the provider house: with its usage and costs on the first day of the query, but for a 13th.
func reportUsage(w http.ResponseWriter, r *http.Request) {
	first, err := strconv.ParseInt(r.URL.Query().Get("start_time"), 10, 64)
	if err != nil || time.Unix(first, 0).UTC().Day() == 13 {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	results := map[string]string{
		"/v1/organization/usage/completions": `{"model":"large","input_tokens":1204},{"model":"=small","output_tokens":77}`,
		"/v1/organization/costs": `{"amount":{"value":1,"currency":"usd"},"line_item":"large, input"},` +
			`{"amount":{"value":3,"currency":"usd"},"line_item":"=small, output"}`,
	}
	_, _ = fmt.Fprintf(w, `{"data":[{"start_time":%d,"results":[%s]}]}`, first, results[r.URL.Path])
}
