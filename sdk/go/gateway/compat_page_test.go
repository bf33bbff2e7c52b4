package gateway_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// limit describes a cell that a wire format cannot have, and its text: a part of the gateway's own 400, or of the
// reported loss.
type limit struct {
	clientAPI, provider, feature string // no client API means all except the provider's own, no provider means all
	says                         string
}

// leftOut is the text for thinking without a vendor's signature, which only its own client API sends back.
const leftOut = "left out of the next turn"

var limits = []limit{
	{clientAPI: "anthropic", feature: "embeddings", says: "has no embeddings"},
	{provider: "anthropic", feature: "embeddings", says: "does not offer embeddings"},
	{provider: "bedrock", feature: "embeddings", says: "embeds one text per request"},
	{provider: "bedrock", feature: "image by URL", says: "Amazon Bedrock does not fetch images by URL"},
	{provider: "ollama", feature: "image by URL", says: "Ollama does not fetch images by URL"},
	{provider: "openai", feature: "thinking sent back", says: leftOut},
	{provider: "responses", feature: "thinking sent back", says: leftOut},
	{provider: "cohere", feature: "thinking sent back", says: leftOut},
}

// limitOf returns the known limit of a cell, or nil.
func limitOf(clientAPI, provider, feature string) *limit {
	i := slices.IndexFunc(limits, func(l limit) bool {
		atAPI := l.clientAPI == clientAPI || l.clientAPI == "" && clientAPI != provider
		return atAPI && (l.provider == "" || l.provider == provider) && l.feature == feature
	})
	if i < 0 {
		return nil
	}
	return &limits[i]
}

// results holds the cells, by client API, provider and feature: empty for a working one, otherwise the text of its
// limit.
type results struct {
	mu    sync.Mutex
	cells map[[3]string]string
}

// TestCompatibility runs every official Go SDK through a provider of every wire format, feature by feature, and
// compares the results with the table in docs/compatibility.md.
func TestCompatibility(t *testing.T) {
	t.Parallel()
	gateway := newCompatGateway(t)
	all := &results{cells: map[[3]string]string{}}
	passed := t.Run("cells", func(t *testing.T) {
		for _, client := range sdkClients() {
			for _, provider := range slices.Sorted(maps.Keys(harness.Spoken())) {
				for _, f := range features() {
					t.Run(client.clientAPI+"/"+provider+"/"+f.name, func(t *testing.T) {
						t.Parallel()
						c := &cell{t: t, gateway: gateway, client: client, provider: provider, seed: newSeed()}
						all.note(c, f.name, f.check(c))
					})
				}
			}
		}
	})
	if cells := len(sdkClients()) * len(harness.Spoken()) * len(features()); passed && len(all.cells) == cells {
		t.Logf("%d cells, %d of them limits", cells, all.limited())
		writeCompatibility(t, all)
	}
}

