package realtime

import (
	"errors"

	"github.com/google/uuid"

	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/websocket"
)

// fromProvider relays the provider's events until it ends the session.
func (s *session) fromProvider() error {
	from := newReader(&s.meter, s.request, s.peer)
	defer from.close()
	for {
		kind, frame, err := from.next()
		if refused, ok := errors.AsType[*llm.Error](err); ok {
			return refused
		}
		if err != nil {
			return errProvider
		}
		if kind == websocket.Text {
			frame = s.observe(frame)
		}
		if frame == nil {
			continue
		}
		if err := s.client.Send(kind, frame); err != nil {
			s.end(errLeft) // the usage of its responses is still read
		}
	}
}

// observe meters an event of the provider, and returns the event for the client; nil for none.
func (s *session) observe(frame []byte) []byte {
	switch rawjson.Text(rawjson.Get(frame, "type")) {
	case eventOpened:
		s.observeOpened(frame)
	case eventUpdated:
		return s.observeUpdated(frame)
	case eventStopped:
		s.mu.Lock()
		s.turns.stopped = rawjson.Text(rawjson.Get(frame, "item_id"))
		s.turns.until, _ = rawjson.AsInt(rawjson.Get(frame, "audio_end_ms"))
		s.mu.Unlock()
	case eventBuffered:
		s.observeCommitted(rawjson.Text(rawjson.Get(frame, "item_id")))
	case eventBegun:
		s.observeBegun(rawjson.Get(frame, "response"))
	case eventDone:
		s.observeDone(rawjson.Get(frame, "response"))
	case eventError:
		return s.observeError(frame)
	case eventHeard, eventUnheard:
		if err := s.hearing.observe(s.ctx, frame); err != nil {
			s.end(err)
		}
	default:
		s.observePiece(frame)
	}
	return frame
}

// observeOpened sets the provider's new session so that it creates no responses by itself, with the settings of a
// client secret.
func (s *session) observeOpened(frame []byte) {
	select {
	case <-s.opened: // only the first one counts
		return
	default:
	}
	session := rawjson.AppendWithoutNull(nil, rawjson.Get(frame, "session"), `"prompt"`)
	found, path := detection(session)
	s.mu.Lock()
	s.kind = rawjson.Text(rawjson.Get(session, "type"))
	s.input.settings(session)
	s.input.format(session)
	s.turns.take(found)
	s.turns.creates = s.turns.creates && s.kind != kindTranscription && !s.clock.on
	s.mu.Unlock()
	s.hearing.tell(session)
	s.hearing.apply()
	if update, err := s.first(found, path); err != nil {
		s.end(err)
	} else if update != nil {
		_ = s.send(update)
	}
	close(s.opened)
}

// first returns the gateway's own update of a new session; nil for none. found are the provider's settings of turn
// detection, at that path.
func (s *session) first(found []byte, path []string) (event []byte, err error) {
	settings := []byte(`{}`)
	if s.preset != nil {
		if settings, err = s.settings(s.preset); err != nil {
			return nil, err
		}
	}
	detects := s.kind != kindTranscription && rawjson.KindOf(found) == rawjson.Object
	own, _ := detection(s.preset)
	switch {
	case s.clock.on && own != nil:
		settings = set(settings, own, path...)
	case s.clock.on:
		settings = set(settings, []byte(`{"type":"`+byDuration+`"}`), path...)
	case own == nil && detects:
		settings = set(settings, manual(found), path...)
	}
	if string(settings) == `{}` {
		return nil, nil
	}
	if s.kind != "" {
		settings = set(settings, quoted(s.kind), "type")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.input.settings(settings)
	sent := update{event: "weir_" + uuid.NewString(), own: true, shown: s.preset != nil}
	s.updates = append(s.updates, sent)
	return set(set([]byte(`{"type":"`+eventUpdate+`"}`), settings, "session"), quoted(sent.event), "event_id"), nil
}

// observeUpdated returns the confirmation of settings as the client made them; nil for settings of the gateway's own.
func (s *session) observeUpdated(frame []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	session := rawjson.Get(frame, "session")
	s.input.format(session)
	s.hearing.tell(session)
	if err := s.clock.permits(session); err != nil {
		s.end(llm.Errorf(llm.CodeProviderError, "The provider has other settings than the session needs: %v", err))
	}
	answered := s.updates.answered()
	s.updates.apply(&s.input, &s.hearing)
	if !answered.shown {
		return nil
	}
	return s.turns.shown(frame)
}

// observeCommitted notes that a response is due if the provider has detected the end of a turn.
func (s *session) observeCommitted(item string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if item == s.turns.stopped {
		s.input.commit(s.turns.until)
	} else {
		s.input.commit(s.input.sent)
	}
	s.hearing.committed(item, s.input.handed)
	if !s.turns.committed(item) {
		return
	}
	if s.responses.answers() {
		s.turns.waits = s.turns.interrupts // the provider creates none beside a response that goes on
		return
	}
	s.wantResponse()
}

// wantResponse has a response begun outside the provider's turn.
func (s *session) wantResponse() {
	s.turns.waits = false
	select {
	case s.due <- struct{}{}:
	default: // one is due already
	}
}
