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

// Precision is how much work goes into finding what an attempt can cost at most
// under a budget.
type Precision uint8

const (
	// Coarse is a true bound: bytes for tokens, and all that the body does not
	// show at the most that it can be; images by their pixels.
	Coarse Precision = iota
	// Fine is a true bound, too, with text counted in place of its bytes: for what
	// Coarse would refuse.
	Fine
	// Counted is what the provider counts, with a margin and never above Fine: for what Fine would refuse. Before it
	// was asked, it is the least that it may count.
	Counted
)

const (
	// unknownWindow is the context window, in tokens, of a model that nobody
	// knows: the largest that is usual.
	unknownWindow = 1 << 20

	// aroundTools are the tokens that a vendor puts in where there are tools, or a form for the answer. Anthropic's,
	// the longest that is told, has up to 804:
	// https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview.
	aroundTools = 1024
	// aroundVendorTool are those of a tool whose description the vendor writes,
	// although the client runs it, such as a text editor.
	aroundVendorTool = 2048

	// aroundSound is what a recording counts at least.
	aroundSound = 512
	// leastSound is how many bytes a second a recording has whose bytes bound its
	// length, and soundBytes how many bytes of base64 a token of it has at least:
	// nobody counts more than 40 tokens a second.
	leastSound = 1000
	soundBytes = 32

	// mostMade is more tokens than a model that nobody knows makes of an image, or
	// writes of a recording: there is no cap to put in. The largest image that is
	// told of has 6240 (https://platform.openai.com/docs/guides/image-generation).
	mostMade = 16 << 10

	// endsLate is more than an attempt goes on after its time is up.
	endsLate = time.Minute

	// mostQueries is more queries than a model makes for one request of a search that costs its fee
	// alone. No page says how many it makes at most; a few are usual.
	mostQueries = 100

	// usualCalls is how often tools of a provider's are called at most where budgets hold their
	// usual cost; usualReads is how often the model then reads what they found, where no cap on
	// the calls is put in; and usualFound is how many tokens each call finds.
	// A search of the web brings 8,000 tokens at OpenAI where it is charged for as so many
	// (https://developers.openai.com/api/docs/pricing, undated copy).
	usualCalls, usualReads, usualFound = 5, 2, 10_000

	// mostCalls is how many calls of a tool that it runs itself a provider makes
	// for one request which says no number. It is Anthropic's own limit
	// (https://platform.claude.com/docs/en/agents-and-tools/tool-use/server-tools);
	// OpenAI has none but max_tool_calls.
	mostCalls = 10
)

// BoundBooks is the bound for an account without a budget, for bookkeeping: bytes
// for tokens and the cap, found without a look into the body. It misses what the
// body does not show.
func (q *Quote) BoundBooks() llm.Usage {
	u := q.shown()
	if !q.Op.Silent {
		u[llm.Output] = times(q.MaxOutput(), max(1, q.Head.Choices))
	}
	return u
}

// shown is the bound of the input as far as the body shows it.
func (q *Quote) shown() llm.Usage {
	u := q.Head.Most
	if !q.Op.Free && u.InputTokens() == 0 {
		u[llm.Input] = int64(len(q.Body)) // a token is at least a byte
	}
	u[llm.Input] += q.Behind
	q.bill(&u)
	return u
}

// boundBeside is the bound of all but the words of the answers.
func (q *Quote) boundBeside(how Precision, r *Inputs) llm.Usage {
	u := q.shown()
	if q.Op.Op != llm.OpChat {
		q.boundOther(how, &u)
		return u
	}
	u[llm.Input] = times(q.boundReads(how, r, r.calls), max(1, r.reads))
	for class := range u {
		if llm.Class(class).IsTool() {
			u[class] = r.tools[class]
		}
	}
	if r.own {
		u[llm.CodeSessions] = q.Price.Sessions(u[llm.CodeSessions], q.Head.Asked, q.Target.Provider.Timeouts().Total+
			endsLate)
	}
	u[llm.Output] = times(r.beside, r.answers)
	u[llm.Milliseconds] = times(q.mostHeard(r), max(1, r.reads))
	return u
}

// boundReads is the most tokens that a chat can have for the model to read where it calls tools of the provider's so often:
// after each call it reads all that there is once more. Providers refuse what does not fit into the context window.
func (q *Quote) boundReads(how Precision, r *Inputs, calls int64) int64 {
	n, window := q.boundShown(how, r), q.window()
	if q.table.Context(q.Target) == 0 {
		window = max(n, window)
	}
	first, later := window, window // of which tools and what they say may be part from the first read on
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
	case q.Quirks.SearchWindow > 0 && r.searchesAlone():
		first, later = min(n, window), min(n+q.Quirks.SearchWindow, window)
	}
	return first + min(times(later, calls), math.MaxInt64-first)
}

// boundOther completes the bound of what is no chat. Of images, speech and
// recordings the head says it all. A compaction may be of files and items whose size its body does not show.
func (q *Quote) boundOther(how Precision, u *llm.Usage) {
	switch q.Op.Op {
	case llm.OpEmbed:
	case llm.OpCompact:
		u[llm.Input] = q.window()
		return
	default:
		return
	}
	if _, err := q.Source.Tree(); err != nil { // it may be of more than texts
		u[llm.Input] = max(u[llm.Input], times(q.window(), inputsOf(q.Body)))
		return
	}
	if how == Fine {
		u[llm.Input] = tokensAtMost(q.Body, sameVocabulary(q.Target.Model)) + dialect.Around(q.Target.Model)
	}
	u[llm.Input] += q.normalized()
}

// inputsOf is how many inputs a request for embeddings may have, each of which may be as
// long as the context window: objects, or lists of them. Texts and tokens are no longer
// than they are.
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

// boundShown is the most tokens that the visible input of a chat can be.
func (q *Quote) boundShown(how Precision, r *Inputs) int64 {
	switch how {
	case Counted:
		fine := q.boundShown(Fine, r)
		least := (fine - dialect.Around(q.Target.Model)) / leastCounted
		return max(least, min(fine, r.counted))
	case Fine:
		if r.fine == 0 {
			text := tokensAtMost(r.without(q.Body), sameVocabulary(q.Target.Model))
			r.fine = text + r.written + r.heard.tokens + q.added(r)
		}
		return r.fine
	default:
		return int64(len(q.Body)) - r.beyond + q.added(r)
	}
}

// added is how many tokens a chat can have at most beyond those of its body.
func (q *Quote) added(r *Inputs) (n int64) {
	if !q.closed() {
		n += r.escapes
	}
	return n + q.normalized() + q.Behind + dialect.Around(q.Target.Model) + r.around + r.schemas + r.images
}

// normalized is how many bytes longer the body may be before its tokens are counted. The vocabulary which is here
// normalizes nothing.
func (q *Quote) normalized() int64 {
	if sameVocabulary(q.Target.Model) {
		return 0
	}
	return q.lengthened()
}

// window is the target's context window in tokens.
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

// times is the product of two counts, or the largest one.
func times(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}
