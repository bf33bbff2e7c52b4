package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"

	"weir/internal/answercache"
	"weir/internal/capacity"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// caching is a request whose answer may be stored. A nil one does nothing.
type caching struct {
	claim *answercache.Claim
	held  *capacity.Held
	log   *slog.Logger
	r     *http.Request
	id    string // of the request
	most  int    // bytes of an answer
	tools bool   // an answer with calls of tools may be stored

	head   answercache.Head
	keeps  bool   // the answer is whole, and may be stored
	tape   []byte // what the client gets of a stream
	room   int    // bytes with reserved memory
	tooBig bool
}

// fromCache answers the request by a stored answer, and reports whether it has. If the request asks for one and there
// is none, its answer may be stored.
func (q *request) fromCache() (answered bool, err error) {
	in := &q.in
	cache := in.server.answers
	wish, err := cacheWishOf(in)
	if wish = cache.Bounded(wish); err != nil || wish.MaxAge <= 0 {
		return false, err
	}
	if q.x.idem != nil || excludesCache(in, wish.Tools) {
		cache.Bypassed()
		in.cacheTold = answercache.Bypass
		return false, nil
	}
	id, err := answerIDOf(in, cache.Shared)
	if err != nil {
		return false, err
	}
	ask := answercache.Ask{ID: id, Account: in.principal.Account().ID, MaxAge: wish.MaxAge}
	a, claim, err := cache.Begin(in.r.Context(), ask)
	if a != nil {
		return true, q.x.sendStored(a)
	}
	if claim == nil {
		return false, endedWait(in, err)
	}
	if err != nil {
		in.server.log.Warn("stored answers cannot be read", "request", in.id.text, "err", err)
	}
	cache.Missed()
	in.cacheTold = answercache.Miss
	q.x.cache = &caching{
		claim: claim, held: &in.held, log: in.server.log, r: in.r, id: in.id.text, most: int(cache.MaxBytes),
		tools: wish.Tools,
	}
	return false, nil
}

// endedWait returns the error of a wait that ended with the request's context.
func endedWait(in *intake, err error) error {
	if in.server.stopping.Err() != nil {
		return stopped(err)
	}
	return capacity.ErrGone
}

// cacheWishOf returns what the request asks for: by its header, or else by its key, or else by its alias.
func cacheWishOf(in *intake) (answercache.Wish, error) {
	if lines := in.r.Header[answercache.Header]; len(lines) > 0 {
		return answercache.ParseWish(lines[0])
	}
	if age := in.principal.AnswerCache(); age > 0 {
		return answercache.Wish{MaxAge: age}, nil
	}
	return answercache.Wish{MaxAge: in.targets[0].AnswerCache()}, nil
}

// excludesCache reports whether a request must not have a stored answer: only chats and embeddings may, without a
// response that is stored under an id of its own, not as a message of a WebSocket, which continues from responses by
// their ids, and without tools unless tools is true.
func excludesCache(in *intake, tools bool) bool {
	switch {
	case in.Op.Op != llm.OpChat && in.Op.Op != llm.OpEmbed, in.Op.Multipart, in.kept.stores(),
		in.message != nil:
		return true
	case tools:
		return false
	}
	return in.Head.Searches || answercache.HasTools(in.Body)
}

// answerIDOf returns the ID of the answer. Accounts with a price list share no answers, because these name their own
// charges.
func answerIDOf(in *intake, shared bool) (id answercache.ID, err error) {
	turn, err := in.held.Turn(len(in.Body))
	if err != nil {
		return id, err
	}
	defer turn.End()
	charged := in.principal.Charged()
	if !shared || charged {
		id.Scope = in.principal.Account().ID
	}
	h := answercache.NewHash()
	h.Text(in.Dialect.Name, string(in.Op.Op), in.r.URL.Path, in.r.URL.RawQuery, strconv.FormatBool(in.Head.Stream),
		strconv.FormatBool(charged), strconv.FormatBool(in.own.noRescue), string(in.own.theirs), in.Head.Model,
		strconv.Itoa(len(in.targets)))
	for i := range in.targets {
		t := &in.targets[i]
		h.Text(t.FullName(), t.Provider.BaseURL(), strconv.FormatBool(fallsBack(in, t.Provider.Name())))
	}
	for _, passed := range in.PassedHeaders() {
		h.Text(passed.Name, passed.Value)
	}
	for _, field := range in.kept.echo() {
		h.Text(field.Name, string(field.Value))
	}
	h.JSON(in.Body)
	id.Key = h.Key()
	return id, nil
}

