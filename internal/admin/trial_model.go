package admin

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"net/http"
	"strings"
	"sync"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/managed"
	"weir/internal/rawjson"
	"weir/internal/route"
)

const (
	// trialAccount is the account that pays for tests of providers.
	trialAccount = "installation"
	// trialWait bounds the time of an answer, and mostTrial its bytes.
	trialWait = 20 * time.Second
	mostTrial = 256 << 10
	// trialTokens is the output cap: the minimum of the Responses API
	// (https://platform.openai.com/docs/api-reference/responses/create, 2026-11-26).
	trialTokens = 16
)

// tryModel requests short answers from a model of a table, through the pipeline, so that they are metered.
func (c *Configuration) tryModel(ctx context.Context, by audit.Actor, table *route.Table, model string) (
	[]managed.Answer, error,
) {
	caller, err := c.trialCaller(ctx, by)
	if err != nil {
		return nil, err
	}
	ask := c.pipeline(table)
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

// trialCaller returns the caller of the tests: a key of the account for tests, which it creates on first use.
func (c *Configuration) trialCaller(ctx context.Context, by audit.Actor) (*account.Principal, error) {
	a, err := c.accounts.Account(ctx, trialAccount)
	if err != nil && llm.AsError(err).Code == llm.CodeNotFound {
		if a, err = c.accounts.CreateAccount(ctx, by, trialAccount); err != nil {
			a, err = c.accounts.Account(ctx, trialAccount) // another process was faster
		}
	}
	if err != nil {
		return nil, err
	}
	return c.accounts.Playground(ctx, by, &a, "", account.Chat)
}

// trialBody returns a request of OpenAI's Chat Completions.
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
	text, _ := json.Marshal(body) // cannot fail: it has only texts and numbers
	return text
}

// trialImage returns a grey picture as a data: address. Some models refuse smaller ones.
func trialImage() string {
	const side = 64
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, side, side))) // cannot fail: it writes to memory
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}

// tryOnce sends one request and returns the problem, or "" on success.
func tryOnce(ctx context.Context, a *managed.Answer, body []byte, ask http.HandlerFunc) string {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/v1/chat/completions",
		bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	w := &trialReply{header: http.Header{}}
	ask(w, r)
	last := w.body.Bytes()
	if a.What == managed.Streaming && w.status == http.StatusOK {
		if !strings.HasPrefix(w.contentType, "text/event-stream") {
			return "The answer is not a stream."
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

// lastEvent returns the data of the last event of a stream that holds a JSON object.
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

// trialReply stores an answer, up to its bound.
type trialReply struct {
	header      http.Header // valid until the handler has returned
	status      int
	contentType string
	body        bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *trialReply) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *trialReply) WriteHeader(status int) {
	w.status, w.contentType = status, w.header.Get("Content-Type")
}

// Write implements http.ResponseWriter.
func (w *trialReply) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.body.Len()+len(b) <= mostTrial {
		w.body.Write(b)
	}
	return len(b), nil
}

// Flush implements http.Flusher.
func (w *trialReply) Flush() {}
