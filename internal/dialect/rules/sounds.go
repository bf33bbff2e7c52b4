package rules

import (
	"fmt"
	"slices"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// NoSounds asks for messages without sounds.
type NoSounds struct{}

func isSound(p llm.Part) bool { return p.Kind == llm.PartAudio }

// Broken returns the first message that has one.
func (NoSounds) Broken(r *llm.Request, _ []byte) string {
	for i := range r.Messages {
		if slices.ContainsFunc(r.Messages[i].Parts, isSound) {
			return fmt.Sprintf("messages.%d.content", i)
		}
	}
	return ""
}

// Fit refuses those that the user's last question has, and leaves out those before it: the answers to them are in the
// conversation.
func (NoSounds) Fit(f *Fitting) error {
	asked := lastQuestion(f.Messages)
	for i := range f.Messages {
		for j := range f.Messages[i].Parts {
			switch {
			case !isSound(f.Messages[i].Parts[j]):
			case i >= asked:
				return llm.Invalid(fmt.Sprintf("messages[%d].content", i), "The model's API takes no sounds. Send a transcript, "+
					"or choose a model that takes sounds.")
			default:
				*f.part(i, j) = llm.Part{Kind: llm.PartText, Text: "[A sound, which is not played any more]"}
				f.Drop("sounds")
			}
		}
	}
	return nil
}

// Example has one that an earlier question was about.
func (NoSounds) Example() *llm.Request {
	r := saying("hello")
	r.Messages[0].Parts = append(r.Messages[0].Parts, llm.Part{
		Kind: llm.PartAudio, Media: &llm.Media{Data: "UklGRg==", Format: "wav"},
	})
	r.Messages = append(r.Messages, says(llm.RoleAssistant, "Hi."), says(llm.RoleUser, "and now?"))
	return r
}

func (NoSounds) String() string { return "There are no sounds" }

// PlainSounds asks that a sound is a string: its data in base64, or its address. The tree knows no other form, so a request
// that is written from it holds this.
type PlainSounds struct{}

// Broken is the member of a sound in a body, as OpenAI has it.
func (PlainSounds) Broken(_ *llm.Request, body []byte) string {
	for _, m := range rawjson.Elements(rawjson.Get(body, "messages")) {
		for _, p := range rawjson.Elements(rawjson.Get(m, "content")) {
			if rawjson.KindOf(rawjson.Get(p, "input_audio")) == rawjson.Object {
				return "input_audio"
			}
		}
	}
	return ""
}

// Fit changes nothing: the encoder writes what is right.
func (PlainSounds) Fit(*Fitting) error { return nil }

// Example is a request of one message. What breaks the rule is the member in its body.
func (PlainSounds) Example() *llm.Request { return saying("hello") }

func (PlainSounds) String() string {
	return "The `input_audio` of a sound is a string: base64 or an address"
}
