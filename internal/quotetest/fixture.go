// Package quotetest has requests and targets for tests of what these cost.
package quotetest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"pgregory.net/rapid"

	"weir/internal/dialect"
	"weir/internal/dialect/registry"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
	"weir/internal/provider"
	"weir/internal/route"
)

// Asked is a request on its way to one target.
type Asked struct {
	ClientAPI, Target string // wire formats; the target's is the client API's where it is empty
	Op                llm.Op // empty for a chat
	Model             string // the target's; empty for one that nobody knows
	Body              string
	Header            http.Header
	Sizes             pricing.ModelOverride
	Price             pricing.PriceOverride
	Quirks            llm.Quirks
	UsualTools        bool
}

// Failer is what a test of any kind can do.
type Failer interface {
	Helper()
	Fatal(args ...any)
	Cleanup(f func())
	Context() context.Context
}

// Fixture is what a request and its target are made of.
type Fixture struct {
	Dialect *dialect.Dialect
	Op      *dialect.Operation
	Head    llm.Head
	Request *http.Request
	Body    []byte
	Table   *route.Table
	Target  *route.Target
	Now     time.Time
}

// Dialect is the wire format of that name.
func Dialect(tb Failer, name string) *dialect.Dialect {
	tb.Helper()
	if d := registry.All().Named(name); d != nil {
		return d
	}
	tb.Fatal("there is no wire format", name)
	return nil
}

// New makes a request and its target.
func New(tb Failer, a Asked) *Fixture {
	tb.Helper()
	all := registry.All() // one list: wire formats are the same by their address
	if a.Target == "" {
		a.Target = a.ClientAPI
	}
	if a.Model == "" {
		a.Model = "m"
	}
	if a.Price == nil {
		a.Price = pricing.PriceOverride{"input": "1", "output": "2", "search": "0.01"}
	}
	p, err := provider.New(provider.Options{Name: "acme", Dialect: all.Named(a.Target), BaseURL: "https://acme.example.com/v1", Quirks: a.Quirks})
	must.Do(tb, err)
	tb.Cleanup(p.Close)
	book, err := pricing.NewBook(pricing.Overrides{
		Prices: map[string]pricing.PriceOverride{"acme/*": a.Price},
		Models: map[string]pricing.ModelOverride{"acme/*": a.Sizes}, UsualTools: a.UsualTools,
	})
	must.Do(tb, err)
	table, err := route.NewTable(route.Options{Providers: []*provider.Provider{p}, Book: book, DefaultMaxOutput: 8192})
	must.Do(tb, err)
	f := &Fixture{
		Dialect: all.Named(a.ClientAPI), Op: &all.Named(a.ClientAPI).Operation, Body: []byte(a.Body), Table: table,
		Request: httptest.NewRequestWithContext(tb.Context(), http.MethodPost, "/", nil),
		Target:  &route.Target{Provider: p, Model: a.Model}, Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	f.Request.Header = a.Header
	if a.ClientAPI == "gemini" {
		f.Request.Pattern = "POST /v1beta/models/{target...}"
		f.Request.SetPathValue("target", a.Model+":generateContent")
	}
	if a.Op != "" {
		f.Op = f.Dialect.For(a.Op)
	}
	if f.Head, err = f.Op.Scan(f.Body, f.Request); err != nil {
		tb.Fatal(a.Body, err)
	}
	return f
}

// Texts are what people write, and what they would not.
func Texts() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringN(0, 400, -1),
		rapid.StringMatching(`[0-9 ]{0,300}`),
		rapid.Map(rapid.IntRange(0, 3000), func(n int) string { return strings.Repeat("a word ", n/7) }),
		rapid.Map(rapid.IntRange(0, 2000), func(n int) string { return strings.Repeat("मातृभाषा", n/24) }),
	)
}
