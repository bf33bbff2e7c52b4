package promptcache

import (
	"bytes"
	"hash/maphash"
	"slices"

	"weir/internal/rawjson"
)

// section is one message of a prompt, or all its tools, or the instructions outside of the messages.
type section struct {
	hash    uint64 // keyed: the text does not follow from it
	bytes   int32  // of what was hashed
	message int32  // as in Miss
}

// mostSections bounds the sections of a prompt that is remembered.
const mostSections = 2048

// sectionsOf returns the sections of a chat's body in any wire format; nil if there are more than mostSections.
func sectionsOf(seed maphash.Seed, body []byte) []section {
	var h hasher
	h.SetSeed(seed)
	var tools, system, messages []section
	for m := range rawjson.Members(body) {
		switch string(m.Key()) {
		case "tools", "toolConfig":
			h.list(m.Value, 0)
			tools = append(tools, h.end(-1))
		case "system", "instructions", "systemInstruction", "system_instruction":
			if rawjson.Present(m.Value) {
				h.list(m.Value, 0)
				system = append(system, h.end(0))
			}
		case "messages", "input", "contents":
			messages = h.messages(m.Value)
		}
	}
	if len(messages) > mostSections {
		return nil
	}
	return slices.Concat(tools, system, messages)
}

// hasMark reports whether a body may contain marks of a prompt cache.
func hasMark(body []byte) bool {
	return bytes.Contains(body, []byte(`"cache_control"`)) || bytes.Contains(body, []byte(`"cachePoint"`)) ||
		bytes.Contains(body, []byte(`"prompt_cache_breakpoint"`))
}

// hasher hashes values of a body without marks, because clients move these to the newest messages.
type hasher struct {
	maphash.Hash
	bytes int // hashed since the last end
}

func (h *hasher) messages(v []byte) (list []section) {
	if rawjson.KindOf(v) == rawjson.String { // the only message of a user
		h.write(v)
		return append(list, h.end(1))
	}
	for i, message := range rawjson.Elements(v) {
		if len(list) > mostSections {
			break
		}
		h.object(message, 0)
		list = append(list, h.end(i+1))
	}
	return list
}

// mostDepth is the depth of contents within contents, such as that of a tool's result. Each level is read once more.
const mostDepth = 3

// list hashes the content of a message, or tools. A text counts the same as a string and as a part.
func (h *hasher) list(v []byte, depth int) {
	switch {
	case depth > mostDepth:
		h.write(v)
		return
	case rawjson.KindOf(v) != rawjson.Array:
		h.object(v, depth)
		return
	}
	for _, part := range rawjson.Elements(v) {
		if text := rawjson.Get(part, "text"); text != nil {
			h.write(text)
			continue
		}
		h.object(part, depth)
	}
}

// object hashes the members of an object, or another value as it is.
func (h *hasher) object(v []byte, depth int) {
	if rawjson.KindOf(v) != rawjson.Object {
		h.write(v)
		return
	}
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "cache_control", "cachePoint", "prompt_cache_breakpoint":
		case "content", "parts", "tools":
			h.list(m.Value, depth+1)
		default:
			h.write(m.Key())
			h.write(m.Value)
		}
	}
}

// write adds a value, with its end.
func (h *hasher) write(v []byte) {
	_, _ = h.Write(v) // never fails
	_ = h.WriteByte(0)
	h.bytes += len(v)
}

// end returns what was hashed since the last end as a section.
func (h *hasher) end(message int) section {
	s := section{hash: h.Sum64(), bytes: int32(min(h.bytes, 1<<30)), message: int32(message)}
	h.Reset()
	h.bytes = 0
	return s
}
