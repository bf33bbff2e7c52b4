package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"weir/internal/account"
	"weir/internal/dialect"
	"weir/internal/dialect/registry"
	"weir/internal/llm"
)

// vendorChatAPIs are the fronts that OpenAI's document tells of.
func vendorChatAPIs() []chatAPI {
	return slices.DeleteFunc(chatAPIs(), func(f chatAPI) bool { return f.wrong != "OpenAIFailure" })
}

// TestRepliesKeepToVendorsDocument holds what OpenAI's clients get against
// OpenAI's own OpenAPI document: every kind of answer, whole and streamed,
// of a provider of every wire format.
func TestRepliesKeepToVendorsDocument(t *testing.T) {
	t.Parallel()
	c := openVendorContract(t)
	up := newUpstream(t)
	h := open(t, setup{yaml: everyDialect(up.url)})
	for name := range spoken() {
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
						a, path := f.ask(tt.kind, name+"-house/"+tt.model, stream)
						if err := c.refusal(path, h.wantOK(t, a)); err != nil {
							t.Errorf("%s, stream %t: %v", tt.model, stream, err)
						}
					}
				}
				a, path := f.ask("plain", name+"-house/chat:fault=error-event,at=4", true)
				if r := h.wantOK(t, a); c.refusal(path, r) != nil || !strings.Contains(r.body, "server_error") {
					t.Errorf("a stream that fails: %v: %s", c.refusal(path, r), r.body)
				}
			}
		})
	}
}

func (h *testGateway) wantOK(t *testing.T, a ask) reply {
	t.Helper()
	r := h.do(a)
	if r.status != http.StatusOK {
		t.Errorf("%s: status %d: %s", a.body, r.status, r.body)
	}
	return r
}

// TestErrorsKeepToVendorsDocument does it with errors, and with models.
func TestErrorsKeepToVendorsDocument(t *testing.T) {
	t.Parallel()
	c := openVendorContract(t)
	up := newUpstream(t)
	h := open(t, setup{yaml: everyDialect(up.url) + "max_body: 1KiB\n"})
	onlyUses := h.newKey(account.KeyOptions{Account: "default", Permissions: []account.Permission{account.Uses}})
	for i, f := range vendorChatAPIs() {
		good, path := f.ask("plain", "openai-house/echo", false)
		with := func(change func(*ask)) ask { a := good; change(&a); return a }
		asks := map[int]ask{
			http.StatusBadRequest:            with(func(a *ask) { a.body = "{" }),
			http.StatusUnauthorized:          with(func(a *ask) { a.key = "wk_wrong" }),
			http.StatusForbidden:             with(func(a *ask) { a.key = onlyUses }),
			http.StatusMethodNotAllowed:      with(func(a *ask) { a.method = http.MethodPut }),
			http.StatusRequestEntityTooLarge: with(func(a *ask) { a.body += strings.Repeat(" ", 1<<10) }),
			http.StatusUnsupportedMediaType:  with(func(a *ask) { a.header = []string{"Content-Type", "text/xml"} }),
		}
		for status, model := range map[int]string{
			http.StatusNotFound:           "nobody/x",
			http.StatusTooManyRequests:    bad(i, true) + "/chat:status=429",
			http.StatusBadGateway:         bad(i, false) + "/chat:status=500",
			http.StatusServiceUnavailable: bad(i, false) + "/chat:status=503",
			http.StatusGatewayTimeout:     bad(i, false) + "/chat:fault=silence",
		} {
			asks[status], _ = f.ask("plain", model, false)
		}
		for status, a := range asks {
			r := h.do(a)
			if err := c.refusal(path, r); err != nil || r.status != status {
				t.Errorf("%s: status %d, want %d: %v", a.path, r.status, status, err)
			}
		}
	}
	for path, where := range map[string]string{"/v1/models": "/v1/models", "/v1/models/second-0-true": "/v1/models/{model}", "/v1/models/one%2Ftwin": "/v1/models/{model}"} {
		if err := c.refusal(where, h.wantOK(t, ask{path: path})); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestEmbeddingsKeepToVendorsDocument does it with vectors, of providers of
// every wire format that has them.
func TestEmbeddingsKeepToVendorsDocument(t *testing.T) {
	t.Parallel()
	c := openVendorContract(t)
	up := newUpstream(t)
	h := open(t, setup{yaml: everyDialect(up.url)})
	for _, name := range []string{"openai", "gemini", "bedrock", "cohere", "ollama"} {
		for _, more := range []string{"", `,"encoding_format":"float"`} {
			a := ask{path: "/v1/embeddings", body: fmt.Sprintf(`{"model":"%s-house/chat","input":"A weir"%s}`, name, more)}
			if err := c.refusal(a.path, h.wantOK(t, a)); err != nil {
				t.Errorf("%s: %v", a.body, err)
			}
		}
	}
}

// recordedAnswers are exchanges with real providers, by the wire format in
// which they came.
func recordedAnswers(t *testing.T) map[string][]recordedAnswer {
	t.Helper()
	metas, err := filepath.Glob(filepath.Join(fixturesDir, "*", "*", "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]recordedAnswer{}
	for _, path := range metas {
		var meta struct {
			URL    string
			Status int
			Stream bool
		}
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &meta)
		}
		bodies, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "response.*"))
		if err != nil || len(bodies) != 1 {
			t.Fatalf("%s: %v, %d responses", path, err, len(bodies))
		}
		body, err := os.ReadFile(bodies[0])
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(fixturesDir, filepath.Dir(path))
		if d := dialectOf(meta.URL); d != "" && meta.Status == http.StatusOK {
			all[d] = append(all[d], recordedAnswer{name, meta.Stream, body})
		}
	}
	return all
}

