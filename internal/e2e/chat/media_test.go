package chat_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
)

// TestTranscriptAsText transcribes as text, without usage in the answer: the recording determines the cost.
func TestTranscriptAsText(t *testing.T) {
	t.Parallel()
	_, h := harness.OpenMediaProvider(t)
	r := h.Transcribe("/v1/audio/translations", harness.WAV(2), "model", "house/write-text", "response_format", "text")
	if r.Status != http.StatusOK || r.Body != "Hello there\n" || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain") || r.Header.Get("X-Weir-Cost-USD") != "0.0002" {
		t.Errorf("status %d, %q, %v", r.Status, r.Body, r.Header)
	}
}

// TestFormType sends only the form's type and boundary to the provider, without other parameters of the client.
func TestFormType(t *testing.T) {
	t.Parallel()
	mediaProvider, h := harness.OpenMediaProvider(t)
	body := "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nhouse/write-text\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nx\r\n--b--\r\n"
	for _, kind := range []string{"multipart/form-data; charset=utf-7; boundary=b", "multipart/form-data; boundary*=UTF-8''%62"} {
		r := h.Request(harness.Ask{Path: "/v1/audio/transcriptions", Body: body})
		r.Header.Set("Content-Type", kind)
		if got := h.Send(r); got.Status != http.StatusOK || mediaProvider.Kind != "multipart/form-data; boundary=b" {
			t.Errorf("%s: status %d, %s; the provider got %q", kind, got.Status, got.Body, mediaProvider.Kind)
		}
	}
}

// TestImageStream relays the events unchanged, except for the cost.
func TestImageStream(t *testing.T) {
	t.Parallel()
	_, h := harness.OpenMediaProvider(t)
	r := h.Do(harness.Ask{Path: "/v1/images/generations", Body: `{"model":"house/paint-stream","prompt":"A weir","stream":true}`})
	if r.Status != http.StatusOK || !strings.Contains(r.Body, `"next_year":1`) || strings.Count(r.Body, `"cost":0.00445`) != 1 || !strings.Contains(r.Body, "event: image_generation.completed\n") {
		t.Errorf("status %d, %s", r.Status, r.Body)
	}
}

// TestMediaRefused checks the errors for requests that cannot be served.
func TestMediaRefused(t *testing.T) {
	t.Parallel()
	_, h := harness.OpenMediaProvider(t)
	want := func(what string, r harness.Reply, status int, text string) {
		t.Helper()
		if r.Status != status || !strings.Contains(r.Body, text) {
			t.Errorf("%s: status %d, %s; want %d, %s", what, r.Status, r.Body, status, text)
		}
	}
	post := func(path, body string) harness.Reply { return h.Do(harness.Ask{Path: path, Body: body}) }
	want("no prompt", post("/v1/images/generations", `{"model":"house/paint"}`), 400, `"param":"prompt"`)
	want("many images", post("/v1/images/generations", `{"model":"house/paint","prompt":"x","n":11}`), 400, `"param":"n"`)
	want("no input", post("/v1/audio/speech", `{"model":"house/read","voice":"alloy"}`), 400, `"param":"input"`)
	want("JSON for a form", post("/v1/audio/transcriptions", `{"model":"house/write-text"}`), 415, "multipart/form-data")
	want("no file", h.Transcribe("/v1/audio/transcriptions", nil, "model", "house/write-text"), 400, `"param":"file"`)
	want("two models", h.Transcribe("/v1/audio/transcriptions", harness.WAV(1), "model", "house/write-text", "model", "house/x"), 400, `"param":"model"`)
	want("no model", h.Transcribe("/v1/audio/transcriptions", harness.WAV(1)), 400, `"param":"model"`)
	limited := h.NewKey(account.KeyOptions{Account: "default", Models: []string{"house/read"}})
	r := h.Do(harness.Ask{Path: "/v1/images/generations", Body: `{"model":"house/paint","prompt":"x"}`, Key: limited})
	want("a model that the key may not use", r, 403, "insufficient_permissions")
}

