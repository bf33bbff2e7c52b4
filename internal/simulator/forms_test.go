package simulator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"weir/internal/rawjson"
	"weir/internal/simulator"
)

// askToy asks a made-up wire format, in memory.
func askToy(t *testing.T, s *simulator.Server, f *toy, model string, stream bool, messages ...toyMessage) (heard, simulator.Record) {
	t.Helper()
	path, body := f.ask(model, stream, messages...)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	got := way{"memory", "http://demo", s.RoundTripper()}.askAt(ctx, path, body)
	return got, settled(t, s)
}

// events reads a reply as one event, or all events of a stream, and how the
// stream ended: nil for io.EOF.
func (t *toy) events(h heard) (names []string, datas [][]byte, err error) {
	if h.header.Get("Content-Type") == "application/json" {
		return nil, [][]byte{[]byte(h.body)}, nil
	}
	for r := t.framing.NewReader(strings.NewReader(h.body), 1<<20); ; {
		ev, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names, datas, nil
		}
		if err != nil {
			return names, datas, err
		}
		names, datas = append(names, string(ev.Name)), append(datas, bytes.Clone(ev.Data))
	}
}

// text is the text, or the thinking or the signature, that events hold.
func text(datas [][]byte, what string) (text string) {
	for _, data := range datas {
		text += rawjson.Text(rawjson.Get(data, "delta", what)) + rawjson.Text(rawjson.Get(data, "message", what))
	}
	return text
}

// told is the usage that events tell, input and output tokens of each.
func (t *toy) toldIn(datas [][]byte) (told []string) {
	for _, data := range datas {
		for _, path := range t.told {
			in, out := rawjson.Get(data, path[0]...), rawjson.Get(data, path[1]...)
			if in != nil || out != nil {
				told = append(told, string(in)+"/"+string(out))
			}
		}
	}
	return told
}

const greeted = "Hello! This is a demo: the words are made up, and no model was asked."

func TestEveryFormServes(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{Dialects: toyDialects()})
	for _, f := range toys {
		for _, stream := range []bool{false, true} {
			got, rec := askToy(t, s, f, "chat:tokens=19,prompt=100", stream)
			_, datas, err := f.events(got)
			if err != nil || text(datas, "text") != greeted {
				t.Errorf("%s, stream %t: got %q, %v; want %q", f.name, stream, text(datas, "text"), err, greeted)
			}
			if rec.Outcome != simulator.Served || rec.Dialect != f.name || rec.Reported == nil || rec.EndMarker != (stream && f.marker != "") || rec.Stream != stream {
				t.Errorf("%s, stream %t: record %+v", f.name, stream, rec)
			}
		}
	}
}

func TestUsageOfEveryForm(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{Dialects: toyDialects()})
	for _, tt := range []struct{ variant, stream, whole string }{
		{"missing", "", ""},
		{"none", "null/null", "null/null"},
		{"zero", "0/0", "0/0"},
		{"nodetails", "100/32", "100/32"},
		{"over", "100/1000032", "100/1000032"},
		{"negative", "-100/-32", "-100/-32"},
		{"huge", "9223372036854775808/9223372036854775808", "9223372036854775808/9223372036854775808"},
		{"float", "100.5/32.5", "100.5/32.5"},
		{"twice", "100/32 100/32", "100/32"},
		{"decreasing", "1100/132 100/32", "100/32"},
	} {
		for _, f := range toys {
			for _, stream := range []bool{false, true} {
				got, rec := askToy(t, s, f, "chat:prompt=100,usage="+tt.variant, stream)
				names, datas, err := f.events(got)
				want := tt.whole
				if stream {
					want = f.beforeTold(tt.variant) + tt.stream
				}
				if f.name != "lines" {
					want = strings.ReplaceAll(want, "null/null", "") // the whole object is null
				}
				if told := strings.Join(f.toldIn(datas), " "); err != nil || told != strings.TrimSpace(want) {
					t.Errorf("%s, usage=%s, stream %t: told %q, %v; want %q", f.name, tt.variant, stream, told, err, want)
				}
				if tt.variant == "nodetails" && (strings.Contains(got.body, "etails") || strings.Contains(got.body, "cache\"")) {
					t.Errorf("%s, usage=nodetails: %s", f.name, got.body)
				}
				checkRaw(t, f, tt.variant, &rec)
				if !stream {
					continue
				}
				if text(datas, "text") == "" || !strings.HasSuffix(got.body, f.marker) || strings.Count(got.body, `"done":true`) > 1 ||
					strings.Count(strings.Join(names, " "), "response.completed") > 1 || strings.Count(got.body, "finishReason") > 1 {
					t.Errorf("%s, usage=%s: not a stream with one end: %s", f.name, tt.variant, got.body)
				}
			}
		}
	}
}

