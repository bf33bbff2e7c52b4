package simulator_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/simulator"
	"weir/internal/sse"
)

// chunk holds the parts of a reply or of an event of a stream that the tests read.
type chunk struct {
	ID      string
	Model   string
	Created int64
	Choices []struct {
		Index          int
		Message, Delta struct {
			Content, Refusal string
			ReasoningContent string `json:"reasoning_content"`
			ToolCalls        []struct {
				Index    int
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		FinishReason string `json:"finish_reason"`
	}
	Usage json.RawMessage
}

// chunks reads a reply, or all events of a stream.
func (h heard) chunks(t *testing.T) []chunk {
	t.Helper()
	if !strings.HasPrefix(h.header.Get("Content-Type"), "text/event-stream") {
		return []chunk{decode(t, []byte(h.body))}
	}
	var all []chunk
	for r := sse.NewReader(strings.NewReader(h.body), 1<<20); ; {
		ev, err := r.Next()
		if err != nil {
			return all
		}
		if string(ev.Data) != "[DONE]" {
			all = append(all, decode(t, ev.Data))
		}
	}
}

func decode(t *testing.T, data []byte) (c chunk) {
	t.Helper()
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	return c
}

// content returns the text of the first choice.
func content(chunks []chunk) string {
	var b strings.Builder
	for _, c := range chunks {
		for _, ch := range c.Choices {
			if ch.Index == 0 {
				b.WriteString(ch.Message.Content + ch.Delta.Content)
			}
		}
	}
	return b.String()
}

func finish(chunks []chunk) (reason string) {
	for _, c := range chunks {
		for _, ch := range c.Choices {
			reason += ch.FinishReason
		}
	}
	return reason
}

func both(t *testing.T, model, rest string) map[string]heard {
	t.Helper()
	body := `{"model":"` + model + `",` + rest
	s := newSimulator(t, simulator.Options{Clock: func() time.Time { return epoch }})
	heards := map[string]heard{}
	for _, w := range ways(t, s) {
		heards[w.name+" whole"] = w.ask(body + "}")
		heards[w.name+" stream"] = w.ask(body + `,"stream":true,"stream_options":{"include_usage":true}}`)
	}
	return heards
}

func TestAnswersOfEachModel(t *testing.T) {
	t.Parallel()
	const said = `"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Yes?"},{"role":"user","content":"a  ü\n水 b"}]`
	for _, tt := range []struct{ model, rest, text, finish string }{
		{"echo", said, "a  ü\n水 b", "stop"},
		{"echo:tokens=2", said, "a  ü", "stop"},
		{"echo:chunk=1,eol=mixed,comments", said, "a  ü\n水 b", "stop"},
		{"chat:tokens=19", said, "Hello! This is a demo: the words are made up, and no model was asked.", "stop"},
		{"chat:tokens=0", said, "", "stop"},
		{"chat", said + `,"max_tokens":5`, "Hello! This is a", "length"},
		{"chat:tokens=3,uncapped", said + `,"max_tokens":1`, "Hello! This", "stop"},
		{"reason:tokens=1", said, "Hello", "stop"},
		{"chat:reasoning=30", said + `,"max_completion_tokens":10`, "", "length"},
		{"tools", said, "No tool was called: the request offers none, or wants none.", "stop"},
		{"json", said + `,"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"properties":{"a":{"type":"integer"}}}}}`, `{"a":1}`, "stop"},
	} {
		for name, got := range both(t, tt.model, tt.rest) {
			chunks := got.chunks(t)
			if text := content(chunks); text != tt.text || finish(chunks) != tt.finish {
				t.Errorf("%s, %s: got %q, finish %q; want %q, %q", tt.model, name, text, finish(chunks), tt.text, tt.finish)
			}
		}
	}
}

// TestAnswersAreDeterministic checks that whole and streamed answers have the same text, and that a repeated request
// gets the same bytes.
func TestAnswersAreDeterministic(t *testing.T) {
	t.Parallel()
	const said = `"messages":[{"role":"user","content":"Hi"}]`
	answers := map[string]bool{}
	for _, model := range []string{"chat:tokens=200", "chat:tokens=200,seed=7", "chat:tokens=200,unicode", "reason:tokens=200", "json"} {
		first, again := both(t, model, said), both(t, model, said)
		for name, got := range first {
			if got.body != again[name].body {
				t.Errorf("%s, %s: two answers differ:\n%s\n%s", model, name, got.body, again[name].body)
			}
		}
		must.Equal(t, first["socket stream"].body, first["memory stream"].body, "%s: the ways differ:", model)
		answers[content(first["socket whole"].chunks(t))] = true
	}
	if len(answers) != 5 {
		t.Errorf("five models gave %d different answers", len(answers))
	}
	other := newSimulator(t, simulator.Options{Seed: 2})
	got := ways(t, other)[1].ask(`{"model":"chat:tokens=200",` + said + `}`)
	if answers[content(got.chunks(t))] {
		t.Error("another seed gave the same answer")
	}
}

func TestChoicesDiffer(t *testing.T) {
	t.Parallel()
	for name, got := range both(t, "chat:tokens=40", `"n":3,"messages":[{"role":"user","content":"Hi"}]`) {
		texts := make([]string, 3)
		for _, c := range got.chunks(t) {
			for _, ch := range c.Choices {
				texts[ch.Index] += ch.Message.Content + ch.Delta.Content
			}
		}
		if texts[0] == texts[1] || texts[1] == texts[2] || texts[2] == "" {
			t.Errorf("%s: three choices are not three: %q", name, texts)
		}
	}
}

func TestToolCalls(t *testing.T) {
	t.Parallel()
	const ask = `"messages":[{"role":"user","content":"Hi"}],"tools":[
		{"type":"function","function":{"name":"one","parameters":{"type":"object","properties":{"days":{"type":"integer"}}}}},
		{"type":"function","function":{"name":"two","parameters":{"type":"object","properties":{}}}}]`
	for _, tt := range []struct {
		model, rest string
		names, args string
		ids         int
	}{
		{"tools", "", "one", `{"days":1}`, 1},
		{"tools:calls=3", "", "one two one", `{"days":1}{}{"days":1}`, 3},
		{"tools:calls=3", `,"parallel_tool_calls":false`, "one", `{"days":1}`, 1},
		{"tools", `,"tool_choice":{"type":"function","function":{"name":"two"}}`, "two", `{}`, 1},
		{"tools", `,"tool_choice":"none"`, "", "", 0},
		{"tools:fault=duplicate-tool-ids", "", "one one", `{"days":1}{"days":1}`, 1},
		{"tools:fault=bad-arguments", "", "one", `{"days":`, 1},
	} {
		for name, got := range both(t, tt.model, ask+tt.rest) {
			names, args, ids := []string{}, "", map[string]bool{}
			for _, c := range got.chunks(t) {
				for _, ch := range c.Choices {
					for _, call := range append(ch.Message.ToolCalls, ch.Delta.ToolCalls...) {
						args += call.Function.Arguments
						if call.Function.Name != "" {
							names = append(names, call.Function.Name)
							ids[call.ID] = true
						}
					}
				}
			}
			if strings.Join(names, " ") != tt.names || args != tt.args || len(ids) != tt.ids {
				t.Errorf("%s%s, %s: got %q, %s, %d ids; want %q, %s, %d", tt.model, tt.rest, name, names, args, len(ids), tt.names, tt.args, tt.ids)
			}
		}
	}
}

// TestCallsWithoutIDs checks that calls have no ids if the vendor sends none, unless the model's name asks for them.
func TestCallsWithoutIDs(t *testing.T) {
	t.Parallel()
	const contents = `{"contents":[{"parts":[{"text":"Hi"}]}],"tools":[{"functionDeclarations":[{"name":"one","parametersJsonSchema":{"type":"object"}}]}]}`
	for _, w := range ways(t, newSimulator(t, simulator.Options{})) {
		for model, want := range map[string]bool{"tools": false, "tools:ids": true, "tools:fault=duplicate-tool-ids": true} {
			asks := map[string]string{
				"/api/chat": `{"model":"` + model + `","stream":false,"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"one","parameters":{"type":"object"}}}]}`,
				"/v1beta/models/" + model + ":generateContent": contents, "/v1beta/models/" + model + ":streamGenerateContent?alt=sse": contents,
			}
			for path, body := range asks {
				got := w.askAt(t.Context(), path, body)
				if strings.Contains(got.body, `"id":"call_`) != want || !strings.Contains(got.body, `"name":"one"`) {
					t.Errorf("%s, %s: ids %t wanted, got %s", w.name, path, want, got.body)
				}
			}
		}
	}
}

func TestUsageVariants(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ variant, stream, whole string }{
		{"missing", "", ""},
		{"none", "", ""},
		{"zero", "0/0", "0/0"},
		{"nodetails", "100/32", "100/32"},
		{"over", "100/1000032", "100/1000032"},
		{"negative", "-100/-32", "-100/-32"},
		{"huge", "9223372036854775808/9223372036854775808", "9223372036854775808/9223372036854775808"},
		{"float", "100.5/32.5", "100.5/32.5"},
		{"twice", "100/32 100/32", "100/32"},
		{"decreasing", "1100/132 100/32", "100/32"},
	} {
		for name, got := range both(t, "chat:prompt=100,usage="+tt.variant, `"messages":[{"role":"user","content":"Hi"}]`) {
			want := tt.whole
			if strings.HasSuffix(name, "stream") {
				want = tt.stream
			}
			var told []string
			for _, c := range got.chunks(t) {
				var u struct {
					Prompt     json.Number `json:"prompt_tokens"`
					Completion json.Number `json:"completion_tokens"`
				}
				if json.Unmarshal(c.Usage, &u) == nil && u.Prompt != "" {
					told = append(told, string(u.Prompt)+"/"+string(u.Completion))
				}
			}
			if strings.Join(told, " ") != want {
				t.Errorf("usage=%s, %s: reported %q, want %q", tt.variant, name, told, want)
			}
			if tt.variant == "nodetails" && strings.Contains(got.body, "_details") {
				t.Errorf("usage=nodetails, %s: %s", name, got.body)
			}
		}
	}
}

func TestUsageTruth(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{})
	memory := ways(t, s)[1]
	for _, tt := range []struct {
		body                 string
		in, cached, out, why int64
		told                 bool
	}{
		{`{"model":"chat","messages":[{"role":"user","content":"12345"}]}`, 3 + 4 + 2, 0, 32, 0, true},
		{`{"model":"chat:prompt=50,cached=20","messages":[{"role":"user","content":"Hi"}]}`, 30, 20, 32, 0, true},
		{`{"model":"chat:cached=2000","messages":[{"role":"user","content":"Hi"}]}`, 0, 8, 32, 0, true},
		{`{"model":"reason:tokens=5","messages":[{"role":"user","content":"Hi"}]}`, 8, 0, 5, 16, true},
		{`{"model":"chat:tokens=5,reasoning=7","n":2,"messages":[{"role":"user","content":"Hi"}]}`, 8, 0, 10, 14, true},
		{`{"model":"chat:tokens=5","stream":true,"messages":[{"role":"user","content":"Hi"}]}`, 8, 0, 5, 0, false},
		{`{"model":"chat:tokens=5,usage=huge","messages":[{"role":"user","content":"Hi"}]}`, 8, 0, 5, 0, false},
	} {
		memory.ask(tt.body)
		got := settled(t, s)
		var want llm.Usage
		want[llm.Input], want[llm.CacheRead], want[llm.Output], want[llm.Reasoning] = tt.in, tt.cached, tt.out, tt.why
		if got.Usage != want || (got.Reported != nil) != tt.told || tt.told && *got.Reported != want {
			t.Errorf("%s: usage %v, reported %v; want %v, reported %v", tt.body, got.Usage, got.Reported, want, tt.told)
		}
	}
}

