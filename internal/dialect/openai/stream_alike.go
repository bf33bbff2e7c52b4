package openai

import "weir/internal/llm"

// keep stores the shape of a chunk that has only a piece of text.
func (d *Decoder) keep(name, data []byte, c *chunk, said []llm.Event) {
	d.alike.Forget()
	if len(said) != 1 || said[0].Kind != llm.EventText || said[0].Tokens != nil || said[0].Signature != "" ||
		d.spoken == nil ||
		c.failure != nil || len(name) > 0 || d.otherData {
		return
	}
	d.of = said[0].Choice
	d.alike.Keep(name, data, d.spoken, c.padding)
}

// again appends the event of a chunk that differs from the one before only in its text.
func (d *Decoder) again(dst []llm.Event, text []byte) []llm.Event {
	if len(text) == 0 {
		return dst
	}
	return d.say(dst, d.of, string(text))
}
