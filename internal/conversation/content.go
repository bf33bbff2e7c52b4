package conversation

import (
	"crypto/cipher"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

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

// unseal reads what was sealed for the owner's response of that name, in its place. What another token sealed, as the one
// that the key had before it was rotated, is not there for this one: ErrNotFound.
func unseal(o *Owner, name string, sealed []byte) (content, error) {
	b, err := box(o, name)
	if err != nil {
		return content{}, err
	}
	text, err := b.Open(sealed[:0], nil, sealed, []byte(name))
	if err != nil {
		return content{}, fmt.Errorf("open a kept response: %w: %w", ErrNotFound, err)
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

// newID is an id for an item that has none of its own, at that place of the input of a response.
func newID(raw []byte, of own, place int) string {
	prefix, ok := prefixes[kindOf(raw)]
	switch {
	case !ok:
		prefix = "item_"
	case of != "":
		return prefix + string(of) + "_i" + strconv.Itoa(place)
	}
	return prefix + strings.ToLower(rand.Text())
}

// own is what the id of a response that the gateway made has in common with those of its items:
// resp_UUID and msg_UUID_0. Such items are found by their response, and have no entry of their own.
// It is empty for a provider's.
type own string

const responsePrefix = "resp_"

func ownOf(response string) own {
	id, ok := strings.CutPrefix(response, responsePrefix)
	if !ok || !isUUID(id) {
		return ""
	}
	return own(id)
}

// ownOfItem is that of the response that the item's id names; empty where it names none.
func ownOfItem(item string) own {
	_, rest, _ := strings.Cut(item, "_")
	id, _, ok := strings.Cut(rest, "_")
	if !ok || !isUUID(id) {
		return ""
	}
	return own(id)
}

func isUUID(s string) bool {
	_, err := uuid.Parse(s)
	return err == nil && len(s) == len(uuid.UUID{}.String())
}
