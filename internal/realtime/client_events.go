package realtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/websocket"
)

// fromClient relays the client's events until the client leaves.
func (s *session) fromClient(ctx context.Context) error {
	late := time.NewTimer(openedWithin)
	defer late.Stop()
	select {
	case <-s.opened: // the provider's session is set before the client's events reach it
	case <-late.C:
		return llm.Errorf(llm.CodeProviderTimeout, "The provider has not begun the session. Connect again.")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	from := newReader(&s.meter, s.request, s.client)
	defer from.close()
	for {
		kind, frame, err := from.next()
		refused, _ := errors.AsType[*llm.Error](err)
		switch {
		case refused != nil:
			return refused
		case err != nil:
			return errLeft
		case kind != websocket.Text:
			s.answer(llm.Invalid("", "The message is binary. Send each event as JSON in a text message."), "")
			continue
		}
		var e event
		err = from.held.TurnFor(int64(len(frame)), func() (err error) {
			e, err = parseEvent(frame)
			return err
		})
		if err == nil {
			err = s.take(ctx, e)
		}
		s.answer(err, e.id)
		if errors.Is(err, errProvider) {
			return errProvider
		}
	}
}

// take relays one event of the client, after what it may cost has been reserved.
func (s *session) take(ctx context.Context, e event) error {
	s.sends.Lock()
	defer s.sends.Unlock()
	switch e.kind {
	case eventCreate:
		return s.begin(ctx, e)
	case eventUpdate:
		return s.update(ctx, e)
	case eventAppend:
		s.mu.Lock()
		s.input.sound(e.audio)
		audio := s.input.audio
		s.mu.Unlock()
		if err := s.hearing.cover(ctx, audio); err != nil {
			return err
		}
	case eventCommit:
		s.mu.Lock()
		s.input.sent = s.input.audio
		s.mu.Unlock()
	case eventItem:
		s.mu.Lock()
		s.input.text(e.frame)
		s.mu.Unlock()
		return s.clock.message(ctx, e.frame, s.send)
	}
	return s.send(e.frame)
}

// send sends an event to the provider.
func (s *session) send(frame []byte) error {
	if err := s.peer.Send(websocket.Text, frame); err != nil {
		return fmt.Errorf("%w: %w", errProvider, err)
	}
	return nil
}

// settings returns the settings for the provider, and takes the client's wishes from them.
func (s *session) settings(session []byte) ([]byte, error) {
	if rawjson.KindOf(session) != rawjson.Object {
		return nil, llm.Invalid("session", "The event has no session. Send its settings as an object.")
	}
	if rawjson.Present(rawjson.Get(session, "model")) {
		session = set(session, quoted(s.target.Model), "model")
	}
	if err := oneForm(session); err != nil {
		return nil, err
	}
	if err := s.clock.permits(session); err != nil {
		return nil, err
	}
	session, err := s.hearing.with(session)
	if err != nil {
		return nil, err
	}
	found, path := detection(session)
	if found == nil || s.clock.on {
		return session, nil
	}
	s.mu.Lock()
	s.turns.take(found)
	s.turns.creates = s.turns.creates && s.kind != kindTranscription
	s.mu.Unlock()
	if rawjson.KindOf(found) != rawjson.Object || s.kind == kindTranscription {
		return session, nil
	}
	return set(session, manual(found), path...), nil
}

// kindTranscription is the type of a session that only transcribes.
const kindTranscription = "transcription"
