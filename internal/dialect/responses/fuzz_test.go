package responses_test

import (
	"testing"

	"weir/internal/dialect/dialecttest"
	"weir/internal/dialect/responses"
	"weir/internal/llm"
)

func FuzzRequest(f *testing.F) {
	(&dialecttest.Requests{
		Scan: responses.Scan, Splice: responses.Splice, Decode: responses.DecodeRequest, Encode: responses.EncodeRequest,
		NoModel: true,
		Quirks:  &llm.Quirks{MaxOutputField: "max_tokens", Rename: map[string]string{"store": "keep"}, Drop: []string{"user"}},
		Spliced: func(before, after *llm.Head, quirks bool) bool {
			return after.Model == "m" && (quirks || dialecttest.Capped(before, after))
		},
	}).Fuzz(f,
		"{\"input\":[{},{\"type\":\"",
	)
}

func FuzzReply(f *testing.F) {
	(&dialecttest.Replies{
		Decode: responses.DecodeReply, Encode: responses.EncodeReply, Stamp: responses.Stamp, HasUsage: responses.HasUsage,
	}).Fuzz(f,
		`{"id":"a","output":[{"type":"message","content":[{"type":"output_text","text":"x","annotations":[1]},{"type":"x"}]},{"type":"function_call","name":"f"},{"type":"x"},{"type":"reasoning","content":[{"text":"y"}]}],"usage":{"input_tokens":1}}`,
		`{"status":"failed","error":{"code":429,"message":{"detail":[{"loc":["a",1]}]}}}`,
		`{"output":[],"status":"incomplete","incomplete_details":{"reason":"content_filter"},"usage":{"input_tokens":1,"input_tokens_details":{"cached_tokens":5}},"tool_usage":{"web_search":{"num_requests":2}}}`,
	)
}

func FuzzStream(f *testing.F) {
	(&dialecttest.Streams{
		Decoder: func() dialecttest.Decoder { return responses.NewDecoder(nil) },
		Encoder: func() dialecttest.Encoder { return responses.NewEncoder(llm.Meta{IncludeUsage: true}) },
		Final:   llm.Final{Finish: []llm.FinishReason{llm.FinishStop}},
	}).Fuzz(f,
		"\t"+`{"type":"response.output_text.delta","delta":"x"}`+"\n"+"\t"+`{"type":"response.output_text.done","text":"xy"}`+"\n"+"\t"+`[DONE]`,
		"error\t"+`{"message":"m"}`+"\n"+"error\t"+`{"type":"response.failed","response":{"error":{"code":"x"}}}`,
		"response.output_item.added\t"+`{"item":{"type":"function_call","call_id":"a","name":"f"}}`+"\n"+"response.output_item.added\t"+`{"type":"response.function_call_arguments.delta","delta":"{"}`+"\n"+"response.output_item.added\t"+`{"type":"response.completed","response":{"output":[{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"reasoning","summary":[{"text":"s"}]}],"usage":{"input_tokens":1,"output_tokens":1}}}`,
	)
}
