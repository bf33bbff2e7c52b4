package gemini_test

import (
	"net/http"
	"testing"

	"weir/internal/dialect/gemini"
	"weir/internal/llm"
)

// TestAmbiguousRequestsAreRefused refuses requests of other operations in which another parser may read another model
// or another text.
func TestAmbiguousRequestsAreRefused(t *testing.T) {
	t.Parallel()
	type scan func([]byte, *http.Request) (llm.Head, error)
	for _, tt := range []struct {
		scan        scan
		body, param string
	}{
		{gemini.ScanEmbed, `{"requests":[{"content":{"parts":[{"text":"a"}]}}],"requests":[{"model":"models/dear","content":{"parts":[{"text":"a"}]}}]}`, "requests"},
		{gemini.ScanEmbed, `{"requests":[{"model":"models/cheap","model":"models/dear"}]}`, "requests[0].model"},
		{gemini.ScanEmbed, `{"requests":[{},{"Model":"models/dear"}]}`, "requests[1].model"},
		{gemini.ScanEmbed, `{"requests":[{"content":{},"content":{"parts":[{"text":"long"}]}}]}`, "requests[0].content"},
		{gemini.ScanEmbed, `{"requests":[{"content":{"parts":[],"parts":[{"text":"long"}]}}]}`, "requests[0].content.parts"},
		{gemini.ScanEmbed, `{"requests":[{"outputDimensionality":1,"output_dimensionality":2}]}`, "requests[0].outputDimensionality"},
		{gemini.ScanEmbed, `{"requests":[{}],"model":"models/dear"}`, "model"},
		{gemini.ScanEmbed, `{"requests":[{"content":{"parts":[{"text":"a"}]}},{"content":{"parts":[{"text":"a"},{"inlineData":{"mimeType":"video/mp4","data":"AAAA"}}]}}]}`, "requests[1].content.parts[1]"},
		{gemini.ScanEmbed, `{"requests":[{"content":{"parts":[{"file_data":{"fileUri":"x"}}]}}]}`, "requests[0].content.parts[0]"},
		{gemini.ScanCount, `{"contents":[],"contents":[]}`, "contents"},
		{gemini.ScanCount, `{"contents":[],"model":"models/dear"}`, "model"},
		{gemini.ScanCount, `{"generateContentRequest":{},"generate_content_request":{"model":"models/dear"}}`, "generateContentRequest"},
		{gemini.ScanCount, `{"generateContentRequest":{"model":"models/cheap","model":"models/dear"}}`, "generateContentRequest.model"},
	} {
		r := &http.Request{Pattern: "POST /v1beta/models/{target...}"}
		r.SetPathValue("target", "cheap"+gemini.EmbedSuffix)
		if tt.body[2] != 'r' {
			r.SetPathValue("target", "cheap"+gemini.CountSuffix)
		}
		h, err := tt.scan([]byte(tt.body), r)
		if e := llm.AsError(err); err == nil || e.Code != llm.CodeInvalidRequest || e.Param != tt.param {
			t.Errorf("%s: got %+v, %v, want a mistake in %s", tt.body, h, err, tt.param)
		}
	}
}
