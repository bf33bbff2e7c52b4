package simulator_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/simulator"
)

// The official client of Ollama comes with the whole server, so this one is
// written by hand after its documentation, https://docs.ollama.com/api: it takes
// the members that stand there, in the types that stand there, and no others.

type ollamaRequest struct {
	Model    string          `json:"model"`
	Messages []ollamaMessage `json:"messages"`
	Tools    json.RawMessage `json:"tools,omitempty"`
	Format   json.RawMessage `json:"format,omitempty"`
	Options  map[string]any  `json:"options,omitempty"`
	Think    any             `json:"think,omitempty"`
	Stream   *bool           `json:"stream,omitempty"` // true where it is left out
}

type ollamaMessage struct {
	Role       string       `json:"role"`
	Content    string       `json:"content"`
	Thinking   string       `json:"thinking,omitempty"`
	Images     [][]byte     `json:"images,omitempty"`
	ToolCalls  []ollamaCall `json:"tool_calls,omitempty"`
	ToolName   string       `json:"tool_name,omitempty"`
	ToolCallID string       `json:"tool_call_id,omitempty"`
}

type ollamaCall struct {
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Index     int            `json:"index"`
		Name      string         `json:"name"`
		Arguments map[string]any `json:"arguments"`
	} `json:"function"`
}

type ollamaReply struct {
	Model           string        `json:"model"`
	CreatedAt       time.Time     `json:"created_at"`
	Message         ollamaMessage `json:"message"`
	Done            bool          `json:"done"`
	DoneReason      string        `json:"done_reason"`
	PromptEvalCount int64         `json:"prompt_eval_count"`
	EvalCount       int64         `json:"eval_count"`
}

// ollamaClient asks a simulator.
type ollamaClient struct {
	way
	t *testing.T
	s *simulator.Server
}

func ollamaClients(t *testing.T, check func(t *testing.T, c *ollamaClient)) {
	t.Helper()
	for i, name := range []string{"socket", "memory"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSimulator(t, simulator.Options{APIKeys: []string{"ol-right"}})
			check(t, &ollamaClient{ways(t, s)[i], t, s})
		})
	}
}

func ollamaAsk(model string) *ollamaRequest {
	return &ollamaRequest{Model: model, Messages: []ollamaMessage{{Role: "user", Content: "Say it again, please"}}}
}

// post sends a request with a key in the way of the cloud.
func (c *ollamaClient) post(r *ollamaRequest, key string) *http.Response {
	c.t.Helper()
	body, err := json.Marshal(r)
	if err != nil {
		c.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, c.base+"/api/chat", bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := c.rt.RoundTrip(req)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// whole asks for an answer as one.
func (c *ollamaClient) whole(r *ollamaRequest) (reply ollamaReply) {
	c.t.Helper()
	r.Stream = new(bool)
	resp := c.post(r, "ol-right")
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || got != "application/json" {
		why, _ := io.ReadAll(resp.Body)
		c.t.Fatalf("status %d, content type %q: %s", resp.StatusCode, got, why)
	}
	c.decode(resp.Body, &reply)
	return reply
}

func (c *ollamaClient) decode(src io.Reader, v any) {
	c.t.Helper()
	d := json.NewDecoder(src)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		c.t.Fatal(err)
	}
}

// stream asks for an answer in pieces and puts them together. The failure is
// that of a last line which says what went wrong.
func (c *ollamaClient) stream(r *ollamaRequest) (reply ollamaReply, pieces int, failure string) {
	c.t.Helper()
	resp := c.post(r, "ol-right")
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || got != "application/x-ndjson" {
		c.t.Fatalf("status %d, content type %q", resp.StatusCode, got)
	}
	message := ollamaMessage{Role: "assistant"}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); pieces++ {
		if bytes.HasPrefix(lines.Bytes(), []byte(`{"error"`)) {
			var e struct{ Error string }
			c.decode(bytes.NewReader(lines.Bytes()), &e)
			return reply, pieces, e.Error
		}
		if reply.Done {
			c.t.Errorf("a line behind the last: %s", lines.Bytes())
		}
		reply = ollamaReply{}
		c.decode(bytes.NewReader(lines.Bytes()), &reply)
		message.Content += reply.Message.Content
		message.Thinking += reply.Message.Thinking
		message.ToolCalls = append(message.ToolCalls, reply.Message.ToolCalls...)
	}
	reply.Message = message
	return reply, pieces, ""
}

func TestOllamaClientPlain(t *testing.T) {
	t.Parallel()
	ollamaClients(t, func(t *testing.T, c *ollamaClient) {
		r := ollamaAsk("echo")
		r.Messages[0].Images = [][]byte{{1, 2, 3}}
		got := c.whole(r)
		if got.Message.Content != "Say it again, please" || got.Message.Role != "assistant" || got.DoneReason != "stop" || !got.Done || got.Model != "echo" || got.CreatedAt.Unix() <= 0 {
			t.Errorf("got %+v", got)
		}
		truth := settled(t, c.s).Usage
		if got.PromptEvalCount != truth.InputTokens() || got.EvalCount != truth.OutputTokens() || truth.OutputTokens() != 4 || got.PromptEvalCount < 85 {
			t.Errorf("usage %d + %d, ledger %v", got.PromptEvalCount, got.EvalCount, truth)
		}
	})
}

