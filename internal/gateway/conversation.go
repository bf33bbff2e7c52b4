package gateway

import (
	"net/http"
	"slices"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/route"
)

// sessionHeaders returns the headers in which agents name their conversation, the most specific first:
//   - Claude Code 2.1: https://code.claude.com/docs/en/llm-gateway-protocol (undated copy of 2026)
//   - opencode: https://github.com/anomalyco/opencode, packages/opencode/src/session/llm/request.ts (commit 05f3598),
//     whose x-opencode-session goes only to its own provider
//   - pi: X-Session-Affinity and Session-Id, by the model's format, as public gateways read them (copies of 2026)
//   - Codex 0.171 (Session-Id), and earlier: https://github.com/openai/codex,
//     codex-rs/codex-api/src/requests/headers.rs (commit 546585f)
func sessionHeaders() [6]string {
	return [...]string{
		"X-Claude-Code-Session-Id", "X-Session-Affinity", "X-Session-Id", "X-Opencode-Session", "Session-Id",
		"Session_id",
	}
}

// findConversation returns the conversation of a chat whose target or key it decides; 0 for none.
func (in *intake) findConversation() route.Conversation {
	if in.Op.Op != llm.OpChat && in.Op.Op != llm.OpCompact || !in.table.Chooses(in.targets) {
		return 0
	}
	return nameConversation(in)
}

// nameConversation returns the conversation of a chat; 0 if it has no name and no beginning.
func nameConversation(in *intake) route.Conversation {
	own := route.Conversation(1).WithText(in.principal.Account().ID)
	return conversationOf(own, in.Head.Conversation, in.Body, in.r.Header)
}

// cacheKey returns a name of the conversation for providers' prompt caches if a target adds one; else empty. It is a
// hash: the provider learns no name that the client uses.
func cacheKey(in *intake) string {
	if in.Op.Op != llm.OpChat ||
		!slices.ContainsFunc(in.targets, func(t route.Target) bool { return t.AddsCacheMarks() }) {
		return ""
	}
	c := in.conversation
	if c == 0 {
		c = nameConversation(in)
	}
	if c == 0 {
		return ""
	}
	return "weir-" + strconv.FormatUint(uint64(c), 16)
}

// conversationOf returns one of an account's conversations: by the client's own name of it, else by its beginning,
// which is the system prompt and the first message of the user. It returns 0 if the body has neither.
func conversationOf(
	own route.Conversation, at llm.ConversationSpans, body []byte, header http.Header,
) route.Conversation {
	value := func(s llm.Span) []byte { return body[s.Start:s.End] }
	if key := plainText(value(at.CacheKey)); len(key) > 0 {
		return own.With(key)
	}
	for _, name := range sessionHeaders() {
		if v := header[name]; len(v) > 0 && v[0] != "" {
			return own.WithText(v[0])
		}
	}
	if session := plainText(value(at.Session)); len(session) > 0 {
		return own.With(session)
	}
	return opening(own, value(at.System), value(at.Messages))
}

// plainText returns the text of a string as the body has it; nil for another value.
func plainText(v []byte) []byte {
	if rawjson.KindOf(v) != rawjson.String {
		return nil
	}
	return v[1 : len(v)-1]
}

// maxOpening bounds the messages before the first one of the user.
const maxOpening = 16

// opening adds the beginning of a conversation in any wire format: the texts of the system, and of all messages up to
// the first one of the user. It returns 0 if there are none.
func opening(own route.Conversation, system, messages []byte) route.Conversation {
	c := addContent(own, system)
	if text := plainText(messages); len(text) > 0 {
		return c.With(text)
	}
	for i, message := range rawjson.Elements(messages) {
		var role, content []byte
		for m := range rawjson.Members(message) {
			switch string(m.Key()) {
			case "role":
				role = plainText(m.Value)
			case "content", "parts", "prompt":
				content = m.Value
			}
		}
		isUser := string(role) == "user" || role == nil && content != nil
		if isUser || string(role) == "system" || string(role) == "developer" {
			c = addContent(c, content)
		}
		if isUser {
			return c
		}
		if i == maxOpening {
			break
		}
	}
	if c == own {
		return 0
	}
	return c
}

// addContent adds the content of a message. A text counts the same as a string and as a part, and marks of a prompt
// cache do not count, because clients move them to the newest messages.
func addContent(c route.Conversation, content []byte) route.Conversation {
	if text := plainText(content); text != nil {
		return c.With(text)
	}
	if rawjson.KindOf(content) == rawjson.Object { // Gemini's system instruction
		content = rawjson.Get(content, "parts")
	}
	for _, part := range rawjson.Elements(content) {
		if text := rawjson.Get(part, "text"); text != nil {
			c = c.With(plainText(text))
			continue
		}
		for m := range rawjson.Members(part) {
			if !m.Is("cache_control") {
				c = c.With(m.Value)
			}
		}
	}
	return c
}