type recordedAnswer struct {
	name   string
	stream bool
	body   []byte
}

// dialectOf is the wire format of what is asked at an address; empty for none
// of chat.
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

// TestRecordedAnswersKeepToVendorsDocument translates what real providers have
// answered for OpenAI's clients: citations, thoughts, tools of the vendor's own.
func TestRecordedAnswersKeepToVendorsDocument(t *testing.T) {
	t.Parallel()
	c := openVendorContract(t)
	all := recordedAnswers(t)
	held := 0
	for name, answers := range all {
		from := wireFormat(t, name)
		for _, f := range vendorChatAPIs() {
			to := wireFormat(t, map[string]string{"/v1/responses": "responses", "/v1/chat/completions": "openai"}[f.path])
			if from.Name == to.Name {
				continue // passes as it is, with all that others make of the wire format
			}
			for _, a := range answers {
				r, err := a.translate(from, to)
				if err == nil {
					err = c.refusal(f.path, r)
				}
				if err != nil {
					t.Errorf("%s for %s: %v", a.name, f.path, err)
				}
				held++
			}
		}
	}
	t.Logf("%d recorded answers translated", held)
	for name := range spoken() {
		if len(all[name]) == 0 {
			t.Errorf("no recorded answers of %s", name)
		}
	}
}

func wireFormat(t *testing.T, name string) *dialect.Dialect {
	t.Helper()
	for _, d := range registry.All() {
		if d.Name == name {
			return d
		}
	}
	t.Fatalf("no wire format %q", name)
	return nil
}

