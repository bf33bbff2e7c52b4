package bedrock_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"weir/internal/dialect/bedrock"
	"weir/internal/llm"
	"weir/internal/sse"
)

func FuzzRequest(f *testing.F) {
	f.Add("m/converse", []byte(`{"system":[{"text":"x"},{"cachePoint":{"type":"default"}}],"messages":[{"role":"user","content":[{"text":"Hi"},{"toolResult":{"toolUseId":"t","content":[{"json":{}}],"status":"error"}}]}],"inferenceConfig":{"maxTokens":5}}`))
	f.Add("a/b/converse-stream", []byte(`{"messages":[{"role":"assistant","content":[{"toolUse":{"name":"f","input":"x"}},{"document":{"source":{"text":"x"}}},{"image":{"source":{"s3Location":{}}}},{"citationsContent":{}}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"f"}}],"toolChoice":{"tool":{"name":"f"}}}}`))
	f.Add("m/converse", []byte(`{"messages":[{"role":"user","content":[]}],"additionalModelRequestFields":{"top_k":1,"thinking":{"type":"enabled","budget_tokens":5},"x":1},"outputConfig":{"effort":"low","textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":"{}"}}}}}`))
	f.Add("m/converse", []byte(`{"system":[{"image":{"format":"png","source":{"bytes":"AAAA"}}}],"messages":[{"role":"user","content":[{"toolResult":{"toolUseId":"t","content":[{"audio":{"format":"mp3","source":{"bytes":"AAAA"}}}]}}]}]}`))
	q := &llm.Quirks{Drop: []string{"performanceConfig", "toolConfig"}}
	f.Fuzz(func(t *testing.T, target string, body []byte) {
		head, err := bedrock.Scan(body, at(target))
		if err != nil {
			if _, ok := errors.AsType[*llm.Error](err); !ok {
				t.Fatalf("Scan(%q): %v is not for a client", body, err)
			}
			_, _ = bedrock.DecodeRequest(body) // must not panic all the same
			return
		}
		for _, q := range []*llm.Quirks{nil, q} {
			spliced := bedrock.Splice(nil, body, &head, llm.Splice{Model: "m", MaxOutput: 9}, q)
			again, err := bedrock.Scan(spliced, at(target))
			if err != nil || again.MaxOutput != cmp.Or(head.MaxOutput, 9) {
				t.Fatalf("Splice(%q) = %q: cap %d, %v", body, spliced, again.MaxOutput, err)
			}
		}
		r, err := bedrock.DecodeRequest(body)
		if err != nil {
			if e, ok := errors.AsType[*llm.Error](err); !ok || e.Param == "" {
				t.Fatalf("DecodeRequest(%q): %v names no parameter", body, err)
			}
			return
		}
		checkStable(t, body, r)
		foreign := *r
		foreign.ExtraOf = "other"
		for _, model := range []string{"m", "anthropic.claude-sonnet-4-5", "amazon.nova-2-lite"} {
			foreign.Model = model
			out, _, err := bedrock.EncodeRequest(&foreign, q)
			if _, ok := errors.AsType[*llm.Error](err); err != nil && !ok || err == nil && !json.Valid(out) {
				t.Fatalf("EncodeRequest of %q for %s: %q, %v", body, model, out, err)
			}
		}
	})
}

// checkStable holds that a request written in its own words reads back the
// same, with nothing dropped.
func checkStable(t *testing.T, body []byte, r *llm.Request) {
	t.Helper()
	first, dropped, err := bedrock.EncodeRequest(r, nil)
	if err != nil || len(dropped) > 0 || !json.Valid(first) {
		t.Fatalf("EncodeRequest of %q: %q, dropped %q, %v", body, first, dropped, err)
	}
	again, err := bedrock.DecodeRequest(first)
	if err != nil {
		t.Fatalf("DecodeRequest of %q, which is %q: %v", first, body, err)
	}
	second, _, err := bedrock.EncodeRequest(again, nil)
	if err != nil || !bytes.Equal(first, second) {
		t.Fatalf("%q is %q, then %q, %v", body, first, second, err)
	}
}

func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"output":{"message":{"content":[{"text":"x"},{"toolUse":{"name":"f","input":{}}},{"toolUse":{"name":"f","type":"x"}},{"image":{"format":"png","source":{"bytes":"AA"}}}]}},"stopReason":"end_turn","usage":{"inputTokens":1},"metrics":{},"serviceTier":{"type":"x"}}`))
	f.Add([]byte(`{"__type":"a#b:c","message":"m","originalStatusCode":429}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e := bedrock.DecodeError(body)
		for _, s := range []string{e.Message, e.Code, e.Param} {
			if len(s) > 500 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) || strings.ToValidUTF8(s, "") != s {
				t.Fatalf("DecodeError(%q): %q is not fit to be shown", body, s)
			}
		}
		r, err := bedrock.DecodeReply(body, nil)
		if err != nil {
			return
		}
		first := bedrock.EncodeReply(nil, r)
		again, err := bedrock.DecodeReply(first, nil)
		if err != nil {
			t.Fatalf("EncodeReply of %q: %q, %v", body, first, err)
		}
		if second := bedrock.EncodeReply(nil, again); !bytes.Equal(first, second) {
			t.Fatalf("EncodeReply of %q: %q, then %q", body, first, second)
		}
		if out := bedrock.Stamp(nil, body, &llm.Final{Cost: new(llm.Money), Attempts: 2}); !json.Valid(out) {
			t.Fatalf("Stamp of %q: %q is not JSON", body, out)
		}
		if r.Reported && !r.Usage.Plausible() {
			t.Fatalf("usage of %q: %v", body, r.Usage)
		}
	})
}

func FuzzStream(f *testing.F) {
	f.Add("contentBlockStart", `{"contentBlockIndex":0,"start":{"toolUse":{"name":"f"}}}`, "contentBlockDelta", `{"contentBlockIndex":0,"delta":{"toolUse":{"input":"x"}}}`)
	f.Add("contentBlockDelta", `{"delta":{"reasoningContent":{"text":"x","signature":"y"}}}`, "messageStop", `{"stopReason":"x"}`)
	f.Add("contentBlockDelta", `{"delta":{"citation":{}}}`, "throttlingException", `{"message":"m"}`)
	f.Add("messageStart", `{}`, "metadata", `{"usage":{"inputTokens":1}}`)
	f.Fuzz(func(t *testing.T, name1, data1, name2, data2 string) {
		d, enc := bedrock.NewDecoder(nil), bedrock.NewEncoder(llm.Meta{})
		var out []byte
		for _, frame := range [][2]string{{name1, data1}, {name2, data2}} {
			events, err := d.Decode(nil, sse.Event{Name: []byte(frame[0]), Data: []byte(frame[1])})
			for i := range events {
				out = enc.Append(out, &events[i])
			}
			if e, ok := errors.AsType[*llm.Error](err); ok {
				if e.Message == "" || e.Code == "" {
					t.Fatalf("%q: %v explains nothing", frame, e)
				}
				out = enc.Fail(out, e)
			}
		}
		frames(t, enc.Finish(out, &llm.Final{}))
	})
}
