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

// content is the stored content of a response. Its JSON shares memory with the bytes that it was decoded from.
type content struct {
	previous string // the id of the previous response; empty for none
	input    []item // of its own request only
	response []byte // as the client received it
}

// item is one item of an input. Its id may not be in its JSON.
type item struct {
	id  string
	raw []byte // nil for one that is left out
}

// output returns the response's own items.
func (c *content) output() []byte { return rawjson.Get(c.response, "output") }

// encode encodes the content as JSON.
func (c *content) encode() []byte {
	size := len(c.response) + len(c.previous)
	for _, it := range c.input {
		size += len(it.raw) + len(it.id) + len(`{"id":"","item":},`)
	}
	out := rawjson.AppendString(append(make([]byte, 0, size+64), `{"previous":`...), c.previous)
	out = append(out, `,"input":[`...)
	for _, it := range c.input {
		out = rawjson.AppendComma(out)
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

// box returns the cipher for the content of the owner's response with that name.
func box(o *Owner, name string) (cipher.AEAD, error) {
	return seal.New(o.Token.Reveal(), o.Scope+name, "weir responses v1")
}

// unseal decrypts the owner's response with that name, in place. If another token encrypted it, such as the one
// before a rotation of the key, the error is ErrNotFound.
func unseal(o *Owner, name string, sealed []byte) (content, error) {
	b, err := box(o, name)
	if err != nil {
		return content{}, err
	}
	text, err := b.Open(sealed[:0], nil, sealed, []byte(name))
	if err != nil {
		return content{}, fmt.Errorf("decrypt a stored response: %w: %w", ErrNotFound, err)
	}
	return decodeContent(text), nil
}

// prefixes are the prefixes of items' ids, by type.
var prefixes = map[string]string{
	"":                        "msg_",
	kindMessage:               "msg_",
	kindReasoning:             "rs_",
	kindCall:                  "fc_",
	kindCustomCall:            "ctc_",
	"function_call_output":    "fc_",
	"custom_tool_call_output": "ctc_",
}

// newID returns an id for an item without one, at index place of the input of a response.
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

// own is the part that the ids of a response made by the gateway and of its items have in common: resp_UUID and
// msg_UUID_0. Such items are found by their response, and have no index entry. It is empty for a provider's response.
type own string

const responsePrefix = "resp_"

func ownOf(response string) own {
	id, ok := strings.CutPrefix(response, responsePrefix)
	if !ok || !isUUID(id) {
		return ""
	}
	return own(id)
}

// ownOfItem returns the own of the response that the item's id contains; empty if it contains none.
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
