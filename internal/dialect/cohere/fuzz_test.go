package cohere_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"weir/internal/dialect/cohere"
	"weir/internal/llm"
	"weir/internal/sse"
)

func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"model":"a","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:a;base64,x"}}]}],"tools":[{}]}`))
	f.Add([]byte(`{"messages":[{"role":"assistant","tool_plan":"p","citations":[],"content":[{"type":"thinking","thinking":"t"}],"tool_calls":[{}]},{"role":"tool","content":""}],"stream":true,"thinking":{"token_budget":1}}`))
	f.Add([]byte(`{"Max_Tokens":1}`))
	f.Add([]byte(`{"messages":[{"role":"user","content":""}],"strict_tools":true,"tools":[{"type":"function","function":{"name":"f"}}],"seed":1e30,"k":0}`))
	q := &llm.Quirks{MaxOutputField: "limit", Rename: map[string]string{"seed": "random_seed"}, Drop: []string{"k"}}
	f.Fuzz(func(t *testing.T, body []byte) {
		head, err := cohere.Scan(body, nil)
		if err != nil {
			if _, ok := errors.AsType[*llm.Error](err); !ok {
				t.Fatalf("Scan(%q): %v is not for a client", body, err)
			}
			_, _ = cohere.DecodeRequest(body) // must not panic all the same
			return
		}
		for _, q := range []*llm.Quirks{nil, q} {
			spliced := cohere.Splice(nil, body, &head, llm.Splice{Model: "m", Stream: true, MaxOutput: 9}, q)
			again, err := cohere.Scan(spliced, nil)
			if err != nil || again.Model != "m" || q == nil && again.MaxOutput != cmp.Or(head.MaxOutput, 9) {
				t.Fatalf("Splice(%q) = %q: head %+v, %v", body, spliced, again, err)
			}
		}
		r, err := cohere.DecodeRequest(body)
		if err != nil {
			if e, ok := errors.AsType[*llm.Error](err); !ok || e.Param == "" {
				t.Fatalf("DecodeRequest(%q): %v names no parameter", body, err)
			}
			return
		}
		checkStable(t, body, r)
		r.ExtraOf = "openai"
		if out, _, err := cohere.EncodeRequest(r, q); err == nil && !json.Valid(out) {
			t.Fatalf("EncodeRequest of %q for another: %q", body, out)
		}
	})
}

// checkStable holds that what was decoded is written losing nothing, and that
// it is read again as it was written.
func checkStable(t *testing.T, body []byte, r *llm.Request) {
	t.Helper()
	first, dropped, err := cohere.EncodeRequest(r, nil)
	if err != nil || len(dropped) > 0 || !json.Valid(first) {
		t.Fatalf("EncodeRequest of %q: %q, dropped %q, %v", body, first, dropped, err)
	}
	again, err := cohere.DecodeRequest(first)
	if err != nil {
		t.Fatalf("%q became %q: %v", body, first, err)
	}
	if second, _, err := cohere.EncodeRequest(again, nil); err != nil || string(second) != string(first) {
		t.Fatalf("%q became %q, then %q, %v", body, first, second, err)
	}
}

func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"id":"a","message":{"content":[{"type":"text","text":"x"}],"tool_calls":[{}],"tool_plan":"p","citations":1},"usage":{"billed_units":{"input_tokens":1}}}`))
	f.Add([]byte(`{"message":"too many tokens","error_type":"sk-aaaaaaaaaaaaaaaaaaa"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		checkShown(t, body)
		r, err := cohere.DecodeReply(body, nil)
		if err != nil || r.Choices[0].Finish == "" { // which an encoder never leaves out
			return
		}
		out := cohere.EncodeReply(nil, r)
		again, err := cohere.DecodeReply(out, nil)
		if err != nil || !json.Valid(out) {
			t.Fatalf("EncodeReply of %q: %q, %v", body, out, err)
		}
		if second := cohere.EncodeReply(nil, again); string(second) != string(out) {
			t.Fatalf("EncodeReply of %q: %q, then %q", body, out, second)
		}
		if out := cohere.Stamp(nil, body, &llm.Final{Cost: new(llm.Money), Attempts: 2}); !json.Valid(out) {
			t.Fatalf("Stamp of %q: %q is not JSON", body, out)
		}
		if r.Reported && !r.Usage.Plausible() {
			t.Fatalf("usage of %q: %v", body, r.Usage)
		}
	})
}

// checkShown holds that an explanation is fit to be shown.
func checkShown(t *testing.T, body []byte) {
	t.Helper()
	e := cohere.DecodeError(body)
	for _, s := range []string{e.Message, e.Code, e.Param} {
		if len(s) > 500 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) || strings.ToValidUTF8(s, "") != s {
			t.Fatalf("DecodeError(%q): %q is not fit to be shown", body, s)
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add("content-delta", `{"delta":{"message":{"content":{"text":"x","thinking":"y"}}}}`, `[DONE]`)
	f.Add("", `{"type":"tool-call-start","index":1,"delta":{"message":{"tool_calls":{"id":"a"}}}}`, `{"type":"tool-call-delta","index":1,"delta":{"message":{"tool_calls":{"function":{"arguments":"x"}}}}}`)
	f.Add("", `{"type":"citation-start","delta":{"message":{"citations":{"a":[1, 2]}}}}`, `{"type":"message-end","delta":{"error":"x","usage":{"tokens":{"input_tokens":1}}}}`)
	f.Fuzz(func(t *testing.T, name, first, second string) {
		d, enc := cohere.NewDecoder(nil), cohere.NewEncoder(llm.Meta{})
		var out []byte
		for _, data := range []string{first, second} {
			events, err := d.Decode(nil, sse.Event{Name: []byte(name), Data: []byte(data)})
			for i := range events {
				out = enc.Append(out, &events[i])
			}
			if e, ok := errors.AsType[*llm.Error](err); ok {
				frames(t, enc.Fail(nil, e))
			}
		}
		frames(t, enc.Finish(out, &llm.Final{}))
	})
}
