package ollama_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"weir/internal/dialect/ollama"
	"weir/internal/llm"
)

func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"model":"a","messages":[{"role":"user","content":"a","images":["iVBORw0KGgo="]}],"tools":[{}],"options":{"num_ctx":1,"stop":"a"},"think":true}`))
	f.Add([]byte(`{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{"a":[1]}}}]},{"role":"tool","tool_name":"f","content":""}],"stream":false,"format":{}}`))
	f.Add([]byte(`{"options":{"Num_Predict":1}}`))
	f.Add([]byte(`{"messages":[{"role":"TOOL","tool_call_id":"x"}],"options":{"num_predict":-2},"options.a":1,"think":"max","format":"json"}`))
	q := &llm.Quirks{Rename: map[string]string{"keep_alive": "keep"}, Drop: []string{"think", "options.seed"}}
	f.Fuzz(func(t *testing.T, body []byte) {
		head, err := ollama.Scan(body, nil)
		if err != nil {
			if _, ok := errors.AsType[*llm.Error](err); !ok {
				t.Fatalf("Scan(%q): %v is not for a client", body, err)
			}
			_, _ = ollama.DecodeRequest(body) // must not panic all the same
			return
		}
		for _, q := range []*llm.Quirks{nil, q} {
			spliced := ollama.Splice(nil, body, &head, llm.Splice{Model: "m", Stream: true, MaxOutput: 9}, q)
			again, err := ollama.Scan(spliced, nil)
			if err != nil || again.Model != "m" || again.MaxOutput != cmp.Or(head.MaxOutput, 9) || again.Stream != head.Stream {
				t.Fatalf("Splice(%q) = %q: head %+v, %v", body, spliced, again, err)
			}
		}
		r, err := ollama.DecodeRequest(body)
		if err != nil {
			if e, ok := errors.AsType[*llm.Error](err); !ok || e.Param == "" {
				t.Fatalf("DecodeRequest(%q): %v names no parameter", body, err)
			}
			return
		}
		checkStable(t, body, r)
		r.ExtraOf = "openai"
		if out, _, err := ollama.EncodeRequest(r, q); err == nil && !json.Valid(out) {
			t.Fatalf("EncodeRequest of %q for another: %q", body, out)
		}
	})
}

// checkStable holds that what was decoded is written losing nothing, and that
// it is read again as it was written. Arguments that are no object are refused.
func checkStable(t *testing.T, body []byte, r *llm.Request) {
	t.Helper()
	first, dropped, err := ollama.EncodeRequest(r, nil)
	if e, ok := errors.AsType[*llm.Error](err); ok && strings.HasSuffix(e.Param, ".arguments") {
		return
	}
	if err != nil || len(dropped) > 0 || !json.Valid(first) {
		t.Fatalf("EncodeRequest of %q: %q, dropped %q, %v", body, first, dropped, err)
	}
	again, err := ollama.DecodeRequest(first)
	if err != nil {
		t.Fatalf("%q became %q: %v", body, first, err)
	}
	if second, _, err := ollama.EncodeRequest(again, nil); err != nil || string(second) != string(first) {
		t.Fatalf("%q became %q, then %q, %v", body, first, second, err)
	}
}

func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"model":"a","created_at":"2023-11-14T22:13:20Z","message":{"content":"x","images":["a"],"tool_calls":[{"function":{"arguments":"x"}}]},"done":true,"prompt_eval_count":1,"total_duration":5}`))
	f.Add([]byte(`{"error":{"message":"sk-aaaaaaaaaaaaaaaaaaa","code":"\u0000"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		checkShown(t, body)
		r, err := ollama.DecodeReply(body, nil)
		if err != nil || r.Choices[0].Finish == "" { // which an encoder never leaves out
			return
		}
		out := ollama.EncodeReply(nil, r)
		again, err := ollama.DecodeReply(out, nil)
		if err != nil || !json.Valid(out) {
			t.Fatalf("EncodeReply of %q: %q, %v", body, out, err)
		}
		if second := ollama.EncodeReply(nil, again); string(second) != string(out) {
			t.Fatalf("EncodeReply of %q: %q, then %q", body, out, second)
		}
		if out := ollama.Stamp(nil, body, &llm.Final{Cost: new(llm.Money), Attempts: 2}); !json.Valid(out) {
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
	e := ollama.DecodeError(body)
	for _, s := range []string{e.Message, e.Code, e.Param} {
		if len(s) > 500 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) || strings.ToValidUTF8(s, "") != s {
			t.Fatalf("DecodeError(%q): %q is not fit to be shown", body, s)
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add(`{"message":{"content":"x","thinking":"y","images":[ "a" ]},"done":false}`, `{"done":true,"eval_count":1}`)
	f.Add(`{"message":{"tool_calls":[{"function":{"name":"f","arguments":{ }}},{"function":{"arguments":"x"}}]}}`, `{"error":"x"}`)
	f.Fuzz(func(t *testing.T, first, second string) {
		d, enc := ollama.NewDecoder(nil), ollama.NewEncoder(llm.Meta{})
		r := ollama.NewReader(strings.NewReader(first+"\n"+second), 1<<20)
		var out []byte
		for {
			frame, err := r.Next()
			if err != nil {
				break
			}
			events, err := d.Decode(nil, frame)
			for i := range events {
				out = enc.Append(out, &events[i])
			}
			if e, ok := errors.AsType[*llm.Error](err); ok {
				lines(t, enc.Fail(nil, e))
			}
		}
		lines(t, enc.Finish(out, &llm.Final{}))
	})
}
