package schematest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/internal/dialect/callid"
	"weir/internal/dialect/rules"
	"weir/internal/llm"
)

// turns is the number of answers in a conversation, each of another vendor's model.
const turns = 10

// TestConversationsMoveBetweenVendors has a model of another vendor generate each answer of a conversation, in its own
// wire format, with its ids, its thinking and its signatures. The client sends the answer back like the SDKs of its
// API. Neither schema nor rules refuse the next vendor's request, and no vendor receives another one's signatures.
func TestConversationsMoveBetweenVendors(t *testing.T) {
	t.Parallel()
	for _, c := range clients() {
		if historyOf[c.name].request == nil {
			continue // its conversations have no answers
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var routes []*route
			for _, to := range targets() {
				r := newRoute(t, c, to)
				r.judgeBy(func(rule *rules.Rule) bool {
					_, isID := rule.Ask.(rules.CallIDs) // which all are of other vendors
					return isID || rule.Own || !r.isOwn()
				})
				routes = append(routes, r)
			}
			kinds := map[string]bool{}
			for s := range tried(*seeds) {
				m := &mover{generator: newGenerator(s), t: t, history: historyOf[c.name], secrets: map[string]string{}}
				m.move(routes, func(kind, text string) {
					if !kinds[kind] {
						t.Errorf("-seed %d: %s\n%s", s, kind, text)
					}
					kinds[kind] = true
				})
			}
		})
	}
}

// mover leads one conversation from vendor to vendor.
type mover struct {
	generator
	t       *testing.T
	history history
	said    list
	secrets map[string]string // the signed values, and their vendors
	count   int
}

// history simulates how a client API's SDKs store a conversation.
type history struct {
	request func(said list) object
	user    func(text string) object
	answer  func(reply object) list
	results func(calls []call) list
}

var historyOf = map[string]history{
	"openai": {
		request: func(said list) object {
			return object{"model": "m", "messages": said, "tools": list{object{"type": "function", "function": object{"name": "f", "parameters": object{"type": "object"}}}}}
		},
		user:   func(text string) object { return object{"role": "user", "content": text} },
		answer: func(r object) list { return list{at(r, "choices", 0, "message")} },
		results: func(calls []call) (all list) {
			for _, c := range calls {
				all = append(all, object{"role": "tool", "tool_call_id": c.id, "content": "fine"})
			}
			return all
		},
	},
	"responses": {
		request: func(said list) object {
			return object{"model": "m", "input": said, "tools": list{object{"type": "function", "name": "f", "parameters": object{"type": "object"}}}}
		},
		user:   func(text string) object { return object{"role": "user", "content": text} },
		answer: func(r object) list { return r["output"].(list) },
		results: func(calls []call) (all list) {
			for _, c := range calls {
				all = append(all, object{"type": "function_call_output", "call_id": c.id, "output": "fine"})
			}
			return all
		},
	},
	"anthropic": {
		request: func(said list) object {
			return object{"model": "m", "max_tokens": 4096, "messages": said, "tools": list{object{"name": "f", "input_schema": object{"type": "object"}}}}
		},
		user:   func(text string) object { return object{"role": "user", "content": text} },
		answer: func(r object) list { return list{object{"role": "assistant", "content": r["content"]}} },
		results: func(calls []call) list {
			var content list
			for _, c := range calls {
				content = append(content, object{"type": "tool_result", "tool_use_id": c.id, "content": "fine"})
			}
			return list{object{"role": "user", "content": content}}
		},
	},
	"gemini": {
		request: func(said list) object {
			return object{"contents": said, "tools": list{object{"functionDeclarations": list{object{"name": "f"}}}}}
		},
		user:   func(text string) object { return object{"role": "user", "parts": list{object{"text": text}}} },
		answer: func(r object) list { return list{at(r, "candidates", 0, "content")} },
		results: func(calls []call) list {
			var parts list
			for _, c := range calls {
				result := object{"name": c.name, "response": object{"output": "fine"}}
				if c.id != "" {
					result["id"] = c.id
				}
				parts = append(parts, object{"functionResponse": result})
			}
			return list{object{"role": "user", "parts": parts}}
		},
	},
}

func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.(object)[step]
		case int:
			v = v.(list)[step]
		}
	}
	return v
}

// move moves the conversation, and reports refusals.
func (m *mover) move(routes []*route, fail func(kind, text string)) {
	m.said = append(m.said, m.history.user(m.text()))
	for range turns {
		r := one(m.generator, routes...)
		body := encoded(m.history.request(m.said))
		out, _, err := r.sent(r.client.asked(body))
		if err != nil {
			fail(fmt.Sprintf("%s refuses: %v", r.target.vendor(), err), string(body))
			return
		}
		for _, v := range r.judged(out) {
			fail(r.target.vendor()+" gets "+v.Kind(), fmt.Sprintf("%s\n%s\nis sent as\n%s", v, body, out))
		}
		for secret, maker := range m.secrets {
			if maker != makerOf(r.target) && bytes.Contains(out, []byte(secret)) {
				fail(r.target.vendor()+" gets what "+maker+" signed", fmt.Sprintf("%s\n%s\nis sent as\n%s", secret, body, out))
			}
		}
		if bytes.Contains(out, []byte("weir1.")) || bytes.Contains(out, []byte("d2VpcjEu")) {
			fail(r.target.vendor()+" gets a sealed proof", fmt.Sprintf("%s\nis sent as\n%s", body, out))
		}
		m.answered(r)
	}
}

