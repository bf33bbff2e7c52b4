package contract_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"weir/internal/account"
	"weir/internal/dialect"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/e2e/harness"
	"weir/internal/fixturetest"
	"weir/internal/llm"
	"weir/internal/must"
)

// vendorChatAPIs returns the client APIs in OpenAI's document.
func vendorChatAPIs() []harness.ChatAPI {
	return slices.DeleteFunc(harness.ChatAPIs(), func(f harness.ChatAPI) bool { return f.Wrong != "OpenAIFailure" })
}

// TestRepliesKeepToVendorsDocument compares the replies to OpenAI's clients with OpenAI's own OpenAPI document: every
// kind of answer, whole and streamed, of a provider of every wire format.
func TestRepliesKeepToVendorsDocument(t *testing.T) {
	t.Parallel()
	c := openVendorContract(t)
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: everyDialect(up.URL)})
	for name := range harness.Spoken() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, f := range vendorChatAPIs() {
				for _, tt := range []struct{ kind, model string }{
					{"plain", "echo"},
					{"plain", "reason:tokens=9,reasoning=5"},
					{"plain", "chat:fault=refusal"},
					{"plain", "chat:fault=content-filter"},
					{"plain", "chat:cached=8,prompt=20,unicode"},
					{"plain", "chat:usage=missing"},
					{"tools", "tools"},
					{"tools", "tools:calls=3"},
					{"tools", "tools:think"},
					{"schema", "json"},
					{"two", "chat:n=2"},
				} {
					if tt.kind == "two" && name != "openai" && name != "gemini" {
						continue // elsewhere a request has one answer
					}
					for _, stream := range []bool{false, true} {
						a, path := f.Ask(tt.kind, name+"-house/"+tt.model, stream)
						if err := c.refusal(path, wantOK(h, t, a)); err != nil {
							t.Errorf("%s, stream %t: %v", tt.model, stream, err)
						}
					}
				}
				a, path := f.Ask("plain", name+"-house/chat:fault=error-event,at=4", true)
				if r := wantOK(h, t, a); c.refusal(path, r) != nil || !strings.Contains(r.Body, "server_error") {
					t.Errorf("a stream that fails: %v: %s", c.refusal(path, r), r.Body)
				}
			}
		})
	}
}

func wantOK(h *harness.Gateway, t *testing.T, a harness.Ask) harness.Reply {
	t.Helper()
	r := h.Do(a)
	if r.Status != http.StatusOK {
		t.Errorf("%s: status %d: %s", a.Body, r.Status, r.Body)
	}
	return r
}

// TestErrorsKeepToVendorsDocument does it with errors, and with models.
func TestErrorsKeepToVendorsDocument(t *testing.T) {
	t.Parallel()
	c := openVendorContract(t)
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: everyDialect(up.URL) + "max_body: 1KiB\n"})
	onlyUses := h.NewKey(account.KeyOptions{Account: "default", Permissions: []account.Permission{account.Uses}})
	for i, f := range vendorChatAPIs() {
		good, path := f.Ask("plain", "openai-house/echo", false)
		with := func(change func(*harness.Ask)) harness.Ask { a := good; change(&a); return a }
		asks := map[int]harness.Ask{
			http.StatusBadRequest:            with(func(a *harness.Ask) { a.Body = "{" }),
			http.StatusUnauthorized:          with(func(a *harness.Ask) { a.Key = "wk_wrong" }),
			http.StatusForbidden:             with(func(a *harness.Ask) { a.Key = onlyUses }),
			http.StatusMethodNotAllowed:      with(func(a *harness.Ask) { a.Method = http.MethodPut }),
			http.StatusRequestEntityTooLarge: with(func(a *harness.Ask) { a.Body += strings.Repeat(" ", 1<<10) }),
			http.StatusUnsupportedMediaType:  with(func(a *harness.Ask) { a.Header = []string{"Content-Type", "text/xml"} }),
		}
		for status, model := range map[int]string{
			http.StatusNotFound:           "nobody/x",
			http.StatusTooManyRequests:    bad(i, true) + "/chat:status=429",
			http.StatusBadGateway:         bad(i, false) + "/chat:status=500",
			http.StatusServiceUnavailable: bad(i, false) + "/chat:status=503",
			http.StatusGatewayTimeout:     hasty(i, false) + "/chat:fault=silence",
		} {
			asks[status], _ = f.Ask("plain", model, false)
		}
		for status, a := range asks {
			r := h.Do(a)
			if err := c.refusal(path, r); err != nil || r.Status != status {
				t.Errorf("%s: status %d, want %d: %v", a.Path, r.Status, status, err)
			}
		}
	}
	for path, where := range map[string]string{"/v1/models": "/v1/models", "/v1/models/second-0-true": "/v1/models/{model}", "/v1/models/one%2Ftwin": "/v1/models/{model}"} {
		if err := c.refusal(where, wantOK(h, t, harness.Ask{Path: path})); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestEmbeddingsKeepToVendorsDocument does it with vectors, of providers of
// every wire format that has them.
func TestEmbeddingsKeepToVendorsDocument(t *testing.T) {
	t.Parallel()
	c := openVendorContract(t)
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: everyDialect(up.URL)})
	for _, d := range registrytest.All() {
		if o := d.For(llm.OpEmbed); o == nil || o.Path == nil {
			continue
		}
		for _, more := range []string{"", `,"encoding_format":"float"`} {
			a := harness.Ask{Path: "/v1/embeddings", Body: fmt.Sprintf(`{"model":"%s-house/chat","input":"A weir"%s}`, d.Name, more)}
			if err := c.refusal(a.Path, wantOK(h, t, a)); err != nil {
				t.Errorf("%s: %v", a.Body, err)
			}
		}
	}
}

