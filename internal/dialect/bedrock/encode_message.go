package bedrock

import (
	"strconv"
	"strings"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/proof"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// messageEncoder writes the conversation of a request.
type messageEncoder struct {
	compose.Writer
	model string
	names map[string]int // how often each document name was used
	spoke string         // role of the last turn; empty before the first
	bare  bool           // the turn has a document and no text, which must precede it
	cites bool           // the model can cite documents
}

// conversation writes the system prompt and the messages. All system messages of another format go first; consecutive
// messages of one role become one, because roles must alternate, and tool results belong to the user.
func (e *messageEncoder) conversation(list []llm.Message) error {
	first := len(list)
	for i := range list {
		if list[i].Role != llm.RoleSystem {
			first = i
			break
		}
	}
	if err := e.system(list, first); err != nil {
		return err
	}
	e.Name("messages")
	e.Dst = append(e.Dst, '[')
	for i := first; i < len(list); {
		role := roleOf(&list[i])
		if !e.Own && role == string(llm.RoleSystem) {
			i++
			continue
		}
		last := i
		for !e.Own && last+1 < len(list) && (roleOf(&list[last+1]) == role || list[last+1].Role == llm.RoleSystem) {
			last++
		}
		if err := e.turn(role, list, i, last); err != nil {
			return err
		}
		i = last + 1
	}
	e.Dst = append(e.Dst, ']')
	return nil
}

func roleOf(m *llm.Message) string {
	if m.Role == llm.RoleTool {
		return string(llm.RoleUser)
	}
	return string(m.Role)
}

// system writes the system prompt: for this format's own messages, those before all others.
func (e *messageEncoder) system(list []llm.Message, first int) error {
	before := len(e.Dst)
	e.Name("system")
	e.Dst = append(e.Dst, '[')
	start := len(e.Dst)
	for i := range list {
		if list[i].Role != llm.RoleSystem || e.Own && i >= first {
			continue
		}
		e.speaker(&list[i])
		if err := e.blocks(list[i].Parts, &place{message: i, system: true}); err != nil {
			return err
		}
	}
	if len(e.Dst) == start {
		e.Dst = e.Dst[:before]
		return nil
	}
	e.Dst = append(e.Dst, ']')
	return nil
}

// turn writes the messages from first to last, all of one role, as one. It omits an empty one, because Converse refuses
// it.
func (e *messageEncoder) turn(role string, list []llm.Message, first, last int) error {
	before, end := len(e.Dst), ""
	if !e.Own && e.spoke == role { // the turn between was empty
		end = "]}"
		e.Dst = e.Dst[:before-len(end)]
	} else {
		e.Element()
		e.Dst = rawjson.AppendString(append(e.Dst, `{"role":`...), role)
		e.Dst = append(e.Dst, `,"content":[`...)
	}
	start := len(e.Dst)
	e.bare = !e.Own && isBare(list[first:last+1])
	for i := first; i <= last; i++ {
		if list[i].Role == llm.RoleSystem && role != string(llm.RoleSystem) {
			continue
		}
		e.speaker(&list[i])
		if err := e.blocks(list[i].Parts, &place{message: i}); err != nil {
			return err
		}
	}
	if len(e.Dst) == start && !e.Own {
		e.Dst = append(e.Dst[:before-len(end)], end...)
		return nil
	}
	e.spoke = role
	e.Dst = append(e.Dst, ']')
	if e.Own {
		for _, f := range list[first].Extra {
			e.InnerRaw(f.Name, f.Value)
		}
	}
	e.Dst = append(e.Dst, '}')
	return nil
}

// speaker drops a message's fields other than its role and parts.
func (e *messageEncoder) speaker(m *llm.Message) {
	if m.Name != "" {
		e.Drop("name")
	}
	if len(m.Extra) > 0 && !e.Own {
		e.Drop("message fields of another API")
	}
}

// place is the place of a part, for errors.
type place struct {
	message, part int
	system        bool
	result        bool // within a tool's result
}

func (p *place) String() string {
	return "messages[" + strconv.Itoa(p.message) + "].content[" + strconv.Itoa(p.part) + "]"
}

// blocks writes parts, each followed by its cache point.
func (e *messageEncoder) blocks(parts []llm.Part, at *place) error {
	for i := range parts {
		p := &parts[i]
		if !at.result {
			at.part = p.Index(i)
		}
		before := len(e.Dst)
		e.Element()
		start := len(e.Dst)
		if err := e.block(p, at); err != nil {
			return err
		}
		if len(e.Dst) == start {
			e.Dst = e.Dst[:before]
			continue
		}
		if !at.result { // a result has no points within
			e.Dst = e.cachePoint(e.Dst, markOf(p))
		}
	}
	return nil
}

// markOf returns the mark of a part; for a tool's result also that of its content.
func markOf(p *llm.Part) []byte {
	if p.CacheControl != nil || p.Result == nil {
		return p.CacheControl
	}
	for i := range p.Result.Parts {
		if mark := p.Result.Parts[i].CacheControl; mark != nil {
			return mark
		}
	}
	return nil
}

// hourTTL is the longer lifetime of a prompt cache.
const hourTTL = "1h"

// cachePoint writes the end of a prompt cache, after a block or a tool.
func (e *messageEncoder) cachePoint(dst, control []byte) []byte {
	if control == nil {
		return dst
	}
	if control = compose.Ephemeral(control); control == nil {
		e.Drop("cache_control")
		return dst
	}
	dst = append(dst, `,{"cachePoint":{"type":"default"`...)
	if ttl := rawjson.Text(rawjson.Get(control, "ttl")); ttl == hourTTL || ttl == "5m" {
		dst = rawjson.AppendString(append(dst, `,"ttl":`...), ttl)
	}
	return append(dst, "}}"...)
}

// block writes one part; it writes nothing for a part that can be dropped.
func (e *messageEncoder) block(p *llm.Part, at *place) error {
	if raw := e.exact(p); raw != nil {
		e.Dst = append(e.Dst, raw...)
		return nil
	}
	if !e.Own && (len(p.Extra) > 0 || p.Annotations != nil && !e.carries(p)) {
		e.Drop("content fields of another API")
	}
	if at.system && !e.Own && p.Kind != llm.PartText && p.Kind != llm.PartOther {
		return llm.Invalid(at.String(),
			"Amazon Bedrock accepts only text in system messages. Put other parts into a user message.")
	}
	if p.Kind != llm.PartReasoning {
		e.DropProof(p)
	}
	switch p.Kind {
	case llm.PartText, llm.PartRefusal:
		e.text(p)
	case llm.PartReasoning:
		e.thought(p)
	case llm.PartImage:
		return e.image(p.Media, at)
	case llm.PartAudio:
		return e.sound(p.Media, at)
	case llm.PartDocument:
		return e.document(p.Media, at)
	case llm.PartToolCall:
		e.call(p.Call)
	case llm.PartToolResult:
		return e.result(p, at)
	default:
		if !e.Own {
			return llm.Invalid(at.String(), "Amazon Bedrock has no content part of this type. Leave it out.")
		}
		e.Dst = append(e.Dst, p.Raw...)
	}
	return nil
}

// exact returns the original of a block of this format if the tree does not model all of it.
func (e *messageEncoder) exact(p *llm.Part) []byte {
	if !e.Own || p.Kind == llm.PartOther {
		return nil
	}
	if p.Raw != nil || len(p.Extra) != 1 {
		return p.Raw
	}
	switch f := p.Extra[0]; f.Name {
	case "image", "audio", "document", "citationsContent":
		return append(rawjson.AppendMember([]byte{'{'}, f.Name, f.Value), '}')
	}
	return nil
}

// text writes a text, with its citations if they are this format's own.
func (e *messageEncoder) text(p *llm.Part) {
	switch {
	case e.Own && p.Annotations != nil:
		e.Dst = rawjson.AppendString(append(e.Dst, `{"citationsContent":{"content":[{"text":`...), p.Text)
		e.Dst = append(append(append(e.Dst, `}],"citations":`...), p.Annotations...), "}}"...)
	case e.carries(p):
		e.claims(p)
	default:
		e.Dst = append(rawjson.AppendString(append(e.Dst, `{"text":`...), p.Text), '}')
	}
}

// maker is the maker of thinking in Converse, if it is signed: only Claude signs it, and accepts its signatures on any
// platform. https://platform.claude.com/docs/en/build-with-claude/extended-thinking.
const maker = "anthropic"

// thought writes a block of thinking. Models only accept their own signed thinking, and of other formats' clients only
// Claude's.
func (e *messageEncoder) thought(p *llm.Part) {
	if proof.IsForeign(p.Maker, maker) || !e.Own && !e.recalls(p) {
		e.Drop("reasoning")
		return
	}
	if p.Redacted != "" {
		e.Dst = rawjson.AppendString(append(e.Dst, `{"reasoningContent":{"redactedContent":`...), p.Redacted)
		e.Dst = append(e.Dst, "}}"...)
		return
	}
	e.Dst = appendThought(e.Dst, p)
}

// recalls reports whether the model accepts thinking of an earlier answer. No rule drops other thinking: a body does
// not show its maker.
func (e *messageEncoder) recalls(p *llm.Part) bool { return isProved(p) && isClaude(e.model) }

// isProved reports whether thinking has a signature of Claude.
func isProved(p *llm.Part) bool {
	return p.Kind == llm.PartReasoning && p.Maker == maker && (p.Signature != "" || p.Redacted != "")
}

func appendThought(dst []byte, p *llm.Part) []byte {
	dst = rawjson.AppendString(append(dst, `{"reasoningContent":{"reasoningText":{"text":`...), p.Text)
	if p.Signature != "" {
		dst = rawjson.AppendString(append(dst, `,"signature":`...), p.Signature)
	}
	return append(dst, "}}}"...)
}

// call writes a tool call.
func (e *messageEncoder) call(c *llm.ToolCall) {
	if e.Own {
		e.Dst = appendCall(e.Dst, c)
		return
	}
	if len(c.Extra) > 0 {
		e.Drop("tool call fields of another API")
	}
	e.Dst = appendCall(e.Dst, c)
}

// callDepth is the nesting of a call's arguments in a body.
const callDepth = 6

// document returns the arguments of a call as JSON: as a string if they are not JSON, because models may break off
// within them.
func document(arguments string) []byte {
	if strings.TrimSpace(arguments) == "" {
		return []byte("{}")
	}
	if rawjson.Validate([]byte(arguments), maxDepth-callDepth) != nil {
		return rawjson.AppendString(nil, arguments)
	}
	return []byte(arguments)
}

func appendCall(dst []byte, c *llm.ToolCall) []byte {
	dst = rawjson.AppendString(append(dst, `{"toolUse":{"toolUseId":`...), c.ID)
	dst = rawjson.AppendString(append(dst, `,"name":`...), c.Name)
	dst = append(append(dst, `,"input":`...), document(c.Arguments)...)
	for _, f := range c.Extra {
		if f.Name == "type" {
			dst = rawjson.AppendMember(dst, f.Name, f.Value)
		}
	}
	return append(dst, "}}"...)
}

// result writes the result of a tool.
func (e *messageEncoder) result(p *llm.Part, at *place) error {
	r := p.Result
	e.Dst = rawjson.AppendString(append(e.Dst, `{"toolResult":{"toolUseId":`...), r.CallID)
	e.Dst = append(e.Dst, `,"content":[`...)
	within := *at
	within.result = true
	if err := e.blocks(r.Parts, &within); err != nil {
		return err
	}
	e.Dst = append(e.Dst, ']')
	if r.IsError {
		e.Dst = append(e.Dst, `,"status":"error"`...)
	}
	if e.Own {
		for _, f := range p.Extra {
			e.InnerRaw(f.Name, f.Value)
		}
	}
	e.Dst = append(e.Dst, "}}"...)
	return nil
}
