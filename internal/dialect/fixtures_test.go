package dialect_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/sse"
)

// fixtureDir is where recorded exchanges with providers stand, beside the
// project. Without them the test is skipped, unless everything is required.
func fixtureDir(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.mod above the package")
		}
		dir = filepath.Dir(dir)
	}
	dir = filepath.Join(dir, "..", "shared", "fixtures")
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if os.Getenv("WEIR_TEST_REQUIRE") == "all" {
		t.Fatalf("no recorded exchanges at %s", dir)
	}
	t.Skipf("no recorded exchanges at %s", dir)
	return ""
}

func byName(t *testing.T, name string) *dialect.Dialect {
	t.Helper()
	for _, d := range dialect.All() {
		if d.Name == name {
			return d
		}
	}
	t.Fatalf("no dialect %q", name)
	return nil
}

// answer is what matters of an exchange.
type answer struct {
	Text, Reasoning string
	Calls           []llm.ToolCall
	Finish          llm.FinishReason
	Usage           *llm.Usage
}

// exchange is one recorded exchange.
type exchange struct {
	name   string
	status int
	stream bool
	sent   []byte // the request
	body   []byte // the response
	want   *answer
	totals [2]int64 // prompt and completion, as recorded
}

// recorded are the chat exchanges that speak the OpenAI format.
func recorded(t *testing.T) (list []exchange) {
	t.Helper()
	dir := fixtureDir(t)
	metas, err := filepath.Glob(filepath.Join(dir, "*", "*", "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range metas {
		var meta struct {
			URL    string
			Status int
			Stream bool
		}
		readJSON(t, path, &meta)
		if !strings.Contains(meta.URL, "/chat/completions") {
			continue
		}
		e := exchange{name: strings.TrimPrefix(filepath.Dir(path), dir+"/"), status: meta.Status, stream: meta.Stream && meta.Status == 200}
		bodies, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "response.*"))
		if len(bodies) != 1 {
			t.Fatalf("%s: %d response files, want 1", e.name, len(bodies))
		}
		if e.body, err = os.ReadFile(bodies[0]); err != nil {
			t.Fatal(err)
		}
		if e.sent, err = os.ReadFile(filepath.Join(filepath.Dir(path), "request.json")); err != nil {
			t.Fatal(err)
		}
		if e.status == 200 {
			e.expect(t, filepath.Join(filepath.Dir(path), "expected.json"))
		}
		list = append(list, e)
	}
	return list
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// expect reads what the official SDK made of the exchange.
func (e *exchange) expect(t *testing.T, path string) {
	t.Helper()
	type usage struct {
		Prompt        int64 `json:"prompt_tokens"`
		Completion    int64 `json:"completion_tokens"`
		PromptCamel   int64 `json:"promptTokens"`
		CompleteCamel int64 `json:"completionTokens"`
		PromptDetails struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		Details struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	var want struct {
		Text, Reasoning string
		Calls           []struct{ ID, Name, Arguments string } `json:"tool_calls"`
		Finish          string                                 `json:"finish_reason"`
		Usage           *usage
		Groq            *usage `json:"usage_x_groq"`
	}
	readJSON(t, path, &want)
	e.want = &answer{Text: want.Text, Reasoning: want.Reasoning, Finish: llm.FinishReason(want.Finish)}
	for _, c := range want.Calls {
		e.want.Calls = append(e.want.Calls, llm.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	if want.Finish == "function_call" { // the SDK leaves the legacy call aside; it is a call all the same
		e.want.Finish = llm.FinishToolCalls
		e.want.Calls = []llm.ToolCall{{ID: "call_0", Name: "get_current_weather", Arguments: "{\n  \"location\": \"Boston\"\n}"}}
	}
	u := want.Usage
	if u == nil {
		u = want.Groq
	}
	if u == nil {
		return
	}
	prompt, completion := u.Prompt+u.PromptCamel, u.Completion+u.CompleteCamel
	e.totals = [2]int64{prompt, completion}
	cached := min(u.PromptDetails.Cached, prompt)
	e.want.Usage = &llm.Usage{
		llm.Input: prompt - cached, llm.CacheRead: cached,
		llm.Output: completion - u.Details.Reasoning, llm.Reasoning: u.Details.Reasoning,
	}
}

func TestFixtures(t *testing.T) {
	t.Parallel()
	d := byName(t, "openai")
	list := recorded(t)
	right := 0
	for _, e := range list {
		if t.Run(e.name, func(t *testing.T) { e.check(t, d) }) {
			right++
		}
	}
	t.Logf("fixtures: %d of %d exchanges right", right, len(list))
	if len(list) == 0 {
		t.Error("no exchanges were found")
	}
}

// TestFixtureRequests holds that what real clients sent is decoded, and loses
// nothing on the way through the tree.
func TestFixtureRequests(t *testing.T) {
	t.Parallel()
	d := byName(t, "openai")
	for _, e := range recorded(t) {
		first, dropped, err := transcode(d, d, e.sent, &llm.Quirks{})
		if err != nil || len(dropped) > 0 {
			t.Errorf("%s: dropped %q, error %v", e.name, dropped, err)
			continue
		}
		second, _, err := transcode(d, d, first, &llm.Quirks{})
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s: the second time it is another body, error %v", e.name, err)
		}
		if bytes.Contains(e.sent, []byte(`"functions"`)) {
			continue // they become tools, which a golden case shows
		}
		if diff := cmp.Diff(normal(t, first), normal(t, e.sent)); diff != "" {
			t.Errorf("%s (-got +want)\n%s", e.name, diff)
		}
	}
}

// normal is a request without what may be said in several ways.
func normal(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	for _, m := range v["messages"].([]any) {
		m := m.(map[string]any)
		delete(m, "reasoning") // beside reasoning_content, and the same
		if m["content"] == nil {
			m["content"] = ""
		}
	}
	if limit, ok := v["max_tokens"]; ok {
		v["max_completion_tokens"] = limit
		delete(v, "max_tokens")
	}
	if v["stream"] == false {
		delete(v, "stream")
	}
	delete(v, "stream_options")
	return v
}

func (e *exchange) check(t *testing.T, d *dialect.Dialect) {
	switch {
	case e.status != 200:
		got := d.DecodeError(e.body)
		if got.Message == "" || len(got.Message) > 500 || !bytes.Contains(e.body, []byte(got.Message[:10])) {
			t.Errorf("error of status %d: %+v, from %s", e.status, got, e.body)
		}
	case e.stream:
		e.checkStream(t, d)
	default:
		r, err := d.DecodeReply(e.body, &llm.Quirks{})
		if err != nil {
			t.Fatal(err)
		}
		e.compare(t, answerOf(r))
	}
}

func (e *exchange) compare(t *testing.T, got answer) {
	t.Helper()
	if diff := cmp.Diff(got, *e.want); diff != "" {
		t.Errorf("(-got +want)\n%s", diff)
	}
	if got.Usage != nil && (got.Usage.InputTokens() != e.totals[0] || got.Usage.OutputTokens() != e.totals[1]) {
		t.Errorf("classes %v add up to %d and %d, the provider's totals are %v",
			got.Usage, got.Usage.InputTokens(), got.Usage.OutputTokens(), e.totals)
	}
}

func answerOf(r *llm.Reply) (a answer) {
	for _, p := range r.Choices[0].Message.Parts {
		switch p.Kind {
		case llm.PartText:
			a.Text += p.Text
		case llm.PartReasoning:
			a.Reasoning += p.Text
		case llm.PartToolCall:
			a.Calls = append(a.Calls, llm.ToolCall{ID: p.Call.ID, Name: p.Call.Name, Arguments: p.Call.Arguments})
		}
	}
	a.Finish = r.Choices[0].Finish
	if r.Reported {
		a.Usage = &r.Usage
	}
	return a
}

// checkStream feeds the stream whole, in small pieces, with other line ends
// and with comments in between.
func (e *exchange) checkStream(t *testing.T, d *dialect.Dialect) {
	body := e.body
	crlf := bytes.ReplaceAll(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	commented := bytes.ReplaceAll(body, []byte("\n\n"), []byte("\n\n: keep-alive\n\n"))
	for name, r := range map[string]io.Reader{
		"whole":              bytes.NewReader(body),
		"pieces of 1":        &pieces{body, 1},
		"pieces of 7":        &pieces{body, 7},
		"CR LF, pieces of 7": &pieces{crlf, 7},
		"comments":           &pieces{commented, 11},
	} {
		got, done, err := decodeStream(d, r)
		if err != nil || !done {
			t.Errorf("%s: end marker %v, error %v", name, done, err)
			continue
		}
		e.compare(t, got)
	}
}

// pieces gives its bytes in pieces of a size.
type pieces struct {
	b    []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.b[:min(p.size, len(p.b))])
	p.b = p.b[n:]
	return n, nil
}

func decodeStream(d *dialect.Dialect, r io.Reader) (a answer, done bool, err error) {
	in, dec := sse.NewReader(r, 1<<20), d.NewDecoder(&llm.Quirks{})
	var events []llm.Event
	for {
		frame, err := in.Next()
		if errors.Is(err, io.EOF) {
			return a, done, nil
		}
		if err != nil {
			return a, done, err
		}
		if events, err = dec.Decode(events[:0], frame); err != nil {
			return a, done, err
		}
		for i := range events {
			a.add(&events[i])
			done = done || events[i].Kind == llm.EventDone
		}
	}
}

func (a *answer) add(ev *llm.Event) {
	switch ev.Kind {
	case llm.EventText:
		a.Text += ev.Text
	case llm.EventReasoning:
		a.Reasoning += ev.Text
	case llm.EventFinish:
		a.Finish = ev.Finish
	case llm.EventUsage:
		a.Usage = &llm.Usage{}
		*a.Usage = ev.Usage
	case llm.EventToolCall:
		a.Calls = slices.Grow(a.Calls, ev.Tool.Index+1)[:max(len(a.Calls), ev.Tool.Index+1)]
		c := &a.Calls[ev.Tool.Index]
		c.ID += ev.Tool.ID
		c.Name += ev.Tool.Name
		c.Arguments += ev.Text
	}
}
