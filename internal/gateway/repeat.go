package gateway

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/capacity"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/quote"
	"weir/internal/seal"
)

// lateAnswers holds the late answers of this node to requests that got an error: the same request by the same API key
// then gets the late answer and is not charged again. SDKs repeat a 504 by themselves.
type lateAnswers struct {
	most  int64
	keep  time.Duration // how long an answer stays in memory after it was read
	count atomic.Int64
	mu    sync.Mutex
	byKey map[string][]*lateAnswer // by the id of the API key
}

// lateAnswer is a late answer, while it is read and for a short time after that.
type lateAnswer struct {
	key      string // the id of the API key
	request  string // the digest of the request; its text is not stored
	patience time.Duration
	read     chan struct{} // closed when the answer has been read
	reply    *lateReply    // set when read is closed; nil if no answer arrived

	waiting int           // waiting requests; this and the fields below are guarded by lateAnswers.mu
	owed    int           // requests that got an error and have not been repeated yet
	gone    bool          // the answer is no longer available
	expiry  *time.Timer   // of a stored reply
	room    capacity.Held // the memory that it holds
}

// lateReply is a late answer that has arrived, with the values that its headers need.
type lateReply struct {
	quote       quote.Quote // of the attempt
	body        []byte      // as the provider sent it
	contentType string
	usage       llm.Usage
	spent       spent
	dropped     []string
	before      []string          // ids of the calls of the conversation
	names       map[string]string // as in callIDs
	recast      bool
	called      llm.Called // maps its calls back to the client's names
	request     string     // id of the request that was charged for it
}

// lateReply returns the reply of the attempt for repeats of its request, before the answer has arrived. Models are
// those of all attempts so far.
func (a *attempt) lateReply(called *llm.Called, models []string) *lateReply {
	target := *a.Target
	r := &lateReply{
		quote: a.Detached(), dropped: slices.Clip(a.dropped), before: a.ids.before, names: a.ids.names,
		recast: a.ids.recast, called: *called, request: a.in.id.text, spent: spent{models: slices.Clone(models)},
	}
	r.quote.Target = &target
	return r
}

// read stores the attempt's answer.
func (r *lateReply) read(a *attempt, resp *provider.Response, body []byte) {
	if r.body = body; a.Spoken.Raw {
		r.contentType = resp.Header.Get("Content-Type")
	}
}

// keepLate is how long a late answer stays in memory after it was read. The AI SDK repeats a request after 2 and 4
// seconds, LangChain seven times within about a minute.
const keepLate = 30 * time.Second

// repeat returns a hash of everything that a repeat shares with its request: the parts that determine the answer, and
// the attribution of its cost.
func (in *intake) repeat() string {
	return seal.Digest(in.digest(), fmt.Sprintf("%q", in.own.attribution))
}

// offer makes late answers available to repeats of their request, which wait as long as the request did. It reports
// whether any answer was added.
func (l *lateAnswers) offer(key, request string, waited time.Duration, all []*lateAnswer) (offered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range all {
		if a.gone || l.count.Load() >= l.most {
			continue
		}
		a.key, a.request, a.patience, a.owed = key, request, waited, 1
		l.byKey[key] = append(l.byKey[key], a)
		l.count.Add(1)
		offered = true
	}
	return offered
}

// join returns a late answer to an equal request, the one with the most requests that have not got it; nil if there is
// none. The caller waits for it until leave.
func (l *lateAnswers) join(key, request string) (found *lateAnswer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.byKey[key] {
		if a.request == request && (found == nil || a.owed > found.owed) {
			found = a
		}
	}
	if found != nil {
		found.waiting++
		found.owed = max(0, found.owed-1)
	}
	return found
}

// leave ends a wait for an answer. If the caller did not use the answer, it is owed again. An answer that no request is
// owed any more is removed, so that the same request is sent to a provider again.
func (l *lateAnswers) leave(a *lateAnswer, taken bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.waiting--; !taken {
		a.owed++
	} else if a.owed+a.waiting == 0 {
		l.remove(a)
	}
}