// TestUnknownMediaFieldsUnderBudget checks that an unknown field, which may request more images, a longer text or more
// vectors, is refused under a budget, and accepted otherwise.
func TestUnknownMediaFieldsUnderBudget(t *testing.T) {
	t.Parallel()
	s, h := harness.OpenMediaProvider(t)
	paint := func(more string) harness.Ask {
		return harness.Ask{Path: "/v1/images/generations", Body: `{"model":"house/paint","prompt":"A weir"` + more + `}`}
	}
	read := func(more string) harness.Ask {
		return harness.Ask{Path: "/v1/audio/speech", Body: `{"model":"house/read","input":"Hi","voice":"alloy"` + more + `}`}
	}
	embed := func(more string) harness.Ask {
		return harness.Ask{Path: "/v1/embeddings", Body: `{"model":"house/vectors","input":"Hi"` + more + `}`}
	}
	long := `"` + strings.Repeat("many words ", 20) + `"`
	edit := func(fields ...string) harness.Reply {
		return h.Multipart("/v1/images/edits", "image", []byte("PNG"), append([]string{"model", "house/paint", "prompt", "A weir"}, fields...)...)
	}
	write := func(fields ...string) harness.Reply {
		return h.Transcribe("/v1/audio/transcriptions", harness.WAV(1), append([]string{"model", "house/write-seconds", "timestamp_granularities[]", "word"}, fields...)...)
	}
	for _, limit := range []llm.Money{0, 100 * llm.USD} {
		if limit > 0 {
			h.SetBudget(limit, budget.PeriodTotal)
		}
		for _, a := range []harness.Ask{paint(""), paint(`,"style":"vivid","seed":77,"guidance":2.5,"watermark":true,"batch_size":1`), read(`,"language":"en"`), embed(`,"dimensions":8,"encoding_format":"float","user":"u","normalized":true`)} {
			if r := h.Do(a); r.Status != 200 {
				t.Errorf("budget %s, %s: %d %s, want 200", limit, a.Body, r.Status, r.Body)
			}
		}
		for i, r := range []harness.Reply{edit(), edit("background", "transparent"), write(), write("language", "en", "temperature", "0")} {
			if r.Status != 200 {
				t.Errorf("budget %s, form %d: %d %s, want 200", limit, i, r.Status, r.Body)
			}
		}
		for i, ask := range []func() harness.Reply{
			func() harness.Reply { return h.Do(paint(`,"batch_size":10`)) },
			func() harness.Reply { return h.Do(paint(`,"batch_size":1e1`)) },
			func() harness.Reply { return h.Do(paint(`,"batch_size":"1e400"`)) },
			func() harness.Reply { return h.Do(paint(`,"prompts":["a","b"]`)) },
			func() harness.Reply { return h.Do(paint(`,"input":{"n":10}`)) },
			func() harness.Reply { return h.Do(read(`,"text":` + long)) },
			func() harness.Reply { return h.Do(read(`,"text_url":"https://x.example"`)) },
			func() harness.Reply { return h.Do(read(`,"n":5`)) },
			func() harness.Reply { return h.Do(embed(`,"images":["https://x.example/a"]`)) },
			func() harness.Reply { return h.Do(embed(`,"messages":[{"role":"user","content":"Hi"}]`)) },
			func() harness.Reply { return h.Do(embed(`,"n":50`)) },
			func() harness.Reply { return edit("batch_size", "10") },
			func() harness.Reply { return edit("num_images", " 1e1") },
			func() harness.Reply { return write("file_url", "https://x.example/a.wav") },
			func() harness.Reply { return write("file_id", "file-1") },
			func() harness.Reply { return edit("imageUri", "x") },
			func() harness.Reply { return h.Do(read(`,"text_file":"f"`)) },
			func() harness.Reply { return write("n", "5") },
		} {
			s.Last = ""
			r := ask()
			refused := r.Status == 400 && s.Last == "" && strings.Contains(r.Body, "a budget cannot bound")
			if refused != (limit > 0) || !refused && r.Status != 200 {
				t.Errorf("budget %s, %d: %d %s, refused: want %t", limit, i, r.Status, r.Body, limit > 0)
			}
		}
	}
}
