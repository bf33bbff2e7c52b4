package realtime

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// maxUpdates bounds the updates of a session that are on their way.
const maxUpdates = 16

// update is a session.update that the provider has not answered.
type update struct {
	event string // its id at the provider, which nobody can guess
	asked string // id that the client gave it; empty for none
	own   bool   // it is the gateway's
	shown bool   // the client gets the answer
}

// update relays new settings of the session. The provider creates no responses by itself, and the names of models are
// the provider's.
func (s *session) update(ctx context.Context, e event) error {
	session := rawjson.Get(e.frame, "session")
	s.mu.Lock()
	kind, audio, waiting := s.kind, s.input.audio, len(s.updates)
	s.mu.Unlock()
	if waiting >= maxUpdates {
		return llm.Errorf(llm.CodeRateLimited, "The provider has not answered %d updates yet. Wait for "+
			"session.updated.", waiting)
	}
	if v := rawjson.Get(session, "type"); kind != "" && rawjson.Present(v) && rawjson.Text(v) != kind {
		return llm.Invalidf("session.type", "The type of the session is %q and cannot be changed.", kind)
	}
	settings, err := s.settings(session)
	if err != nil {
		return err
	}
	sent := update{event: "weir_" + uuid.NewString(), asked: e.id, shown: true}
	s.mu.Lock()
	s.updates = append(s.updates, sent)
	s.input.settings(session)
	s.input.second = g711Bytes // until the provider reports the format
	s.mu.Unlock()
	if err := s.hearing.cover(ctx, audio); err != nil { // sound that is not committed yet
		s.mu.Lock()
		defer s.mu.Unlock()
		s.updates.remove(sent.event)
		s.updates.apply(&s.input, &s.hearing)
		return err
	}
	return s.send(set(set(e.frame, settings, "session"), quoted(sent.event), "event_id"))
}

// updates are the updates on their way to the provider, in order.
type updates []update

// answered removes the oldest update, which the provider has confirmed.
func (u *updates) answered() update {
	if len(*u) == 0 {
		return update{shown: true}
	}
	first := (*u)[0]
	*u = (*u)[1:]
	return first
}

// remove removes an update that is not in force. It returns false if there is none with that id.
func (u *updates) remove(event string) (removed update, ok bool) {
	i := slices.IndexFunc(*u, func(u update) bool { return u.event == event })
	if i < 0 {
		return update{}, false
	}
	removed = (*u)[i]
	*u = slices.Delete(*u, i, i+1)
	return removed, true
}

// apply takes the provider's last report as the truth if no update is on its way.
func (u *updates) apply(i *input, h *hearing) {
	if len(*u) > 0 {
		i.second = g711Bytes
		return
	}
	i.second = i.told
	h.apply()
}

// oneForm refuses settings in the form of the API and also in that of the beta: providers take one of them.
func oneForm(session []byte) error {
	for name, beta := range map[string]string{
		"turn_detection": "turn_detection", "transcription": "input_audio_transcription",
		"format": "input_audio_format",
	} {
		if rawjson.Get(session, "audio", "input", name) != nil && rawjson.Get(session, beta) != nil {
			return llm.Invalidf("session."+beta, "The session has audio.input.%s, too. Send one of them.", name)
		}
	}
	return nil
}
