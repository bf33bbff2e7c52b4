package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"

	"weir/internal/rawjson"
)

// maxDepth bounds the nesting of messages.
const maxDepth = 128

// Message is one message of JSON-RPC 2.0: a request has a method and an id, a notification only a method, a response an
// id with a result or an error. All values are JSON and share memory with the message's text.
type Message struct {
	ID     []byte
	Method string
	Params []byte
	Result []byte
	Error  []byte
	// At is the place of ID in the text, for messages with another id.
	At int
}

// ParseMessage parses the text of one message. A member that appears twice is an error, and so is a batch.
func ParseMessage(text []byte) (m Message, err error) {
	if err := rawjson.Validate(text, maxDepth); err != nil {
		return m, fmt.Errorf("the message is not JSON: %w", err)
	}
	if rawjson.KindOf(text) != rawjson.Object {
		return m, fmt.Errorf("the message is not an object: send one message, no batch")
	}
	names := rawjson.Names{"jsonrpc", "id", "method", "params", "result", "error"}
	var seen rawjson.Seen
	for member := range rawjson.Members(text) {
		i, err := names.Find(member, &seen)
		if err != nil {
			return m, err
		}
		switch i {
		case 1:
			m.ID, m.At = member.Value, member.Start
		case 2:
			m.Method = rawjson.Text(member.Value)
		case 3:
			m.Params = member.Value
		case 4:
			m.Result = member.Value
		case 5:
			m.Error = member.Value
		}
	}
	return m, nil
}

// IsRequest reports whether the message wants a response.
func (m *Message) IsRequest() bool { return m.Method != "" && rawjson.Present(m.ID) }

// IsResponse reports whether the message is a response to the request with an id.
func (m *Message) IsResponse(id []byte) bool { return m.Method == "" && bytes.Equal(m.ID, id) }

// AppendMessage appends a request with params, or a notification if id is nil. Nil params are omitted.
func AppendMessage(dst, id []byte, method string, params []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if id != nil {
		dst = rawjson.AppendMember(dst, "id", id)
	}
	dst = rawjson.AppendString(rawjson.AppendName(dst, "method"), method)
	if params != nil {
		dst = rawjson.AppendMember(dst, "params", params)
	}
	return append(dst, '}')
}

// AppendResponse appends a response with a result or an error; the other is nil.
func AppendResponse(dst, id, result, failed []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if id == nil {
		id = []byte("null")
	}
	dst = rawjson.AppendMember(dst, "id", id)
	if failed != nil {
		dst = rawjson.AppendMember(dst, "error", failed)
	} else {
		dst = rawjson.AppendMember(dst, "result", result)
	}
	return append(dst, '}')
}

// RPCError is an error of the protocol: the method, the tool or the params are not as the server wants them.
type RPCError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Refuses reports whether the server has refused the request without running anything. Other errors, such as an
// internal one, may come after the tool has run.
func (e *RPCError) Refuses() bool {
	switch e.Code {
	case CodeParse, CodeRequest, CodeMethod, CodeParams, CodeHeaderMismatch, CodeCapability, CodeRevision,
		CodeElicitation:
		return true
	}
	return false
}

// Error returns the code and the message.
func (e *RPCError) Error() string { return fmt.Sprintf("error %d: %s", e.Code, e.Message) }

// JSON returns the error as a response has it.
func (e *RPCError) JSON() []byte {
	b, _ := json.Marshal(e) // Data is valid
	return b
}

// parseError returns the error of a response.
func parseError(text []byte) *RPCError {
	e := new(RPCError)
	for m := range rawjson.Members(text) {
		switch m.Name() {
		case "code":
			e.Code, _ = rawjson.AsInt(m.Value)
		case "message":
			e.Message = rawjson.Text(m.Value)
		case "data":
			e.Data = bytes.Clone(m.Value)
		}
	}
	return e
}

// withMeta returns params with members of _meta set. Nil params are an empty object.
func withMeta(params []byte, set ...[2]string) []byte {
	if rawjson.KindOf(params) != rawjson.Object {
		params = []byte("{}")
	}
	meta := rawjson.Get(params, "_meta")
	if rawjson.KindOf(meta) != rawjson.Object {
		meta = []byte("{}")
	}
	for _, s := range set {
		meta = rawjson.Splice(nil, meta, rawjson.Set(meta, s[0], []byte(s[1])))
	}
	return rawjson.Splice(nil, params, rawjson.Set(params, "_meta", meta))
}

// WithLogs returns _meta with a request for log messages from the level info on, which a client of the revisions with
// sessions gets without asking. Servers with sessions do not get the member.
func WithLogs(meta json.RawMessage) json.RawMessage {
	if rawjson.KindOf(meta) != rawjson.Object {
		meta = json.RawMessage("{}")
	}
	return rawjson.Splice(nil, meta, rawjson.Set(meta, metaLogs, []byte(`"info"`)))
}