func TestWireForms(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{})
	for _, w := range ways(t, s) {
		zipped := w.ask(stream("chat:fault=gzip"))
		z, err := gzip.NewReader(strings.NewReader(zipped.body))
		if err != nil || zipped.header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("%s: not gzip: %v %q", w.name, err, zipped.body)
		}
		plain, err := io.ReadAll(z)
		if err != nil || !bytes.HasSuffix(plain, []byte(marker)) {
			t.Errorf("%s: inside gzip: %q, %v", w.name, plain, err)
		}
		for model, has := range map[string]string{
			"chat:bom":          "\xef\xbb\xbfdata: ",
			"chat:comments":     "\n\n: keep-alive\n\ndata: [DONE]\n\n",
			"chat:eol=crlf":     "\r\n\r\ndata: [DONE]\r\n\r\n",
			"chat:eol=cr":       "\r\rdata: [DONE]\r\r",
			"chat:eol=lf":       "\n\ndata: [DONE]\n\n",
			"chat:eol=mixed":    "\n\rdata: ",
			"chat:early":        marker,
			"chat:fault=no-end": `"usage":{`,
		} {
			if got := w.ask(stream(model)); !strings.Contains(got.body, has) {
				t.Errorf("%s, %s: got %q, want %q in it", w.name, model, got.body, has)
			}
		}
		if got := w.ask(whole("chat:bom,unicode")); !strings.HasPrefix(got.body, "\xef\xbb\xbf{") || !utf8.ValidString(got.body) {
			t.Errorf("%s: got %q, want a byte-order mark and UTF-8", w.name, got.body)
		}
		malformed := 0
		for line := range strings.Lines(w.ask(stream("chat:fault=malformed,at=4")).body) {
			if data, ok := strings.CutPrefix(line, "data: "); ok && data != "[DONE]\n" && !json.Valid([]byte(data)) {
				malformed++
			}
		}
		if malformed != 1 {
			t.Errorf("%s: %d malformed events, want 1", w.name, malformed)
		}
	}
}