// note compares the outcome of a cell with its known limit.
func (r *results) note(c *cell, feature string, err error) {
	c.t.Helper()
	known := limitOf(c.client.clientAPI, c.provider, feature)
	said := ""
	if err != nil {
		said = c.said(err)
	}
	switch {
	case known == nil && err != nil:
		raised, _ := c.client.raised(err)
		c.t.Errorf("it fails: %v: %s %s", err, raised.param, raised.message)
		return
	case known != nil && (err == nil || said == "" || !strings.Contains(said, known.says)):
		c.t.Errorf("got %q (%v), want the known limit %q", said, err, known.says)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cells[[3]string{c.client.clientAPI, c.provider, feature}] = said
}

// said returns the text of an outcome's limit; empty for any other error.
func (c *cell) said(err error) string {
	if l, ok := errors.AsType[lacks](err); ok {
		return string(l)
	}
	r, ok := errors.AsType[*refusal](c.refused(err))
	if !ok {
		return ""
	}
	message := strings.ReplaceAll(r.message, `"p-`, `"`) // the provider's name here
	if r.param != "" && !strings.Contains(message, r.param) {
		message = r.param + ": " + message
	}
	return "400, " + message
}

func (r *results) limited() (n int) {
	for _, said := range r.cells {
		if said != "" {
			n++
		}
	}
	return n
}

// apiTitles has the client APIs, as a user knows them.
var apiTitles = map[string]string{
	"openai":    "`POST /v1/chat/completions`: OpenAI's Chat Completions (openai-go v3)",
	"responses": "`POST /v1/responses`: OpenAI's Responses (openai-go v3)",
	"anthropic": "`POST /v1/messages`: Anthropic's Messages (anthropic-sdk-go)",
	"gemini":    "`POST /v1beta/models/{model}:generateContent`, `:streamGenerateContent`: Google's Gemini (genai)",
}

// providerTitles names the providers' wire formats and their vendors.
var providerTitles = map[string]string{
	"openai":    "`openai`: OpenAI, Azure OpenAI, Mistral, Groq, DeepSeek, xAI, OpenRouter, Together, Fireworks, vLLM, LM Studio, llama.cpp …",
	"responses": "`responses`: OpenAI, Azure OpenAI, xAI",
	"anthropic": "`anthropic`: Anthropic",
	"gemini":    "`gemini`: Google Gemini, Vertex AI",
	"bedrock":   "`bedrock`: Amazon Bedrock (Converse)",
	"cohere":    "`cohere`: Cohere",
	"ollama":    "`ollama`: Ollama's own API",
}

func writeCompatibility(t *testing.T, all *results) {
	t.Helper()
	var text strings.Builder
	for _, client := range sdkClients() {
		all.writeAPI(&text, client.clientAPI)
	}
	documentGo(t, text.String())
}

func (r *results) writeAPI(text *strings.Builder, clientAPI string) {
	fmt.Fprintf(text, "\n### %s\n\n| provider's wire format |", apiTitles[clientAPI])
	for _, f := range features() {
		fmt.Fprintf(text, " %s |", f.name)
	}
	fmt.Fprintf(text, "\n|---|%s\n", strings.Repeat("---|", len(features())))
	var notes []string
	for _, provider := range []string{"openai", "responses", "anthropic", "gemini", "bedrock", "cohere", "ollama"} {
		fmt.Fprintf(text, "| %s |", providerTitles[provider])
		for _, f := range features() {
			said := r.cells[[3]string{clientAPI, provider, f.name}]
			if said == "" {
				text.WriteString(" yes |")
				continue
			}
			at := slices.Index(notes, said)
			if at < 0 {
				at, notes = len(notes), append(notes, said)
			}
			fmt.Fprintf(text, " –<sup>%d</sup> |", at+1)
		}
		text.WriteString("\n")
	}
	for i, said := range notes {
		fmt.Fprintf(text, "\n%d. %s", i+1, said)
	}
	if len(notes) > 0 {
		text.WriteString("\n")
	}
}

// documentGo checks that the Go part of docs/compatibility.md is current, or writes it.
func documentGo(t *testing.T, text string) {
	t.Helper()
	path := filepath.Join("..", "..", "..", "docs", "compatibility.md")
	page := must.Get(os.ReadFile(path))(t)
	begin, end := []byte("<!-- go:begin -->\n"), []byte("<!-- go:end -->\n")
	before, rest, ok := bytes.Cut(page, begin)
	_, after, closed := bytes.Cut(rest, end)
	if !ok || !closed {
		t.Fatal("docs/compatibility.md has no part between go:begin and go:end")
	}
	want := slices.Concat(before, begin, []byte(text), end, after)
	if bytes.Equal(page, want) {
		return
	}
	if !*harness.Update {
		t.Error("docs/compatibility.md is not current: run the test with -update")
		return
	}
	must.Do(t, os.WriteFile(path, want, 0o644))
}
