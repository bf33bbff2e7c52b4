package gateway

import (
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

// lateReply returns the reply of the attempt for repeats of its request, before the answer has arrived.
func (a *attempt) lateReply() *lateReply {
	c, target := a.call, *a.Target
	r := &lateReply{
		quote: a.Detached(), dropped: slices.Clip(a.dropped), before: a.ids.before, names: a.ids.names,
		recast: a.ids.recast,
		called: c.tree.called, request: c.id.text, spent: spent{models: slices.Clone(c.spent.models)},
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

// repeatOf returns a hash of everything that a repeat shares with its request: the parts that determine the answer, and
// the attribution of its cost.
func repeatOf(c *call) string { return seal.Digest(digestOf(c), fmt.Sprintf("%q", c.own.attribution)) }

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

// join returns the late answer of the same request that most requests are still owed; nil if there is none. The caller
// waits for it until leave.
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

// offerOf makes the late answers of a failed request available to its repeats, before the client receives the error. It
// reports whether there are any.
func (l *lateAnswers) offerOf(c *call) bool {
	if len(c.late.answers) == 0 || c.token == "" {
		return false
	}
	all := c.late.answers
	c.late.answers = nil
	return l.offer(c.principal.Key().ID, repeatOf(c), c.server.now().Sub(c.measured.ask), all)
}

// answer answers the request with the late answer of an earlier one, if there is one: the same request by the same API
// key, which got an error. It waits as long as the earlier request did. If no answer arrives, the request continues.
func (l *lateAnswers) answer(c *call) (answered bool, err error) {
	if c.token == "" || c.Head.Stream || c.Op.Free || !l.has(c.principal.Key().ID) {
		return false, nil
	}
	key, request := c.principal.Key().ID, repeatOf(c)
	for a := l.join(key, request); a != nil; a = l.join(key, request) {
		err := a.await(c)
		came := err == nil && a.reply != nil
		switch l.leave(a, came); {
		case err != nil:
			return false, err
		case came:
			return true, a.reply.send(c)
		}
	}
	return false, nil
}

// await waits until the answer has been read.
func (a *lateAnswer) await(c *call) error {
	patience := time.NewTimer(a.patience)
	defer patience.Stop()
	stopping := c.server.stopping
	select {
	case <-a.read:
		return nil
	case <-patience.C:
		return llm.Errorf(llm.CodeProviderTimeout, "The provider did not answer in time. The answer to the first of "+
			"these requests is still awaited: send the same request again to receive it without a second charge.")
	case <-c.r.Context().Done():
		if stopping.Err() == nil {
			return capacity.ErrGone
		}
	case <-stopping.Done():
	}
	return stopped(stopping.Err())
}

// send answers a request with the late answer and includes its cost, which the earlier request could not report.
func (r *lateReply) send(c *call) error {
	c.settleLimits() // this request used no tokens
	ids := callIDs{before: r.before, names: r.names, recast: r.recast}
	a := &attempt{call: c, Quote: r.quote, dropped: slices.Clip(r.dropped), ids: ids}
	a.Request = &c.Request
	if err := a.boundAnswer(c.server, &c.held, r.body); err != nil {
		return err
	}
	var reply *llm.Reply
	var err error
	c.held.Step(a.replyWork(r.body), func() { reply, err = a.Spoken.DecodeReply(r.body, a.Quirks) })
	if err != nil {
		return provider.Malformed(err)
	}
	a.tally.Choices = c.Head.Choices
	a.tally.AddReply(reply)
	c.spent, c.tree.called = r.spent, r.called
	c.w.Header()["X-Weir-Answer-Of"] = []string{r.request}
	w := wholeReply{a, a.ready(r.body, reply), reply, &r.usage}
	w.send(r.contentType)
	c.server.log.Debug("a repeated request got the late answer", "request", c.id.text, "of", r.request)
	return nil
}