// remove removes an answer and releases its memory.
func (l *lateAnswers) remove(a *lateAnswer) {
	if i := slices.Index(l.byKey[a.key], a); i >= 0 {
		if l.byKey[a.key] = slices.Delete(l.byKey[a.key], i, i+1); len(l.byKey[a.key]) == 0 {
			delete(l.byKey, a.key)
		}
		l.count.Add(-1)
	}
	if a.gone = true; a.expiry != nil {
		a.expiry.Stop()
		a.room.EndAnswer()
	}
}

// has reports whether the key has a late answer.
func (l *lateAnswers) has(key string) bool {
	if l.count.Load() == 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.byKey[key]) > 0
}

// came ends the wait for an answer; reply is nil if none arrived. The answer is stored for a while if room, the
// capacity of its account, has memory for it.
func (l *lateAnswers) came(a *lateAnswer, reply *lateReply, room capacity.Held) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.reply = reply
	close(a.read)
	if a.gone || reply == nil || !room.TryAnswer(int64(len(reply.body))) {
		l.remove(a)
		return
	}
	a.room = room
	a.expiry = time.AfterFunc(l.keep, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.remove(a)
	})
}

// forget removes the late answers of a request that was answered.
func (l *lateAnswers) forget(all []*lateAnswer) {
	if len(all) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range all {
		l.remove(a)
	}
}

// answer returns the late answer of an earlier request for this one, if there is one: the same request by the same API
// key, which got an error. It waits as long as the earlier request did. It returns nil if no answer arrives.
func (l *lateAnswers) answer(in *intake) (*lateReply, error) {
	if in.token == "" || in.Head.Stream || in.Op.Free || !l.has(in.principal.Key().ID) {
		return nil, nil
	}
	key, request := in.principal.Key().ID, in.repeat()
	for a := l.join(key, request); a != nil; a = l.join(key, request) {
		err := a.await(in.r.Context(), in.server.stopping)
		came := err == nil && a.reply != nil
		switch l.leave(a, came); {
		case err != nil:
			return nil, err
		case came:
			return a.reply, nil
		}
	}
	return nil, nil
}

// await waits until the answer has been read. The client is connected until ctx ends.
func (a *lateAnswer) await(ctx, stopping context.Context) error {
	patience := time.NewTimer(a.patience)
	defer patience.Stop()
	select {
	case <-a.read:
		return nil
	case <-patience.C:
		return llm.Errorf(llm.CodeProviderTimeout, "The provider did not answer in time. The answer to the first of "+
			"these requests is still awaited: send the same request again to receive it without a second charge.")
	case <-ctx.Done():
		if stopping.Err() == nil {
			return capacity.ErrGone
		}
	case <-stopping.Done():
	}
	return stopped(stopping.Err())
}

// sendLate answers a request with the late answer of an earlier one and includes its cost, which the earlier request
// could not report.
func (x *exchange) sendLate(r *lateReply) error {
	x.settleLimits() // this request used no tokens
	in := x.in
	a := &attempt{in: in, Quote: r.quote, dropped: slices.Clip(r.dropped)}
	a.Request = &in.Request
	a.ids = callIDs{
		request: in.id.UUID, provider: a.Target.Provider.Name(), before: r.before, names: r.names, recast: r.recast,
	}
	w := wholeReply{attempt: a, body: r.body, usage: r.usage}
	if err := w.bound(in.server.bounds, &in.held); err != nil {
		return err
	}
	if err := w.decode(&in.held); err != nil {
		return provider.Malformed(err)
	}
	a.tally.Choices = in.Head.Choices
	a.tally.AddReply(w.reply)
	x.spent, x.called = r.spent, r.called
	in.w.Header()["X-Weir-Answer-Of"] = []string{r.request}
	w.ready()
	x.sendWhole(&w, r.contentType)
	in.server.log.Debug("a repeated request got the late answer", "request", in.id.text, "of", r.request)
	return nil
}