// beforeTold is what a stream tells of its usage at the start.
func (t *toy) beforeTold(variant string) string {
	if t.name != "named" {
		return ""
	}
	return map[string]string{
		"zero": "0/1 ", "negative": "-100/-1 ", "huge": "9223372036854775808/9223372036854775808 ", "float": "100.5/1.5 ",
		"nodetails": "100/1 ", "over": "100/1 ", "twice": "100/1 ", "decreasing": "100/1 ",
	}[variant]
}

// checkRaw holds that the ledger knows what was told: in numbers where the
// vocabulary has them, in text where not.
func checkRaw(t *testing.T, f *toy, variant string, rec *simulator.Record) {
	t.Helper()
	byText := strings.Contains(" none nodetails negative huge float ", variant)
	if byText != json.Valid([]byte(rec.ReportedRaw)) || (rec.Reported != nil) == (byText || variant == "missing") {
		t.Errorf("%s, usage=%s: ledger says %v and %q", f.name, variant, rec.Reported, rec.ReportedRaw)
	}
}

// formCase is what a client of every form sees of a fault.
type formCase struct {
	model   string
	stream  bool
	outcome simulator.Outcome
	pieces  int64
	has     string
	lacks   string
}

var formCases = []formCase{
	{"chat:fault=cut", true, simulator.Cut, 3, " This", "demo"},
	{"chat:fault=eof", true, simulator.Cut, 3, " This", "demo"},
	{"chat:fault=half-close,bytes=250", true, simulator.Cut, -1, "Hello", "asked"},
	{"chat:fault=error-event", true, simulator.Cut, 3, `"error":{`, " is"},
	{"chat:fault=error-event", false, simulator.Rejected, 0, `"error":{`, ""},
	{"chat:fault=not-stream", true, simulator.Broken, 32, `{"message":{`, "piece"},
	{"chat:fault=no-choices", true, simulator.Broken, 32, "", " This"},
	{"chat:fault=no-choices", false, simulator.Broken, 32, `"finish"`, "This"},
	{"chat:fault=invalid-utf8", true, simulator.Broken, 32, "\xff\xfe", ""},
	{"chat:fault=invalid-utf8", false, simulator.Broken, 32, "\xff\xfe", ""},
	{"chat:fault=long-line,bytes=100000", true, simulator.Broken, 32, strings.Repeat("x", 100000), ""},
	{"chat:fault=json-error", true, simulator.Broken, 0, `"error":{"code":400`, "piece"},
	{"chat:fault=malformed", false, simulator.Broken, 32, `{"message"`, `"finish"`},
	{"chat:fault=bad-crc", false, simulator.Broken, 32, `{"message"`, `"finish"`},
	{"chat:fault=context-length", true, simulator.Rejected, 0, `"code":400,`, "context_length_exceeded"},
	{"chat:fault=content-policy", true, simulator.Rejected, 0, `"code":400,`, ""},
	{"chat:fault=content-filter,at=2", true, simulator.Served, 2, "!", " This"},
	{"chat:fault=gzip", true, simulator.Broken, 32, "\x1f\x8b", ""},
	{"chat:chunk=1", true, simulator.Served, 32, " This", ""},
	{"chat:bom", false, simulator.Served, 32, "\xef\xbb\xbf{", ""},
}

