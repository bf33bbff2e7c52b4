package realtime

import (
	"fmt"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// The types of events that the gateway reads. All others are relayed unread.
const (
	eventAppend   = "input_audio_buffer.append"
	eventCommit   = "input_audio_buffer.commit"
	eventCreate   = "response.create"
	eventCancel   = "response.cancel"
	eventItem     = "conversation.item.create"
	eventUpdate   = "session.update"
	eventOpened   = "session.created"
	eventUpdated  = "session.updated"
	eventStopped  = "input_audio_buffer.speech_stopped"
	eventBuffered = "input_audio_buffer.committed"
	eventBegun    = "response.created"
	eventDone     = "response.done"
	eventError    = "error"
	eventHeard    = "conversation.item.input_audio_transcription.completed"
	eventUnheard  = "conversation.item.input_audio_transcription.failed"
)

// maxDepth bounds the nesting of an event of a client.
const maxDepth = 64

// clientEvents are the events of clients that are relayed. An unknown one might begin something that nobody has paid.
var clientEvents = rawjson.Names{
	eventAppend, eventCommit, "input_audio_buffer.clear", "output_audio_buffer.clear", eventItem,
	"conversation.item.delete", "conversation.item.retrieve", "conversation.item.truncate", eventCreate, eventCancel,
	eventUpdate,
}

// The members of a client's event that the gateway reads, by their index in topNames.
const (
	topType = iota
	topID
	topSession
	topResponse
	topAudio
	topItem
	tops
)

// topNames are the members of a client's event that the gateway reads, and createNames those of its member response;
// the others those of its session, at any depth. Parsers differ in which of two members counts.
var (
	topNames = rawjson.Names{
		topType: "type", topID: "event_id", topSession: "session", topResponse: "response", topAudio: "audio",
		topItem: "item",
	}
	createNames = rawjson.Names{"max_output_tokens", "max_response_output_tokens", "conversation", "tools"}
	audioNames  = rawjson.Names{"audio", "input", "type", "model", "truncation", "tools"}
	inputNames  = rawjson.Names{
		"turn_detection", "transcription", "format", "input_audio_transcription", "input_audio_format",
		"create_response", "interrupt_response", "idle_timeout_ms",
	}
)

// event is an event of a client.
type event struct {
	frame []byte
	kind  string
	id    string // empty for none
	audio []byte // its member; nil for none
}

// parseEvent reads an event of a client. It refuses events that two parsers may read differently.
func parseEvent(frame []byte) (e event, err error) {
	top, err := parseTop(frame)
	if err != nil {
		return e, err
	}
	if err := spelled(top[topResponse], createNames); err != nil {
		return e, err
	}
	if top[topSession] != nil {
		if err := settingsSpelled(top[topSession]); err != nil {
			return e, err
		}
	}
	e.frame, e.kind, e.audio = frame, rawjson.Text(top[topType]), top[topAudio]
	e.id = rawjson.Text(top[topID])
	if e.kind == "" {
		return e, llm.Invalid("type", `The event has no "type". Send its name as a string.`)
	}
	if !clientEvents.Has(e.kind) {
		return e, llm.Invalidf("type", "The gateway does not relay events of the type %.100q.", e.kind)
	}
	return e, nil
}

// parseTop returns the values of topNames in an event of a client. It reads the event once, apart from names of nested
// objects, because most events are sound.
func parseTop(frame []byte) (top [tops][]byte, err error) {
	var names rawjson.Keys
	var seen rawjson.Seen
	s := rawjson.Scan(frame, maxDepth)
	for m := range s.Members() {
		value := s.Value()
		name, twice := rawjson.Repeated(value)
		if !twice && !names.Add(m.Key()) {
			name, twice = m.Name(), true
		}
		if twice && err == nil {
			err = llm.Invalidf("", "The event has the field %q twice in one object. Send it once.", name)
		}
		i, misspelled := topNames.Find(m, &seen)
		if i >= 0 {
			top[i] = value
		}
		if misspelled != nil && err == nil {
			err = llm.Invalid("", fmt.Sprintf("The event has a mistake: %v.", misspelled))
		}
	}
	switch {
	case s.Ended():
		return top, err
	case rawjson.KindOf(frame) != rawjson.Object && rawjson.Validate(frame, maxDepth) == nil:
		return top, llm.Invalid("", "The event is not a JSON object. Send one JSON object a message.")
	}
	return top, llm.Invalidf("", "The event is not valid JSON: %v. Send one JSON object a message.",
		rawjson.Validate(frame, maxDepth))
}

// settingsSpelled returns an error if a setting of a session that the gateway reads has another spelling.
func settingsSpelled(session []byte) error {
	input := rawjson.Get(session, "audio", "input")
	for _, object := range [][]byte{
		session, rawjson.Get(session, "audio"), input, rawjson.Get(input, "turn_detection"),
		rawjson.Get(input, "transcription"), rawjson.Get(session, "turn_detection"),
		rawjson.Get(session, "input_audio_transcription"),
	} {
		for _, names := range []rawjson.Names{audioNames, inputNames} {
			if err := spelled(object, names); err != nil {
				return err
			}
		}
	}
	return nil
}

// spelled returns an error if a member of the object has one of the names in another spelling.
func spelled(object []byte, names rawjson.Names) error {
	var seen rawjson.Seen
	for m := range rawjson.Members(object) {
		if _, err := names.Find(m, &seen); err != nil {
			return llm.Invalid("", fmt.Sprintf("A field has a mistake: %v.", err))
		}
	}
	return nil
}

// set returns the object with the member at a path of names set to the value. Objects on the way are created.
func set(object, value []byte, path ...string) []byte {
	name := path[0]
	if len(path) > 1 {
		inner := rawjson.Get(object, name)
		if rawjson.KindOf(inner) != rawjson.Object {
			inner = []byte("{}")
		}
		value = set(inner, value, path[1:]...)
	}
	return rawjson.Splice(nil, object, rawjson.Set(object, name, value))
}

// quoted returns a JSON string.
func quoted(s string) []byte { return rawjson.AppendString(nil, s) }
