package socket

import (
	"fmt"
	"strings"

	"weir/internal/capacity"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// message is a message of a client.
type message struct {
	held     capacity.Held // its memory
	body     []byte        // the request, without the fields of the protocol
	kind     string
	lane     string // the stream_id; empty for none
	model    string // as the client wrote it
	prepares bool
	previous string // of a response.steer
	input    []byte // of a response.steer
}

// The client's kinds of messages.
const (
	kindCreate = "response.create"
	kindSteer  = "response.steer"
)

// fields are the protocol's own fields of a message, and stream, which has no meaning in it.
var fields = rawjson.Names{"type", "stream_id", "generate", "stream"}

// The indexes of fields.
const (
	fieldType = iota
	fieldLane
	fieldGenerate
)

// read reads the fields of the protocol, and removes them from the body. Errors are *llm.Error; the lane is then set if
// it could be read.
func (m *message) read() error {
	turn, err := m.held.Turn(len(m.body))
	if err != nil {
		return err
	}
	defer turn.End()
	return m.parse()
}

func (m *message) parse() error {
	if err := rawjson.Validate(m.body, parse.MaxDepth); err != nil || rawjson.KindOf(m.body) != rawjson.Object {
		return llm.Invalid("", "A message must be one JSON object, such as {\"type\": \"response.create\", ...}.")
	}
	var seen rawjson.Seen
	rest := append(make([]byte, 0, len(m.body)+len(`{"stream":true}`)), `{"stream":true`...)
	var first error
	for member := range rawjson.Members(m.body) {
		i, err := fields.Find(member, &seen)
		if err == nil && i < 0 {
			rest = rawjson.AppendMember(rest, member.Name(), member.Value)
			switch {
			case member.Is("model"):
				m.model = rawjson.Text(member.Value)
			case member.Is("previous_response_id"):
				m.previous = rawjson.Text(member.Value)
			case member.Is("input"):
				m.input = member.Value
			}
			continue
		}
		if err != nil {
			err = llm.Invalid(member.Name(), "The "+err.Error()+".")
		} else {
			err = m.field(i, member.Value)
		}
		if first == nil {
			first = err
		}
	}
	if m.body = append(rest, '}'); m.kind != kindSteer {
		m.input = nil // it would keep the message as received
	}
	if first == nil && m.kind != kindCreate && m.kind != kindSteer {
		first = llm.Invalid("type", fmt.Sprintf("The type of a message must be %s, got %.100q.", kindCreate, m.kind))
	}
	return first
}

// field reads one of fields.
func (m *message) field(i int, value []byte) (err error) {
	if !rawjson.Present(value) {
		return nil
	}
	switch i {
	case fieldType:
		m.kind, err = parse.String(value, "type")
	case fieldLane:
		lane, err := parse.String(value, "stream_id")
		if err != nil || !isLane(lane) {
			return llm.Invalid("stream_id", "A stream_id has 1 to 256 letters, digits, \"_\", \".\" and \"-\".")
		}
		m.lane = lane
	case fieldGenerate:
		generate, err := parse.Bool(value, "generate")
		m.prepares = !generate
		return err
	}
	return err
}

func isLane(s string) bool {
	return s != "" && len(s) <= 256 && strings.Trim(s, llm.Alphanumerics+"_.-") == ""
}
