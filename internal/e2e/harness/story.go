package harness

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// storyProvider is a provider that tells one story, word by word. The model's name consists of options with dashes
// between them.
type storyProvider struct {
	URL string
	mu  sync.Mutex
	got []string // the bodies of its requests
}

const otherStory = "a weir is the high wall that nobody ever measured"

// NewStoryProvider starts a provider that tells the story.
func NewStoryProvider(t testing.TB) *storyProvider {
	s := &storyProvider{}
	ts := httptest.NewServer(s)
	t.Cleanup(ts.Close)
	s.URL = ts.URL
	return s
}

// Take returns the bodies of the requests since the last call, and removes them.
func (s *storyProvider) Take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := s.got
	s.got = nil
	return got
}

// tale holds the options of a model name.
type tale struct {
	options map[string]bool
	story   string
	cut     int // words before it breaks off; 0 for never
}

func taleOf(model string) (t tale) {
	t.options, t.story = map[string]bool{}, Words
	for option := range strings.SplitSeq(model, "-") {
		if n, err := strconv.Atoi(option); err == nil {
			t.cut = n
		}
		t.options[option] = true
	}
	if t.options["other"] {
		t.story = otherStory
	}
	return t
}

func (s *storyProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.got = append(s.got, string(body))
	s.mu.Unlock()
	var req struct {
		Model    string
		Messages []struct{ Role, Content string }
	}
	_ = json.Unmarshal(body, &req)
	t := taleOf(req.Model)
	w.Header().Set("Content-Type", "application/json")
	last := req.Messages[len(req.Messages)-1]
	story := t.story
	if last.Role == "assistant" {
		if t.options["stubborn"] {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w,
				`{"error":{"message":"The conversation must end with a user message.","type":"invalid_request_error"}}`)
			return
		}
		if !t.options["restarts"] {
			story = strings.TrimPrefix(story, last.Content)
		}
	}
	if t.options["whole"] {
		_, _ = fmt.Fprintf(w,
			`{"id":"w","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,`+
				`"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,`+
				`"completion_tokens":9,"total_tokens":19}}`, story)
		return
	}
	t.tell(w, story)
}

func (t *tale) tell(w http.ResponseWriter, story string) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta, finish string) {
		_, _ = fmt.Fprintf(w,
			`data: {"id":"told","object":"chat.completion.chunk","created":7,"model":"teller","choices":[{"index":0,`+
				`"delta":{%s},"finish_reason":%s}]}`+"\n\n", delta, finish)
		_ = http.NewResponseController(w).Flush()
		time.Sleep(2 * time.Millisecond) // separates the pieces
	}
	send(`"role":"assistant","content":""`, "null")
	if t.options["thinks"] {
		send(`"reasoning_content":"Hm."`, "null")
	}
	for i, word := range strings.SplitAfter(story, " ") {
		if t.cut > 0 && i == t.cut {
			panic(http.ErrAbortHandler)
		}
		send(`"content":`+strconv.Quote(word), "null")
	}
	if t.options["calls"] {
		send(`"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]`, "null")
		panic(http.ErrAbortHandler)
	}
	send("", `"stop"`)
	_, _ = io.WriteString(w,
		`data: {"id":"told","object":"chat.completion.chunk","created":7,"model":"teller","choices":[],`+
			`"usage":{"prompt_tokens":10,"completion_tokens":9,"total_tokens":19}}`+"\n\ndata: [DONE]\n\n")
}
