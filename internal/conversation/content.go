package conversation

import (
	"crypto/cipher"
	"crypto/rand"
	"fmt"
	"strings"

	"weir/internal/rawjson"
	"weir/internal/seal"
)

// content is what is kept of a response. Its JSON shares memory with what it
// was read from.
type content struct {
	previous string // the id that it goes on from; empty for none
	input    []item // of its own request alone
	response []byte // as the client got it
}

// item is one item of an input. It may be known by an id that does not stand in
// it.
type item struct {
	id  string
	raw []byte // nil for one that is left out
}

// output is the response's own items.
func (c *content) output() []byte { return rawjson.Get(c.response, "output") }

// encode writes the content as JSON.
func (c *content) encode() []byte {
	size := len(c.response) + len(c.previous)
	for _, it := range c.input {
		size += len(it.raw) + len(it.id) + len(`{"id":"","item":},`)
	}
	out := rawjson.AppendString(append(make([]byte, 0, size+64), `{"previous":`...), c.previous)
	out = append(out, `,"input":[`...)
	for i, it := range c.input {
		if i > 0 {
			out = append(out, ',')
		}
		out = rawjson.AppendString(append(out, `{"id":`...), it.id)
		out = append(append(append(out, `,"item":`...), it.raw...), '}')
	}
	return append(append(append(out, `],"response":`...), c.response...), '}')
}

func decodeContent(text []byte) (c content) {
	for m := range rawjson.Members(text) {
		switch string(m.Key()) {
		case "previous":
			c.previous = rawjson.Text(m.Value)
		case "input":
			for _, v := range rawjson.Elements(m.Value) {
				c.input = append(c.input, item{rawjson.Text(rawjson.Get(v, "id")), rawjson.Get(v, "item")})
			}
		case "response":
			c.response = m.Value
		}
	}
	return c
}

// box seals the content of the owner's response of that name.
func box(o *Owner, name string) (cipher.AEAD, error) {
	return seal.New(o.Token.Reveal(), o.Scope+name, "weir responses v1")
}

// unseal reads what was sealed for the owner's response of that name, in its place.
func unseal(o *Owner, name string, sealed []byte) (content, error) {
	b, err := box(o, name)
	if err != nil {
		return content{}, err
	}
	text, err := b.Open(sealed[:0], nil, sealed, []byte(name))
	if err != nil {
		return content{}, fmt.Errorf("open a kept response: %w", err)
	}
	return decodeContent(text), nil
}

// prefixes are what the ids of items begin with.
var prefixes = map[string]string{
	"":                        "msg_",
	kindMessage:               "msg_",
	kindReasoning:             "rs_",
	kindCall:                  "fc_",
	kindCustomCall:            "ctc_",
	"function_call_output":    "fc_",
	"custom_tool_call_output": "ctc_",
}

// newID is an id for an item that has none of its own.
func newID(raw []byte) string {
	prefix, ok := prefixes[kindOf(raw)]
	if !ok {
		prefix = "item_"
	}
	return prefix + strings.ToLower(rand.Text())
}
