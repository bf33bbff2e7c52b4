package tool

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/internal/mcp"
)

// followWithin bounds the wait for a server that is to notify about resources.
const followWithin = 5 * time.Second

// Interest says which lists a listener wants to know about.
type Interest struct {
	Caller
	Tools, Prompts, Resources bool
}

// Subscription holds the notes for one listener. Its methods may be called concurrently.
type Subscription struct {
	service *Service
	of      Interest
	mail    *mailbox
	over    chan struct{}
	end     func() // closes over
	running sync.WaitGroup

	ctx  context.Context // of all streams about resources
	stop context.CancelFunc

	mu       sync.Mutex
	followed map[string]*stream // by URI
}

// stream is the stream of a server about resources of a subscription. It ends with the last of them.
type stream struct {
	end  context.CancelFunc
	uris []string // that are followed; guarded by Subscription.mu
}

func newSubscription(s *Service, of Interest) *Subscription {
	x := &Subscription{
		service: s, of: of, mail: newMailbox(), over: make(chan struct{}), followed: map[string]*stream{},
	}
	x.ctx, x.stop = context.WithCancel(context.Background())
	x.end = sync.OnceFunc(func() { close(x.over) })
	return x
}

// Subscribe returns a subscription, after the servers have been asked to notify. The caller must call Close.
func (s *Service) Subscribe(ctx context.Context, of Interest) (*Subscription, error) {
	t := s.current.Load()
	bundle, err := t.bundle(&of.Caller)
	if err != nil {
		return nil, err
	}
	s.lists(ctx, t, &of.Caller, bundle) // what is listed for the first time has not changed
	x := newSubscription(s, of)
	s.watchers.add(x)
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for _, w := range s.watch() {
		select {
		case <-w.ready:
		case <-ctx.Done(): // its lists are still read every minute
		}
	}
	return x, nil
}

// Close ends the subscription.
func (x *Subscription) Close() {
	x.mu.Lock()
	x.followed = nil
	x.mu.Unlock()
	x.stop()
	x.running.Wait()
	x.service.watchers.remove(x)
	x.service.watch()
}

// Noted returns a channel that has an element while there are notes for Take.
func (x *Subscription) Noted() <-chan struct{} { return x.mail.signal }

// Take returns the notes, and removes them.
func (x *Subscription) Take() []Note { return x.mail.take() }

// Over returns a channel that is closed when the subscription has ended, because the configuration of a server has
// changed. The listener subscribes anew.
func (x *Subscription) Over() <-chan struct{} { return x.over }

// concerns reports whether a note about a list of a server is for the listener. All servers are nil.
func (x *Subscription) concerns(t *table, of *source, method string) bool {
	wanted := map[string]bool{
		mcp.NoteTools: x.of.Tools, mcp.NotePrompts: x.of.Prompts, mcp.NoteResources: x.of.Resources,
	}
	if !wanted[method] || of == nil {
		return wanted[method]
	}
	bundle, err := t.bundle(&x.of.Caller)
	if err != nil || !admits(of.Accounts, x.of.Principal) {
		return false
	}
	return bundle == nil || concerns(slices.Concat(bundle.Tools, bundle.Prompts, bundle.Resources), of.Name)
}

// Follow asks the servers to notify about resources. It returns those about which they will.
func (x *Subscription) Follow(ctx context.Context, uris []string) (agreed []string) {
	groups := map[*source][]string{}
	for _, uri := range uris {
		if found, err := x.service.FindResource(ctx, x.of.Caller, uri); err == nil {
			groups[found.source] = append(groups[found.source], uri)
		}
	}
	answers := make(chan []string, len(groups))
	for of, uris := range groups {
		if !x.follow(ctx, of, uris, func(agreed []string) { answers <- agreed }) {
			answers <- nil
		}
	}
	timer := time.NewTimer(followWithin)
	defer timer.Stop()
	for range groups {
		select {
		case some := <-answers:
			agreed = append(agreed, some...)
		case <-timer.C:
			return agreed
		case <-ctx.Done():
			return agreed
		}
	}
	return agreed
}

// follow begins to receive the notifications of a server about resources, and reports whether it has. It calls answer
// once, with those about which the server notifies.
func (x *Subscription) follow(ctx context.Context, of *source, uris []string, answer func([]string)) bool {
	c := &Call{Caller: x.of.Caller, Tool: of.offered("", "")}
	if x.service.connected(ctx, c) != nil {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.followed == nil {
		return false
	}
	ctx, cancel := context.WithCancel(x.ctx)
	to := &stream{end: cancel, uris: slices.Clone(uris)}
	for _, uri := range uris {
		x.leave(uri)
		x.followed[uri] = to
	}
	x.running.Go(func() {
		defer cancel()
		select {
		case <-of.gone:
			x.end()
		case <-ctx.Done():
		}
	})
	l := &mcp.Listening{URIs: uris, Session: c.session(), Person: c.person(), Notify: func(method, uri string) {
		if method == mcp.NoteUpdated && matches(of.Resources, uri) && covers(x.urisOf(to), uri) {
			x.mail.put(Note{method, uri})
		}
	}}
	x.running.Go(func() { x.listen(ctx, of, to, l, answer) })
	return true
}

// listen receives the notifications of a server about resources until ctx ends, or the server does not agree.
func (x *Subscription) listen(ctx context.Context, of *source, s *stream, l *mcp.Listening, answer func([]string)) {
	agreed := false
	again(ctx, x.service.o.Now, func(began func()) error {
		l.Agreed = func(to []string) {
			began()
			if agreed { // resources may have changed while there was no stream
				for _, uri := range x.urisOf(s) {
					x.mail.put(Note{mcp.NoteUpdated, uri})
				}
				return
			}
			to = slices.DeleteFunc(to, func(uri string) bool { return !slices.Contains(l.URIs, uri) })
			if agreed = len(to) > 0; agreed {
				answer(to)
			}
		}
		return of.client.Listen(ctx, l)
	}, func() {
		if !agreed {
			answer(nil)
			s.end()
		}
	})
}

// covers reports whether a URI is one of those that are followed, or of a part of it.
func covers(followed []string, uri string) bool {
	return slices.ContainsFunc(followed, func(f string) bool {
		return uri == f || strings.HasPrefix(uri, strings.TrimSuffix(f, "/")+"/")
	})
}

// Unfollow ends the notes about a resource.
func (x *Subscription) Unfollow(uri string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.leave(uri)
}

// leave removes a resource from its stream, and ends a stream without any. The caller holds mu.
func (x *Subscription) leave(uri string) {
	s := x.followed[uri]
	if s == nil {
		return
	}
	delete(x.followed, uri)
	if s.uris = slices.DeleteFunc(s.uris, func(u string) bool { return u == uri }); len(s.uris) == 0 {
		s.end()
	}
}

// urisOf returns the resources that a stream still is about.
func (x *Subscription) urisOf(s *stream) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(s.uris)
}
