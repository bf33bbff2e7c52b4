package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"

	"weir/internal/e2e/harness"
)

// storyClient requests the story at a client API, as a stream, with the vendor's SDK.
type storyClient func(t *testing.T, h *harness.Gateway, model string) (text, id string, err error)

const question = "Tell me a story"

var storyClients = map[string]storyClient{
	"openai": func(t *testing.T, h *harness.Gateway, model string) (string, string, error) {
		c := openai.NewClient(option.WithBaseURL(h.URL+"/v1"), option.WithAPIKey(h.Key), option.WithMaxRetries(0))
		s := c.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{
			Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(question)},
		})
		var acc openai.ChatCompletionAccumulator
		for s.Next() {
			if !acc.AddChunk(s.Current()) {
				return "", "", fmt.Errorf("the chunk does not fit: %s", s.Current().RawJSON())
			}
		}
		if s.Err() != nil {
			return "", "", s.Err()
		}
		return acc.Choices[0].Message.Content, acc.ID, nil
	},
	"responses": func(t *testing.T, h *harness.Gateway, model string) (string, string, error) {
		c := openai.NewClient(option.WithBaseURL(h.URL+"/v1"), option.WithAPIKey(h.Key), option.WithMaxRetries(0))
		s := c.Responses.NewStreaming(t.Context(), responses.ResponseNewParams{
			Model: model, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(question)},
		})
		var deltas, id string
		var last responses.Response
		sequence := int64(-1)
		for s.Next() {
			e := s.Current()
			if e.SequenceNumber != sequence+1 {
				return "", "", fmt.Errorf("the event %d follows on %d", e.SequenceNumber, sequence)
			}
			sequence = e.SequenceNumber
			switch e.Type {
			case "response.created":
				id = e.Response.ID
			case "response.output_text.delta":
				deltas += e.Delta
			case "response.completed":
				last = e.Response
			}
		}
		if s.Err() != nil {
			return "", "", s.Err()
		}
		if last.ID != id || last.OutputText() != deltas {
			return "", "", fmt.Errorf("the last event says %s %q, the others %s %q", last.ID, last.OutputText(), id, deltas)
		}
		return deltas, id, nil
	},
	"anthropic": func(t *testing.T, h *harness.Gateway, model string) (string, string, error) {
		c := anthropic.NewClient(anthropicoption.WithBaseURL(h.URL), anthropicoption.WithAPIKey(h.Key), anthropicoption.WithMaxRetries(0))
		s := c.Messages.NewStreaming(t.Context(), anthropic.MessageNewParams{
			Model: anthropic.Model(model), MaxTokens: 500, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(question))},
		})
		var m anthropic.Message
		for s.Next() {
			if err := m.Accumulate(s.Current()); err != nil {
				return "", "", err
			}
		}
		if s.Err() != nil {
			return "", "", s.Err()
		}
		if len(m.Content) != 1 {
			return "", "", fmt.Errorf("%d blocks", len(m.Content))
		}
		return m.Content[0].Text, m.ID, nil
	},
	"gemini": func(t *testing.T, h *harness.Gateway, model string) (string, string, error) {
		c, err := genai.NewClient(t.Context(), &genai.ClientConfig{
			APIKey: h.Key, Backend: genai.BackendGeminiAPI, HTTPClient: &http.Client{}, HTTPOptions: genai.HTTPOptions{BaseURL: h.URL},
		})
		if err != nil {
			return "", "", err
		}
		var text, id string
		for r, err := range c.Models.GenerateContentStream(t.Context(), model, genai.Text(question), nil) {
			if err != nil {
				return "", "", err
			}
			if id != "" && r.ResponseID != id {
				return "", "", fmt.Errorf("the id %s becomes %s", id, r.ResponseID)
			}
			text, id = text+r.Text(), r.ResponseID
		}
		return text, id, nil
	},
}

// TestRescueAtEveryClientAPI breaks a stream in the middle, unchanged or translated, and continues it at another
// provider. The vendor's own SDK must read one answer, equal to one without a failure.
func TestRescueAtEveryClientAPI(t *testing.T) {
	t.Parallel()
	before := map[string]string{"openai": "/v1", "responses": "/v1", "anthropic": "/v1", "gemini": "/v1beta"}
	for clientAPI, tell := range storyClients {
		for first := range before {
			for second := range before {
				t.Run(fmt.Sprintf("%s from %s to %s", clientAPI, first, second), func(t *testing.T) {
					t.Parallel()
					up := harness.NewUpstream(t)
					one := strings.Replace(harness.DialectYAML(first, up.URL+before[first]), "house:", "one:", 1)
					two := strings.Replace(harness.DialectYAML(second, up.URL+before[second]), "house:", "two:", 1)
					one, _, _ = strings.Cut(one, "prices:")
					two, _, _ = strings.Cut(two, "prices:")
					_, two, _ = strings.Cut(two, "providers:")
					h := harness.Open(t, harness.Setup{YAML: one + two + "\naliases:\n  tale: {targets: [\"one/story:fault=cut,at=9\", \"two/story\"]}\n  safe: {targets: [\"two/story\"]}\n"})
					want, _, err := tell(t, h, "safe")
					if err != nil || len(want) < 50 {
						t.Fatalf("without a fault: %q, %v", want, err)
					}
					got, id, err := tell(t, h, "tale")
					if err != nil || got != want || id == "" {
						t.Errorf("got %q, %q, %v; want %q", got, id, err, want)
					}
				})
			}
		}
	}
}
