package schematest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/internal/llm"
)

// TestDocumentsMoveBetweenVendors moves conversations with documents over the vendors that cite them. Each answer cites
// one of the documents so far, and comes back. Neither schema nor rules refuse the next vendor's request, which asks
// for citations, has the earlier citations in its own form, and nothing of other vendors'.
func TestDocumentsMoveBetweenVendors(t *testing.T) {
	t.Parallel()
	client := slices.IndexFunc(clients(), func(c client) bool { return c.name == "anthropic" })
	var routes []*route
	for _, to := range targets() {
		if to.format == "anthropic" || to.format == "cohere" || to.format == "bedrock" && strings.Contains(to.model, "claude") {
			routes = append(routes, newRoute(t, clients()[client], to))
		}
	}
	const conversations = 60 // in CI's time
	led := 0
	for s := range tried(*seeds) {
		if led++; led > conversations {
			return
		}
		m := &documentMover{generator: newGenerator(s), t: t}
		for turn := range turns {
			m.ask(turn)
			r := one(m.generator, routes...)
			body := encoded(object{"model": "m", "max_tokens": 4096, "messages": m.said})
			a := r.client.asked(body)
			out, dropped, err := r.sent(a)
			if err != nil {
				t.Fatalf("-seed %d: %s refuses: %v\n%s", s, r.target.vendor(), err, body)
			}
			for _, v := range r.judged(out) {
				t.Errorf("-seed %d: %s gets %s\n%s\n%s\nis sent as\n%s", s, r.target.vendor(), v.Kind(), v, body, out)
			}
			m.judge(s, r, out, dropped)
			m.answer(r, a.tree)
			if t.Failed() {
				return
			}
		}
	}
}

// documentMover leads one conversation.
type documentMover struct {
	generator
	t         *testing.T
	said      list
	documents int
	cited     []string // of earlier answers
}

// ask adds a user's message, with a document at times, and in the first.
func (m *documentMover) ask(turn int) {
	content := list{object{"type": "text", "text": "What of it?"}}
	if turn == 0 || m.once(2) {
		d := object{"type": "document", "citations": object{"enabled": true}, "source": one(m.generator,
			object{"type": "text", "media_type": "text/plain", "data": "Plain 😀 " + fmt.Sprint(m.documents)},
			object{"type": "content", "content": list{object{"type": "text", "text": "Chunk ü " + fmt.Sprint(m.documents)}}})}
		m.some(d, map[string]func() any{"title": of(m.generator, "notes", "Größe (1).pdf"), "context": of(m.generator, "of 1999")})
		content = append(list{d}, content...)
		m.documents++
	}
	m.said = append(m.said, object{"role": "user", "content": content})
}

// judge checks that the target is asked for citations, and receives the earlier ones.
func (m *documentMover) judge(seed uint64, r *route, out []byte, dropped []string) {
	wants := map[string]string{"anthropic": `"citations":{"enabled":true}`, "bedrock": `"citations":{"enabled":true}`, "cohere": `"documents":[{"id":"doc:0`}
	history := map[string]string{"anthropic": `"cited_text":"`, "bedrock": `"sourceContent":[{"text":"`, "cohere": `"sources":[{"type":"document","id":"doc:`}
	if !bytes.Contains(out, []byte(wants[r.target.format])) || slices.Contains(dropped, "citations") {
		m.t.Errorf("-seed %d: %s gets no request for citations: %s", seed, r.target.vendor(), out)
	}
	if n := bytes.Count(out, []byte(history[r.target.format])); n != len(m.cited) || bytes.Contains(out, []byte("weir1")) {
		m.t.Errorf("-seed %d: %s gets %d earlier citations, want %d, and no marks: without %q %s", seed, r.target.vendor(), n, len(m.cited), dropped, out)
	}
}

// answer appends an answer of a target's, which cites a document as it has it.
func (m *documentMover) answer(r *route, tree *llm.Request) {
	known := &llm.Called{Documents: llm.DocumentsOf(tree.Messages)}
	s := llm.Source{Document: 1 + m.IntN(m.documents), Quote: fmt.Sprint("quote ", len(m.cited))}
	s.Place = known.Known(&s).Place
	s.Place.To = s.Place.From + 1
	if r.target.format == "cohere" && s.Place.Kind == llm.PlaceCharacters { // it cites all of it
		s.Place.To = len(s.Quote)
	}
	p := llm.Part{Kind: llm.PartText, Text: "So it is."}
	p.Cite(llm.Claim{End: len(p.Text), Source: s})
	reply := &llm.Reply{
		ID: "id", Created: 1, Model: r.target.model, Reported: true, ExtraOf: r.target.format,
		Choices: []llm.Choice{{Finish: llm.FinishStop, Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{p}}}},
	}
	told := r.out.EncodeReply(nil, reply)
	if !r.isOwn() {
		got, err := r.out.DecodeReply(told, r.quirks)
		if err != nil {
			m.t.Fatalf("%s: %v in %s", r.target.vendor(), err, told)
		}
		got.ID, got.Called = "msg_1", known
		told = r.in.EncodeReply(nil, got)
	}
	if !bytes.Contains(told, fmt.Appendf(nil, `"document_index":%d`, s.Document-1)) || !bytes.Contains(told, []byte(s.Quote)) {
		m.t.Errorf("%s cites document %d: the client got %s", r.target.vendor(), s.Document-1, told)
	}
	var answer object
	if err := json.Unmarshal(told, &answer); err != nil {
		m.t.Fatal(err)
	}
	m.said = append(m.said, object{"role": "assistant", "content": answer["content"]})
	m.cited = append(m.cited, s.Quote)
}
