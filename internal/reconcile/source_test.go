package reconcile_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/reconcile"
)

var day = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

// read asks a vendor that answers so.
func read(t *testing.T, vendor string, answer http.HandlerFunc) (reconcile.Theirs, error) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	s := reconcile.Source{Client: server.Client(), BaseURL: server.URL + "/v1/", AdminKey: llm.NewSecret("the-admin-key")}
	return reconcile.Reader(vendor, vendor)(t.Context(), &s, day, day.AddDate(0, 0, 2))
}

// TestPages reads reports of several pages.
func TestPages(t *testing.T) {
	t.Parallel()
	got := must.Get(read(t, "openai", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.Header.Get("Authorization") != "Bearer the-admin-key" || q.Get("start_time") != fmt.Sprint(day.Unix()) || q.Get("end_time") != fmt.Sprint(day.AddDate(0, 0, 3).Unix()) {
			t.Errorf("asked %s with %v", r.URL, r.Header)
		}
		at, next := day.Unix(), `"has_more":true,"next_page":"two"`
		if q.Get("page") == "two" {
			at, next = day.AddDate(0, 0, 1).Unix(), `"has_more":false,"next_page":null`
		}
		result := `{"model":"m","input_tokens":100,"input_cached_tokens":40,"output_tokens":7}`
		switch {
		case strings.HasSuffix(r.URL.Path, "/embeddings"):
			result = `{"model":"e","input_tokens":3}`
		case strings.HasSuffix(r.URL.Path, "/costs"):
			result = `{"amount":{"value":0.06000000000000001,"currency":"usd"},"line_item":"m, input"},{"amount":{"value":1e-7,"currency":"usd"},"line_item":"m, cached input"},` +
				`{"amount":{"value":-2,"currency":"usd"},"line_item":"Credit"}`
		}
		fmt.Fprintf(w, `{"object":"page","data":[{"object":"bucket","start_time":%d,"results":[%s]}],%s}`, at, result, next)
	}))(t)
	for i, date := range []string{"2026-11-20", "2026-11-21"} {
		at := reconcile.Place{Day: date, Model: "m"}
		if got.Usage[at] != (reconcile.Usage{Input: 100, Cached: 40, Output: 7}) || got.Costs[at] != 60_000_100 {
			t.Errorf("page %d: got %+v and $%s", i, got.Usage[at], got.Costs[at])
		}
	}
	if len(got.Usage) != 4 || got.Other != -4*llm.USD {
		t.Errorf("got %+v, want two models on two days, and $-4 beside", got)
	}
}

// TestReportsRefused are answers that are no reports. No error has the key.
func TestReportsRefused(t *testing.T) {
	t.Parallel()
	asked := 0
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"another key": {func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, r.Header.Get("X-Api-Key"), http.StatusUnauthorized)
		}, "admin key"},
		"no such thing": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "the-admin-key", http.StatusNotFound) }, "404"},
		"no JSON":       {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>the-admin-key") }, "no such report"},
		"too large":     {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat(" ", 9<<20)) }, "bytes"},
		"without end": {func(w http.ResponseWriter, _ *http.Request) {
			asked++
			fmt.Fprint(w, `{"data":[],"has_more":true,"next_page":"x"}`)
		}, "pages"},
		"other money": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"data":[{"starting_at":"2026-11-20T00:00:00Z","results":[{"model":"m","amount":"12","currency":"EUR"}]}]}`)
		}, "US dollars"},
		"no number": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"data":[{"starting_at":"2026-11-20T00:00:00Z","results":[{"model":"m","amount":"1e999","currency":"USD"}]}]}`)
		}, "no amount"},
	} {
		_, err := read(t, "anthropic", tt.answer)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "the-admin-key") {
			t.Errorf("%s: got %v, want an error with %q", name, err, tt.want)
		}
	}
	if asked > 1000 {
		t.Errorf("asked %d times", asked)
	}
}
