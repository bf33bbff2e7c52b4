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
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/e2e/harness"
	"weir/internal/simulator"
)

// sdkClient adapts an official SDK to one small interface, so that the questions to all of them are written once.
type sdkClient struct {
	clientAPI string // the dialect that it speaks
	// ask asks one question. The error is the SDK's own.
	ask func(c sdkCall, q sdkQuestion) (heard, error)
	// embed requests a vector of three numbers for each text; nil if the vendor's API has no embeddings.
	embed func(c sdkCall, model string, texts []string) (embedded, error)
	// raised reads the SDK's own error class; false for any other error.
	raised func(err error) (raised, bool)
	// words has the vendor's errors for those that every client API has.
	words map[string]raised
}

// sdkCall names the destination of an SDK's question.
type sdkCall struct {
	ctx     context.Context
	url     string // of the gateway, without a path
	key     string
	retries int // how often the SDK may try again
	client  *http.Client
}

// sdkQuestion describes a question to an SDK. The first message is always the same.
type sdkQuestion struct {
	model    string
	stream   bool
	tool     bool   // offers the tool "weather"
	schema   bool   // request an object with a name and a height from 100
	think    bool   // request the thinking
	image    string // an address, or a data URL; empty for none
	after    *heard // the answer to the first message; the tool's results or "Go on" follow it
	perPiece func() // runs after each piece of a stream
}

// firstWords is the first turn of every conversation.
const firstWords = "Say it again, please"

// called is one tool call that an SDK read.
type called struct{ id, name, arguments string }

// heard holds an SDK's answer.
type heard struct {
	text, thought string
	pieces        int // of text, in a stream
	calls         []called
	finish        string // the vendor's finish reason
	in, out       int64  // tokens
	cost          string // usage.cost in dollars, as it is written
	turn          any    // the SDK's own record of the answer, to be sent back
	header        http.Header
	requests      int64 // how many the SDK sent
}

// embedded holds an SDK's answer with vectors.
type embedded struct {
	vectors [][]float64
	in      int64  // tokens; 0 if the SDK has no place for them
	cost    string // as of heard
}

// raised holds an SDK's error. In a table, an empty field is not compared.
type raised struct {
	status                     int
	kind, code, param, message string
	requestID                  string
	header                     http.Header // nil if the SDK stores none
}

// sdkClients returns the official Go SDKs, one a client API.
func sdkClients() []*sdkClient {
	return []*sdkClient{openaiSDK(), responsesSDK(), anthropicSDK(), geminiSDK()}
}

// tap counts the requests of an SDK and stores the headers of the last reply.
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

// compatGateway is a gateway with a provider of each wire format, and the providers' requests.
type compatGateway struct {
	*harness.Gateway
	up       *harness.Upstream
	onlyUses string // a key that may not chat

	mu     sync.Mutex
	bodies map[string]string // the last request, by the seed in its model's name
}

func newCompatGateway(t *testing.T) *compatGateway {
	c := &compatGateway{bodies: map[string]string{}}
	s := simulator.New(simulator.Options{Dialects: registrytest.All(), Seed: 1, Strict: true})
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

// keep records the body of each request under the seed of its model.
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
	seed     string // in the name of each model of this cell only
}

var seeds atomic.Int64

// lacks names the loss that the gateway reports because a wire format cannot carry a feature.
type lacks string

func (l lacks) Error() string { return string(l) }

// model returns the full name of a model of the simulator, unique to this cell.
func (c *cell) model(name string) string {
	join := ":"
	if strings.Contains(name, ":") {
		join = ","
	}
	return "p-" + c.provider + "/" + name + join + "seed=" + c.seed
}

// ask asks with a valid key, and without a retry.
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

// listen adds a client to a call that records the replies.
func (c *cell) listen(call sdkCall) (sdkCall, *tap) {
	listen := &tap{RoundTripper: c.gateway.Client.Transport}
	call.url, call.client = c.gateway.URL, &http.Client{Transport: listen, Timeout: harness.Patience}
	return call, listen
}

// served returns the provider's own record of this cell's last request.
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

// sent returns the body of this cell's last request to the provider.
func (c *cell) sent() string {
	c.gateway.mu.Lock()
	defer c.gateway.mu.Unlock()
	return c.gateway.bodies[c.seed]
}

// newSeed returns a number that no other cell has.
func newSeed() string { return strconv.FormatInt(seeds.Add(1)+10_000, 10) }