func TestFaultsOfEveryForm(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{Dialects: toyDialects()})
	for _, tt := range formCases {
		for _, f := range toys {
			got, rec := askToy(t, s, f, tt.model, tt.stream)
			if rec.Outcome != tt.outcome || tt.pieces >= 0 && rec.Pieces != tt.pieces {
				t.Errorf("%s, %s: ledger says %s, %d pieces; want %s, %d", f.name, tt.model, rec.Outcome, rec.Pieces, tt.outcome, tt.pieces)
			}
			if !strings.Contains(got.body, tt.has) || tt.lacks != "" && strings.Contains(got.body, tt.lacks) {
				t.Errorf("%s, %s: got %.500q, want %.100q in it and not %q", f.name, tt.model, got.body, tt.has, tt.lacks)
			}
		}
	}
}

// An event that is spoiled is one; its frame, and all others, are as they
// should be.
func TestOneSpoiledEvent(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{Dialects: toyDialects()})
	for _, f := range toys {
		for model, at := range map[string]int{"chat:fault=malformed,at=4": 4, "chat:fault=malformed,at=900": 31, "chat:fault=malformed,tokens=0": 0, "chat:fault=bad-crc,at=4": 4} {
			got, _ := askToy(t, s, f, model, true)
			names, datas, err := f.events(got)
			if f.name == "binary" && strings.Contains(model, "bad-crc") {
				if !errors.Is(err, errChecksum) || len(names) != at {
					t.Errorf("%s, %s: %d events, then %v", f.name, model, len(names), err)
				}
				continue
			}
			var bad []int
			for i, data := range datas {
				if !json.Valid(data) && string(data) != "[DONE]" {
					bad = append(bad, i)
				}
			}
			if f.start != "" {
				at++
			}
			if strings.Contains(model, "tokens=0") {
				at = len(datas) - 1
			}
			if err != nil || len(bad) != 1 || bad[0] != at {
				t.Errorf("%s, %s: events %v are not JSON, %v; want %d", f.name, model, bad, err, at)
			}
		}
	}
}

// A stream without its end marker is whole but for that, and the usage in it;
// where there is none to leave out, nothing happens.
func TestNoEndOfEveryForm(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{Dialects: toyDialects()})
	for _, f := range toys {
		got, rec := askToy(t, s, f, "chat:fault=no-end", true)
		_, datas, err := f.events(got)
		if err != nil || !strings.HasPrefix(text(datas, "text"), greeted) {
			t.Errorf("%s: got %q, %v", f.name, got.body, err)
		}
		marked, inEvent := f.marker != "", f.name == "states"
		if marked && strings.HasSuffix(got.body, f.marker) || inEvent && strings.Contains(got.body, "response.completed") {
			t.Errorf("%s: got the end marker: %q", f.name, got.body)
		}
		if spared := rec.Outcome == simulator.Served && rec.Fault == ""; spared != (!marked && !inEvent) {
			t.Errorf("%s: record %+v", f.name, rec)
		}
		if (rec.Reported == nil) != inEvent || rec.EndMarker {
			t.Errorf("%s: reported %v, end marker %v", f.name, rec.Reported, rec.EndMarker)
		}
	}
}

// What a form cannot have is refused; the rest it has.
func TestOptionsOfEveryForm(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{Dialects: toyDialects()})
	for _, tt := range []struct{ option, lines, binary string }{
		{"comments", "only server-sent events have comments", "only server-sent events have comments"},
		{"bom", "only server-sent events may begin", "only server-sent events may begin"},
		{"eol=lf", "", ""},
		{"eol=crlf", "", "a binary one has no lines"},
		{"eol=cr", "a line of JSON ends in LF or CR LF", "a binary one has no lines"},
		{"eol=mixed", "a line of JSON ends in LF or CR LF", "a binary one has no lines"},
		{"chunk=3", "", ""},
		{"unicode", "", ""},
	} {
		for _, f := range toys {
			want := map[string]string{"lines": tt.lines, "binary": tt.binary}[f.name]
			got, _ := askToy(t, s, f, "chat:"+tt.option, true)
			if want != "" {
				if got.status != 400 || !strings.Contains(got.body, want) {
					t.Errorf("%s, %s: got %d %s, want 400 and %q", f.name, tt.option, got.status, got.body, want)
				}
				continue
			}
			_, datas, err := f.events(got)
			if got.status != 200 || err != nil || !strings.HasPrefix(text(datas, "text"), greeted) || !utf8.ValidString(text(datas, "text")) {
				t.Errorf("%s, %s: got %d %q, %v", f.name, tt.option, got.status, got.body, err)
			}
			if tt.option == "eol=crlf" && strings.Count(got.body, "\r\n") != strings.Count(got.body, "\n") {
				t.Errorf("%s, %s: got %q", f.name, tt.option, got.body)
			}
		}
	}
}

