//go:build unix

package crashtest_test

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"strings"

	"weir/internal/llm"
)

// The client APIs of the load, by their paths. The model and the operation follow Gemini's.
const (
	nativeAPI    = "/v1/chat"
	openaiAPI    = "/v1/chat/completions"
	responsesAPI = "/v1/responses"
	anthropicAPI = "/v1/messages"
	geminiAPI    = "/v1beta/models/"
	embedAPI     = "/v1/embeddings"
	countAPI     = "/v1/messages/count_tokens"
)

// chooseAPI picks any client API, those of chat more often than the others.
func chooseAPI(rng *rand.Rand) string {
	chat := []string{nativeAPI, openaiAPI, responsesAPI, anthropicAPI, geminiAPI}
	switch n := rng.IntN(100); {
	case n < 5:
		return embedAPI
	case n < 8:
		return countAPI
	default:
		return chat[n%len(chat)]
	}
}

// suit changes options of an order that its client API does not have. OpenAI's two wire formats share one for
// embeddings; the books distinguish them by the wire format.
func (o *order) suit(rng *rand.Rand) {
	if o.clientAPI == embedAPI && strings.HasPrefix(o.model, clientAPIs()["responses"].provider+"/") {
		o.clientAPI = openaiAPI
	}
	if o.clientAPI == countAPI {
		o.model = counting()[rng.IntN(len(counting()))]
	}
	o.stream = o.stream && isChat(o.clientAPI)
}

// isChat reports whether the client API has streams.
func isChat(clientAPI string) bool { return clientAPI != embedAPI && clientAPI != countAPI }

// path returns the path of the request.
func (o *order) path() string {
	switch {
	case o.clientAPI != geminiAPI:
		return o.clientAPI
	case o.stream:
		return o.clientAPI + o.model + ":streamGenerateContent?alt=sse"
	}
	return o.clientAPI + o.model + ":generateContent"
}

// body encodes the request in the format of its client API.
func (o *order) body() []byte {
	body := map[string]any{"model": o.model}
	if o.stream && o.clientAPI != nativeAPI && o.clientAPI != geminiAPI {
		body["stream"] = true
	}
	o.say(body)
	b, err := json.Marshal(body)
	if err != nil {
		panic(err) // strings and numbers
	}
	return b
}

func (o *order) say(body map[string]any) {
	message := map[string]string{"role": "user", "content": o.prompt}
	limit := ""
	switch o.clientAPI {
	case nativeAPI:
		body["messages"] = []any{map[string]string{"role": "user", "prompt": o.prompt}}
		limit = "max_tokens"
	case openaiAPI:
		body["messages"] = []any{message}
		limit = "max_tokens"
		if o.choices > 0 {
			body["n"] = o.choices
		}
		if o.stream && o.wantUsage {
			body["stream_options"] = map[string]bool{"include_usage": true}
		}
	case responsesAPI:
		body["input"] = o.prompt
		limit = "max_output_tokens"
	case anthropicAPI:
		body["messages"] = []any{message}
		body["max_tokens"] = 4000
		limit = "max_tokens"
	case countAPI:
		body["messages"] = []any{message}
	case embedAPI:
		body["input"] = o.prompt
	case geminiAPI:
		delete(body, "model") // it is in the path
		body["contents"] = []any{map[string]any{"role": "user", "parts": []any{map[string]string{"text": o.prompt}}}}
		if o.maxTokens > 0 {
			body["generationConfig"] = map[string]int{"maxOutputTokens": o.maxTokens}
		}
	}
	if o.maxTokens > 0 && limit != "" {
		body[limit] = o.maxTokens
	}
}

// tellsUsage reports whether an answer includes the usage that its provider reported.
func (o *order) tellsUsage() bool {
	return o.clientAPI != countAPI && (!o.stream || o.wantUsage || o.clientAPI != openaiAPI)
}

// tokens is usage as clients read it.
type tokens struct {
	Prompt     int64      `json:"prompt_tokens"`
	Completion int64      `json:"completion_tokens"`
	Total      int64      `json:"total_tokens"`
	Cost       *llm.Money `json:"cost"`
}

// toldTokens holds usage in the members of any client API.
type toldTokens struct {
	tokens
	Input      int64 `json:"input_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
	Output     int64 `json:"output_tokens"`
	Prompted   int64 `json:"promptTokenCount"`
	Candidates int64 `json:"candidatesTokenCount"`
	Thoughts   int64 `json:"thoughtsTokenCount"`
}

// plain converts the usage to OpenAI's members.
func (u *toldTokens) plain() *tokens {
	if u == nil {
		return nil
	}
	t := u.tokens
	t.Prompt += u.Input + u.CacheRead + u.CacheWrite + u.Prompted
	t.Completion += u.Output + u.Candidates + u.Thoughts
	t.Total = t.Prompt + t.Completion
	return &t
}

// piece is a reply, or an event of a stream, of any client API.
type piece struct {
	Type     string          `json:"type"`
	Error    json.RawMessage `json:"error"`
	Text     json.RawMessage `json:"delta"` // a string, or an object with the text
	Usage    *toldTokens     `json:"usage"`
	Metadata *toldTokens     `json:"usageMetadata"`
	Response struct {
		Usage *toldTokens `json:"usage"`
		Weir  *told       `json:"weir"`
	} `json:"response"`
	Choices []struct {
		Delta struct {
			Content string `json:"content"`
		} `json:"delta"`
	} `json:"choices"`
	Candidates []struct {
		Content struct {
			Parts []struct {
				Text string `json:"text"`
			} `json:"parts"`
		} `json:"content"`
		Finish string `json:"finishReason"`
	} `json:"candidates"`
	Weir *told `json:"weir"`
}

// told holds the report of several attempts in the last piece of a stream.
type told struct {
	Attempts int `json:"attempts"`
}

// used returns the piece's usage, if any.
func (p *piece) used() *tokens { return cmp.Or(p.Usage, p.Metadata, p.Response.Usage).plain() }

// last reports whether the piece ends a whole answer.
func (p *piece) last() bool {
	switch p.Type {
	case "response.completed", "response.incomplete", "message_stop":
		return true
	}
	return len(p.Candidates) > 0 && p.Candidates[0].Finish != ""
}

// failed reports whether it ends an answer that broke off.
func (p *piece) failed() bool {
	return len(p.Error) > 0 && string(p.Error) != "null" || p.Type == "response.failed"
}

// words returns the number of pieces of text in it.
func (p *piece) words() (n int64) {
	for i := range p.Choices {
		if p.Choices[i].Delta.Content != "" {
			n++
		}
	}
	for i := range p.Candidates {
		for _, part := range p.Candidates[i].Content.Parts {
			if part.Text != "" {
				n++
			}
		}
	}
	switch p.Type {
	case "response.output_text.delta":
		n++
	case "content_block_delta":
		var delta struct{ Text string }
		if json.Unmarshal(p.Text, &delta) == nil && delta.Text != "" {
			n++
		}
	}
	return n
}
