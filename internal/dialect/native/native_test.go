package native_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"weir/internal/dialect/native"
	"weir/internal/llm"
	"weir/internal/must"
)

func TestScanHead(t *testing.T) {
	t.Parallel()
	body := ` {"messages":[{"role":"user","prompt":"a"}], "mo\u0064el" : "a/b/c", "max_tokens": 7}`
	got := must.Get(native.Scan([]byte(body), &http.Request{}))(t)
	want := llm.Head{Model: "a/b/c", MaxOutput: 7, Choices: 1, IncludeUsage: true, ModelSpan: llm.Span{Start: 60, End: 67}, Open: 2}
	got.Conversation = llm.ConversationSpans{}
	must.Equal(t, got, want, "head of %s", body)
	if span := body[got.ModelSpan.Start:got.ModelSpan.End]; span != `"a/b/c"` {
		t.Errorf("the span covers %s", span)
	}
	if got, err := native.Scan([]byte(" { } "), &http.Request{}); err != nil || !got.Empty || got.Open != 2 {
		t.Errorf("an empty object: %+v, %v, want empty, open at 2", got, err)
	}
}

func TestScanStream(t *testing.T) {
	t.Parallel()
	tests := []struct {
		accept []string
		want   bool
	}{
		{nil, false},
		{[]string{"application/json"}, false},
		{[]string{"*/*"}, false},
		{[]string{"text/event-stream"}, true},
		{[]string{"Text/Event-Stream; charset=utf-8"}, true},
		{[]string{"application/json, text/event-stream;q=0.5"}, true},
		{[]string{"application/json", "text/event-stream"}, true},
		{[]string{"text/event-stream;q=0"}, false},
		{[]string{"text/event-stream; Q=0.000"}, false},
		{[]string{"text/event-stream;q=0, text/event-stream"}, true},
		{[]string{"text/event-streams"}, false},
	}
	for _, tt := range tests {
		got, err := native.Scan([]byte(`{}`), &http.Request{Header: http.Header{"Accept": tt.accept}})
		if err != nil || got.Stream != tt.want {
			t.Errorf("Accept %q: stream %v, %v, want %v", tt.accept, got.Stream, err, tt.want)
		}
	}
}

func TestScanModel(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"openai/gpt-5": true, "fast": true, "openrouter/a/b": true, "ollama/llama3:8b": true, "a/b@c": true,
		"": false, "/": false, "a/": false, "/b": false, "a b": false, " a/b": false, "a/b\n": false, "a\u00a0b": false, "a\x00": false,
	} {
		body := must.Get(json.Marshal(map[string]string{"model": name}))(t)
		head, err := native.Scan(body, &http.Request{})
		if ok && (err != nil || head.Model != name) {
			t.Errorf("model %q: %q, %v, want it", name, head.Model, err)
		}
		if e, is := errors.AsType[*llm.Error](err); !ok && (!is || e.Param != "model" || e.Code != llm.CodeInvalidRequest) {
			t.Errorf("model %q: %v, want an invalid request about the model", name, err)
		}
	}
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"model":"a/b","messages":[{"role":"system","prompt":"x"},{"role":"user","prompt":"y"}],"stop":["a"],"top_p":0.5}`))
	f.Add([]byte(`{"messages":[{"role":"user","prompt":"\ud800"}],"max_tokens":1e2,"temperature":0}`))
	f.Add([]byte(`{"MODEL":1}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		head, err := native.Scan(body, &http.Request{})
		if err != nil {
			if _, ok := errors.AsType[*llm.Error](err); !ok {
				t.Fatalf("Scan(%q): %v is not for a client", body, err)
			}
			_, _ = native.DecodeRequest(body) // must not panic all the same
			return
		}
		r, err := native.DecodeRequest(body)
		if err != nil {
			if e, ok := errors.AsType[*llm.Error](err); !ok || e.Param == "" {
				t.Fatalf("DecodeRequest(%q): %v names no parameter", body, err)
			}
			return
		}
		if r.Model != head.Model || len(r.Messages) == 0 {
			t.Fatalf("%q: model %q, of the head %q, %d messages", body, r.Model, head.Model, len(r.Messages))
		}
		for i, m := range r.Messages {
			if m.Text() == "" || (m.Role == llm.RoleSystem) != (i == 0 && m.Role == llm.RoleSystem) {
				t.Fatalf("%q: message %d is %+v", body, i, m)
			}
		}
	})
}
