package provider_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/dialect"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/provider"
)

// TestCountSendsCountedParts requests counts in each way, with only the counted parts of a request, and reads them.
func TestCountSendsCountedParts(t *testing.T) {
	const gemini = `{"contents":[{"parts":[{"text":"Hi"}]}],"system_instruction":{"parts":[{"text":"S"}]},"safetySettings":[],"generationConfig":{"maxOutputTokens":5}}`
	for _, tc := range []struct {
		way, dialect, base, model, body string
		target, asked, answer           string
	}{
		{
			"anthropic", "anthropic", "/v1", "claude-x", `{"model":"claude-x","max_tokens":5,"stream":true,"system":"S","messages":[],"tools":[],"metadata":{}}`,
			"/v1/messages/count_tokens", `{"model":"claude-x","system":"S","messages":[],"tools":[]}`, `{"input_tokens":7}`,
		},
		{
			"gemini", "gemini", "/v1beta", "gemini-x", gemini, "/v1beta/models/gemini-x:countTokens",
			`{"generateContentRequest":{"model":"models/gemini-x",` + gemini[1:] + `}`, `{"totalTokens":7,"promptTokensDetails":[]}`,
		},
		{
			"vertex", "gemini", "/v1/projects/p/locations/l/publishers/google", "gemini-x", gemini,
			"/v1/projects/p/locations/l/publishers/google/models/gemini-x:countTokens",
			`{"contents":[{"parts":[{"text":"Hi"}]}],"system_instruction":{"parts":[{"text":"S"}]},"generationConfig":{"maxOutputTokens":5}}`, `{"totalTokens":7}`,
		},
		{
			"bedrock", "bedrock", "", "anthropic.claude-x-v1:0", `{"messages":[],"system":[],"inferenceConfig":{"maxTokens":5},"toolConfig":{}}`,
			"/model/anthropic.claude-x-v1%3A0/count-tokens", `{"input":{"converse":{"messages":[],"system":[],"toolConfig":{}}}}`, `{"inputTokens":7}`,
		},
		{
			"llamacpp", "openai", "/v1", "m", `{"model":"m","messages":[],"max_tokens":5}`, "/v1/chat/completions/input_tokens",
			`{"model":"m","messages":[],"max_tokens":5}`, `{"object":"response.input_tokens","input_tokens":7}`,
		},
		{
			"vllm", "openai", "/below/v1", "m", `{"model":"m","messages":[],"max_tokens":5,"tools":[]}`, "/below/tokenize",
			`{"model":"m","messages":[],"tools":[]}`, `{"count":7,"max_model_len":9,"tokens":[1,2,3,4,5,6,7]}`,
		},
		{
			"responses", "responses", "/v1", "m", `{"model":"m","input":"Hi","max_output_tokens":16,"store":false}`, "/v1/responses/input_tokens",
			`{"model":"m","input":"Hi"}`, `{"object":"response.input_tokens","input_tokens":7}`,
		},
	} {
		overTransportsNamed(t, tc.way, func(t *testing.T, way transport) {
			all := registrytest.All()
			var got *http.Request
			var body []byte
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = r
				body, _ = io.ReadAll(r.Body)
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, tc.answer)
			}))
			t.Cleanup(server.Close)
			p := way.provider(t, provider.Options{
				BaseURL: server.URL + tc.base, Dialect: all.Named(tc.dialect), Counter: all.Counter(tc.way), Auth: "bearer",
				APIKeys: []llm.Secret{llm.NewSecret("sk-first-0123456789"), llm.NewSecret(testKey)},
			})
			tokens, err := p.Count(t.Context(), provider.Call{
				Dialect: p.Dialect(), Model: tc.model, Body: []byte(tc.body), Key: 1, Header: []dialect.Header{{Name: "Anthropic-Beta", Value: "b"}},
			}, "caller")
			if tokens != 7 || err != nil {
				t.Fatalf("got %d, %v, want 7", tokens, err)
			}
			if got.Method != http.MethodPost || got.URL.RequestURI() != tc.target || string(body) != tc.asked {
				t.Errorf("got %s %s with\n%s, want POST %s with\n%s", got.Method, got.URL.RequestURI(), body, tc.target, tc.asked)
			}
			if got.Header.Get("Authorization") != "Bearer "+testKey || got.Header.Get("Anthropic-Beta") != "b" || got.Header.Get("Content-Type") != "application/json" {
				t.Errorf("got the headers %v", got.Header)
			}
		})
	}
}

// counter is a provider with a handler for requests for a count.
func counter(t *testing.T, now func() time.Time, answer http.HandlerFunc) *provider.Provider {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	all := registrytest.All()
	return newProvider(t, provider.Options{
		BaseURL: server.URL + "/v1", Dialect: all.Named("anthropic"), Counter: all.Counter("anthropic"), AllowPrivate: true, Now: now,
	})
}

func count(t *testing.T, p *provider.Provider, caller string) (int64, error) {
	t.Helper()
	return p.Count(t.Context(), provider.Call{Dialect: p.Dialect(), Model: "m", Body: []byte(`{"messages":[]}`)}, caller)
}

