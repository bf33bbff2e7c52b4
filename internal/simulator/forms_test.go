package simulator_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/simulator"
)

const greeted = "Hello! This is a demo: the words are made up, and no model was asked."

// clients returns one of each wire format with a client half, at the same simulator.
func clients(t *testing.T, s *simulator.Server) (all []client) {
	t.Helper()
	for _, d := range registrytest.All() {
		if d.DecodeReply != nil {
			all = append(all, client{t: t, d: d, sim: s})
		}
	}
	return all
}

// clientOf returns the one of that wire format.
func clientOf(t *testing.T, s *simulator.Server, name string) client {
	t.Helper()
	for _, c := range clients(t, s) {
		if c.d.Name == name {
			return c
		}
	}
	t.Fatalf("no wire format %s", name)
	return client{}
}

// TestFaultsOfEveryForm checks the ledger's record of a fault, in every wire format.
func TestFaultsOfEveryForm(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		model   string
		stream  bool
		outcome simulator.Outcome
		pieces  int64
	}{
		{"chat:fault=cut", true, simulator.Cut, 3},
		{"chat:fault=eof", true, simulator.Cut, 3},
		{"chat:fault=half-close,bytes=250", true, simulator.Cut, -1},
		{"chat:fault=error-event", true, simulator.Cut, 3},
		{"chat:fault=error-event", false, simulator.Rejected, 0},
		{"chat:fault=not-stream", true, simulator.Broken, 32},
		{"chat:fault=no-choices", true, simulator.Broken, 32},
		{"chat:fault=no-choices", false, simulator.Broken, 32},
		{"chat:fault=invalid-utf8", true, simulator.Broken, 32},
		{"chat:fault=invalid-utf8", false, simulator.Broken, 32},
		{"chat:fault=long-line,bytes=100000", true, simulator.Broken, 32},
		{"chat:fault=json-error", true, simulator.Broken, 0},
		{"chat:fault=malformed", false, simulator.Broken, 32},
		{"chat:fault=bad-crc", false, simulator.Broken, 32},
		{"chat:fault=context-length", true, simulator.Rejected, 0},
		{"chat:fault=content-policy", true, simulator.Rejected, 0},
		{"chat:fault=content-filter,at=2", true, simulator.Served, 2},
		{"chat:fault=gzip", true, simulator.Broken, 32},
		{"chat:chunk=1", true, simulator.Served, 32},
		{"chat:bom", false, simulator.Served, 32},
	} {
		for _, c := range clients(t, newSimulator(t, simulator.Options{})) {
			c.ask(tt.model, tt.stream)
			if rec := settled(t, c.sim); rec.Outcome != tt.outcome || tt.pieces >= 0 && rec.Pieces != tt.pieces {
				t.Errorf("%s, %s: the record has %s, %d pieces; want %s, %d", c.d.Name, tt.model, rec.Outcome, rec.Pieces, tt.outcome, tt.pieces)
			}
		}
	}
}

// TestOneSpoiledEvent checks that one of all events is spoiled, with a valid frame.
func TestOneSpoiledEvent(t *testing.T) {
	t.Parallel()
	for _, c := range clients(t, newSimulator(t, simulator.Options{})) {
		for _, option := range []string{"at=4", "at=900", "tokens=0"} {
			bad := 0
			for r := c.d.Framing.NewReader(strings.NewReader(c.ask("chat:fault=malformed,"+option, true).body), 1<<20); ; {
				ev, err := r.Next()
				if err != nil {
					break
				}
				if !json.Valid(ev.Data) && string(ev.Data) != "[DONE]" {
					bad++
				}
			}
			if bad != 1 {
				t.Errorf("%s, %s: %d events are not JSON, want 1", c.d.Name, option, bad)
			}
		}
	}
}