// TestChunkSplitsCharacters checks that writes of one byte split characters, so that a reader of single pieces gets
// halves.
func TestChunkSplitsCharacters(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{})
	req, err := http.NewRequest(http.MethodPost, "http://demo/v1/chat/completions", strings.NewReader(stream("chat:unicode,chunk=1")))
	must.Do(t, err)
	resp, err := s.RoundTripper().RoundTrip(req)
	must.Do(t, err)
	defer resp.Body.Close()
	buf := make([]byte, 100)
	for {
		n, err := resp.Body.Read(buf)
		if n > 1 {
			t.Fatalf("one read gave %d bytes, want 1", n)
		}
		if err != nil {
			break
		}
	}
}

func TestInformationalStatusesAreSent(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{})
	for _, w := range ways(t, s) {
		for fault, want := range map[string]int{"continue": 100, "early-hints": 103} {
			var got []int
			ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
				Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
					got = append(got, code)
					return nil
				},
			})
			resp := w.askIn(ctx, whole("chat:fault="+fault))
			if diff := cmp.Diff([]int{want}, got); diff != "" || resp.status != 200 {
				t.Errorf("%s, %s: status %d, informational (-want +got):\n%s", w.name, fault, resp.status, diff)
			}
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{Clock: func() time.Time { return epoch }})
	memory := ways(t, s)[1]
	for value, want := range map[string]string{
		"7": "7", "date": epoch.Add(30 * time.Second).Format(http.TimeFormat), "garbage": "soon, maybe", "year": "31536000",
	} {
		if got := memory.ask(whole("chat:status=429,retry_after=" + value)).header.Get("Retry-After"); got != want {
			t.Errorf("retry_after=%s: got %q, want %q", value, got, want)
		}
	}
	if got := memory.ask(whole("chat:status=429")).header.Values("Retry-After"); len(got) != 0 {
		t.Errorf("without retry_after: got %q", got)
	}
}

func TestComingAndGoing(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{})
	memory := ways(t, s)[1]
	for model, want := range map[string]string{
		"chat:status=500,once":    "500 200 200 200 200 200",
		"chat:status=500,times=2": "500 500 200 200 200 200",
		"chat:status=500,flap=2":  "500 500 200 200 500 500",
		"chat:status=500,rate=0":  "200 200 200 200 200 200",
		"chat:status=500,rate=1":  "500 500 500 500 500 500",
	} {
		var got []string
		for range 6 {
			got = append(got, strconv.Itoa(memory.ask(whole(model)).status))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %s, want %s", model, got, want)
		}
	}
	failed := 0
	for range 400 {
		if memory.ask(whole("chat:status=500,rate=0.25")).status == 500 {
			failed++
		}
	}
	if failed < 60 || failed > 140 {
		t.Errorf("rate=0.25: %d of 400 failed", failed)
	}
	for i, want := range []int{500, 200} {
		if got := memory.ask(whole("chat:status=500,once"), "Authorization", "Bearer other").status; got != want {
			t.Errorf("another key, request %d: got %d, want %d", i, got, want)
		}
	}
}
