package gateway_test

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"google.golang.org/genai"

	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// TestModelOfOpenAI requests one model with OpenAI's client, which writes the slash in a name as %2F, and with plain
// slashes.
func TestModelOfOpenAI(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: harness.Shelf})
	client := sdk(h, h.Key)
	for asked, want := range map[string]string{
		"openai/gpt-5.4": "openai/gpt-5.4", "openai/org/deep": "openai/org/deep", "house/small": "house/small", "house/a//b": "house/a//b",
		"fast": "fast", "gpt-5.4": "openai/gpt-5.4", "mine": "openai/mine", "small": "house/small",
	} {
		got, err := client.Models.Get(t.Context(), asked)
		if err != nil {
			t.Errorf("%s: %v", asked, err)
			continue
		}
		if got.ID != want || got.Object != "model" {
			t.Errorf("%s: got %s, want %s", asked, got.RawJSON(), want)
		}
		listed := listed(h, want)
		for _, path := range []string{url.PathEscape(asked), strings.ReplaceAll(asked, "//", "/%2F")} {
			if r := h.Do(harness.Ask{Path: "/v1/models/" + path}); r.Status != http.StatusOK || r.Body != listed {
				t.Errorf("%s: got %d %s, want %s", path, r.Status, r.Body, listed)
			}
		}
	}
	_, err := client.Models.Get(t.Context(), "openai/nothing")
	if e, ok := errors.AsType[*openai.Error](err); !ok || e.StatusCode != http.StatusNotFound || e.Code != "MODEL_NOT_FOUND" {
		t.Errorf("a model that is not there: got %v, want 404", err)
	}
}

// listed returns a model of the list.
func listed(h *harness.Gateway, id string) string {
	h.T.Helper()
	body := h.Do(harness.Ask{Path: "/v1/models"}).Body
	at := strings.Index(body, `{"id":"`+id+`"`)
	if at < 0 {
		h.T.Fatalf("no %s in %s", id, body)
	}
	end := strings.Index(body[at:], `},{"id":`)
	if end < 0 {
		end = strings.LastIndex(body[at:], "}]}")
	}
	return body[at : at+end+1]
}

// TestModelsOfAnthropic lists and requests models with Anthropic's client, which reads pages by itself and sends its
// key in another header.
func TestModelsOfAnthropic(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: harness.Shelf})
	client := anthropic.NewClient(
		anthropicoption.WithBaseURL(h.URL), anthropicoption.WithAPIKey(h.Key), anthropicoption.WithHTTPClient(h.Client), anthropicoption.WithMaxRetries(0),
	)
	for _, size := range []int64{1, 3, 4, int64(len(harness.WholeShelf)), 1000} {
		var got []string
		pages := client.Models.ListAutoPaging(t.Context(), anthropic.ModelListParams{Limit: anthropic.Int(size)})
		for pages.Next() {
			got = append(got, pages.Current().ID)
		}
		if diff := cmp.Diff(got, harness.WholeShelf); diff != "" || pages.Err() != nil {
			t.Errorf("pages of %d: %v (-got +want)\n%s", size, pages.Err(), diff)
		}
	}
	got := must.Get(client.Models.Get(t.Context(), "claude-opus-4-5", anthropic.ModelGetParams{}))(t)
	if got.ID != "anthropic/claude-opus-4-5" || got.Type != "model" || got.MaxInputTokens != 200_000 || got.CreatedAt.Year() < 2025 || got.Lifecycle != "active" {
		t.Errorf("one model: got %s", got.RawJSON())
	}
	small, err := client.Models.Get(t.Context(), "house/small", anthropic.ModelGetParams{})
	if err != nil || small.MaxTokens != 4096 || !small.CreatedAt.Equal(time.Unix(0, 0)) {
		t.Errorf("a model of the operator's own: %v, got %s", err, small.RawJSON())
	}
	_, err = client.Models.Get(t.Context(), "nothing", anthropic.ModelGetParams{})
	if e, ok := errors.AsType[*anthropic.Error](err); !ok || e.StatusCode != http.StatusNotFound || !strings.Contains(e.RawJSON(), `"type":"not_found_error"`) {
		t.Errorf("a model that is not there: got %v, want its own 404", err)
	}
}

// TestModelsOfGemini lists and requests models with Google's client, which reads pages by itself and sends its key in
// another header.
func TestModelsOfGemini(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: harness.Shelf})
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: h.Key, HTTPClient: h.Client, HTTPOptions: genai.HTTPOptions{BaseURL: h.URL},
	})
	must.Do(t, err)
	var want []string
	for _, name := range harness.WholeShelf {
		want = append(want, "models/"+name)
	}
	for _, size := range []int32{0, 1, 3, int32(len(harness.WholeShelf)), 5000} {
		var got []string
		page, err := client.Models.List(t.Context(), &genai.ListModelsConfig{PageSize: size})
		for ; err == nil; page, err = page.Next(t.Context()) {
			for _, m := range page.Items {
				got = append(got, m.Name)
			}
		}
		if diff := cmp.Diff(got, want); diff != "" || !errors.Is(err, genai.ErrPageDone) {
			t.Errorf("pages of %d: %v (-got +want)\n%s", size, err, diff)
		}
	}
	for _, name := range []string{"gemini-2.5-pro", "models/gemini-2.5-pro", "models/gemini/gemini-2.5-pro", "house/small"} {
		got, err := client.Models.Get(t.Context(), name, nil)
		if err != nil || got.InputTokenLimit == 0 || !slices.Contains(got.SupportedActions, "generateContent") {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	_, err = client.Models.Get(t.Context(), "nothing", nil)
	if e, ok := errors.AsType[genai.APIError](err); !ok || e.Code != http.StatusNotFound || e.Status != "NOT_FOUND" {
		t.Errorf("a model that is not there: got %v, want its own 404", err)
	}
	for path, status := range map[string]int{"/v1beta/models?pageSize=-1": 400, "/v1beta/models?pageSize=x": 400, "/v1beta/models?pageToken=zzz": 200} {
		if r := h.Do(harness.Ask{Path: path}); r.Status != status || status == 400 && !strings.Contains(r.Body, `"INVALID_ARGUMENT"`) {
			t.Errorf("%s: got %d %s, want %d", path, r.Status, r.Body, status)
		}
	}
}
