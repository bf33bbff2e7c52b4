package openai

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// start appends the begin of an answer.
func (d *Decoder) start(dst []llm.Event, c *chunk) []llm.Event {
	d.started, d.model = true, rawjson.Text(c.model)
	dst, e := llm.AppendEvent(dst, llm.EventStart, 0)
	e.Created, _ = rawjson.AsInt(c.created)
	e.ID, e.Model, e.Tier = rawjson.Text(c.id), d.model, rawjson.Text(c.tier)
	return dst
}

// meter appends the usage of a chunk.
func (d *Decoder) meter(dst []llm.Event, c *chunk) []llm.Event {
	var u usageObject
	usage, most, ok := u.decode(c.usage, d.q)
	cost := u.cost.amount()
	switch {
	case ok:
		if !c.hasChoice {
			usage = d.usages.alone(usage)
		}
		d.ran.addTo(&usage, d.model)
		return append(dst, llm.Event{
			Kind: llm.EventUsage, Tier: u.modes(d.tier), Metered: &llm.Metered{
				Usage: usage, Most: most, ProviderCost: cost, Alone: !c.hasChoice,
			},
		})
	case cost != nil, most != nil:
		return append(dst, llm.Event{Kind: llm.EventCost, Metered: &llm.Metered{ProviderCost: cost, Most: most}})
	}
	return dst
}

// chunk holds the members of a frame's object.
type chunk struct {
	id, model, created, tier []byte
	choices, usage, failure  []byte
	results, citations       []byte // listed sources
	padding                  []byte // hides the length of the text
	hasChoice                bool
}

func readChunk(data []byte) (c chunk) {
	var groq, bare []byte
	for m := range rawjson.Members(data) {
		switch string(m.Key()) {
		case "id":
			c.id = m.Value
		case "model":
			c.model = m.Value
		case "created":
			c.created = m.Value
		case "service_tier":
			c.tier = m.Value
		case "choices":
			c.choices = m.Value
		case "usage":
			c.usage = m.Value
		case "error":
			c.failure = m.Value
		case "object":
			if IsErrorObject(m.Value) {
				bare = data
			}
		case searchResults:
			c.results = m.Value
		case "citations":
			c.citations = m.Value
		case "obfuscation":
			c.padding = m.Value
		case "x_groq":
			groq = m.Value
		}
	}
	if !rawjson.Present(c.usage) {
		c.usage = rawjson.Get(groq, "usage")
	}
	c.hasChoice = rawjson.HasElement(c.choices)
	if bare != nil && !c.hasChoice && !rawjson.Present(c.failure) {
		c.failure = bare
	}
	return c
}

// IsErrorObject reports whether the member object says that its object is an error and not a part of one, as in
// vLLM's and Mistral's {"object": "error", "message": …}.
func IsErrorObject(value []byte) bool { return string(value) == `"error"` }
