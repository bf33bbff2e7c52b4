package parse_test

import (
	"testing"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
)

func TestNeedsOfRequests(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]llm.Needs{
		`{"messages":[{"role":"narrator","content":"Hi"},{"role":"user","content":[{"type":"text","text":"Hello"}]}],"tools":[]}`:                           {Text: 4 + 7},
		`{"messages":[{"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}],"functions":[{"name":"f"}]}`:                     {Images: true, Tools: true},
		`{"messages":[{"content":[{"type":"file","file":{"file_data":"AAAA"}},{"type":"input_audio","input_audio":{"data":"AAAA"}}]}]}`:                     {Documents: true, Audio: true},
		`{"messages":[],"response_format":{"type":"json_schema","json_schema":{}},"tools":[{"type":"function"}]}`:                                           {Structured: true, Tools: true},
		`{"messages":[],"response_format":{"type":"json_object"},"metadata":{"type":"image"}}`:                                                              {},
		`{"messages":[{"content":"\"type\":\"image_url\""}]}`:                                                                                               {Text: 24},
		`{"instructions":"Go","input":"Hi","text":{"format":{"type":"json_schema"}}}`:                                                                       {Text: 4 + 4, Structured: true},
		`{"input":["Hi",{"type":"input_image","file_id":"f"},{"type":"function_call_output","output":[{"type":"input_file"}]}],"text":{"verbosity":"low"}}`: {Text: 4, Images: true, Documents: true},
		`{"system":[{"type":"text","text":"Go"}],"messages":[{"content":[{"type":"tool_result","content":[{"type":"image","source":{"data":"AAAA"}}]}]}]}`:  {Text: 4, Images: true},
		`{"messages":[{"content":[{"type":"document","source":{}}]}],"output_config":{"format":{"type":"json_schema","schema":{}}}}`:                        {Documents: true, Structured: true},
		`{"contents":[{"parts":[{"text":"Hi"},{"inlineData":{"mimeType":"image/png","data":"AAAA"}},{"file_data":{"mime_type":"audio/wav"}}]}]}`:            {Text: 4, Images: true, Audio: true},
		`{"contents":[],"generationConfig":{"responseJsonSchema":{}},"tools":[{"googleSearch":{}}]}`:                                                        {Structured: true, Tools: true},
		`{"contents":[],"generation_config":{"response_schema":{}}}`:                                                                                        {Structured: true},
		`{"messages":[{"role":"user","prompt":"Hi"}]}`:                                                                                                      {Text: 4},
		`[]`: {},
	} {
		if got := parse.Needs([]byte(body)); got != want {
			t.Errorf("%s: got %+v, want %+v", body, got, want)
		}
	}
}
