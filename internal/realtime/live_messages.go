package realtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/websocket"
)

// fromClient relays the client's messages, after the attempts that they need have been opened, until the client leaves.
func (s *live) fromClient(ctx context.Context) error {
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
		}
		var m dialect.LiveMessage
		err = from.held.TurnFor(int64(len(frame)), func() (err error) {
			m, err = s.form.Read(frame)
			return err
		})
		if err == nil {
			err = s.take(ctx, &m, kind, frame)
		}
		if errors.Is(err, errProvider) {
			return err
		}
		if err != nil {
			s.refuse(err)
		}
	}
}

// take relays one message of the client.
func (s *live) take(ctx context.Context, m *dialect.LiveMessage, kind websocket.Kind, frame []byte) error {
	if m.Setup != nil {
		return llm.Invalid("setup", "The session has a setup. Connect again for another one.")
	}
	s.sends.Lock()
	defer s.sends.Unlock()
	s.mu.Lock()
	finishing := s.finishing != nil
	s.mu.Unlock()
	if finishing { // the session ends after the answer that is awaited
		return nil
	}
	if err := s.cover(ctx, m); err != nil {
		return err
	}
	if err := s.peer.Send(kind, frame); err != nil {
		return fmt.Errorf("%w: %w", errProvider, err)
	}
	return nil
}

// fromProvider relays the provider's messages until it ends the session.
func (s *live) fromProvider() error {
	from := newReader(&s.meter, s.request, s.peer)
	defer from.close()
	begun := time.AfterFunc(openedWithin, func() {
		s.end(llm.Errorf(llm.CodeProviderTimeout, "The provider has not begun the session. Connect again."))
	})
	defer begun.Stop()
	for {
		kind, frame, err := from.next()
		if refused, ok := errors.AsType[*llm.Error](err); ok {
			return refused
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errProvider, err)
		}
		e := s.form.Event(frame)
		if e.Ready {
			begun.Stop()
		}
		s.observe(&e)
		if err := s.client.Send(kind, frame); err != nil {
			s.end(errLeft) // the usage of its answers is still read
		}
	}
}

// observe meters a message of the provider.
func (s *live) observe(e *dialect.LiveEvent) {
	if e.Begun {
		s.observeBegun()
	}
	if e.Usage != nil {
		s.observeUsage(e)
	}
	s.mu.Lock()
	r := s.answers.running
	if r != nil {
		r.text, r.sound = r.text+e.Text, r.sound+e.Sound
		if r.first == 0 && e.Text+e.Sound > 0 {
			r.first = max(1, s.server.now().Sub(r.hold.Attempt().Opened))
		}
	}
	done := s.answers.follow(e)
	if s.finishing != nil && !s.answers.awaited() {
		s.end(s.finishing)
	}
	s.mu.Unlock()
	if done != nil {
		s.settleAnswer(done, done.settled())
	}
}

// observeBegun assigns the oldest attempt to an answer that has begun. One that has none gets an attempt now.
func (s *live) observeBegun() {
	s.mu.Lock()
	if s.answers.running != nil {
		s.mu.Unlock()
		return
	}
	ended := s.answers.begin()
	running := s.answers.running
	s.mu.Unlock()
	if ended != nil {
		s.settleAnswer(ended, ended.settled())
	}
	if running == nil {
		running = s.openLate()
		s.mu.Lock()
		s.answers.running = running
		s.mu.Unlock()
	}
}

// observeUsage adds a report to the attempt that it belongs to. The model may also report usage of an answer of which
// nothing comes.
func (s *live) observeUsage(e *dialect.LiveEvent) {
	used, most, ok := s.form.Usage(e.Usage)
	s.mu.Lock()
	of := s.answers.usageOf(e)
	if of != nil {
		of.report(used, most, ok)
	}
	s.mu.Unlock()
	if of != nil {
		return
	}
	s.observeBegun()
	s.mu.Lock()
	defer s.mu.Unlock()
	if of = s.answers.running; of != nil {
		of.report(used, most, ok)
	}
}