// recordedAnswers reads exchanges with real providers, by their wire format.
func recordedAnswers(t *testing.T) map[string][]recordedAnswer {
	t.Helper()
	all := map[string][]recordedAnswer{}
	for _, x := range fixturetest.Exchanges(t, func(url string) bool { return dialectOf(url) != "" }) {
		if x.Status == http.StatusOK {
			d := dialectOf(x.URL)
			all[d] = append(all[d], recordedAnswer{x.Name, x.Stream, x.Response})
		}
	}
	return all
}

type recordedAnswer struct {
	name   string
	stream bool
	body   []byte
}

// dialectOf returns the wire format of requests to an address; empty for operations other than chat.
func dialectOf(url string) string {
	for part, name := range map[string]string{
		"/chat/completions": "openai", "/responses": "responses", "/v1/messages": "anthropic", "enerateContent": "gemini",
		"/converse": "bedrock", "/v2/chat": "cohere", "/api/chat": "ollama",
	} {
		if strings.Contains(url, part) && !strings.Contains(url, "count_tokens") {
			return name
		}
	}
	return ""
}

// TestRecordedAnswersKeepToVendorsDocument translates real providers' answers for OpenAI's clients: citations,
// thoughts, tools of the vendor's own.
func TestRecordedAnswersKeepToVendorsDocument(t *testing.T) {
	t.Parallel()
	c := openVendorContract(t)
	all := recordedAnswers(t)
	held := 0
	for name, answers := range all {
		from := wireFormat(t, name)
		for _, f := range vendorChatAPIs() {
			to := wireFormat(t, map[string]string{"/v1/responses": "responses", "/v1/chat/completions": "openai"}[f.Path])
			if from.Name == to.Name {
				continue // it passes unchanged, with other servers' members of the wire format
			}
			for _, a := range answers {
				r, err := a.translate(from, to)
				if err == nil {
					err = c.refusal(f.Path, r)
				}
				if err != nil {
					t.Errorf("%s for %s: %v", a.name, f.Path, err)
				}
				held++
			}
		}
	}
	t.Logf("%d recorded answers translated", held)
	for name := range harness.Spoken() {
		if len(all[name]) == 0 {
			t.Errorf("no recorded answers of %s", name)
		}
	}
}

func wireFormat(t *testing.T, name string) *dialect.Dialect {
	t.Helper()
	if d := registrytest.All().Named(name); d != nil {
		return d
	}
	t.Fatalf("no wire format %q", name)
	return nil
}

// translate returns the answer as the gateway sends it to a client of another wire format.
func (a *recordedAnswer) translate(from, to *dialect.Dialect) (harness.Reply, error) {
	meta := llm.Meta{ID: to.IDPrefix + "1", Created: 1775000000, Model: "house/recorded", IncludeUsage: true}
	cost := llm.USD / 1000
	if !a.stream {
		decoded, err := from.DecodeReply(a.body, &llm.Quirks{})
		if err != nil {
			return harness.Reply{}, fmt.Errorf("decode: %w", err)
		}
		decoded.ID, decoded.Created, decoded.Model, decoded.Cost = meta.ID, meta.Created, meta.Model, &cost
		return harness.Reply{Status: http.StatusOK, Header: http.Header{}, Body: string(to.EncodeReply(nil, decoded))}, nil
	}
	final := llm.Final{Cost: &cost}
	encoder, decoder, frames := to.NewEncoder(meta), from.NewDecoder(&llm.Quirks{}), from.Framing.NewReader(strings.NewReader(string(a.body)), 1<<20)
	var out []byte
	for frame, err := frames.Next(); err == nil; frame, err = frames.Next() {
		events, err := decoder.Decode(nil, frame)
		if err != nil {
			return harness.Reply{}, fmt.Errorf("decode: %w", err)
		}
		for i := range events {
			switch e := &events[i]; e.Kind {
			case llm.EventFinish:
				final.Finish = []llm.FinishReason{e.Finish}
			case llm.EventUsage:
				final.Usage = e.Usage
			default:
				out = encoder.Append(out, e)
			}
		}
	}
	return harness.Reply{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: string(encoder.Finish(out, &final))}, nil
}

