package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"
)

// pagesCommand requests the pages of a gateway with a seeded database, one after another, and prints how long they take
// and how much processor time the gateway uses for each.
func pagesCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench pages", flag.ContinueOnError)
	var v visit
	fs.StringVar(&v.base, "url", "http://127.0.0.1:8080", "`address` of the gateway")
	fs.StringVar(&v.cookie, "cookie", "", "`NAME=VALUE` of an operator's session")
	fs.StringVar(&v.key, "key", "", "an operator's API `key`, for the reports of /admin/v1")
	fs.IntVar(&v.pid, "pid", 0, "`number` of the gateway's process, on this machine")
	rounds := fs.Int("rounds", 20, "how often each page is read, after a first time")
	now := fs.String("now", time.Now().UTC().Format(time.RFC3339), "`time` of the gateway's clock")
	only := fs.String("only", "", "only read pages with these `words` in their paths")
	if err := parse(fs, args, stderr); err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339, *now)
	if err != nil || *rounds < 1 {
		return fmt.Errorf("%w: --now must be an RFC 3339 time, and --rounds at least 1", errUsage)
	}
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%d times each\tp50 ms\tp95 ms\tmost ms\tprocessor ms\n", *rounds)
	for _, path := range seededPages(at) {
		if !strings.Contains(path, *only) || v.cookie == "" && !isReport(path) || v.key == "" && isReport(path) {
			continue
		}
		s, err := v.measure(ctx, path, *rounds)
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", path, err), t.Flush())
		}
		fmt.Fprintf(t, "%s\t%.0f\t%.0f\t%.0f\t%.0f\n", path, s.P50/1e3, s.p95/1e3, s.Max/1e3, s.cpu.Seconds()*1e3)
	}
	return t.Flush()
}

func isReport(path string) bool { return strings.HasPrefix(path, "/admin/v1/") }

// seededPages lists the pages and reports that read many sums or rows.
func seededPages(now time.Time) (list []string) {
	const account = "/accounts/account-000000"
	at := func(age time.Duration) string { return now.Add(-age).Truncate(time.Hour).UTC().Format(time.RFC3339) }
	for _, usage := range []string{"/operator/usage", account + "/usage"} {
		for _, span := range []string{"1h", "24h", "7d", "30d", "90d", "12m"} {
			list = append(list, usage+"?range="+span, usage+"?range="+span+"&metric=first_token",
				usage+"?range="+span+"&metric=refused")
		}
		for _, group := range []string{"model", "provider", "key"} {
			list = append(list, usage+"?group_by="+group, usage+"?range=24h&group_by="+group,
				usage+"?metric=refused&group_by="+group, usage+"?range=24h&metric=refused&group_by="+group)
		}
	}
	list = append(list, "/operator/usage?range=24h&metric=first_token&group_by=model",
		account, account+"?range=24h",
		account+"?start_date="+at(90 * 24 * time.Hour)[:10]+"&end_date="+at(0)[:10], account+"/requests", account+"/requests?ended=refused",
		account+"/requests?model=openai/model-00-2026-05", account+"/requests?user=nobody",
		account+"/requests?status=418", account+"/keys", account+"/statements",
		"/operator/accounts", "/operator/statements", "/operator/alerts")
	return append(list, seededReports(at)...)
}

// seededReports lists the reports of the administration API. at returns an hour before now.
func seededReports(at func(age time.Duration) string) (list []string) {
	const day = 24 * time.Hour
	month := at(30 * day)
	for _, query := range []string{
		"usage?group_by=account&from=" + at(day), "usage?group_by=hour,model&from=" + at(day),
		"usage?group_by=hour,account&top=5&from=" + at(day),
		"usage?group_by=hour,account&first_token=true&top=5&from=" + at(day),
		"usage?group_by=account&start_date=" + month[:10], "usage?group_by=key&start_date=" + month[:10],
		"usage?group_by=day,model&start_date=" + month[:10], "refusals", "refusals?from=" + month,
		"refusals?group_by=key&from=" + month, "refusals?group_by=day,account,reason&from=" + month,
		"refusals?group_by=account,model&from=" + month, "refusals?group_by=key,reason&from=" + month,
		"refusals?group_by=account,reason&from=" + at(3*day), "accounts", "accounts/account-000000",
		"accounts/account-000000/keys", "accounts/account-000000/uses", "accounts/account-000000/refusals",
		"accounts/account-000000/refusals?from=" + month, "accounts/account-000000/statements",
		"accounts/account-000000/statements/draft", "accounts/account-000000/alerts", "statements", "alerts", "audit",
		"models/unpriced", "reconciliation?provider=openai", "providers", "nodes", "sockets",
	} {
		list = append(list, "/admin/v1/"+query)
	}
	return list
}

// visit reads pages of a gateway.
type visit struct {
	base, cookie, key string
	pid               int
}

// pageSpread holds the times of a page.
type pageSpread struct {
	spread
	p95 float64       // microseconds
	cpu time.Duration // of the gateway, for one
}

func (v *visit) measure(ctx context.Context, path string, rounds int) (s pageSpread, err error) {
	if err := v.get(ctx, path); err != nil { // into the caches
		return s, err
	}
	w := watch{pid: v.pid}
	if err := w.mark(); err != nil {
		return s, err
	}
	took := make(durations, 0, rounds)
	for range rounds {
		began := time.Now()
		if err := v.get(ctx, path); err != nil {
			return s, err
		}
		took = append(took, time.Since(began))
	}
	err = w.end()
	s.spread, s.cpu = took.spread(), w.cpu/time.Duration(rounds)
	s.p95 = micros(took[(len(took)-1)*95/100])
	return s, err
}

func (v *visit) get(ctx context.Context, path string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.base+path, http.NoBody)
	if err != nil {
		return err
	}
	if r.Header.Set("Cookie", v.cookie); isReport(path) {
		r.Header.Set("Authorization", "Bearer "+v.key)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	a, err := client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode != http.StatusOK {
		err = fmt.Errorf("the answer is %s: %.300s", a.Status, text)
	}
	return err
}
