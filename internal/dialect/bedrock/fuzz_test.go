package bedrock_test

import (
	"errors"
	"testing"

	"weir/internal/dialect/bedrock"
	"weir/internal/dialect/bedrock/bedrocktest"
	"weir/internal/dialect/dialecttest"
	"weir/internal/llm"
)

func FuzzRequest(f *testing.F) {
	(&dialecttest.Requests{
		Scan: bedrocktest.Scan, Splice: bedrocktest.Splice, Decode: bedrocktest.DecodeRequest, Encode: bedrock.EncodeRequest,
		Quirks: &llm.Quirks{Drop: []string{"performanceConfig", "toolConfig"}},
		Spliced: func(before, after *llm.Head, _ bool) bool {
			return dialecttest.Capped(before, after)
		},
		At: at("m/converse"), Models: []string{"anthropic.claude-sonnet-4-5", "amazon.nova-2-lite"},
	}).Fuzz(f,
		`{"system":[{"text":"x"},{"cachePoint":{"type":"default"}}],"messages":[{"role":"user","content":[{"text":"Hi"},{"toolResult":{"toolUseId":"t","content":[{"json":{}}],"status":"error"}}]}],"inferenceConfig":{"maxTokens":5}}`,
		`{"messages":[{"role":"assistant","content":[{"toolUse":{"name":"f","input":"x"}},{"document":{"source":{"text":"x"}}},{"image":{"source":{"s3Location":{}}}},{"citationsContent":{}}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"f"}}],"toolChoice":{"tool":{"name":"f"}}}}`,
		`{"messages":[{"role":"user","content":[]}],"additionalModelRequestFields":{"top_k":1,"thinking":{"type":"enabled","budget_tokens":5},"x":1},"outputConfig":{"effort":"low","textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":"{}"}}}}}`,
		`{"system":[{"image":{"format":"png","source":{"bytes":"AAAA"}}}],"messages":[{"role":"user","content":[{"toolResult":{"toolUseId":"t","content":[{"audio":{"format":"mp3","source":{"bytes":"AAAA"}}}]}}]}]}`,
	)
}

func FuzzReply(f *testing.F) {
	(&dialecttest.Replies{
		Decode: bedrock.DecodeReply, Encode: bedrocktest.EncodeReply, Stamp: bedrocktest.Stamp, HasUsage: bedrocktest.HasUsage, DecodeError: bedrock.DecodeError,
	}).Fuzz(f,
		`{"output":{"message":{"content":[{"text":"x"},{"toolUse":{"name":"f","input":{}}},{"toolUse":{"name":"f","type":"x"}},{"image":{"format":"png","source":{"bytes":"AA"}}}]}},"stopReason":"end_turn","usage":{"inputTokens":1},"metrics":{},"serviceTier":{"type":"x"}}`,
		`{"__type":"a#b:c","message":"m","originalStatusCode":429}`,
	)
}

func FuzzStream(f *testing.F) {
	(&dialecttest.Streams{
		Decoder: func() dialecttest.Decoder { return bedrock.NewDecoder(nil) },
		Encoder: func() dialecttest.Encoder { return bedrocktest.NewEncoder(llm.Meta{}) },
		Check:   func(t *testing.T, out []byte) { frames(t, out) },
	}).Fuzz(f,
		"contentBlockStart\t"+`{"contentBlockIndex":0,"start":{"toolUse":{"name":"f"}}}`+"\n"+"contentBlockDelta\t"+`{"contentBlockIndex":0,"delta":{"toolUse":{"input":"x"}}}`,
		"contentBlockDelta\t"+`{"delta":{"reasoningContent":{"text":"x","signature":"y"}}}`+"\n"+"messageStop\t"+`{"stopReason":"x"}`,
		"contentBlockDelta\t"+`{"delta":{"citation":{}}}`+"\n"+"throttlingException\t"+`{"message":"m"}`,
		"messageStart\t"+`{}`+"\n"+"metadata\t"+`{"usage":{"inputTokens":1}}`,
	)
}

// FuzzTarget reads the path of a request, which has the model.
func FuzzTarget(f *testing.F) {
	for _, target := range []string{"m/converse", "a/b/converse-stream", "arn:aws:bedrock:eu-central-1:1:inference-profile/eu.m/converse", ""} {
		f.Add(target)
	}
	f.Fuzz(func(t *testing.T, target string) {
		head, err := bedrocktest.Scan([]byte(`{"messages":[]}`), at(target))
		if _, ok := errors.AsType[*llm.Error](err); err != nil && !ok || err == nil && head.Model == "" {
			t.Fatalf("Scan at %q: %+v, %v", target, head, err)
		}
	})
}