// TestOptionsOfEveryForm checks that options that a wire format cannot have are refused, and the rest work.
func TestOptionsOfEveryForm(t *testing.T) {
	t.Parallel()
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
		for _, c := range clients(t, newSimulator(t, simulator.Options{})) {
			want := map[string]string{"ollama": tt.lines, "bedrock": tt.binary}[c.d.Name]
			got := c.ask("chat:"+tt.option, true)
			switch {
			case want != "":
				if got.status != 400 || !strings.Contains(got.body, want) {
					t.Errorf("%s, %s: got %d %s, want 400 and %q", c.d.Name, tt.option, got.status, got.body, want)
				}
			case got.status != 200 || got.err != nil || !strings.HasPrefix(got.text, greeted) || !utf8.ValidString(got.text):
				t.Errorf("%s, %s: got %+v", c.d.Name, tt.option, got)
			case tt.option == "eol=crlf" && strings.Count(got.body, "\r\n") != strings.Count(got.body, "\n"):
				t.Errorf("%s, %s: got %q", c.d.Name, tt.option, got.body)
			}
		}
	}
}

// TestModelInPath checks that a model name in the path survives its encoding, and that two models answer the same body
// differently.
func TestModelInPath(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{Clock: func() time.Time { return epoch }})
	for base, rest := range map[string][2]string{
		"/model/":         {"/converse", `{"messages":[{"role":"user","content":[{"text":"Hi"}]}]}`},
		"/v1beta/models/": {":generateContent", `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`},
	} {
		for _, w := range ways(t, s) {
			for _, model := range []string{
				"chat:ttft=1ms,tokens=4", "chat%3Attft%3D1ms%2Ctokens%3D4", "chat:ttft%3d1ms,tokens%3d4", "%63hat:ttft=1ms,tokens=4",
			} {
				got := w.askAt(t.Context(), base+model+rest[0], rest[1])
				if rec := settled(t, s); got.status != 200 || rec.Model != "chat:ttft=1ms,tokens=4" || rec.Pieces != 4 || rec.Stream {
					t.Errorf("%s, %s%s: got %d %s, %+v", w.name, base, model, got.status, got.body, rec)
				}
			}
			answers := map[string]bool{}
			for _, model := range []string{"chat:tokens=40", "chat:tokens=41", "chat%3Atokens=41", "chat:tokens=40"} {
				answers[w.askAt(t.Context(), base+model+rest[0], rest[1]).body] = true
			}
			if len(answers) != 2 {
				t.Errorf("%s, %s: two models gave %d answers", w.name, base, len(answers))
			}
		}
	}
}

// TestKeysOfEachVendor checks that keys are accepted in the headers of all vendors, in Gemini's query, and as the id in
// a request signed for AWS.
func TestKeysOfEachVendor(t *testing.T) {
	t.Parallel()
	w := ways(t, newSimulator(t, simulator.Options{APIKeys: []string{"right"}}))[1]
	for _, tt := range []struct{ query, header, value string }{
		{"", "Authorization", "Bearer KEY"},
		{"", "X-Goog-Api-Key", "KEY"},
		{"?alt=sse&key=KEY", "X-Nothing", ""},
		{"", "Authorization", "AWS4-HMAC-SHA256 Credential=KEY/20261121/eu-west-1/bedrock/aws4_request, SignedHeaders=host, Signature=0"},
	} {
		for key, want := range map[string]int{"right": 200, "wrong": 401} {
			put := func(s string) string { return strings.Replace(s, "KEY", key, 1) }
			got := w.askAt(t.Context(), put("/v1beta/models/chat:generateContent"+tt.query), `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`, tt.header, put(tt.value))
			if got.status != want {
				t.Errorf("%s %s: got %d %s, want %d", tt.query, put(tt.value), got.status, got.body, want)
			}
		}
	}
}

func userSays(text string) llm.Message {
	return llm.Message{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.PartText, Text: text}}}
}

func begun(text string) llm.Message {
	return llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartText, Text: text}}}
}
