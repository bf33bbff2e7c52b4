package ollama_test

import (
	"strings"
	"testing"

	"weir/internal/dialect/dialecttest"
	"weir/internal/dialect/ollama"
	"weir/internal/dialect/ollama/ollamatest"
	"weir/internal/llm"
)

func FuzzRequest(f *testing.F) {
	(&dialecttest.Requests{
		Scan: ollamatest.Scan, Splice: ollamatest.Splice, Decode: ollamatest.DecodeRequest, Encode: ollama.EncodeRequest,
		Quirks: &llm.Quirks{Rename: map[string]string{"keep_alive": "keep"}, Drop: []string{"think", "options.seed"}},
		Spliced: func(before, after *llm.Head, _ bool) bool {
			return after.Model == "m" && dialecttest.Capped(before, after) && after.Stream == before.Stream
		},
		Refused: func(param string) bool { return strings.HasSuffix(param, ".arguments") }, // that are no object
	}).Fuzz(f,
		`{"model":"a","messages":[{"role":"user","content":"a","images":["iVBORw0KGgo="]}],"tools":[{}],"options":{"num_ctx":1,"stop":"a"},"think":true}`,
		`{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{"a":[1]}}}]},{"role":"tool","tool_name":"f","content":""}],"stream":false,"format":{}}`,
		`{"options":{"Num_Predict":1}}`,
		`{"messages":[{"role":"TOOL","tool_call_id":"x"}],"options":{"num_predict":-2},"options.a":1,"think":"max","format":"json"}`,
	)
}

func FuzzReply(f *testing.F) {
	(&dialecttest.Replies{
		Decode: ollama.DecodeReply, Encode: ollamatest.EncodeReply, Stamp: ollamatest.Stamp, HasUsage: ollamatest.HasUsage, DecodeError: ollama.DecodeError,
		Skip: func(r *llm.Reply) bool { return r.Choices[0].Finish == "" }, // which an encoder never leaves out
	}).Fuzz(f,
		`{"model":"a","created_at":"2023-11-14T22:13:20Z","message":{"content":"x","images":["a"],"tool_calls":[{"function":{"arguments":"x"}}]},"done":true,"prompt_eval_count":1,"total_duration":5}`,
		`{"error":{"message":"sk-aaaaaaaaaaaaaaaaaaa","code":"\u0000"}}`,
	)
}

func FuzzStream(f *testing.F) {
	(&dialecttest.Streams{
		Decoder: func() dialecttest.Decoder { return ollama.NewDecoder(nil) },
		Encoder: func() dialecttest.Encoder { return ollamatest.NewEncoder(llm.Meta{}) },
		Check:   func(t *testing.T, out []byte) { lines(t, out) },
	}).Fuzz(f,
		"\t"+`{"message":{"content":"x","thinking":"y","images":[ "a" ]},"done":false}`+"\n"+"\t"+`{"done":true,"eval_count":1}`,
		"\t"+`{"message":{"tool_calls":[{"function":{"name":"f","arguments":{ }}},{"function":{"arguments":"x"}}]}}`+"\n"+"\t"+`{"error":"x"}`,
	)
}
