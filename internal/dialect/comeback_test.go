package dialect_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/dialect"
	"weir/internal/llm"
)

// answers generates answers of a provider of a wire format: thinking with its vendor's signature, text, calls.
func answers(d *dialect.Dialect) *rapid.Generator[[]llm.Part] {
	return rapid.Custom(func(t *rapid.T) (parts []llm.Part) {
		maker := d.Name
		if d.Name == "bedrock" {
			maker = "anthropic"
		}
		most := 2
		if maker != "anthropic" && maker != "responses" && maker != "gemini" { // thoughts without a proof are one
			most = 1
		}
		for range rapid.IntRange(0, most).Draw(t, "thoughts") {
			parts = append(parts, thought(t, maker))
		}
		text := llm.Part{Kind: llm.PartText, Text: words.Draw(t, "text")}
		signs := d.Name == "gemini" && rapid.Bool().Draw(t, "signs")
		if signs {
			text.Signature, text.Maker = base64s.Draw(t, "signature"), "gemini"
		}
		parts = append(parts, text)
		for i := range rapid.IntRange(0, 2).Draw(t, "calls") {
			c := call(t, i)
			c.Call.Extra, c.Call.Arguments, c.Signature, c.Maker = nil, `{"x":1}`, "", ""
			if signs && i == 0 {
				c.Signature, c.Maker = base64s.Draw(t, "signature"), "gemini"
			}
			parts = append(parts, c)
		}
		return parts
	})
}

// eventsOf splits an answer into events of a stream, as its vendor's decoder returns them.
func eventsOf(parts []llm.Part) (events []llm.Event) {
	calls := 0
	for i := range parts {
		p := &parts[i]
		half := len(p.Text) / 2
		for half > 0 && !utf8.RuneStart(p.Text[half]) {
			half--
		}
		switch p.Kind {
		case llm.PartReasoning:
			events = append(events, inPieces(llm.EventReasoning, p, half)...)
			if p.Maker != "gemini" && (p.Signature != "" || p.Redacted != "") {
				events = append(events, llm.Event{Kind: llm.EventReasoning, Signature: p.Signature, Redacted: p.Redacted, Maker: p.Maker})
			}
		case llm.PartText:
			events = append(events, inPieces(llm.EventText, p, half)...)
		case llm.PartToolCall:
			tool := llm.ToolDelta{Index: calls, ID: p.Call.ID, Name: p.Call.Name}
			events = append(events, llm.Event{Kind: llm.EventToolCall, Tool: tool, Signature: p.Signature, Maker: p.Maker},
				llm.Event{Kind: llm.EventToolCall, Tool: llm.ToolDelta{Index: calls}, Text: p.Call.Arguments})
			calls++
		case llm.PartRefusal:
			events = append(events, llm.Event{Kind: llm.EventRefusal, Text: p.Text})
		case llm.PartImage:
			events = append(events, llm.Event{Kind: llm.EventOther, Media: p.Media})
		}
	}
	return events
}

// inPieces splits a text into two pieces. The second one has Google's signature.
func inPieces(kind llm.EventKind, p *llm.Part, half int) (events []llm.Event) {
	maker := p.Maker
	for _, s := range []string{p.Text[:half], p.Text[half:]} {
		if s != "" {
			events = append(events, llm.Event{Kind: kind, Text: s, Maker: maker})
		}
	}
	if n := len(events); n > 0 && p.Maker == "gemini" {
		events[n-1].Signature = p.Signature
	}
	return events
}

// TestSignaturesReturnToTheirProvider checks, for every client API and every provider, that the provider receives its
// own signatures on their parts if a client sends an answer back unchanged, whole or streamed. Another vendor's
// provider receives none of them, nor does a provider of the client's own wire format, to which the body passes
// unchanged.
func TestSignaturesReturnToTheirProvider(t *testing.T) {
	t.Parallel()
	for _, clientAPI := range clientAPIs() {
		for _, provider := range providers() {
			if takeBack[clientAPI.Name] == nil || provider.Name == clientAPI.Name {
				continue
			}
			t.Run(clientAPI.Name+"/"+provider.Name, func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) {
					said := answers(provider).Draw(t, "answer")
					stream := rapid.Bool().Draw(t, "stream")
					c := comeback{t, clientAPI, conversationOf(t, clientAPI, provider, said, stream)}
					c.reaches(provider, said)
					for _, other := range providers() {
						c.spares(other, provider, said)
					}
					c.untouched(provider, said)
				})
			})
		}
	}
}

// comeback holds a request that a client builds from an answer.
type comeback struct {
	t         *rapid.T
	clientAPI *dialect.Dialect
	body      []byte
}

// proofs returns the thoughts and the signed parts of a message.
func proofs(parts []llm.Part) (list []llm.Part) {
	for _, p := range parts {
		const none = "skip_thought_signature_validator" // Google's placeholder for a call that no model of Google's made
		if p.Kind == llm.PartReasoning || p.Signature != "" && p.Signature != none {
			list = append(list, p)
		}
	}
	return list
}

