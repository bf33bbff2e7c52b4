package responses_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"weir/internal/dialect/responses"
	"weir/internal/llm"
	"weir/internal/sse"
)

func FuzzRequest(f *testing.F) {
	f.Add([]byte("{\"input\":[{},{\"type\":\"")) // which Scan refuses
	f.Add([]byte(`{"input":[{"type":"reasoning","id":"rs_0190f5c8-0000-7000-8000-000000000000_0","summary":[],"encrypted_content":"weir1.gemini.4.1.texts"},{"type":"image_generation_call","result":"AAAA"}]}`))
	f.Add([]byte(`{"model":"a","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:a;base64,x"},{"type":"x"}]}],"tools":[{"type":"function","name":"f","x":1}]}`))
	f.Add([]byte(`{"input":[{"type":"reasoning","id":"rs","summary":[{"text":"a"},{"text":"b"}],"content":[]},{"type":"message","id":"m","role":"assistant","content":[{"type":"input_text","text":"x"},{"type":"refusal","refusal":"y"}]},{"role":"assistant","content":"z"}]}`))
	f.Add([]byte(`{"input":[{"type":"function_call","id":"a","name":"f"},{"type":"function_call_output","output":[{"type":"input_file","file_data":"data:"}]},{"type":"x_output"},{"id":"y"}],"stream":true,"text":{"format":{"type":"text"},"x":1}}`))
	f.Add([]byte(`{"Input":1}`))
	q := &llm.Quirks{MaxOutputField: "max_tokens", Rename: map[string]string{"store": "keep"}, Drop: []string{"user"}}
	f.Fuzz(func(t *testing.T, body []byte) {
		head, err := responses.Scan(body, nil)
		if err != nil {
			if _, ok := errors.AsType[*llm.Error](err); !ok {
				t.Fatalf("Scan(%q): %v is not for a client", body, err)
			}
			_, _ = responses.DecodeRequest(body) // must not panic all the same
			return
		}
		for _, q := range []*llm.Quirks{nil, q} {
			spliced := responses.Splice(nil, body, &head, llm.Splice{Model: "m", Stream: true, MaxOutput: 9}, q)
			again, err := responses.Scan(spliced, nil)
			if err != nil && head.Model != "" || err == nil && (again.Model != "m" || q == nil && again.MaxOutput != cmp.Or(head.MaxOutput, 9)) {
				t.Fatalf("Splice(%q) = %q: model %q, %v", body, spliced, again.Model, err)
			}
		}
		r, err := responses.DecodeRequest(body)
		if err != nil {
			if e, ok := errors.AsType[*llm.Error](err); !ok || e.Param == "" {
				t.Fatalf("DecodeRequest(%q): %v names no parameter", body, err)
			}
			return
		}
		checkRequest(t, r)
	})
}

// checkRequest holds that a request can be written, and that writing it again
// changes nothing.
func checkRequest(t *testing.T, r *llm.Request) {
	t.Helper()
	first, dropped, err := responses.EncodeRequest(r, nil)
	if err != nil || len(dropped) > 0 || !json.Valid(first) {
		t.Fatalf("EncodeRequest: %q, dropped %q, %v", first, dropped, err)
	}
	again, err := responses.DecodeRequest(first)
	if err != nil {
		t.Fatalf("DecodeRequest of the own %q: %v", first, err)
	}
	if second, _, err := responses.EncodeRequest(again, nil); err != nil || !bytes.Equal(first, second) {
		t.Fatalf("written again %q is %q, %v", first, second, err)
	}
	r.ExtraOf = "another"
	if out, _, err := responses.EncodeRequest(r, nil); err == nil && !json.Valid(out) {
		t.Fatalf("EncodeRequest for another: %q", out)
	}
}

func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"id":"a","output":[{"type":"message","content":[{"type":"output_text","text":"x","annotations":[1]},{"type":"x"}]},{"type":"function_call","name":"f"},{"type":"x"},{"type":"reasoning","content":[{"text":"y"}]}],"usage":{"input_tokens":1}}`))
	f.Add([]byte(`{"status":"failed","error":{"code":429,"message":{"detail":[{"loc":["a",1]}]}}}`))
	f.Add([]byte(`{"output":[],"status":"incomplete","incomplete_details":{"reason":"content_filter"},"usage":{"input_tokens":1,"input_tokens_details":{"cached_tokens":5}},"tool_usage":{"web_search":{"num_requests":2}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := responses.DecodeReply(body, nil)
		if err != nil {
			return
		}
		first := responses.EncodeReply(nil, r)
		if !json.Valid(first) {
			t.Fatalf("EncodeReply of %q: %q is not JSON", body, first)
		}
		again, err := responses.DecodeReply(first, nil)
		if err != nil {
			if strings.Contains(err.Error(), "nested") {
				return // the own members nest deeper than an odd one did
			}
			t.Fatalf("DecodeReply of the own %q: %v", first, err)
		}
		if second := responses.EncodeReply(nil, again); !bytes.Equal(first, second) {
			t.Fatalf("written again %q is %q", first, second)
		}
		if out := responses.Stamp(nil, body, &llm.Final{Cost: new(llm.Money), Attempts: 2}); !json.Valid(out) {
			t.Fatalf("Stamp of %q: %q is not JSON", body, out)
		}
		if r.Reported && !r.Usage.Plausible() {
			t.Fatalf("usage of %q: %v", body, r.Usage)
		}
	})
}

func FuzzStream(f *testing.F) {
	f.Add("", `{"type":"response.output_text.delta","delta":"x"}`, `{"type":"response.output_text.done","text":"xy"}`, `[DONE]`)
	f.Add("error", `{"message":"m"}`, `{"type":"response.failed","response":{"error":{"code":"x"}}}`, ``)
	f.Add("response.output_item.added", `{"item":{"type":"function_call","call_id":"a","name":"f"}}`, `{"type":"response.function_call_arguments.delta","delta":"{"}`,
		`{"type":"response.completed","response":{"output":[{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"reasoning","summary":[{"text":"s"}]}],"usage":{"input_tokens":1,"output_tokens":1}}}`)
	f.Fuzz(func(t *testing.T, name, first, second, third string) {
		d, enc := responses.NewDecoder(nil), responses.NewEncoder(llm.Meta{IncludeUsage: true})
		for _, data := range []string{first, second, third} {
			events, err := d.Decode(nil, sse.Event{Name: []byte(name), Data: []byte(data)})
			for i := range events {
				checkFrames(t, enc.Append(nil, &events[i]))
			}
			if e, ok := errors.AsType[*llm.Error](err); ok {
				checkFrames(t, enc.Fail(nil, e))
			}
		}
		checkFrames(t, enc.Finish(nil, &llm.Final{Finish: []llm.FinishReason{llm.FinishStop}}))
	})
}

// checkFrames holds that what is written is events of JSON.
func checkFrames(t *testing.T, out []byte) {
	t.Helper()
	r := sse.NewReader(bytes.NewReader(out), 1<<20)
	for {
		frame, err := r.Next()
		if err != nil {
			break
		}
		if !json.Valid(frame.Data) {
			t.Fatalf("frame %q is not JSON", frame.Data)
		}
	}
	if len(r.Rest()) > 0 {
		t.Fatalf("%q is no whole event", r.Rest())
	}
}