// judge decides whether the settled answer may be stored: it is whole, from one model, the requested one, and no limit
// of the gateway has shortened it.
func (c *caching) judge(x *exchange, a *attempt, s *ledger.Settlement) {
	if c == nil || s.Outcome != ledger.OutcomeOK || x.rescue.broke != nil || a.resumes != nil || s.Served.Other ||
		!c.finishes(a.tally.Finish, a.cap > 0) || !c.tools && usesTools(&s.Usage) {
		return
	}
	c.keeps = true
	c.head = answercache.Head{
		Model: x.spent.model(), Dropped: droppedHeader(a.dropped), Finish: string(s.Finish),
		Tokens: s.Usage.TotalTokens(),
	}
	if cost := x.spent.cost(); cost != nil {
		c.head.Saved = new(int64(*cost))
	}
}

// finishes reports whether all choices ended in a way that may be stored.
func (c *caching) finishes(all []llm.FinishReason, capped bool) bool {
	return !slices.ContainsFunc(all, func(r llm.FinishReason) bool {
		switch r {
		case llm.FinishStop, "":
			return false
		case llm.FinishLength:
			return capped // by a budget
		case llm.FinishToolCalls:
			return !c.tools
		}
		return true
	})
}

// usesTools reports whether the provider ran tools.
func usesTools(u *llm.Usage) bool {
	for class, n := range u {
		if n > 0 && llm.Class(class).IsTool() {
			return true
		}
	}
	return false
}

// add adds a piece of a stream, unless the answer is too large.
func (c *caching) add(b []byte) {
	if c == nil || c.tooBig {
		return
	}
	if more := len(c.tape) + len(b) - c.room; more > 0 {
		got := c.held.KeepText(more)
		c.room += got
		c.tooBig = got == 0
	}
	if c.tooBig = c.tooBig || len(c.tape)+len(b) > c.most; c.tooBig {
		c.tape = nil
		return
	}
	c.tape = append(c.tape, b...)
}

// keepStream stores a whole stream.
func (c *caching) keepStream() {
	if c != nil && !c.tooBig && c.mayKeep(len(c.tape)) {
		c.keep(c.tape)
	}
}

// keepWhole stores a whole answer of that content type; empty for JSON.
func (c *caching) keepWhole(body []byte, contentType string) {
	if c == nil || len(body) > c.most || !c.mayKeep(len(body)) {
		return
	}
	c.head.Type = contentType
	c.keep(slices.Clone(body))
}

// keepCopies is how many times an answer is in memory while it is stored: itself, with its head, encrypted, in the text
// of the envelope and twice in the database's driver.
const keepCopies = 6

// mayKeep reports whether the answer may be stored, and reserves memory for that. Without free memory it is not stored.
func (c *caching) mayKeep(size int) bool {
	n := int64(size)
	return c.keeps && (n <= capacity.FreeAnswer || c.held.TryAnswer(keepCopies*n))
}

// keep stores an answer before its client receives the end. The client gets it even if that fails.
func (c *caching) keep(body []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), keepWithin)
	defer cancel()
	if err := c.claim.Keep(ctx, &answercache.Answer{Head: c.head, Body: body}); err != nil {
		c.log.Warn("an answer was not stored in the answer cache", "request", c.id, "err", err)
	}
}

// release ends the wait of equal requests, if the answer was not stored.
func (c *caching) release() {
	if c != nil {
		c.claim.Release()
	}
}
