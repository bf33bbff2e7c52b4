package rules

import (
	"bytes"
	"fmt"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// InBody is a condition that only bodies of clients break. Encoders keep it, so requests built from a tree do, too, and
// there is nothing to fit.
type InBody struct {
	Finds func(body []byte) string // returns the value that breaks it, in the form for the vendor's message
	Wants string                   // the sentence for the vendor's page
	Wrong string                   // a body that breaks it, without its model
}

// Broken returns the value that breaks it in a body.
func (a InBody) Broken(_ *llm.Request, body []byte) string {
	if body == nil {
		return ""
	}
	return a.Finds(body)
}

// Fit changes nothing.
func (InBody) Fit(*Fitting) error { return nil }

func (a InBody) String() string { return a.Wants }

// noDeveloper requires the role system instead of developer. The tree has no role developer.
func noDeveloper() InBody {
	return InBody{
		Finds: developerRole,
		Wants: "Instructions have the role `system`, not `developer`",
		Wrong: `{"messages":[{"role":"developer","content":"Be brief."},{"role":"user","content":"hello"}]}`,
	}
}

// developerRole returns the role if a body has it.
func developerRole(body []byte) string {
	if !bytes.Contains(body, []byte(`"developer"`)) {
		return ""
	}
	return "developer"
}

// alternation requires alternating messages of user and assistant. The encoder joins consecutive messages of one role
// after it has omitted content that the model does not accept.
func alternation() InBody {
	return InBody{
		Finds: repeatedRole,
		Wants: "Messages of user and assistant alternate; tool results count as the user's",
		Wrong: `{"messages":[{"role":"user","content":[{"text":"hello"}]},` +
			`{"role":"user","content":[{"text":"and?"}]}]}`,
	}
}

// repeatedRole returns the index of the first message that has the role of the message before it.
func repeatedRole(body []byte) string {
	before := ""
	for i, m := range rawjson.Elements(rawjson.Get(body, "messages")) {
		role := rawjson.Text(rawjson.Get(m, "role"))
		if role == before {
			return strconv.Itoa(i)
		}
		before = role
	}
	return ""
}

// plainSounds requires that audio is a string: its data in base64, or its address.
func plainSounds() InBody {
	return InBody{
		Finds: soundObject,
		Wants: "The `input_audio` of a part is a string: base64 or an address",
		Wrong: `{"messages":[{"role":"user","content":[` +
			`{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}]}]}`,
	}
}

// soundObject returns OpenAI's member for audio.
func soundObject(body []byte) string {
	for _, m := range rawjson.Elements(rawjson.Get(body, "messages")) {
		for _, p := range rawjson.Elements(rawjson.Get(m, "content")) {
			if rawjson.KindOf(rawjson.Get(p, "input_audio")) == rawjson.Object {
				return "input_audio"
			}
		}
	}
	return ""
}

// documentURLs requires that an inline document is a data URL in a part of its own type.
func documentURLs() InBody {
	return InBody{
		Finds: fileData,
		Wants: "Inline documents are data URLs in parts of the type `document_url`",
		Wrong: `{"messages":[{"role":"user","content":[{"type":"file","file":` +
			`{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="}}]}]}`,
	}
}

// fileData returns OpenAI's member for a document.
func fileData(body []byte) string {
	if !bytes.Contains(body, []byte(`"file_data"`)) {
		return ""
	}
	return "file"
}

const refusal = "refusal"

// refusalMembers requires that a refusal is a member of its message and not a part of its content.
func refusalMembers() InBody {
	return InBody{
		Finds: refusalPart,
		Wants: "Refusals in earlier messages are in the field `refusal` of the message",
		Wrong: `{"messages":[{"role":"user","content":"hello"},` +
			`{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]},{"role":"user","content":"why?"}]}`,
	}
}

// refusalPart returns the first part with a refusal.
func refusalPart(body []byte) string {
	for i, m := range rawjson.Elements(rawjson.Get(body, "messages")) {
		for j, p := range rawjson.Elements(rawjson.Get(m, "content")) {
			if rawjson.Text(rawjson.Get(p, "type")) == refusal {
				return fmt.Sprintf("messages.%d.content.%d", i, j)
			}
		}
	}
	return ""
}
