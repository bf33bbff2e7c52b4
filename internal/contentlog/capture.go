package contentlog

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
)

const (
	// ofCapture and ofPart are the bytes of memory that a capture and a part of an answer need, besides their texts.
	ofCapture = 1 << 10
	ofPart    = 128
	// mostParts bounds the choices and calls of an answer: one answer must not take the memory of all captures.
	mostParts = 1 << 10
	// mostFailures bounds the failures of a request, and mostReason the bytes of each of their texts.
	mostFailures = 20
	mostReason   = 1 << 10
)

// Request identifies a request whose content is logged, and its caller.
type Request struct {
	ID           uuid.UUID
	Account, Key string // ids
}

// Capture collects the content of a request. A nil one collects nothing. It has copies of all texts: it outlives its
// request. Its methods must not be called concurrently.
type Capture struct {
	recorder   *Recorder
	share      *share
	of         Request
	at         time.Time
	room       int64 // bytes of the recorder's memory
	request    []byte
	requestCut bool

	failures []Failure

	choices map[int]*choice
	whole   []byte // an answer other than of a chat, as JSON
	size    int    // bytes of the answer's texts
	parts   int    // choices and calls
	cut     bool
}

// choice is a choice of an answer that is being collected.
type choice struct {
	text, reasoning, refusal []byte
	calls                    map[int]*call // by position
	finish                   llm.FinishReason
}

// call is a call that is being collected.
type call struct {
	name      string
	arguments []byte
}

// Event adds an event of the answer that the client gets.
func (c *Capture) Event(e *llm.Event) {
	if c == nil {
		return
	}
	if e.Kind == llm.EventFinish {
		if to := c.choice(e.Choice); to != nil {
			to.finish = e.Finish
		}
		return
	}
	if e.Text == "" && e.Kind != llm.EventToolCall {
		return
	}
	to := c.choice(e.Choice)
	if to == nil {
		return
	}
	switch e.Kind {
	case llm.EventText:
		to.text = c.add(to.text, e.Text)
	case llm.EventReasoning:
		to.reasoning = c.add(to.reasoning, e.Text)
	case llm.EventRefusal:
		to.refusal = c.add(to.refusal, e.Text)
	case llm.EventToolCall:
		c.addCall(to, e)
	}
}

// choice returns the choice with that index; nil if there is no room for another one.
func (c *Capture) choice(index int) *choice {
	to := c.choices[index]
	if to == nil && c.part(0) {
		if c.choices == nil {
			c.choices = map[int]*choice{}
		}
		to = &choice{}
		c.choices[index] = to
	}
	return to
}

func (c *Capture) addCall(to *choice, e *llm.Event) {
	of := to.calls[e.Tool.Index]
	if of == nil {
		if !c.part(len(e.Tool.Name)) {
			return
		}
		if to.calls == nil {
			to.calls = map[int]*call{}
		}
		of = &call{}
		to.calls[e.Tool.Index] = of
	}
	if of.name == "" {
		of.name = string([]byte(e.Tool.Name))
	}
	of.arguments = c.add(of.arguments, e.Text)
}

// part takes the memory of a choice, or of a call with a name of n bytes. Without it the answer is truncated.
func (c *Capture) part(n int) bool {
	if c.cut || c.parts == mostParts || n > c.recorder.most-c.size {
		c.cut = true
		return false
	}
	c.parts++
	c.size += n
	return c.take(ofPart + n)
}

// add appends a text, as far as there is room.
func (c *Capture) add(to []byte, text string) []byte {
	switch {
	case c.cut:
		return to
	case len(text) <= c.recorder.most-c.size && c.take(len(text)):
		c.size += len(text)
		return append(to, text...)
	}
	c.cut = true
	if n := c.recorder.most - c.size; n < len(text) && c.take(n) {
		to = append(to, text[:n]...)
	}
	return to
}

// take takes n bytes of the recorder's memory. Without it the answer is truncated.
func (c *Capture) take(n int) bool {
	if !c.recorder.queue.take(c.share, int64(n)) {
		c.cut = true
		return false
	}
	c.room += int64(n)
	return true
}

// JSON sets the answer of another operation than a chat.
func (c *Capture) JSON(answer []byte) {
	if c == nil || !json.Valid(answer) || !c.take(min(len(answer), c.recorder.most)) {
		return
	}
	c.whole, c.cut = shortened(answer, c.recorder.most)
}

// Failed adds a failed attempt. Without room it is left out.
func (c *Capture) Failed(f Failure) {
	if c == nil || len(c.failures) == mostFailures {
		return
	}
	f.Message, f.Provider = c.reason(f.Message), c.reason(f.Provider)
	f.Target = string([]byte(f.Target))
	c.failures = append(c.failures, f)
}

// reason returns a copy of a text, without what is beyond its bound.
func (c *Capture) reason(text string) string {
	cut := []byte(text[:min(len(text), mostReason)])
	if len(cut) < len(text) {
		cut = cut[:wordsEnd(cut)]
	}
	if cutBefore := c.cut; !c.take(len(cut)) {
		c.cut = cutBefore // the answer is complete
		return ""
	}
	return string(cut)
}

// Restart drops the answer, because another attempt answers from the start.
func (c *Capture) Restart() {
	if c != nil {
		c.choices, c.whole, c.size, c.parts, c.cut = nil, nil, 0, 0, false
	}
}

// End passes the content on to be written. It does not wait.
func (c *Capture) End() {
	if c != nil {
		c.recorder.queue.put(c)
	}
}

// answer returns the collected answer as JSON; nil if there is none.
func (c *Capture) answer() json.RawMessage {
	if c.choices == nil {
		return c.whole
	}
	a := Answer{Choices: []Choice{}}
	for _, index := range slices.Sorted(maps.Keys(c.choices)) {
		from := c.choices[index]
		to := Choice{
			Index: index, Text: c.kept(from.text), Reasoning: c.kept(from.reasoning), Refusal: c.kept(from.refusal),
			Finish: string(from.finish),
		}
		for _, position := range slices.Sorted(maps.Keys(from.calls)) {
			of := from.calls[position]
			to.Calls = append(to.Calls, Call{of.name, c.kept(of.arguments)})
		}
		a.Choices = append(a.Choices, to)
	}
	text, err := json.Marshal(&a)
	if err != nil {
		return nil
	}
	return text
}

// kept returns the text of a part. The last word of each part of a truncated answer is left out, because it may be a
// part of a secret.
func (c *Capture) kept(text []byte) string {
	if c.cut {
		text = text[:wordsEnd(text)]
	}
	return string(text)
}
