package vocabularytest_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"weir/internal/dialect"
	"weir/internal/must"
	"weir/internal/quote"
	"weir/internal/quotetest"
)

// aroundTools is the bound on the tokens of a vendor's own text about tools.
const aroundTools = 1024

// model describes a model under a budget, with the vocabularies that may count for it.
type model struct {
	name  string
	in    func(vocabulary string) bool
	by    func(rendering string) bool
	quote *quote.Quote
}

func is(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

func not(names ...string) func(string) bool {
	return func(name string) bool { return !slices.Contains(names, name) }
}

// models returns those with different bounds.
func models(t *testing.T) []model {
	t.Helper()
	list := []model{
		{name: "open", in: not("o200k_base"), by: not()},
		{name: "gpt-oss-120b", in: is("o200k_base"), by: not()},
		{name: "gpt-5", in: is("o200k_base"), by: is("lines", "marks")},
	}
	for i := range list {
		f := quotetest.New(t, quotetest.Asked{ClientAPI: "openai", Model: list[i].name, Body: `{"messages":[]}`})
		r := &quote.Request{Dialect: f.Dialect, Op: f.Op, Head: f.Head, Header: f.Request.Header}
		list[i].quote = &quote.Quote{}
		quote.Begin(list[i].quote, r, f.Table, f.Target, f.Now)
	}
	return list
}

// held returns the most input tokens that a budget expects the model to count for a request.
func (m *model) held(t *testing.T, body string, how quote.Precision) int64 {
	t.Helper()
	q, of := *m.quote, m.quote.Request
	q.Request = &quote.Request{Dialect: of.Dialect, Op: of.Op, Head: of.Head, Header: of.Header, Body: []byte(body)}
	r, plain := q.PlainText()
	if !plain {
		r = must.Get(q.Inputs())(t)
	}
	d := q.Demand(&r, how)
	u := d.Granted(1, 0)
	return u.InputTokens()
}

// around returns the bound on the tokens of a vendor's own text.
func (m *model) around(body string) int64 {
	n := dialect.Around(m.name)
	if strings.Contains(body, `"tools":`) {
		n += aroundTools
	}
	return n
}

// precisions lists both bounds.
var precisions = map[string]quote.Precision{"coarse": quote.Coarse, "fine": quote.Fine}

// object and list are JSON as programs write it.
type (
	object = map[string]any
	list   = []any
)

// encode returns the shortest JSON of a value, with no unnecessary escapes.
func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // of a test's own value
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// says builds a request of one message.
func says(text string) string {
	return encode(object{"messages": list{object{"role": "user", "content": text}}})
}
