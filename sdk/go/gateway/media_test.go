package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"weir/internal/e2e/harness"
)

// TestMediaIsMetered requests images, speech and transcripts with the vendor's SDK, and checks the charge of each: by
// the provider's usage, or by characters and seconds.
func TestMediaIsMetered(t *testing.T) {
	t.Parallel()
	mediaProvider, h := harness.OpenMediaProvider(t)
	sdk := openai.NewClient(option.WithBaseURL(h.URL+"/v1"), option.WithAPIKey(h.Key), option.WithMaxRetries(0))
	write := func(model string, format openai.AudioResponseFormat) func() (string, error) {
		return func() (string, error) {
			r, err := sdk.Audio.Transcriptions.New(t.Context(), openai.AudioTranscriptionNewParams{
				Model: openai.AudioModel(model), ResponseFormat: format,
				File: openai.File(bytes.NewReader(harness.WAV(2)), "a.wav", "audio/wav"),
			})
			if err != nil {
				return "", err
			}
			return r.Text, nil
		}
	}
	paint := func(model string) func() (string, error) {
		return func() (string, error) {
			r, err := sdk.Images.Generate(t.Context(), openai.ImageGenerateParams{Model: openai.ImageModel(model), Prompt: "A weir", N: openai.Int(2)})
			if err != nil {
				return "", err
			}
			return r.Data[0].B64JSON, nil
		}
	}
	read := func(model string) func() (string, error) {
		return func() (string, error) {
			r, err := sdk.Audio.Speech.New(t.Context(), openai.AudioSpeechNewParams{Model: openai.SpeechModel(model), Input: "Füße", Voice: openai.AudioSpeechNewParamsVoiceUnion{OfString: openai.String("alloy")}})
			if err != nil {
				return "", err
			}
			defer r.Body.Close()
			if got := r.Header.Get("Content-Type"); got != "audio/mpeg" {
				return "", fmt.Errorf("content type %q", got)
			}
			text, err := io.ReadAll(r.Body)
			return string(text), err
		}
	}
	for _, tt := range []struct {
		model, want, cost string
		ask               func() (string, error)
	}{
		{"house/paint", "AA==", "0.08", paint("house/paint")},                              // 2 images
		{"house/paint-tokens", "AA==", "0.00445", paint("house/paint-tokens")},             // 10, 40 of images, 100 out
		{"house/read", "\xff\xfbsound", "0.00006", read("house/read")},                     // 4 characters
		{"house/read-tokens", "\xff\xfbsound", "0.0000726", read("house/read-tokens")},     // 1 token in, 6 of sound out
		{"house/write-seconds", "Hello there", "0.0003", write("house/write-seconds", "")}, // reported 3 seconds
		{"house/write-tokens", "Hello there", "0.00009", write("house/write-tokens", "")},  // 4, 10 of sound, 2 out
	} {
		got, err := tt.ask()
		if err != nil || got != tt.want {
			t.Errorf("%s: got %q, %v; want %q", tt.model, got, err, tt.want)
			continue
		}
		if strings.Contains(mediaProvider.Last, "house/") {
			t.Errorf("%s: the provider got %q", tt.model, mediaProvider.Last)
		}
		page := h.Uses("?model=" + tt.model)
		if cost := page.Total.Cost.String(); cost != tt.cost || page.Total.Requests != "1" {
			t.Errorf("%s: cost %s, want %s; %+v", tt.model, cost, tt.cost, page)
		}
	}
}