// TestFailedCountPauses checks that a provider that could not count is asked again only after some seconds, unless the
// request was at fault.
func TestFailedCountPauses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status int
		body   string
		rests  bool
	}{
		{200, `{"input_tokens":7}`, false},
		{400, `{}`, false},
		{404, `{}`, false},
		{413, `{}`, false},
		{429, `{}`, true},
		{500, `{}`, true},
		{529, `{}`, true},
		{302, ``, true},
		{200, `{"input_tokens":"7"}`, true},
		{200, `{"input_tokens":7,"x":"` + strings.Repeat("x", 1<<20) + `"}`, true},
	} {
		now, asked := time.Now(), 0
		p := counter(t, func() time.Time { return now }, func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(tc.status)
			_, _ = io.WriteString(w, tc.body)
		})
		_, err := count(t, p, "a")
		now = now.Add(9 * time.Second)
		_, again := count(t, p, "b")
		if rests := errors.Is(again, provider.ErrNotCounted); rests != tc.rests || rests != (asked == 1) {
			t.Errorf("%d %.30s: %v, then %v after %d questions, rests: want %t", tc.status, tc.body, err, again, asked, tc.rests)
		}
		now = now.Add(2 * time.Second)
		if _, err := count(t, p, "b"); errors.Is(err, provider.ErrNotCounted) {
			t.Errorf("%d %.30s: no request 11 seconds later", tc.status, tc.body)
		}
		if err != nil && strings.Contains(fmt.Sprint(err), "sk-") {
			t.Errorf("a key is in %v", err)
		}
	}
}

// TestCountsAtOnce checks that a provider gets four requests for counts at a time, one for each caller, and that a
// caller who leaves ends its own.
func TestCountsAtOnce(t *testing.T) {
	t.Parallel()
	came, answer := make(chan struct{}, 8), make(chan struct{})
	p := counter(t, nil, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		came <- struct{}{}
		select {
		case <-answer:
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"input_tokens":7}`)
	})
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			if n, err := count(t, p, fmt.Sprint(i)); n != 7 || err != nil {
				t.Errorf("caller %d: got %d, %v, want 7", i, n, err)
			}
		})
	}
	leaving, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := p.Count(leaving, provider.Call{Dialect: p.Dialect(), Model: "m", Body: []byte(`{}`)}, "leaves")
		left <- err
	}()
	for range 4 {
		<-came
	}
	for _, caller := range []string{"0", "leaves", "another"} {
		if _, err := count(t, p, caller); !errors.Is(err, provider.ErrNotCounted) {
			t.Errorf("%s: got %v while four are counted, want %v", caller, err, provider.ErrNotCounted)
		}
	}
	leave()
	if f, ok := errors.AsType[*provider.Failure](<-left); !ok || f.Kind != provider.KindCanceled {
		t.Errorf("got %v for a caller who left", f)
	}
	close(answer)
	if _, err := count(t, p, "another"); err != nil {
		t.Errorf("got %v once a place is free", err)
	}
	all.Wait()
}

// TestSilentCountEnds ends a count of a silent provider.
func TestSilentCountEnds(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		address := rawServer(t, sayAndHang("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"))
		all := registrytest.All()
		p := way.provider(t, provider.Options{BaseURL: address, Dialect: all.Named("anthropic"), Counter: all.Counter("anthropic")})
		if f, ok := errors.AsType[*provider.Failure](second(count(t, p, "a"))); !ok || f.Kind != provider.KindTotalTimeout {
			t.Errorf("got %v, want a timeout", f)
		}
		if err := second(count(t, p, "b")); !errors.Is(err, provider.ErrNotCounted) {
			t.Errorf("got %v right after it, want %v", err, provider.ErrNotCounted)
		}
	})
}

func second[T any](_ T, err error) error { return err }

// TestCountsOfEachProvider checks which providers count, in which wire format: those of the catalogue at their vendors'
// own addresses, and servers of one's own at any address.
func TestCountsOfEachProvider(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, dialect string
		want, moved   bool
	}{
		{"anthropic", "anthropic", true, false},
		{"anthropic", "openai", false, false},
		{"gemini", "gemini", true, false},
		{"vertex", "gemini", true, false},
		{"bedrock", "bedrock", true, false},
		{"llamacpp", "openai", true, true},
		{"vllm", "openai", true, true},
		{"openai", "openai", false, false},
		{"openai", "responses", false, false},
		{"openrouter", "openai", false, false},
	} {
		e, all := catalogue(t).Find(tc.name), registrytest.All()
		o := e.Options(all)
		o.BaseURL = e.FromEnv(examples(e)).BaseURL
		p, err := provider.New(o)
		must.Do(t, err)
		if got := p.Counts(all.Named(tc.dialect)) != nil; got != tc.want {
			t.Errorf("%s in %s: got %t, want %t", tc.name, tc.dialect, got, tc.want)
		}
		o.Move("https://elsewhere.example.com/v1")
		p, err = provider.New(o)
		must.Do(t, err)
		if got := p.Counts(all.Named(tc.dialect)) != nil; got != tc.moved {
			t.Errorf("%s in %s at another address: got %t, want %t", tc.name, tc.dialect, got, tc.moved)
		}
	}
}
