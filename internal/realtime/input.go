package realtime

import (
	"bytes"

	"weir/internal/rawjson"
)

const (
	// aroundTurn is the number of tokens that a provider may add to a conversation for tools and formats.
	aroundTurn = 1024
	// tokensPerSecond is twice the tokens of sound that OpenAI counts a second, one for each 100 milliseconds of input
	// (https://platform.openai.com/docs/guides/realtime-costs, undated copy): providers round up each piece.
	tokensPerSecond = 20
	// pcmBytes and g711Bytes are the bytes of a second: 24 kHz in 16 bits, and 8 kHz in 8 bits.
	pcmBytes, g711Bytes = 48_000, 8_000
	// unknownWindow is the context window of an unknown model, in tokens.
	unknownWindow = 1 << 17
)

// input bounds the tokens that the next response reads: the whole conversation. A text has at most as many tokens as
// bytes.
type input struct {
	window int64 // of the model
	base   int64 // read and written by the last response of the conversation
	added  int64 // by events since the session began
	before int64 // value of begun when that response began
	hidden bool  // the conversation has something of unknown size, such as an image
	second int64 // bytes of sound in a second
	told   int64 // value of second by the provider's last report
	audio  int64 // milliseconds of sound since the session began
	handed int64 // milliseconds of it that are known to have become a part of the conversation
	sent   int64 // value of audio at the client's last commit
}

func newInput(window int64) input {
	if window == 0 {
		window = unknownWindow
	}
	return input{window: window, second: g711Bytes, told: g711Bytes}
}

// bound returns an upper bound of the tokens that a response reads if it begins now. Providers refuse or cut what
// exceeds the context window.
func (i *input) bound() int64 {
	if i.hidden {
		return i.window
	}
	return min(i.window, i.base+i.added-i.before+aroundTurn)
}

// text adds an event whose content is text, tools or instructions.
func (i *input) text(event []byte) {
	if hasHidden(event) {
		i.hidden = true
	}
	i.added += int64(len(event))
}

// sound adds a piece of sound in base64.
func (i *input) sound(base64 []byte) {
	millis := (int64(len(base64))*750 + i.second - 1) / i.second
	i.audio += millis
	i.added += millis*tokensPerSecond/1000 + 1
}

// settings adds new settings of the session. If the conversation is cut to a part of it, what a response reads says
// nothing of the whole, which the next settings may restore.
func (i *input) settings(session []byte) {
	i.text(session)
	if rawjson.KindOf(rawjson.Get(session, "truncation")) == rawjson.Object {
		i.hidden = true
	}
}

// begun returns the value of added for a response that begins now: without the sound that may not be committed yet.
func (i *input) begun() int64 { return i.added - (i.audio-i.handed)*tokensPerSecond/1000 }

// commit notes that the first milliseconds of the session's sound have become a part of the conversation.
func (i *input) commit(millis int64) { i.handed = max(i.handed, min(millis, i.audio)) }

// read sets the tokens that a response of the conversation has read and written. began is the value of begun when it
// began.
func (i *input) read(tokens, began int64) { i.base, i.before = tokens, began }

// hasHidden reports whether an event may have content that its bytes do not bound: images, prompts that the provider
// stores, tools of servers whose descriptions the provider fetches, and items of the conversation that it repeats. An
// escaped letter may hide such a word.
func hasHidden(event []byte) bool {
	for _, word := range []string{"image", `"prompt"`, `"mcp"`, "item_reference", `\u004`, `\u005`, `\u006`, `\u007`} {
		if bytes.Contains(event, []byte(word)) {
			return true
		}
	}
	return false
}

// format sets the bytes of a second of sound by the format of a session; the fewest for an unknown one.
func (i *input) format(session []byte) {
	kind := rawjson.Text(rawjson.Get(session, "audio", "input", "format", "type"))
	if kind == "" {
		kind = rawjson.Text(rawjson.Get(session, "input_audio_format")) // beta
	}
	if i.second = g711Bytes; kind == "audio/pcm" || kind == "pcm16" {
		i.second = pcmBytes
	}
	i.told = i.second
}
