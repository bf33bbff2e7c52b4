// Package quotetest creates requests and targets for tests of their cost.
package quotetest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"pgregory.net/rapid"

	"weir/internal/dialect"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
	"weir/internal/provider"
	"weir/internal/route"
)

// Asked describes a request for one target.
type Asked struct {
	ClientAPI, Target string // wire formats; an empty Target is the same as ClientAPI
	Op                llm.Op // empty for a chat
	Model             string // the target's; empty for an unknown one
	Body              string
	Header            http.Header
	Sizes             pricing.ModelOverride
	Price             pricing.PriceOverride
	Quirks            llm.Quirks
	UsualTools        bool
}

// Failer is the common part of all kinds of tests.
type Failer interface {
	Helper()
	Fatal(args ...any)
	Cleanup(f func())
	Context() context.Context
}

// Fixture holds a request and its target.
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

// Dialect returns the wire format of that name.
func Dialect(tb Failer, name string) *dialect.Dialect {
	tb.Helper()
	if d := registrytest.All().Named(name); d != nil {
		return d
	}
	tb.Fatal("there is no wire format", name)
	return nil
}

// New creates a request and its target.
func New(tb Failer, a Asked) *Fixture {
	tb.Helper()
	all := registrytest.All() // one list, because wire formats are compared by address
	if a.Target == "" {
		a.Target = a.ClientAPI
	}
	if a.Model == "" {
		a.Model = "m"
	}
	if a.Price == nil {
		a.Price = pricing.PriceOverride{"input": "1", "output": "2", "search": "0.01"}
	}
	p, err := provider.New(provider.Options{
		Name: "acme", Dialect: all.Named(a.Target), BaseURL: "https://acme.example.com/v1", Quirks: a.Quirks,
	})
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

// Texts generates texts, both usual and unusual ones.
func Texts() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringN(0, 400, -1),
		rapid.StringMatching(`[0-9 ]{0,300}`),
		rapid.Map(rapid.IntRange(0, 3000), func(n int) string { return strings.Repeat("a word ", n/7) }),
		rapid.Map(rapid.IntRange(0, 2000), func(n int) string { return strings.Repeat("मातृभाषा", n/24) }),
	)
}
