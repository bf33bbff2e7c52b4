package openai_test

import (
	"testing"

	"weir/internal/dialect/openai"
	"weir/internal/llm"
	"weir/internal/must"
)

// TestImageTokens checks that tokens missing in the details of an image's tokens may be of the image.
func TestImageTokens(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		usage      string
		want, most llm.Usage // most is empty if all is known
	}{
		{
			`"output_tokens_details":{"text_tokens":100,"image_tokens":3900}`,
			llm.Usage{llm.Input: 10, llm.Output: 100, llm.ImageOut: 3900},
			llm.Usage{},
		},
		{
			`"output_tokens_details":{"text_tokens":100}`,
			llm.Usage{llm.Input: 10, llm.Output: 4000},
			llm.Usage{llm.Input: 10, llm.Output: 100, llm.ImageOut: 3900},
		},
		{
			`"output_tokens_details":{"image_tokens":100}`,
			llm.Usage{llm.Input: 10, llm.Output: 3900, llm.ImageOut: 100},
			llm.Usage{llm.Input: 10, llm.ImageOut: 4000},
		},
		{
			`"output_tokens_details":{}`,
			llm.Usage{llm.Input: 10, llm.Output: 4000},
			llm.Usage{llm.Input: 10, llm.ImageOut: 4000},
		},
		{
			`"output_tokens_details":{"text_tokens":4000,"image_tokens":4000}`,
			llm.Usage{llm.Input: 10, llm.ImageOut: 4000},
			llm.Usage{llm.Input: 10, llm.Output: 4000, llm.ImageOut: 4000},
		},
	} {
		r := must.Get(openai.DecodeImages([]byte(`{"data":[],"usage":{"input_tokens":10,"output_tokens":4000,`+tt.usage+`}}`), nil))(t)
		most := llm.Usage{}
		if r.Most != nil {
			most = *r.Most
		}
		must.Equal(t, r.Usage, tt.want, "%s", tt.usage)
		must.Equal(t, most, tt.most, "%s at most", tt.usage)
	}
}

// TestLongerDurationIsBound checks that the longer of a recording's two lengths is the bound. Vendors round seconds up.
func TestLongerDurationIsBound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		members    string
		told, most int64 // in milliseconds; most is 0 if all is known
	}{
		{`"duration":8.47,"usage":{"type":"duration","seconds":9}`, 9000, 0},
		{`"usage":{"type":"duration","seconds":9}`, 9000, 0},
		{`"duration":8.47`, 8470, 0},
		{`"duration":600.0,"usage":{"type":"duration","seconds":30}`, 30_000, 600_000},
	} {
		r := must.Get(openai.DecodeTranscript([]byte(`{"text":"x",`+tt.members+`}`), nil))(t)
		most := int64(0)
		if r.Most != nil {
			most = r.Most[llm.Milliseconds]
		}
		if got := r.Usage[llm.Milliseconds]; got != tt.told || most != tt.most {
			t.Errorf("%s: got %d ms, at most %d; want %d, at most %d", tt.members, got, most, tt.told, tt.most)
		}
	}
}
