package cohere_test

import (
	"testing"

	"weir/internal/dialect/cohere"
	"weir/internal/dialect/cohere/coheretest"
	"weir/internal/dialect/dialecttest"
	"weir/internal/llm"
)

func FuzzRequest(f *testing.F) {
	(&dialecttest.Requests{
		Scan: coheretest.Scan, Splice: coheretest.Splice, Decode: coheretest.DecodeRequest, Encode: cohere.EncodeRequest,
		Quirks: &llm.Quirks{MaxOutputField: "limit", Rename: map[string]string{"seed": "random_seed"}, Drop: []string{"k"}},
		Spliced: func(before, after *llm.Head, quirks bool) bool {
			return after.Model == "m" && (quirks || dialecttest.Capped(before, after))
		},
	}).Fuzz(f,
		`{"model":"a","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:a;base64,x"}}]}],"tools":[{}]}`,
		`{"messages":[{"role":"assistant","tool_plan":"p","citations":[],"content":[{"type":"thinking","thinking":"t"}],"tool_calls":[{}]},{"role":"tool","content":""}],"stream":true,"thinking":{"token_budget":1}}`,
		`{"Max_Tokens":1}`,
		`{"messages":[{"role":"user","content":""}],"strict_tools":true,"tools":[{"type":"function","function":{"name":"f"}}],"seed":1e30,"k":0}`,
	)
}

func FuzzReply(f *testing.F) {
	(&dialecttest.Replies{
		Decode: cohere.DecodeReply, Encode: coheretest.EncodeReply, Stamp: coheretest.Stamp, HasUsage: coheretest.HasUsage, DecodeError: cohere.DecodeError,
		Skip: func(r *llm.Reply) bool { return r.Choices[0].Finish == "" }, // which an encoder never leaves out
	}).Fuzz(f,
		`{"id":"a","message":{"content":[{"type":"text","text":"x"}],"tool_calls":[{}],"tool_plan":"p","citations":1},"usage":{"billed_units":{"input_tokens":1}}}`,
		`{"message":"too many tokens","error_type":"sk-aaaaaaaaaaaaaaaaaaa"}`,
	)
}

func FuzzStream(f *testing.F) {
	(&dialecttest.Streams{
		Decoder: func() dialecttest.Decoder { return cohere.NewDecoder(nil) },
		Encoder: func() dialecttest.Encoder { return coheretest.NewEncoder(llm.Meta{}) },
		Check:   func(t *testing.T, out []byte) { frames(t, out) },
	}).Fuzz(f,
		"content-delta\t"+`{"delta":{"message":{"content":{"text":"x","thinking":"y"}}}}`+"\n"+"content-delta\t"+`[DONE]`,
		"\t"+`{"type":"tool-call-start","index":1,"delta":{"message":{"tool_calls":{"id":"a"}}}}`+"\n"+"\t"+`{"type":"tool-call-delta","index":1,"delta":{"message":{"tool_calls":{"function":{"arguments":"x"}}}}}`,
		"\t"+`{"type":"citation-start","delta":{"message":{"citations":{"a":[1, 2]}}}}`+"\n"+"\t"+`{"type":"message-end","delta":{"error":"x","usage":{"tokens":{"input_tokens":1}}}}`,
	)
}
