package provider_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/provider"
)

// TestAskAboutLateReplies asks for the usage of replies in both ways, and refuses an answer without it.
func TestAskAboutLateReplies(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		const response = `{"id":"r/1 ?","object":"response","output":[],"error":null,"service_tier":"flex",`
		const counts = `"usage":{"input_tokens":7,"input_tokens_details":{"cached_tokens":2},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":4}}}`
		used := llm.Usage{llm.Input: 5, llm.CacheRead: 2, llm.Output: 5, llm.Reasoning: 4}
		for _, tc := range []struct {
			name, target string
			ask          string
			status       int
			answer       string
			told         bool
			used         llm.Usage
			cost         llm.Money
		}{
			{"whole", "/v1/responses/r%2F1%20%3F", "responses", 200, response + `"status":"completed",` + counts, true, used, 0},
			{"cancelled", "", "responses", 200, response + `"status":"cancelled",` + counts, true, used, 0},
			{"cut short", "", "responses", 200, response + `"status":"incomplete",` + counts, true, used, 0},
			{"at work", "", "responses", 200, response + `"status":"in_progress",` + counts, false, used, 0},
			{"no usage", "", "responses", 200, response + `"status":"cancelled","usage":null}`, false, used, 0},
			{"another", "", "responses", 200, `{"id":"r2","output":[],"status":"completed",` + counts, false, used, 0},
			{
				"a generation", "/v1/generation?id=r%2F1+%3F", "generation", 200,
				`{"data":{"id":"r/1 ?","native_tokens_prompt":7,"native_tokens_cached":2,"native_tokens_completion":9,"native_tokens_reasoning":4,"total_cost":0.0015,"cancelled":true,"is_byok":false}}`,
				true, used, 1_500_000,
			},
			{"not there yet", "", "generation", 404, `{"error":{"message":"Generation not found","code":404}}`, false, used, 0},
			{"refused", "", "generation", 401, `{}`, false, used, 0},
			{"elsewhere", "", "generation", 302, ``, false, used, 0},
			{"garbage", "", "generation", 200, `{"data":[`, false, used, 0},
			{"long", "", "generation", 200, `{"data":{"id":"r/1 ?","native_tokens_prompt":7,"native_tokens_completion":9,"x":"` + strings.Repeat("x", 9<<20) + `"}}`, false, used, 0},
		} {
			var got *http.Request
			var body []byte
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = r
				body, _ = io.ReadAll(r.Body)
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.answer)
			}))
			keys := []llm.Secret{llm.NewSecret("sk-first-0123456789"), llm.NewSecret(testKey)}
			p := way.provider(t, provider.Options{BaseURL: server.URL + "/v1", Ask: registrytest.All().Inquiry(tc.ask), APIKeys: keys})
			reply, err := p.Ask(t.Context(), "r/1 ?", 1)
			if (err == nil) != tc.told {
				t.Errorf("%s: got %+v, %v", tc.name, reply, err)
			}
			if got.Method != http.MethodGet || len(body) > 0 || got.Header.Get("Authorization") != "Bearer "+testKey || tc.target != "" && got.URL.RequestURI() != tc.target {
				t.Errorf("%s: got %s %s with %q, want GET %s", tc.name, got.Method, got.URL.RequestURI(), body, tc.target)
			}
			if err == nil && (reply.Usage != tc.used || (reply.ProviderCost == nil) != (tc.cost == 0) || tc.cost > 0 && *reply.ProviderCost != tc.cost) {
				t.Errorf("%s: got %v at %v, want %v at %s", tc.name, reply.Usage, reply.ProviderCost, tc.used, tc.cost)
			}
			if err != nil && strings.Contains(fmt.Sprint(err), "sk-") {
				t.Errorf("%s: a key is in %v", tc.name, err)
			}
			server.Close()
		}
	})
}

// TestSilentQuestionEnds ends a question to a silent provider.
func TestSilentQuestionEnds(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		address := rawServer(t, sayAndHang("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"))
		p := way.provider(t, provider.Options{BaseURL: address, Ask: registrytest.All().Inquiry("generation")})
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		began := time.Now()
		if _, err := p.Ask(ctx, "gen-1", 0); err == nil || errors.Is(err, provider.ErrNotTold) || time.Since(began) > patience/2 {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
	})
}

// TestAsksWhereProviderAnswers checks which replies a provider can be asked about.
func TestAsksWhereProviderAnswers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, dialect string
		want          bool
	}{
		{"openai", "responses", true},
		{"openai", "openai", false},
		{"azure", "responses", true},
		{"xai", "responses", true},
		{"openrouter", "openai", true},
		{"groq", "openai", false},
		{"anthropic", "anthropic", false},
	} {
		e := catalogue(t).Find(tc.name)
		o := e.Options(registrytest.All())
		o.BaseURL = e.FromEnv(examples(e)).BaseURL
		p, err := provider.New(o)
		must.Do(t, err)
		if got := p.Asks(dialects(tc.dialect)); got != tc.want {
			t.Errorf("%s in %s: got %t, want %t", tc.name, tc.dialect, got, tc.want)
		}
		if !tc.want {
			if _, err := p.Ask(t.Context(), "x", p.Keys()); err == nil {
				t.Errorf("%s answered without a credential", tc.name)
			}
		}
	}
}
