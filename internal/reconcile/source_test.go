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

// read reads the reports of a vendor with that handler.
func read(t *testing.T, vendor string, answer http.HandlerFunc) (reconcile.Theirs, error) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	s := reconcile.Source{Client: server.Client(), BaseURL: server.URL + "/v1/", AdminKey: llm.NewSecret("the-admin-key")}
	return reconcile.Reader(vendor, vendor)(t.Context(), &s, day, day.AddDate(0, 0, 2))
}

// TestPagesOfReportsAreJoined reads reports of several pages.
func TestPagesOfReportsAreJoined(t *testing.T) {
	t.Parallel()
	got := must.Get(read(t, "openai", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.Header.Get("Authorization") != "Bearer the-admin-key" || q.Get("start_time") != fmt.Sprint(day.Unix()) || q.Get("end_time") != fmt.Sprint(day.AddDate(0, 0, 3).Unix()) {
			t.Errorf("got the request %s with %v", r.URL, r.Header)
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
		t.Errorf("got %+v, want two models on two days, and $-4 separately", got)
	}
}

// TestOtherDays checks that results of other days are left out.
func TestOtherDays(t *testing.T) {
	t.Parallel()
	for at, want := range map[string]int{"2026-11-19": 0, "2026-11-20": 1, "2026-11-22": 1, "2026-11-23": 0} {
		got := must.Get(read(t, "anthropic", results(at, `{"model":"m","output_tokens":5,"amount":"1","currency":"USD"}`)))(t)
		if len(got.Usage) != want || len(got.Costs) != want {
			t.Errorf("%s: got %+v, want %d", at, got, want)
		}
	}
}

// results builds Anthropic's reports of a day, of usage and of costs.
func results(day, list string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"data":[{"starting_at":%q,"results":[%s]}]}`, day+"T00:00:00Z", list)
	}
}

// raw answers with that text.
func raw(w http.ResponseWriter, text string) {
	conn, out, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_, _ = out.WriteString(text)
		_ = out.Flush()
		_ = conn.Close()
	}
}

// TestReportsRefused checks invalid reports. No error has the key.
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
		"no JSON":       {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>the-admin-key") }, "is not a usage or cost report"},
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
		}, "not a valid amount"},
		"a key as an amount": {func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"data":[{"starting_at":"2026-11-20T","results":[{"model":"m","amount":%q,"currency":"USD"}]}]}`, r.Header.Get("X-Api-Key"))
		}, "not a valid amount"},
		"a key as a currency": {func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"data":[{"starting_at":"2026-11-20T","results":[{"model":"m","amount":"1","currency":%q}]}]}`, r.Header.Get("X-Api-Key"))
		}, "US dollars"},
		"a key as a status": {func(w http.ResponseWriter, r *http.Request) { raw(w, "HTTP/1.1 "+r.Header.Get("X-Api-Key")+"\r\n\r\n") }, "HTTP"},
		"a key as a header": {func(w http.ResponseWriter, r *http.Request) {
			raw(w, "HTTP/1.1 200 OK\r\n"+r.Header.Get("X-Api-Key")+"\r\n\r\n")
		}, "HTTP"},
		"a key as a redirect": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", ":"+r.Header.Get("X-Api-Key"))
			w.WriteHeader(http.StatusFound)
		}, ""},
		"no data":               {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"error":"the-admin-key"}`) }, "is not a usage or cost report"},
		"another number":        {results("2026-11-20", `{"model":"m","amount":"1_000","currency":"USD"}`), "not a valid amount"},
		"no day at all":         {results("", `{"model":"m","output_tokens":5}`), "no valid day"},
		"a formula as a day":    {results("=1+1", `{"model":"m","output_tokens":5}`), "no valid day"},
		"no day":                {results("2026-02-30", `{"model":"m","output_tokens":5}`), "no valid day"},
		"a day in words":        {results("20 November", `{"model":"m","amount":"5","currency":"USD"}`), "no valid day"},
		"a long model":          {results("2026-11-20", `{"model":"`+strings.Repeat("x", 1000)+`"}`), "longer than"},
		"a terminal's commands": {results("2026-11-20", `{"model":"\u001b]0;x\u0007"}`), "unprintable"},
		"models without end": {func(w http.ResponseWriter, _ *http.Request) {
			list := make([]string, 120_000)
			for i := range list {
				list[i] = fmt.Sprintf(`{"model":"%d"}`, i)
			}
			results("2026-11-20", strings.Join(list, ","))(w, nil)
		}, "more than 100000"},
		"digits without end":  {results("2026-11-20", `{"model":"m","amount":"1.`+strings.Repeat("7", 1_000_000)+`","currency":"USD"}`), "not a valid amount"},
		"fewer than none":     {results("2026-11-20", `{"model":"m","output_tokens":-1}`), "tokens"},
		"more than there are": {results("2026-11-20", `{"model":"m","output_tokens":9223372036854775807}`), "tokens"},
		"more in all": {
			results("2026-11-20", strings.Repeat(`{"model":"m","amount":"90000000000","currency":"USD"},`, 20)+`{"model":"m"}`),
			"billed",
		},
		"pages of spaces": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, strings.Repeat(" ", 7<<20)+`{"data":[],"has_more":true,"next_page":"x"}`)
		}, "bytes in total"},
	} {
		_, err := read(t, "anthropic", tt.answer)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "the-admin-key") {
			t.Errorf("%s: got %v, want an error with %q", name, err, tt.want)
		}
	}
	if asked > 1000 {
		t.Errorf("got %d requests", asked)
	}
}
