package realtime

import "weir/internal/rawjson"

// turns follows the provider's detection of turns. The client's wish to have responses created is carried out by the
// gateway, after the attempt of the response has been opened.
type turns struct {
	creates    bool   // the client wants a response after each detected turn
	interrupts bool   // the provider cancels the running response when the person speaks
	stopped    string // item of the last detected end of speech
	until      int64  // milliseconds of sound up to it
	waits      bool   // a response is due when the running one has ended
}

// detection returns the settings of turn detection in a session, and their path; nil if it has none, in this form or
// in the beta's.
func detection(session []byte) (settings []byte, path []string) {
	path = []string{"audio", "input", "turn_detection"}
	if v := rawjson.Get(session, path...); v != nil {
		return v, path
	}
	return rawjson.Get(session, "turn_detection"), path[2:]
}

// take sets the wishes by the settings of turn detection in a client's or a provider's session.
func (t *turns) take(settings []byte) {
	t.creates, t.interrupts = rawjson.KindOf(settings) == rawjson.Object, true
	for m := range rawjson.Members(settings) {
		v, ok := rawjson.AsBool(m.Value)
		switch {
		case !ok:
		case m.Is("create_response"):
			t.creates = v
		case m.Is("interrupt_response"):
			t.interrupts = v
		}
	}
	t.creates = t.creates && string(settings) != ""
}

// manual returns settings with which the provider creates no response: not after a turn, and not after a pause.
func manual(settings []byte) []byte {
	out := set(settings, []byte("false"), "create_response")
	if rawjson.Present(rawjson.Get(out, "idle_timeout_ms")) {
		out = set(out, []byte("null"), "idle_timeout_ms")
	}
	return out
}

// shown returns a session as the client set it: with create_response as it wished.
func (t *turns) shown(event []byte) []byte {
	settings, path := detection(rawjson.Get(event, "session"))
	if !t.creates || rawjson.KindOf(settings) != rawjson.Object {
		return event
	}
	path = append([]string{"session"}, append(path, "create_response")...)
	return set(event, []byte("true"), path...)
}

// committed reports whether a commit of sound is the end of a detected turn, and not the client's own.
func (t *turns) committed(item string) bool {
	detected := item != "" && item == t.stopped
	t.stopped = ""
	return t.creates && detected
}