// translate is the answer as the gateway would give it to a client of another
// wire format.
func (a *recordedAnswer) translate(from, to *dialect.Dialect) (reply, error) {
	meta := llm.Meta{ID: to.IDPrefix + "1", Created: 1775000000, Model: "house/recorded", IncludeUsage: true}
	cost := llm.USD / 1000
	if !a.stream {
		decoded, err := from.DecodeReply(a.body, &llm.Quirks{})
		if err != nil {
			return reply{}, fmt.Errorf("decode: %w", err)
		}
		decoded.ID, decoded.Created, decoded.Model, decoded.Cost = meta.ID, meta.Created, meta.Model, &cost
		return reply{http.StatusOK, http.Header{}, string(to.EncodeReply(nil, decoded))}, nil
	}
	final := llm.Final{Cost: &cost}
	encoder, decoder, frames := to.NewEncoder(meta), from.NewDecoder(&llm.Quirks{}), from.Framing.NewReader(strings.NewReader(string(a.body)), 1<<20)
	var out []byte
	for frame, err := frames.Next(); err == nil; frame, err = frames.Next() {
		events, err := decoder.Decode(nil, frame)
		if err != nil {
			return reply{}, fmt.Errorf("decode: %w", err)
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
	return reply{http.StatusOK, http.Header{"Content-Type": {"text/event-stream"}}, string(encoder.Finish(out, &final))}, nil
}

// TestVendorsDocumentRefuses is the negative control: what OpenAI's document
// does not allow is found out; and an exception is one that OpenAI itself takes.
func TestVendorsDocumentRefuses(t *testing.T) {
	t.Parallel()
	c := openVendorContract(t)
	h, _ := openSimulated(t)
	for _, f := range vendorChatAPIs() {
		for _, stream := range []bool{false, true} {
			a, path := f.ask("plain", "house/echo", stream)
			r := h.wantOK(t, a)
			if err := c.refusal(path, r); err != nil {
				t.Fatal(err)
			}
			for from, to := range map[string]string{`"role":"assistant"`: `"role":"model"`, `"model":"`: `"model":7,"x":"`, `"object":"`: `"object":"un`, `_tokens":`: `_tokens":"many","x":`} {
				broken := r
				if broken.body = strings.Replace(r.body, from, to, 1); broken.body == r.body {
					t.Fatalf("%s: no %s in %s", path, from, r.body)
				}
				if c.refusal(path, broken) == nil {
					t.Errorf("%s, stream %t: got %s in place of %s taken for right", path, stream, to, from)
				}
			}
		}
	}
	for i, e := range exceptions() {
		if e.recorded == "" {
			continue
		}
		others := slices.Delete(exceptions(), i, i+1)
		strict, err := newVendorContract(others)
		if err != nil {
			t.Fatal(err)
		}
		body := recordedBody(t, e.recorded)
		if got := fmt.Sprint(strict.refusal("/v1/responses", body)); !strings.Contains(got, e.shown) {
			t.Errorf("without the exception of %s %q: got %s for %s, want %s", e.schema, e.steps, got, e.recorded, e.shown)
		}
		if got := fmt.Sprint(c.refusal("/v1/responses", body)); strings.Contains(got, e.shown) {
			t.Errorf("with the exception of %s %q: got %s for %s all the same", e.schema, e.steps, got, e.recorded)
		}
	}
}

func recordedBody(t *testing.T, name string) reply {
	t.Helper()
	for _, answers := range recordedAnswers(t) {
		for _, a := range answers {
			if a.name == name {
				return reply{http.StatusOK, http.Header{"Content-Type": {map[bool]string{true: "text/event-stream", false: "application/json"}[a.stream]}}, string(a.body)}
			}
		}
	}
	t.Fatalf("no recorded exchange %s", name)
	return reply{}
}

// TestGoldenAnswersKeepToVendorsDocument holds the golden cases against it, of
// what was answered in another wire format than OpenAI's own.
func TestGoldenAnswersKeepToVendorsDocument(t *testing.T) {
	t.Parallel()
	c := openVendorContract(t)
	paths, err := filepath.Glob(filepath.Join("..", "dialect", "testdata", "*", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
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
			r := reply{http.StatusOK, http.Header{"Content-Type": {map[bool]string{true: "text/event-stream"}[end == "sse"]}}, string(f.Data)}
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