// answered appends the answer of a target, and the client's next message.
func (m *mover) answered(r *route) {
	reply := &llm.Reply{
		ID: "id" + fmt.Sprint(m.count), Created: 1, Model: r.target.model, Reported: true, ExtraOf: r.target.format,
		Choices: []llm.Choice{{Finish: llm.FinishStop, Message: llm.Message{Role: llm.RoleAssistant, Parts: m.parts(r.target)}}},
	}
	body := r.out.EncodeReply(nil, reply)
	got, err := r.out.DecodeReply(body, r.quirks)
	if err != nil {
		m.t.Fatalf("%s: %v in %s", r.target.vendor(), err, body)
	}
	switch {
	case !r.isOwn():
		m.count++
		callid.NewNamer([16]byte{15: byte(m.count)}, r.target.provider, r.before, r.names).Reply(got)
		got.ID = r.in.IDPrefix + fmt.Sprintf("0190f5c8-0000-7000-8000-%012d", m.count) // as the gateway's ids of requests
		body = r.in.EncodeReply(nil, got)
	case r.in.NameCalls != nil:
		m.count++
		namer := callid.NewNamer([16]byte{15: byte(m.count)}, r.target.provider, r.before, r.names)
		body = r.in.NameCalls(body, func(_, _ int, name string) string { return namer.ID("", name, true) })
		got, _ = r.out.DecodeReply(body, r.quirks)
	}
	var told object
	if err := json.Unmarshal(body, &told); err != nil {
		m.t.Fatalf("%s: %v in %s", r.target.vendor(), err, body)
	}
	m.said = append(m.said, m.history.answer(told)...)
	var calls []call
	for _, p := range got.Choices[0].Message.Parts {
		if p.Call != nil {
			id := p.Call.ID
			if p.Call.MadeUp { // its id was not made from it
				id = ""
			}
			calls = append(calls, call{id, p.Call.Name})
		}
	}
	if len(calls) > 0 {
		m.said = append(m.said, m.history.results(calls)...)
	}
	if len(calls) == 0 || m.once(4) && !slices.Contains([]string{"anthropic"}, r.in.Name) {
		m.said = append(m.said, m.history.user(m.text()))
	}
}

// makerOf returns the vendor that signs the thinking of a target's models, and accepts it back.
func makerOf(to target) string {
	switch {
	case strings.Contains(to.model, "claude"):
		return "anthropic"
	case to.format == "bedrock":
		return "amazon"
	case to.provider == "azure" && to.format == "responses":
		return "responses"
	case to.format == "openai":
		return to.provider
	}
	return to.format
}

// parts generates an answer: thinking in the vendor's form, text and calls.
func (m *mover) parts(to target) (parts []llm.Part) {
	maker := makerOf(to)
	if m.once(2) {
		p := llm.Part{Kind: llm.PartReasoning, Text: "thinking of " + to.provider, Maker: maker}
		switch maker {
		case "anthropic":
			p.Signature = m.secret(maker)
			if m.once(4) {
				p.Text, p.Signature, p.Redacted = "", "", m.secret(maker)
			}
		case "responses":
			p.Signature, p.Redacted = "rs_"+m.secret(maker), m.secret(maker)
		case "gemini":
			p.Signature = m.secret(maker)
		default:
			p.Maker = to.format
		}
		parts = append(parts, p)
	}
	if m.once(2) {
		parts = append(parts, llm.Part{Kind: llm.PartText, Text: m.text()})
	}
	for i := range m.IntN(3) {
		m.count++
		p := llm.Part{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: m.id(to), Name: "f", Arguments: one(m.generator, "{}", `{"a":"x"}`)}}
		p.Call.MadeUp = p.Call.ID == ""
		if maker == "gemini" && i == 0 {
			p.Signature, p.Maker = m.secret(maker), maker
		}
		parts = append(parts, p)
	}
	if len(parts) == 0 {
		parts = append(parts, llm.Part{Kind: llm.PartText, Text: m.text()})
	}
	return parts
}

// secret generates a value that a vendor signs, in base64.
func (m *mover) secret(maker string) string {
	m.count++
	s := fmt.Sprintf("Sec%04dretOf%sEnd=", m.count, strings.Repeat("x", 3-len(maker)%3))
	s = s[:len(s)/4*4]
	m.secrets[s] = maker
	return s
}

// id generates the id of a call in the vendor's form.
func (m *mover) id(to target) string {
	n := fmt.Sprintf("%05d", m.count)
	switch to.provider {
	case "anthropic":
		return "toolu_01A09q90qw90lq9178" + n
	case "bedrock":
		return "tooluse_" + n + "-kZJMlvQmRJ6eAyJE5GIl"
	case "mistral":
		return "Ab1C" + n
	case "moonshot":
		return "functions.f:" + strings.TrimLeft(n, "0")
	case "gemini", "vertex", "ollama":
		return one(m.generator, "", "x"+n)
	case "xai":
		return "call_" + strings.Repeat(n, 7)
	}
	return "call_abcdefghijklmnopqrs" + n
}