// A model name that stands in the path survives the encoding of the path, and
// answers of two models to the same body are two.
func TestModelInPath(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{Dialects: toyDialects(), Clock: func() time.Time { return epoch }})
	body := `{"messages":[{"role":"user","text":"Hi"}]}`
	for _, w := range ways(t, s) {
		for _, base := range []string{"/model/", "/v1beta/models/"} {
			for _, model := range []string{
				"chat:ttft=1ms,tokens=4", "chat%3Attft%3D1ms%2Ctokens%3D4", "chat:ttft%3d1ms,tokens%3d4", "%63hat:ttft=1ms,tokens=4",
			} {
				got := w.askAt(t.Context(), base+model+"/whole", body)
				if rec := settled(t, s); got.status != 200 || rec.Model != "chat:ttft=1ms,tokens=4" || rec.Pieces != 4 || rec.Stream {
					t.Errorf("%s, %s%s: got %d %s, %+v", w.name, base, model, got.status, got.body, rec)
				}
			}
		}
		answers := map[string]bool{}
		for _, model := range []string{"chat:tokens=40", "chat:tokens=41", "chat%3Atokens=41", "chat:tokens=40", "chat:tokens=41"} {
			answers[w.askAt(t.Context(), "/model/"+model+"/whole", body).body] = true
		}
		if len(answers) != 2 {
			t.Errorf("%s: two models gave %d answers", w.name, len(answers))
		}
		streamed := w.askAt(t.Context(), "/v1beta/models/chat:tokens=40/stream", body)
		_, datas, _ := toys[2].events(streamed)
		_, whole, _ := toys[2].events(w.askAt(t.Context(), "/v1beta/models/chat:tokens=40/whole", body))
		if streamed.header.Get("Content-Type") != "text/event-stream" || text(datas, "text") != text(whole, "text") || text(whole, "text") == "" {
			t.Errorf("%s: streamed %q, whole %q", w.name, text(datas, "text"), text(whole, "text"))
		}
	}
}

// Keys come in the headers of all vendors, in Gemini's query, and as the id in
// a request signed for AWS.
func TestKeys(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{Dialects: toyDialects(), APIKeys: []string{"right"}})
	w := ways(t, s)[1]
	for _, tt := range []struct{ query, header, value string }{
		{"", "Authorization", "Bearer right"},
		{"", "X-Goog-Api-Key", "right"},
		{"?alt=sse&key=right", "", ""},
		{"", "Authorization", "AWS4-HMAC-SHA256 Credential=right/20261121/eu-west-1/bedrock/aws4_request, SignedHeaders=host, Signature=0"},
	} {
		header := []string{tt.header, tt.value}
		if tt.header == "" {
			header = nil
		}
		for path, want := range map[string]int{"/model/chat/whole" + tt.query: 200, "/model/chat/whole" + strings.ReplaceAll(tt.query, "right", "wrong"): 200} {
			if strings.Contains(path, "wrong") {
				want = 400 // the only status that the made-up formats know
			}
			if got := w.askAt(t.Context(), path, `{"messages":[{"role":"user","text":"Hi"}]}`, header...); got.status != want {
				t.Errorf("%s %s: got %d %s, want %d", path, tt.value, got.status, got.body, want)
			}
		}
	}
}
