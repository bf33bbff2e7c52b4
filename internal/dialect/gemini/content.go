package gemini

import (
	"slices"
	"strconv"

	"weir/internal/dialect/proof"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// contentDecoder decodes the contents of one request. It gives calls without ids new ones, and results without ids
// those of the calls that they answer: the first call of that name without a result.
type contentDecoder struct {
	calls   int
	waiting map[string][]string // ids of the calls without a result, by name
	done    map[string]bool     // ids with a result by id
}

func newContentDecoder() *contentDecoder {
	return &contentDecoder{waiting: map[string][]string{}, done: map[string]bool{}}
}

func decodeContents(v []byte) ([]llm.Message, error) {
	if !isList(v) {
		return nil, llm.Invalid("contents",
			`The contents must be an array of objects such as {"role": "user", "parts": [{"text": "Hello"}]}.`)
	}
	d := newContentDecoder()
	messages := make([]llm.Message, 0, 4)
	contents := make([]int, 0, 4) // of each message
	for i, e := range list(v) {
		at := "contents[" + strconv.Itoa(i) + "]"
		if err := checkContent(e, at); err != nil {
			return nil, err
		}
		role, err := roleOf(rawjson.Text(rawjson.Get(e, "role")), at)
		if err != nil {
			return nil, err
		}
		if last := len(messages) - 1; last < 0 || messages[last].Role != role || role == llm.RoleTool {
			messages, contents = append(messages, llm.Message{Role: role, At: i + 1}), append(contents, 0)
		}
		contents[len(messages)-1]++
		if err := d.content(&messages[len(messages)-1], e, at); err != nil {
			return nil, err
		}
	}
	for i := range messages {
		if contents[i] > 1 && messages[i].Role == llm.RoleAssistant {
			messages[i].Parts = joined(messages[i].Parts)
		}
		if messages[i].Role == llm.RoleTool && slices.ContainsFunc(messages[i].Parts, isBesideResult) {
			messages[i].Role = llm.RoleUser // only the user sends other parts with results
		}
	}
	return slices.DeleteFunc(messages, saysNothing), nil
}

func isBesideResult(p llm.Part) bool { return !isResult(p) }

func checkContent(v []byte, param string) error {
	if rawjson.KindOf(v) != rawjson.Object {
		return llm.Invalid(param, "A content must be an object with a role and parts.")
	}
	return nil
}

// content decodes one content. Google's SDKs store each piece of a stream as a content of its own, so consecutive
// contents of one role form one message.
func (d *contentDecoder) content(m *llm.Message, v []byte, param string) (err error) {
	for f := range rawjson.PresentMembers(v) {
		switch string(f.Key()) {
		case "role":
		case "parts":
			m.Parts, err = d.parts(m.Parts, f.Value, param+".parts")
		default:
			m.Extra = append(m.Extra, llm.Field{Name: f.Name(), Value: f.Value})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func roleOf(word, param string) (llm.Role, error) {
	switch word {
	case "user", "":
		return llm.RoleUser, nil
	case "model":
		return llm.RoleAssistant, nil
	case "function":
		return llm.RoleTool, nil
	case "system":
		return llm.RoleSystem, nil
	}
	return "", llm.Invalid(param+".role", `The role must be "user" or "model".`)
}

// parts appends the parts of a content to those of its message.
func (d *contentDecoder) parts(parts []llm.Part, v []byte, param string) ([]llm.Part, error) {
	if !isList(v) {
		return nil, llm.Invalid(param, `The parts must be an array of objects such as {"text": "Hello"}.`)
	}
	parts = slices.Grow(parts, 2)
	for i, e := range list(v) {
		p, ok := decodePart(e)
		if !ok {
			return nil, llm.Invalid(param+"["+strconv.Itoa(i)+"]",
				`A part must be an object such as {"text": "Hello"}.`)
		}
		if p.Kind == llm.PartReasoning {
			if parts, ok = appendThought(parts, &p); ok {
				continue
			}
		}
		switch {
		case p.Call != nil:
			d.call(p.Call)
		case p.Result != nil:
			d.result(p.Result)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// appendThought appends thinking of another vendor's model. Its sealed signature follows the pieces of its text in a
// stream. It reports false for Google's own thinking.
func appendThought(parts []llm.Part, p *llm.Part) ([]llm.Part, bool) {
	s, ok := proof.OpenBase64(standardBase64(p.Signature))
	if !ok {
		return parts, false
	}
	p.Maker, p.Signature, p.Redacted = s.Maker, s.Signature, s.Redacted
	first := len(parts)
	for first > 0 && parts[first-1].Kind == llm.PartReasoning && parts[first-1].Maker == Name &&
		parts[first-1].Signature == "" {
		first--
	}
	var text llm.Joined
	for i := first; i < len(parts); i++ {
		text.Add(parts[i].Text)
	}
	text.Add(p.Text)
	p.Text = text.String()
	return append(parts[:first], *p), true
}

func (d *contentDecoder) call(c *llm.ToolCall) {
	if c.ID == "" {
		c.ID = madeUpID(d.calls)
	}
	d.calls++
	d.waiting[c.Name] = append(d.waiting[c.Name], c.ID)
}

func (d *contentDecoder) result(r *llm.ToolResult) {
	if r.CallID != "" {
		d.done[r.CallID] = true
		return
	}
	ids := d.waiting[r.Name]
	for len(ids) > 0 && d.done[ids[0]] {
		ids = ids[1:]
	}
	if len(ids) == 0 { // it answers no call; the provider reports that
		r.CallID = madeUpID(d.calls)
		d.calls++
		return
	}
	r.CallID, d.waiting[r.Name] = ids[0], ids[1:]
}

const madeUp = "call_"

func madeUpID(position int) string { return madeUp + strconv.Itoa(position) }
