package app

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir/internal/dialect"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/must"
)

// clientAsks has a request for a stream at every client API.
var clientAsks = map[string]struct{ path, body string }{
	"native":    {"/v1/chat", `{"model":"house/m","messages":[{"role":"user","prompt":"Hello!"}]}`},
	"openai":    {"/v1/chat/completions", `{"model":"house/m","messages":[{"role":"user","content":"Hello!"}],"stream":true,"stream_options":{"include_usage":true}}`},
	"responses": {"/v1/responses", `{"model":"house/m","input":"Hello!","stream":true,"store":false}`},
	"anthropic": {"/v1/messages", `{"model":"house/m","max_tokens":2000,"messages":[{"role":"user","content":"Hello!"}],"stream":true}`},
	"gemini":    {"/v1beta/models/house/m:streamGenerateContent?alt=sse", `{"contents":[{"role":"user","parts":[{"text":"Hello!"}]}]}`},
}

// told encodes a stream of n pieces as a provider of the wire format does, each piece in an event of its own.
func told(d *dialect.Dialect, pieces int) canned { return encoded(d, pieces, true) }

// begun does the same without the end.
func begun(d *dialect.Dialect, pieces int) canned { return encoded(d, pieces, false) }

func encoded(d *dialect.Dialect, pieces int, whole bool) canned {
	e := d.NewEncoder(llm.Meta{ID: d.IDPrefix + "0123456789", Created: 1_700_000_000, Model: "m", IncludeUsage: true})
	var body []byte
	body = e.Append(body, &llm.Event{Kind: llm.EventStart, ID: "1", Model: "m", Metered: &llm.Metered{Usage: llm.Usage{llm.Input: 9}}})
	for range pieces {
		body = e.Append(body, &llm.Event{Kind: llm.EventText, Text: " help"})
	}
	if whole {
		body = e.Finish(body, &llm.Final{
			Finish: []llm.FinishReason{llm.FinishStop}, Reported: true, Attempts: 1,
			Usage: llm.Usage{llm.Input: 9, llm.Output: int64(pieces)},
		})
	}
	return canned{http.Header{"Content-Type": {d.Framing.ContentType}}, string(body)}
}

// crossing is a client API and a provider of a wire format.
type crossing struct {
	handler http.Handler
	out     *sink
	request *http.Request
	body    *strings.Reader
	text    string
}

func newCrossing(t testing.TB, clientAPI, from string, pieces int) *crossing {
	t.Helper()
	d := registrytest.All().Named(from)
	g, key := pipelineOf(t, told(d, pieces), from)
	a := clientAsks[clientAPI]
	u := must.Get(url.Parse(a.path))(t)
	c := &crossing{handler: g.site.handler(), out: &sink{header: http.Header{}}, body: strings.NewReader(a.body), text: a.body}
	c.request = &http.Request{
		Method: http.MethodPost, URL: u, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}},
		Body:   io.NopCloser(c.body), ContentLength: int64(len(a.body)), RequestURI: a.path,
	}
	if clientAPI == "native" {
		c.request.Header.Set("Accept", "text/event-stream")
	}
	c.cross()
	c.out.isWhole(t, clientAPI+" from "+from)
	return c
}

func (c *crossing) cross() {
	c.out.reset()
	c.body.Reset(c.text)
	c.handler.ServeHTTP(c.out, c.request)
}

// providersSpeak lists the wire formats of providers.
var providersSpeak = []string{"openai", "responses", "anthropic", "gemini", "bedrock", "cohere", "ollama"}

// TestPieceAllocations bounds the allocations of a piece of a stream at each client API, of any provider's wire format:
// its text, and almost nothing else.
func TestPieceAllocations(t *testing.T) {
	const few, many, most = 10, 410, 1.1
	for clientAPI := range clientAsks {
		for _, from := range providersSpeak {
			small, large := newCrossing(t, clientAPI, from, few), newCrossing(t, clientAPI, from, many)
			got := math.Inf(1)
			for tries := 0; tries < 5 && got > most; tries++ { // other goroutines allocate too: the least counts
				got = min(got, (testing.AllocsPerRun(3, large.cross)-testing.AllocsPerRun(3, small.cross))/(many-few))
			}
			t.Logf("%s from %s: %.2f a piece", clientAPI, from, got)
			if got > most {
				t.Errorf("%s from %s: %.2f allocations a piece, want one, of its text", clientAPI, from, got)
			}
		}
	}
}

// BenchmarkCrossing measures the CPU time of a piece at each client API, from a provider of each wire format; in the
// same format it passes unchanged. If clients can use that format, it alternates with a passed piece, so that the ratio
// is valid on a busy machine.
func BenchmarkCrossing(b *testing.B) {
	const pieces = 1000
	for _, clientAPI := range []string{"native", "openai", "responses", "anthropic", "gemini"} {
		for _, from := range providersSpeak {
			b.Run(fmt.Sprintf("%s/%s", clientAPI, from), func(b *testing.B) {
				c := newCrossing(b, clientAPI, from, pieces)
				pass := c
				if _, ok := clientAsks[from]; ok {
					pass = newCrossing(b, from, from, pieces)
				}
				var mine, passing time.Duration
				b.ReportAllocs()
				for b.Loop() {
					start := time.Now()
					c.cross()
					middle := time.Now()
					pass.cross()
					mine, passing = mine+middle.Sub(start), passing+time.Since(middle)
				}
				b.ReportMetric(float64(mine.Nanoseconds())/float64(b.N)/pieces, "ns/piece")
				if pass != c {
					b.ReportMetric(float64(mine)/float64(passing), "times-passing")
				}
			})
		}
	}
}
