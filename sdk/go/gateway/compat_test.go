package gateway_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"weir/internal/account"
	"weir/internal/dialect/registry"
	"weir/internal/e2e/harness"
	"weir/internal/simulator"
)

// sdkClient is an official SDK behind one small language, so that what is asked
// of all of them is written once.
type sdkClient struct {
	clientAPI string // the dialect that it speaks
	// ask asks one question. The error is the SDK's own.
	ask func(c sdkCall, q sdkQuestion) (heard, error)
	// embed asks for a vector of three numbers for each text; nil where the
	// vendor's API has no such thing.
	embed func(c sdkCall, model string, texts []string) (embedded, error)
	// raised reads the SDK's own error class; false for any other error.
	raised func(err error) (raised, bool)
	// words are the vendor's words for the errors that every client API has.
	words map[string]raised
}

// sdkCall is where an SDK sends a question to.
type sdkCall struct {
	ctx     context.Context
	url     string // of the gateway, without a path
	key     string
	retries int // how often the SDK may try again
	client  *http.Client
}

// sdkQuestion is what an SDK is to ask. The first turn is always the same words.
type sdkQuestion struct {
	model    string
	stream   bool
	tool     bool   // offers the tool "weather"
	schema   bool   // wants an object with a name and a height from 100
	think    bool   // wants to see the thinking
	image    string // an address, or a data URL; empty for none
	after    *heard // the answer to the first turn; the tool's results or "Go on" come behind it
	perPiece func() // runs after each piece of a stream
}

// firstWords is the first turn of every conversation.
const firstWords = "Say it again, please"

// called is one tool call that an SDK read.
type called struct{ id, name, arguments string }

// heard is what an SDK made of an answer.
type heard struct {
	text, thought string
	pieces        int // of text, in a stream
	calls         []called
	finish        string // in the vendor's words
	in, out       int64  // tokens
	cost          string // usage.cost in dollars, as it is written
	turn          any    // the SDK's own record of the answer, to be sent back
	header        http.Header
	requests      int64 // how many the SDK sent
}

// embedded is what an SDK made of an answer with vectors.
type embedded struct {
	vectors [][]float64
	in      int64  // tokens; 0 where the SDK has no place for them
	cost    string // as of heard
}

// raised is an error as an SDK tells it. In a table, an empty field says
// nothing.
type raised struct {
	status                     int
	kind, code, param, message string
	requestID                  string
	header                     http.Header // nil where the SDK keeps none
}

// sdkClients are the official Go SDKs, one a client API.
func sdkClients() []*sdkClient {
	return []*sdkClient{openaiSDK(), responsesSDK(), anthropicSDK(), geminiSDK()}
}

// tap counts the requests of an SDK and keeps the headers of the last reply.
type tap struct {
	http.RoundTripper
	requests atomic.Int64
	mu       sync.Mutex
	header   http.Header
}

func (t *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	t.requests.Add(1)
	resp, err := t.RoundTripper.RoundTrip(r)
	if err == nil {
		t.mu.Lock()
		t.header = resp.Header
		t.mu.Unlock()
	}
	return resp, err
}

// compatGateway is a gateway with a provider of each wire format behind it, and
// what these were asked.
type compatGateway struct {
	*harness.Gateway
	up       *harness.Upstream
	onlyUses string // a key that may not chat

	mu     sync.Mutex
	bodies map[string]string // the last request, by the seed in its model's name
}

func newCompatGateway(t *testing.T) *compatGateway {
	c := &compatGateway{bodies: map[string]string{}}
	s := simulator.New(simulator.Options{Dialects: registry.All(), Seed: 1, Strict: true})
	ts := httptest.NewServer(c.keep(s))
	t.Cleanup(func() {
		s.Close()
		ts.CloseClientConnections()
		ts.Close()
	})
	c.up = &harness.Upstream{Server: s, URL: ts.URL}
	yaml, prices := "providers:", "prices:\n"
	for _, name := range slices.Sorted(maps.Keys(harness.Spoken())) {
		yaml += harness.SpokenBy("p-"+name, name, ts.URL, harness.Spoken()[name])
		prices += "  p-" + name + "/*: " + harness.RatesYAML + "\n"
	}
	c.Gateway = harness.Open(t, harness.Setup{YAML: yaml + prices})
	c.onlyUses = c.NewKey(account.KeyOptions{Account: "default", Permissions: []account.Permission{account.Uses}})
	return c
}

var seedForm = regexp.MustCompile(`seed=(\d+)`)

// keep notes the body of each request under the seed of its model.
func (c *compatGateway) keep(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the gateway hung up
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if m := seedForm.FindStringSubmatch(r.URL.Path + string(body)); m != nil {
			c.mu.Lock()
			c.bodies[m[1]] = string(body)
			c.mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}

// cell is one place of the table: a client, a provider's wire format, and a
// feature.
type cell struct {
	t        *testing.T
	gateway  *compatGateway
	client   *sdkClient
	provider string // its dialect
	seed     string // in the name of each model, and nobody else's
}

var seeds atomic.Int64

// lacks is what a feature says that a wire format cannot carry and that the
// gateway leaves out and tells of.
type lacks string

func (l lacks) Error() string { return string(l) }

// model is the full name of a model of the simulator, of this cell alone.
func (c *cell) model(name string) string {
	join := ":"
	if strings.Contains(name, ":") {
		join = ","
	}
	return "p-" + c.provider + "/" + name + join + "seed=" + c.seed
}

// ask asks with a good key, and without another try.
func (c *cell) ask(q sdkQuestion) (heard, error) {
	return c.call(sdkCall{ctx: c.t.Context(), key: c.gateway.Key}, q)
}

func (c *cell) call(call sdkCall, q sdkQuestion) (heard, error) {
	c.t.Helper()
	call, listen := c.listen(call)
	got, err := c.client.ask(call, q)
	listen.mu.Lock()
	defer listen.mu.Unlock()
	got.header, got.requests = listen.header, listen.requests.Load()
	return got, err
}

// listen completes a call with a client whose replies are overheard.
func (c *cell) listen(call sdkCall) (sdkCall, *tap) {
	listen := &tap{RoundTripper: c.gateway.Client.Transport}
	call.url, call.client = c.gateway.URL, &http.Client{Transport: listen, Timeout: harness.Patience}
	return call, listen
}

// served is the provider's own record of this cell's last request.
func (c *cell) served() (last simulator.Record) {
	c.t.Helper()
	harness.Await(c.t, "the end of the provider's answer", func() bool {
		for r := range c.gateway.up.Ledger().Records(0) {
			if strings.HasSuffix(r.Model, "seed="+c.seed) {
				last = r
			}
		}
		return !last.Ended.IsZero()
	})
	return last
}

// sent is the body of this cell's last request to the provider.
func (c *cell) sent() string {
	c.gateway.mu.Lock()
	defer c.gateway.mu.Unlock()
	return c.gateway.bodies[c.seed]
}

// newSeed is a number that no other cell has.
func newSeed() string { return strconv.FormatInt(seeds.Add(1)+10_000, 10) }
