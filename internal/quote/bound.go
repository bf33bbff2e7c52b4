package quote

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"time"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Precision is the amount of work to find an upper bound of an attempt's cost under a budget.
type Precision uint8

const (
	// Coarse counts bytes as tokens, images by their pixels, and assumes the maximum for content that the body does
	// not show. It is a true upper bound.
	Coarse Precision = iota
	// Fine counts the tokens of text instead of its bytes. It is a true upper bound too, for requests that Coarse
	// would refuse.
	Fine
	// Counted is the provider's own count with a margin, never above Fine, for requests that Fine would refuse.
	// Before the provider has counted, it is the lowest possible count.
	Counted
)

const (
	// unknownWindow is the context window, in tokens, of an unknown model: the largest common one.
	unknownWindow = 1 << 20

	// aroundTools is the number of tokens that a vendor adds for tools or for a format of the answer. The largest
	// published number is Anthropic's, up to 804:
	// https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview.
	aroundTools = 1024
	// aroundVendorTool is the number for a tool that the client runs and whose description the vendor writes, such as
	// a text editor.
	aroundVendorTool = 2048

	// aroundSound is the minimum number of tokens of a recording.
	aroundSound = 512
	// leastSound is the number of bytes per second from which the bytes of a recording bound its length, and
	// soundBytes the least bytes of base64 per token: no provider counts more than 40 tokens a second.
	leastSound = 1000
	soundBytes = 32

	// mostMade exceeds the output tokens of an image or a transcript by an unknown model, whose requests have no cap.
	// The largest documented image has 6240 (https://platform.openai.com/docs/guides/image-generation).
	mostMade = 16 << 10

	// endsLate exceeds the time for which an attempt continues after its timeout.
	endsLate = time.Minute

	// mostQueries exceeds the queries per request of a search that costs only its fee. No page gives a maximum; a few
	// are usual.
	mostQueries = 100

	// The usual work of a provider's tools, if budgets hold their usual cost: usualCalls bounds the calls, usualReads
	// is the number of times that the model then reads the results if no cap on calls is added, and usualFound is the
	// number of tokens that a call finds. A web search counts as 8,000 tokens at OpenAI if it is charged at a fixed
	// number (https://developers.openai.com/api/docs/pricing, undated copy).
	usualCalls, usualReads, usualFound = 5, 2, 10_000

	// mostCalls bounds the calls of a provider's own tool for a request without a cap. It is Anthropic's limit
	// (https://platform.claude.com/docs/en/agents-and-tools/tool-use/server-tools); OpenAI has only max_tool_calls.
	mostCalls = 10
)

// BoundBooks returns the bound for an account without a budget, for bookkeeping: bytes as tokens and the output cap,
// found without reading the body. It omits content that the body does not show.
func (q *Quote) BoundBooks() llm.Usage {
	u := q.shown()
	if !q.Op.Silent {
		u[llm.Output] = times(q.MaxOutput(), max(1, q.Head.Choices))
	}
	return u
}

// shown returns the bound of the input that the body shows.
func (q *Quote) shown() llm.Usage {
	u := q.Head.Most
	if !q.Op.Free && u.InputTokens() == 0 {
		u[llm.Input] = int64(len(q.Body)) // a token has at least one byte
	}
	u[llm.Input] += q.Behind
	q.bill(&u)
	return u
}

// upperBound computes upper bounds of a request's usage at one target, with one precision.
type upperBound struct {
	*Quote
	how Precision
	in  *Inputs
}

// rest returns the bound of all usage except the text of answers.
func (b upperBound) rest() llm.Usage {
	u, r := b.shown(), b.in
	if b.Op.Op != llm.OpChat {
		b.other(&u)
		return u
	}
	u[llm.Input] = times(b.reads(r.calls), max(1, r.reads))
	for class := range u {
		if llm.Class(class).IsTool() {
			u[class] = r.tools[class]
		}
	}
	if r.own {
		u[llm.CodeSessions] = b.Price.Sessions(u[llm.CodeSessions], b.Head.Asked, b.Target.Provider.Timeouts().Total+
			endsLate)
	}
	u[llm.Output] = times(r.beside, r.answers)
	u[llm.Milliseconds] = times(b.recorded(), max(1, r.reads))
	return u
}