func TestOllamaClientStream(t *testing.T) {
	t.Parallel()
	ollamaClients(t, func(t *testing.T, c *ollamaClient) {
		r := ollamaAsk("reason:tokens=60,reasoning=20,chunk=7")
		r.Options = map[string]any{"num_predict": 70, "temperature": 0, "num_ctx": 4096}
		r.Think = "high"
		got, pieces, failure := c.stream(r)
		rec := settled(t, c.s)
		if got.DoneReason != "length" || !got.Done || got.Message.Content == "" || got.Message.Thinking == "" || pieces != 71 || failure != "" {
			t.Errorf("%d pieces, failure %q, together %+v", pieces, failure, got)
		}
		if rec.Usage[llm.Output] != 50 || rec.Usage[llm.Reasoning] != 20 || got.EvalCount != 70 || got.PromptEvalCount != rec.Usage.InputTokens() || rec.Outcome != simulator.Served {
			t.Errorf("told %d + %d, ledger %+v", got.PromptEvalCount, got.EvalCount, rec)
		}
	})
}

const ollamaTools = `[{"type":"function","function":{"name":"weather","description":"The weather of a city.",
	"parameters":{"type":"object","required":["city"],"properties":{"city":{"type":"string"}}}}}]`

func TestOllamaClientTools(t *testing.T) {
	t.Parallel()
	ollamaClients(t, func(t *testing.T, c *ollamaClient) {
		r := ollamaAsk("tools:calls=2")
		r.Tools = json.RawMessage(ollamaTools)
		streamed, _, _ := c.stream(r)
		for way, got := range map[string]ollamaReply{"whole": c.whole(r), "stream": streamed} {
			calls := got.Message.ToolCalls
			if len(calls) != 2 || calls[1].Function.Name != "weather" || calls[1].Function.Index != 1 || calls[1].Function.Arguments["city"] == "" || got.DoneReason != "stop" {
				t.Fatalf("%s: got %+v", way, got)
			}
			// Older clients send neither ids nor indexes back.
			for i := range calls {
				calls[i].ID = ""
			}
			next := *r
			next.Messages = append(r.Messages[:1:1], got.Message, ollamaMessage{Role: "tool", ToolName: "weather", Content: "rain"})
			if got, want := c.whole(&next).Message.Content, "The tool said: rain"; got != want {
				t.Errorf("%s: after the tool's result: got %q, want %q", way, got, want)
			}
		}
	})
}

func TestOllamaClientStructuredOutput(t *testing.T) {
	t.Parallel()
	ollamaClients(t, func(t *testing.T, c *ollamaClient) {
		r := ollamaAsk("json")
		r.Format = json.RawMessage(`{"type":"object","required":["name","height"],"properties":{"name":{"type":"string"},"height":{"type":"integer","minimum":100}}}`)
		var place struct {
			Name   string
			Height int
		}
		text := c.whole(r).Message.Content
		if err := json.Unmarshal([]byte(text), &place); err != nil || place.Name == "" || place.Height < 100 {
			t.Errorf("got %q (%v), want a name and a height from 100", text, err)
		}
		r.Format = json.RawMessage(`"json"`)
		if text := c.whole(r).Message.Content; !json.Valid([]byte(text)) || !strings.HasPrefix(text, "{") {
			t.Errorf("got %q, want an object", text)
		}
	})
}

func TestOllamaClientErrors(t *testing.T) {
	t.Parallel()
	ollamaClients(t, func(t *testing.T, c *ollamaClient) {
		for _, tt := range []struct {
			model, key string
			status     int
		}{
			{"chat:fault=context-length", "ol-right", 400},
			{"chat", "ol-wrong", 401},
			{"qwen3", "ol-right", 404},
			{"chat:status=429", "ol-right", 429},
			{"chat:status=500", "ol-right", 500},
			{"chat:status=503", "ol-right", 503},
		} {
			resp := c.post(ollamaAsk(tt.model), tt.key)
			var e struct{ Error string }
			c.decode(resp.Body, &e)
			if resp.StatusCode != tt.status || e.Error == "" {
				t.Errorf("%s: got %d %q, want %d with an explanation", tt.model, resp.StatusCode, e.Error, tt.status)
			}
		}
		if got, pieces, failure := c.stream(ollamaAsk("chat:fault=error-event")); pieces != 3 || got.Done || failure == "" {
			t.Errorf("an error in the stream: %d pieces, failure %q, %+v", pieces, failure, got)
		}
	})
}
