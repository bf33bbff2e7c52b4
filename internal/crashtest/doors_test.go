//go:build unix

package crashtest_test

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"strings"

	"weir/internal/llm"
)

// The doors at which the load asks, by their paths. Gemini's is followed by the
// model and what is asked of it.
const (
	nativeDoor    = "/v1/chat"
	openaiDoor    = "/v1/chat/completions"
	responsesDoor = "/v1/responses"
	anthropicDoor = "/v1/messages"
	geminiDoor    = "/v1beta/models/"
	embedDoor     = "/v1/embeddings"
	countDoor     = "/v1/messages/count_tokens"
)

// chooseDoor is any door: those of chat more often than what is beside it.
func chooseDoor(rng *rand.Rand) string {
	chat := []string{nativeDoor, openaiDoor, responsesDoor, anthropicDoor, geminiDoor}
	switch n := rng.IntN(100); {
	case n < 5:
		return embedDoor
	case n < 8:
		return countDoor
	default:
		return chat[n%len(chat)]
	}
}

// suit changes what an order asks for where its door has no such thing.
// OpenAI's two wire formats have one for embeddings; the books tell them apart
// by the wire format.
func (o *order) suit(rng *rand.Rand) {
	if o.door == embedDoor && strings.HasPrefix(o.model, doors()["responses"].provider+"/") {
		o.door = openaiDoor
	}
	if o.door == countDoor {
		o.model = counting()[rng.IntN(len(counting()))]
	}
	o.stream = o.stream && isChat(o.door)
}

// isChat reports whether the door is one of those at which there are streams.
func isChat(door string) bool { return door != embedDoor && door != countDoor }

// path is where the request goes.
func (o *order) path() string {
	switch {
	case o.door != geminiDoor:
		return o.door
	case o.stream:
		return o.door + o.model + ":streamGenerateContent?alt=sse"
	}
	return o.door + o.model + ":generateContent"
}

// body is the request in the words of its door.
func (o *order) body() []byte {
	body := map[string]any{"model": o.model}
	if o.stream && o.door != nativeDoor && o.door != geminiDoor {
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
	switch o.door {
	case nativeDoor:
		body["messages"] = []any{map[string]string{"role": "user", "prompt": o.prompt}}
		limit = "max_tokens"
	case openaiDoor:
		body["messages"] = []any{message}
		limit = "max_tokens"
		if o.choices > 0 {
			body["n"] = o.choices
		}
		if o.stream && o.wantUsage {
			body["stream_options"] = map[string]bool{"include_usage": true}
		}
	case responsesDoor:
		body["input"] = o.prompt
		limit = "max_output_tokens"
	case anthropicDoor:
		body["messages"] = []any{message}
		body["max_tokens"] = 4000
		limit = "max_tokens"
	case countDoor:
		body["messages"] = []any{message}
	case embedDoor:
		body["input"] = o.prompt
	case geminiDoor:
		delete(body, "model") // it stands in the path
		body["contents"] = []any{map[string]any{"role": "user", "parts": []any{map[string]string{"text": o.prompt}}}}
		if o.maxTokens > 0 {
			body["generationConfig"] = map[string]int{"maxOutputTokens": o.maxTokens}
		}
	}
	if o.maxTokens > 0 && limit != "" {
		body[limit] = o.maxTokens
	}
}

// tellsUsage reports whether an answer tells the usage that its provider told.
func (o *order) tellsUsage() bool {
	return o.door != countDoor && (!o.stream || o.wantUsage || o.door != openaiDoor)
}

// tokens is usage as clients read it.
type tokens struct {
	Prompt     int64      `json:"prompt_tokens"`
	Completion int64      `json:"completion_tokens"`
	Total      int64      `json:"total_tokens"`
	Cost       *llm.Money `json:"cost"`
}

// toldTokens is usage in the words of any door.
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

// plain is the usage in OpenAI's words.
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

// piece is a reply, or an event of a stream, of any door.
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

// told is what the last piece of a stream says of more than one attempt.
type told struct {
	Attempts int `json:"attempts"`
}

// used is the usage that it tells, if any.
func (p *piece) used() *tokens { return cmp.Or(p.Usage, p.Metadata, p.Response.Usage).plain() }

// last reports whether it is what ends a whole answer.
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

// words is how many pieces of text are in it.
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
