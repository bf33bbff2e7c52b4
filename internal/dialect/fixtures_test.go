package dialect_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/dialect"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/fixturetest"
	"weir/internal/llm"
)

func byName(t *testing.T, name string) *dialect.Dialect {
	t.Helper()
	if d := registrytest.All().Named(name); d != nil {
		return d
	}
	t.Fatalf("no dialect %q", name)
	return nil
}

// answer holds the parts of an exchange that are compared.
type answer struct {
	Text, Reasoning string
	Calls           []llm.ToolCall
	Finish          llm.FinishReason
	Usage           *llm.Usage
}

// family is the recorded exchanges that speak one wire format.
type family struct {
	dialect string
	// is reports whether an exchange with that address belongs to the family.
	is func(url string) bool
	// expect reads the official SDK's reading of an exchange, beyond the text, the reasoning and the tool calls: the
	// finish reason, the usage. The SDK read some exchanges not at all: then want is nil, and they only have to decode.
	expect func(t *testing.T, want *answer, expected []byte)
	// normal normalizes a request that can be written in several ways; nil if only a second pass through the tree has
	// to change nothing.
	normal func(t *testing.T, body []byte) map[string]any
	// searches counts the searches in a response, which the SDK does not report; nil if there are none.
	searches func(t *testing.T, response []byte) int64
}

func families() []family {
	return []family{openaiFamily(), responsesFamily(), anthropicFamily(), geminiFamily(), bedrockFamily(), cohereFamily(), ollamaFamily()}
}

// exchange is one recorded exchange.
type exchange struct {
	name   string
	status int
	stream bool
	sent   []byte // the request
	body   []byte // the response
	want   *answer
	// parsed reports whether the SDK parsed the arguments of tool calls, so that they are compared as values.
	parsed bool
}

// recorded reads the exchanges of a family.
func recorded(t *testing.T, f *family) (list []exchange) {
	t.Helper()
	for _, x := range fixturetest.Exchanges(t, f.is) {
		e := exchange{name: x.Name, status: x.Status, stream: x.Stream && x.Status == 200, sent: x.Request, body: x.Response}
		if e.status == 200 && x.Expected != nil {
			e.expect(t, f, x.Expected)
			if f.searches != nil && e.want.Usage != nil {
				e.want.Usage[llm.Searches] = f.searches(t, e.body)
			}
		}
		list = append(list, e)
	}
	return list
}

// expect reads the official SDK's reading of the exchange.
func (e *exchange) expect(t *testing.T, f *family, expected []byte) {
	t.Helper()
	var want struct {
		Text, Reasoning string
		Calls           []struct {
			ID, Name  string
			Arguments any
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(expected, &want); err != nil {
		t.Fatalf("%s: %v", e.name, err)
	}
	e.want = &answer{Text: want.Text, Reasoning: want.Reasoning}
	for _, c := range want.Calls {
		text, ok := c.Arguments.(string)
		if !ok {
			e.parsed, text = true, marshal(t, c.Arguments)
		}
		e.want.Calls = append(e.want.Calls, llm.ToolCall{ID: c.ID, Name: c.Name, Arguments: text})
	}
	f.expect(t, e.want, expected)
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestRecordedFixtures(t *testing.T) {
	t.Parallel()
	for _, f := range families() {
		t.Run(f.dialect, func(t *testing.T) {
			t.Parallel()
			d := byName(t, f.dialect)
			list := recorded(t, &f)
			right := 0
			for _, e := range list {
				if t.Run(e.name, func(t *testing.T) { e.check(t, d) }) {
					right++
				}
			}
			t.Logf("fixtures of %s: %d of %d exchanges right", f.dialect, right, len(list))
		})
	}
}

// TestFixtureRequests checks that requests of real clients are decoded, and lose nothing through the tree.
func TestFixtureRequests(t *testing.T) {
	t.Parallel()
	for _, f := range families() {
		d := byName(t, f.dialect)
		for _, e := range recorded(t, &f) {
			first, dropped, err := transcode(d, d, e.sent, &llm.Quirks{})
			if err != nil || len(dropped) > 0 {
				t.Errorf("%s: dropped %q, error %v", e.name, dropped, err)
				continue
			}
			second, _, err := transcode(d, d, first, &llm.Quirks{})
			if err != nil || !bytes.Equal(first, second) {
				t.Errorf("%s: the second time it is another body, error %v", e.name, err)
			}
			if f.normal == nil || bytes.Contains(e.sent, []byte(`"functions"`)) {
				continue // OpenAI's functions become tools, which a golden case shows
			}
			if diff := cmp.Diff(f.normal(t, first), f.normal(t, e.sent)); diff != "" {
				t.Errorf("%s (-got +want)\n%s", e.name, diff)
			}
		}
	}
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
		if e.want == nil {
			return
		}
		e.compare(t, answerOf(r))
	}
}

func (e *exchange) compare(t *testing.T, got answer) {
	t.Helper()
	for i := range got.Calls {
		var v any
		if e.parsed && json.Unmarshal([]byte(got.Calls[i].Arguments), &v) == nil {
			got.Calls[i].Arguments = marshal(t, v)
		}
	}
	if diff := cmp.Diff(got, *e.want); diff != "" {
		t.Errorf("(-got +want)\n%s", diff)
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
	variants := map[string]io.Reader{
		"whole":       bytes.NewReader(e.body),
		"pieces of 1": &pieces{e.body, 1},
		"pieces of 7": &pieces{e.body, 7},
	}
	if d.Framing.ContentType == "text/event-stream" {
		lf := bytes.ReplaceAll(e.body, []byte("\r\n"), []byte("\n"))
		variants["CR LF, pieces of 7"] = &pieces{bytes.ReplaceAll(lf, []byte("\n"), []byte("\r\n")), 7}
		variants["comments"] = &pieces{bytes.ReplaceAll(lf, []byte("\n\n"), []byte("\n\n: keep-alive\n\n")), 11}
	}
	for name, r := range variants {
		got, done, err := decodeStream(d, r)
		if err != nil || !done {
			t.Errorf("%s: end marker %v, error %v", name, done, err)
			continue
		}
		if e.want != nil {
			e.compare(t, got)
		}
	}
}

// pieces returns its bytes in pieces of one size.
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
	in, dec := d.Framing.NewReader(r, 1<<20), d.NewDecoder(&llm.Quirks{})
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
			done = done || events[i].Kind == llm.EventDone || d.EndMarker == "" && events[i].Kind == llm.EventFinish
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
		if !ev.Partial {
			a.Usage = &llm.Usage{}
			*a.Usage = ev.Usage
		}
	case llm.EventToolCall:
		a.Calls = slices.Grow(a.Calls, ev.Tool.Index+1)[:max(len(a.Calls), ev.Tool.Index+1)]
		c := &a.Calls[ev.Tool.Index]
		c.ID += ev.Tool.ID
		c.Name += ev.Tool.Name
		c.Arguments += ev.Text
	}
}