// reads returns an upper bound of the input tokens of a chat with that many calls of the provider's tools: after
// each call the model reads the whole conversation again. Providers refuse input that exceeds the context window.
func (b upperBound) reads(calls int64) int64 {
	n, window, r := b.visible(b.how), b.window(), b.in
	if b.mayExceed() {
		window = max(n, window)
	}
	first, later := window, window // tools and their results may be part of the input from the first read on
	switch {
	case r.hidden:
	case calls == 0:
		first = min(n, window)
	case r.usual:
		first = min(n, window)
		for found := range calls {
			first += min(n+(found+1)*usualFound, window)
		}
		return first
	case b.Quirks.SearchWindow > 0 && r.searchesAlone():
		first, later = min(n, window), min(n+b.Quirks.SearchWindow, window)
	}
	return first + min(times(later, calls), math.MaxInt64-first)
}

// other completes the bound of operations other than chat. For images, speech and recordings the head has all. A
// compaction may have files and items whose size its body does not show.
func (b upperBound) other(u *llm.Usage) {
	switch b.Op.Op {
	case llm.OpEmbed:
	case llm.OpCompact:
		u[llm.Input] = b.window()
		return
	default:
		return
	}
	if _, err := b.Tree(); err != nil { // it may have more than texts
		u[llm.Input] = max(u[llm.Input], times(b.window(), inputsOf(b.Body)))
		return
	}
	if b.how == Fine {
		u[llm.Input] = tokensAtMost(b.Body, sameVocabulary(b.Target.Model)) + dialect.Around(b.Target.Model)
	}
	u[llm.Input] += b.normalized()
}

// inputsOf returns the number of inputs in a request for embeddings that may be as long as the context window:
// objects and lists of them. Texts and tokens are bounded by their own length.
func inputsOf(body []byte) (n int64) {
	for m := range rawjson.Members(body) {
		if rawjson.KindOf(m.Value) != rawjson.Array {
			continue
		}
		for _, v := range rawjson.Elements(m.Value) {
			if k := rawjson.KindOf(v); k == rawjson.Object || k == rawjson.Array {
				n++
			}
		}
	}
	return max(1, n)
}

// visible returns an upper bound of the tokens of a chat's visible input.
func (b upperBound) visible(how Precision) int64 {
	r := b.in
	switch how {
	case Counted:
		fine := b.visible(Fine)
		least := (fine - dialect.Around(b.Target.Model)) / leastCounted
		return max(least, min(fine, r.counted))
	case Fine:
		if r.fine == 0 {
			text := tokensAtMost(r.without(b.Body), sameVocabulary(b.Target.Model))
			r.fine = text + r.written + r.recordings.tokens + b.added()
		}
		return r.fine
	default:
		return int64(len(b.Body)) - r.beyond + b.added()
	}
}

// added returns an upper bound of a chat's tokens beyond those of its body.
func (b upperBound) added() (n int64) {
	r := b.in
	if !b.closed() {
		n += r.escapes
	}
	return n + b.normalized() + b.Behind + dialect.Around(b.Target.Model) + r.around + r.schemas + r.images
}

// normalized returns an upper bound of the bytes that normalization adds to the body before its tokens are counted.
// The vocabulary of this package does not normalize.
func (b upperBound) normalized() int64 {
	if sameVocabulary(b.Target.Model) {
		return 0
	}
	return b.lengthened()
}

// mayExceed reports whether the input may exceed window: the context window is unknown, or only an input beyond it
// reaches a tier of the price, so that the seller takes more than the data about the model says.
func (b upperBound) mayExceed() bool {
	n := b.table.Context(b.Target)
	isBeyond := func(t llm.Tier) bool { return t.Above >= n }
	return n == 0 || slices.ContainsFunc(b.Price.Tiers, isBeyond) ||
		slices.ContainsFunc(b.Price.Modes, func(m llm.Mode) bool { return slices.ContainsFunc(m.Tiers, isBeyond) })
}

// window returns the target's context window in tokens.
func (q *Quote) window() int64 {
	n := q.table.Context(q.Target)
	if n == 0 {
		n = unknownWindow
	}
	for piece, asked := range q.Dialect.Inputs.Windows {
		if q.Speaks == q.Dialect && (bytes.Contains(q.Body, []byte(piece)) || q.words().escaped) ||
			slices.ContainsFunc(q.Passed(), func(h dialect.Header) bool { return strings.Contains(h.Value, piece) }) {
			n = max(n, asked)
		}
	}
	return n
}

// times multiplies two counts and saturates.
func times(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}
