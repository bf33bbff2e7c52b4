package app

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/gateway"
	"weir/internal/llm"
	"weir/internal/managed"
	"weir/internal/rawjson"
	"weir/internal/route"
)

const (
	// trialAccount is the account that tests of providers are metered to.
	trialAccount = "installation"
	// trialWait bounds an answer, and mostTrial its bytes.
	trialWait = 20 * time.Second
	mostTrial = 256 << 10
	// trialTokens is the output cap: what the Responses API takes at least
	// (https://platform.openai.com/docs/api-reference/responses/create, 2026-11-26).
	trialTokens = 16
)

// tryModel asks a model of a table for answers of a few tokens, through the pipeline, so that they are metered.
func (m *managedConfig) tryModel(ctx context.Context, by audit.Actor, f *fleet, table *route.Table, model string) (
	[]managed.Answer, error,
) {
	caller, err := m.trialCaller(ctx, by)
	if err != nil {
		return nil, err
	}
	o := m.pipeline
	o.Router, o.Log, o.Metrics = route.NewRouter(table), slog.New(slog.DiscardHandler), nil
	o.Refused = nil
	d := f.dialects.Usual()
	ask := gateway.New(o).HandlerAs("POST /admin/v1/config/test", d, d.For(llm.OpChat))
	answers := []managed.Answer{{What: managed.Streaming}, {What: managed.Tools}, {What: managed.Images}}
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, trialWait)
			defer cancel()
			began := time.Now()
			answers[i].Said = tryOnce(ctx, &answers[i], trialBody(answers[i].What, model),
				func(w http.ResponseWriter, r *http.Request) { ask(w, r, caller) })
			answers[i].Works, answers[i].Latency = answers[i].Said == "", time.Since(began)
		})
	}
	all.Wait()
	return answers, nil
}

// trialCaller is who asks: a key of the account for tests, which is made when it is first needed.
func (m *managedConfig) trialCaller(ctx context.Context, by audit.Actor) (*account.Principal, error) {
	a, err := m.pipeline.Accounts.Account(ctx, trialAccount)
	if err != nil && llm.AsError(err).Code == llm.CodeNotFound {
		if a, err = m.pipeline.Accounts.CreateAccount(ctx, by, trialAccount); err != nil {
			a, err = m.pipeline.Accounts.Account(ctx, trialAccount) // somebody else was faster
		}
	}
	if err != nil {
		return nil, err
	}
	return m.pipeline.Accounts.Playground(ctx, by, &a, "")
}

// trialBody is a request in the words of OpenAI's Chat Completions.
func trialBody(what, model string) []byte {
	type object = map[string]any
	message := object{"role": "user", "content": "Answer with the word yes."}
	body := object{"model": model, "max_completion_tokens": trialTokens, "messages": []any{message}}
	switch what {
	case managed.Streaming:
		body["stream"], body["stream_options"] = true, object{"include_usage": true}
	case managed.Tools:
		body["tools"] = []any{object{"type": "function", "function": object{
			"name": "answer", "description": "Takes the answer.", "parameters": object{
				"type": "object", "properties": object{"word": object{"type": "string"}}, "required": []string{"word"},
			},
		}}}
	case managed.Images:
		message["content"] = []any{
			object{"type": "text", "text": message["content"]},
			object{"type": "image_url", "image_url": object{"url": trialImage()}},
		}
	}
	text, _ := json.Marshal(body) // texts and numbers
	return text
}

// trialImage is a grey picture as a data: address. Some models take none that is smaller.
func trialImage() string {
	const side = 64
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, side, side))) // into memory
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}

// tryOnce asks once, and says what was wrong; empty for nothing.
func tryOnce(ctx context.Context, a *managed.Answer, body []byte, ask http.HandlerFunc) string {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/v1/chat/completions",
		bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	w := &trialReply{statusOnly: statusOnly{header: http.Header{}, status: http.StatusOK}}
	ask(w, r)
	last := w.body.Bytes()
	if a.What == managed.Streaming && w.status == http.StatusOK {
		if !strings.HasPrefix(w.header.Get("Content-Type"), "text/event-stream") {
			return "The answer came whole."
		}
		last = lastEvent(last)
	}
	if cost := rawjson.Get(last, "usage", "cost"); rawjson.KindOf(cost) == rawjson.Number {
		a.Cost = string(cost)
	}
	if message, failed := rawjson.AsString(rawjson.Get(last, "error", "message")); failed {
		return message
	}
	if w.status != http.StatusOK {
		return http.StatusText(w.status)
	}
	return ""
}

// lastEvent is the data of the last event of a stream that has some in JSON.
func lastEvent(stream []byte) (last []byte) {
	for line := range bytes.Lines(stream) {
		data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data: "))
		if ok && rawjson.Validate(data, maxTrialDepth) == nil && rawjson.KindOf(data) == rawjson.Object {
			last = data
		}
	}
	return last
}

const maxTrialDepth = 64

// trialReply is an answer that is kept, as far as it may be long.
type trialReply struct {
	statusOnly
	body bytes.Buffer
}

// Write is http.ResponseWriter's.
func (w *trialReply) Write(b []byte) (int, error) {
	if w.body.Len()+len(b) <= mostTrial {
		w.body.Write(b)
	}
	return len(b), nil
}

// Flush is http.Flusher's.
func (w *trialReply) Flush() {}
