package simulator

import (
	"bytes"
	"net/http"
	"time"

	"weir/internal/llm"
)

// fault is one way to fail. Its functions that are set decide when it acts.
type fault struct {
	name string
	// outcome is the ledger's outcome of an answer with this fault.
	outcome Outcome

	// alter changes the answer itself.
	alter func(a *answer, s *spec)
	// prepare changes the way of answering.
	prepare func(c *call)
	// instead replaces the answer; false lets the answer follow.
	instead func(p *player) bool
	// breaks ends an answer at the fault's place.
	breaks func(p *player)
	inside bool // the place is within an event
	clean  bool // a whole body declares the length at which it breaks off
}

// statusFault answers with the status in the model name.
var statusFault = fault{name: "status", outcome: Rejected, instead: func(p *player) bool {
	p.refuse(refusal{err: statusError(p.spec.status), status: p.spec.status, retryAfter: p.retryAfter()})
	return true
}}

// faultList holds all faults, in the order of docs/simulator.md, which describes their effects.
var faultList = []fault{
	// No answer.
	{name: "reset", outcome: Cut, instead: hangs(hangReset)},
	{name: "close", outcome: Cut, instead: hangs(hangClose)},
	{name: "silence", outcome: Silent, instead: silence},
	{name: "headers-silence", outcome: Silent, instead: headersOnly},

	// An answer that breaks off.
	{name: "cut", outcome: Cut, breaks: breaks(hangClose), inside: true},
	{name: "cut-reset", outcome: Cut, breaks: breaks(hangReset), inside: true},
	{name: "half-close", outcome: Cut, breaks: breaks(hangHalf), inside: true},
	{name: "eof", outcome: Cut, breaks: func(*player) {}, clean: true},
	{name: "stall", outcome: Silent, breaks: func(p *player) { p.silent() }},
	{name: "half-frame", outcome: Cut, breaks: breaks(hangClose), inside: true},
	{name: "slow-loris", outcome: Served, prepare: slowLoris},
	{name: "error-event", outcome: Cut, instead: errorUnlessStream, breaks: failStream},
	{name: "no-end", outcome: Broken, prepare: func(c *call) { c.noEnd = true }},

	// An answer that is invalid.
	{name: "html", outcome: Broken, instead: html},
	{name: "json-error", outcome: Broken, instead: jsonError},
	{name: "empty", outcome: Broken, instead: empty},
	{name: "not-stream", outcome: Broken, prepare: func(c *call) { c.stream = false }},
	{name: "no-choices", outcome: Broken, prepare: noChoices},
	{name: "malformed", outcome: Broken, prepare: malformed},
	{name: "bad-crc", outcome: Broken, prepare: badChecksum},
	{name: "invalid-utf8", outcome: Broken, alter: markPiece, prepare: invalidUTF8},
	{name: "long-line", outcome: Broken, prepare: longLine},
	{name: "gzip", outcome: Broken, prepare: func(c *call) { c.compress = true }},
	{name: "length-short", outcome: Broken, prepare: lie(-1)},
	{name: "length-long", outcome: Broken, prepare: lie(+1)},

	// A detour.
	{name: "continue", outcome: Served, prepare: inform(http.StatusContinue)},
	{name: "early-hints", outcome: Served, prepare: inform(http.StatusEarlyHints)},
	{name: "redirect", outcome: Rejected, instead: redirect},

	// An answer with unusable content.
	{name: "content-filter", outcome: Served, alter: contentFilter},
	{name: "refusal", outcome: Served, alter: refusalAnswer},
	{name: "duplicate-tool-ids", outcome: Served, alter: duplicateIDs},
	{name: "bad-arguments", outcome: Served, alter: badArguments},

	// A refusal.
	{name: "context-length", outcome: Rejected, instead: refuses(contextLength)},
	{name: "content-policy", outcome: Rejected, instead: refuses(contentPolicy)},
	{name: "no-prefill", outcome: Rejected, instead: noPrefill},
	{name: "quota", outcome: Rejected, instead: refuses(quota)},
}

func faultNames() []string {
	names := make([]string, len(faultList))
	for i := range faultList {
		names[i] = faultList[i].name
	}
	return names
}

func hangs(how hangUp) func(*player) bool {
	return func(p *player) bool {
		p.breakOff(Cut, p.s.clock())
		p.w.hang(how, p.s.closed)
		return true
	}
}

func breaks(how hangUp) func(*player) {
	return func(p *player) {
		p.flush()
		p.w.hang(how, p.s.closed)
	}
}

func silence(p *player) bool {
	p.silent()
	return true
}

func headersOnly(p *player) bool {
	p.entry.consume(p.answer)
	p.begin(unset)
	p.silent()
	return true
}

const lorisPace = 10 * time.Second

func slowLoris(c *call) {
	s := *c.spec
	c.drip = s.pace
	if c.drip == 0 {
		c.drip = lorisPace
	}
	s.pace, s.chunk = 0, 1
	c.spec = &s
}