// TestVendorsDocumentRefuses is the negative control: violations of OpenAI's document are found; and an exception is
// one that OpenAI itself needs.
func TestVendorsDocumentRefuses(t *testing.T) {
	t.Parallel()
	c := openVendorContract(t)
	h, _ := harness.OpenSimulated(t)
	for _, f := range vendorChatAPIs() {
		for _, stream := range []bool{false, true} {
			a, path := f.Ask("plain", "house/echo", stream)
			r := wantOK(h, t, a)
			must.Do(t, c.refusal(path, r))
			for from, to := range map[string]string{`"role":"assistant"`: `"role":"model"`, `"model":"`: `"model":7,"x":"`, `"object":"`: `"object":"un`, `_tokens":`: `_tokens":"many","x":`} {
				broken := r
				if broken.Body = strings.Replace(r.Body, from, to, 1); broken.Body == r.Body {
					t.Fatalf("%s: no %s in %s", path, from, r.Body)
				}
				if c.refusal(path, broken) == nil {
					t.Errorf("%s, stream %t: got %s in place of %s accepted", path, stream, to, from)
				}
			}
		}
	}
	for i, e := range exceptions() {
		if e.recorded == "" {
			continue
		}
		others := slices.Delete(exceptions(), i, i+1)
		strict := must.Get(newVendorContract(others))(t)
		body := recordedBody(t, e.recorded)
		if got := fmt.Sprint(strict.refusal("/v1/responses", body)); !strings.Contains(got, e.shown) {
			t.Errorf("without the exception of %s %q: got %s for %s, want %s", e.schema, e.steps, got, e.recorded, e.shown)
		}
		if got := fmt.Sprint(c.refusal("/v1/responses", body)); strings.Contains(got, e.shown) {
			t.Errorf("with the exception of %s %q: got %s for %s", e.schema, e.steps, got, e.recorded)
		}
	}
}

func recordedBody(t *testing.T, name string) harness.Reply {
	t.Helper()
	for _, answers := range recordedAnswers(t) {
		for _, a := range answers {
			if a.name == name {
				return harness.Reply{Status: http.StatusOK, Header: http.Header{"Content-Type": {map[bool]string{true: "text/event-stream", false: "application/json"}[a.stream]}}, Body: string(a.body)}
			}
		}
	}
	t.Fatalf("no recorded exchange %s", name)
	return harness.Reply{}
}

// TestGoldenAnswersKeepToVendorsDocument compares the golden answers in other wire formats than OpenAI's own with it.
func TestGoldenAnswersKeepToVendorsDocument(t *testing.T) {
	t.Parallel()
	c := openVendorContract(t)
	paths, err := filepath.Glob(filepath.Join("..", "..", "dialect", "testdata", "*", "*.txtar"))
	must.Do(t, err)
	held := 0
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		must.Do(t, err)
		if kind := filepath.Base(filepath.Dir(path)); kind != "reply" && kind != "stream" {
			continue
		}
		from := "openai"
		for _, f := range archive.Files {
			name, end, _ := strings.Cut(f.Name, ".")
			where := map[string]string{"openai": "/v1/chat/completions", "responses": "/v1/responses"}[name]
			if f.Name == "dialect" {
				from = strings.TrimSpace(string(f.Data))
			}
			if where == "" || name == from || len(f.Data) == 0 {
				continue
			}
			// The vendor's document has no code for it, and Codex knows only this one.
			body := strings.ReplaceAll(string(f.Data), `"error":{"code":"context_length_exceeded"`, `"error":{"code":"invalid_prompt"`)
			r := harness.Reply{Status: http.StatusOK, Header: http.Header{"Content-Type": {map[bool]string{true: "text/event-stream"}[end == "sse"]}}, Body: body}
			if err := c.refusal(where, r); err != nil {
				t.Errorf("%s, %s: %v", path, f.Name, err)
			}
			held++
		}
	}
	if t.Logf("%d golden answers", held); held == 0 {
		t.Error("no golden answers were found")
	}
}
