package rules

import (
	"fmt"
	"slices"

	"weir/internal/llm"
)

// NoSounds forbids audio in messages.
type NoSounds struct{}

func isSound(p llm.Part) bool { return p.Kind == llm.PartAudio }

// Broken returns the first message with audio.
func (NoSounds) Broken(r *llm.Request, _ []byte) string {
	for i := range r.Messages {
		if slices.ContainsFunc(r.Messages[i].Parts, isSound) {
			return fmt.Sprintf("messages.%d.content", i)
		}
	}
	return ""
}

// Fit refuses audio from the user's last question on, and replaces earlier audio by a note, because the conversation
// has the answers to it.
func (NoSounds) Fit(f *Fitting) error {
	asked := lastQuestion(f.Messages)
	for i := range f.Messages {
		for j := range f.Messages[i].Parts {
			switch {
			case !isSound(f.Messages[i].Parts[j]):
			case i >= asked:
				return llm.Invalid(fmt.Sprintf("messages[%d].content", i), "The model does not accept audio. "+
					"Send a transcript, or choose a model that accepts audio.")
			default:
				*f.part(i, j) = llm.Part{Kind: llm.PartText, Text: "[A sound, which is not played any more]"}
				f.Drop("sounds")
			}
		}
	}
	return nil
}

func (NoSounds) String() string { return "Messages contain no audio" }