func errorUnlessStream(p *player) bool {
	if p.stream {
		return false
	}
	p.refuse(refusal{err: statusError(http.StatusInternalServerError), status: http.StatusInternalServerError})
	return true
}

func failStream(p *player) {
	p.limit = unset
	// the stream ends in any case
	_ = p.write(p.shape(p.enc.Fail(nil, statusError(http.StatusInternalServerError)), unset))
}

func html(p *player) bool {
	p.odd(http.StatusOK, "text/html; charset=utf-8",
		[]byte("<!doctype html>\n<title>Sign in</title>\n<h1>Please sign in to continue</h1>\n"))
	return true
}

func jsonError(p *player) bool {
	p.odd(http.StatusOK, "application/json", p.d.EncodeError(nil, statusError(http.StatusInternalServerError),
		p.requestID()))
	return true
}

func empty(p *player) bool {
	contentType := "application/json"
	if p.stream {
		contentType = p.d.Framing.ContentType
	}
	p.odd(http.StatusOK, contentType, nil)
	return true
}

func redirect(p *player) bool {
	p.w.Header().Set("Location", "http://169.254.169.254/latest/meta-data/")
	p.odd(http.StatusTemporaryRedirect, "text/plain", nil)
	return true
}

// odd sends a whole body in place of the answer.
func (c *call) odd(status int, contentType string, body []byte) {
	c.entry.begin(status)
	c.entry.end(c.fault.outcome, c.s.clock())
	c.respond(status, contentType, body)
}

func noChoices(c *call) { c.edit = withoutAnswer }

func malformed(c *call) {
	if !c.stream {
		c.mute, c.edit = true, firstHalf
		return
	}
	c.spoil = func(events []byte) []byte {
		return editEvents(&c.d.Framing, events, func(data []byte, last bool) []byte {
			if last {
				return firstHalf(data)
			}
			return data
		})
	}
}

func firstHalf(data []byte) []byte { return data[:len(data)/2] }

// badChecksum changes the last byte of a frame, which is the last of its checksum.
func badChecksum(c *call) {
	if !c.stream || c.form != formBinary {
		malformed(c)
		return
	}
	c.spoil = func(events []byte) []byte {
		events = bytes.Clone(events)
		events[len(events)-1] ^= 0xff
		return events
	}
}

// mark in the answer's text stands for bytes that no JSON encoder writes. It is escaped there, and replaced afterwards.
const (
	mark        = "\x00"
	markEscaped = `\u0000`
	notUTF8     = "\xff\xfe"
)

// markPiece marks a piece of the visible answer.
func markPiece(a *answer, s *spec) {
	if len(a.parts) == 0 {
		return
	}
	p := &a.parts[len(a.parts)-1]
	place, at := min(s.at, p.count-1), p.at
	p.at = func(h uint64, i int64) string {
		if i == place {
			return at(h, i) + mark
		}
		return at(h, i)
	}
}

func invalidUTF8(c *call) {
	c.edit = func(data []byte) []byte {
		return bytes.ReplaceAll(data, []byte(markEscaped), []byte(notUTF8))
	}
}

const defaultPadding = 64 << 20

func longLine(c *call) {
	c.padding = defaultPadding
	if c.spec.bytes != unset {
		c.padding = c.spec.bytes
	}
}

// lie declares a length that is off by half of the body, or for a stream, which has no known length, one that no stream
// has.
func lie(sign int64) func(*call) {
	return func(c *call) {
		c.mute = sign < 0
		c.lie = func(length int64) int64 {
			switch {
			case length != unset:
				return length + sign*(length/2)
			case sign < 0:
				return 100
			}
			return 1 << 40
		}
	}
}

func inform(status int) func(*call) {
	return func(c *call) { c.w.WriteHeader(status) }
}

func contentFilter(a *answer, s *spec) {
	a.limit = min(a.limit, s.at)
	a.finish = llm.FinishContentFilter
}

func refusalAnswer(a *answer, _ *spec) {
	for i := range a.parts {
		if a.parts[i].kind == llm.EventText {
			a.parts[i].kind = llm.EventRefusal
		}
	}
}

// duplicateIDs assigns one id to all tool calls, and makes two of a single one.
func duplicateIDs(a *answer, _ *spec) {
	if len(a.parts) == 0 || a.finish != llm.FinishToolCalls {
		return
	}
	if len(a.parts) == 1 {
		p := a.parts[0]
		p.tool.Index++
		a.add(p)
	}
	for i := range a.parts {
		a.parts[i].tool.ID = callID(a.hash, 0)
	}
}

// badArguments omits the last piece of the arguments.
func badArguments(a *answer, _ *spec) {
	if a.finish != llm.FinishToolCalls {
		return
	}
	for i := range a.parts {
		a.parts[i].count--
		a.limit--
	}
}