// strongest returns the model of a provider that accepts the most signatures.
func strongest(d *dialect.Dialect) string { return modelsOf(d)[0] }

func (c comeback) tree(model string) *llm.Request {
	r := decoded(c.t, c.clientAPI, c.body)
	r.Model = model
	return r
}

// reaches checks that the provider receives its own signatures.
func (c comeback) reaches(provider *dialect.Dialect, said []llm.Part) {
	body, dropped, err := provider.EncodeRequest(c.tree(strongest(provider)), &llm.Quirks{})
	if err != nil {
		c.t.Fatalf("of %s: refused: %v", c.body, err)
	}
	var got []llm.Part
	r := decoded(c.t, provider, body)
	for i := range r.Messages {
		if m := &r.Messages[i]; m.Role == llm.RoleAssistant {
			got = append(got, proofs(m.Parts)...)
		}
	}
	if want := proofs(said); provider.Name != "openai" && provider.Name != "cohere" { // these accept no thinking
		if diff := cmp.Diff(got, want); diff != "" {
			c.t.Fatalf("%s arrived as %s, dropped %q (-got +want)\n%s", c.body, body, dropped, diff)
		}
	}
}

// spares checks that another vendor's provider accepts the conversation, and receives no signature.
func (c comeback) spares(other, provider *dialect.Dialect, said []llm.Part) {
	body, _, err := other.EncodeRequest(c.tree(strongest(other)), &llm.Quirks{})
	if err != nil {
		c.t.Fatalf("%s: of %s: refused: %v", other.Name, c.body, err)
	}
	if other.Name == provider.Name || isClaude(other) && isClaude(provider) {
		return
	}
	c.lacks(body, said)
}

func (c comeback) lacks(body []byte, said []llm.Part) {
	for _, p := range proofs(said) {
		for _, s := range []string{p.Signature, p.Redacted} {
			if s != "" && bytes.Contains(body, []byte(`"`+s+`"`)) || bytes.Contains(body, []byte("weir1.")) || bytes.Contains(body, []byte("d2VpcjEu")) {
				c.t.Fatalf("%s contains the signature %q", body, s)
			}
		}
	}
}

// untouched checks that a provider of the client API's own wire format receives no other vendor's signature, although
// it receives the client's own bytes.
func (c comeback) untouched(provider *dialect.Dialect, said []llm.Part) {
	head, err := c.clientAPI.Scan(c.body, arrived(c.clientAPI))
	if err != nil {
		c.t.Fatal(err)
	}
	body := c.clientAPI.Splice(nil, c.body, &head, llm.Splice{Model: "m"}, &llm.Quirks{})
	if _, err := c.clientAPI.Scan(body, arrived(c.clientAPI)); err != nil {
		c.t.Fatalf("%s became %s: %v", c.body, body, err)
	}
	if !isClaude(c.clientAPI) || !isClaude(provider) {
		c.lacks(body, said)
	}
}

// isClaude reports whether a provider signs as Claude does, wherever it runs.
func isClaude(d *dialect.Dialect) bool { return d.Name == "anthropic" || d.Name == "bedrock" }

// conversationOf builds the next request of a client that has received an answer.
func conversationOf(t *rapid.T, clientAPI, provider *dialect.Dialect, said []llm.Part, stream bool) []byte {
	client := takeBack[clientAPI.Name]
	const id = "0190f5c8-0000-7000-8000-000000000000"
	var answer any
	if stream {
		enc := clientAPI.NewEncoder(llm.Meta{ID: clientAPI.IDPrefix + id, Model: "m"})
		var out []byte
		for _, ev := range eventsOf(said) {
			out = enc.Append(out, &ev)
		}
		out = enc.Finish(out, &llm.Final{Finish: []llm.FinishReason{llm.FinishStop}})
		answer = client.stream(chunksOf(t, clientAPI, out))
	} else {
		reply := llm.Reply{ID: clientAPI.IDPrefix + id, Model: "m", ExtraOf: provider.Name, Choices: []llm.Choice{{
			Finish: llm.FinishStop, Message: llm.Message{Role: llm.RoleAssistant, Parts: said},
		}}}
		answer = client.whole(object(t, clientAPI.EncodeReply(nil, &reply)))
	}
	var ids []string
	for i := range said {
		if c := said[i].Call; c != nil {
			ids = append(ids, c.ID)
		}
	}
	body, err := json.Marshal(client.body(answer, ids))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func object(t *rapid.T, data []byte) (m map[string]any) {
	t.Helper()
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return m
}

func chunksOf(t *rapid.T, d *dialect.Dialect, stream []byte) (chunks []map[string]any) {
	frames := d.Framing.NewReader(bytes.NewReader(stream), 1<<20)
	for {
		f, err := frames.Next()
		if errors.Is(err, io.EOF) {
			return chunks
		}
		if err != nil {
			t.Fatal(err)
		}
		if string(f.Data) != "[DONE]" {
			chunks = append(chunks, object(t, f.Data))
		}
	}
}
