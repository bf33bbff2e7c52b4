package tool

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"weir/internal/mcp"
)

const (
	// watchEvery is the time between two looks whether the lists of a server are too old, while somebody listens.
	watchEvery = 5 * time.Second
	// mostRereads bounds how often lists are read again at once because a server says that they have changed. Each
	// watchEvery allows one more.
	mostRereads = 10
	// readyWithin bounds the wait for a server that is to notify about its lists.
	readyWithin = 3 * time.Second
	// A stream that has ended begins anew after leastPause, the next time after twice as long, up to mostPause. It
	// begins anew after noStreamPause if the server has none.
	leastPause    = time.Second
	mostPause     = time.Minute
	noStreamPause = 10 * time.Minute
)

// watchers reads the lists of all servers again when they change, while somebody listens.
type watchers struct {
	mu      sync.Mutex
	all     map[*Subscription]struct{}
	running map[*source]*watcher
	ended   sync.WaitGroup
	closed  bool
}

// watcher watches the lists of one server.
type watcher struct {
	cancel context.CancelFunc
	ready  chan struct{} // closed when the server notifies, or is known not to
}

// add adds a listener.
func (w *watchers) add(x *Subscription) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[x] = struct{}{}
}

// remove removes a listener.
func (w *watchers) remove(x *Subscription) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, x)
}

// watch watches all servers while somebody listens, and none otherwise. It returns the watchers.
func (s *Service) watch() (all []*watcher) {
	w := &s.watchers
	w.mu.Lock()
	defer w.mu.Unlock()
	sources := s.current.Load().sources
	if len(w.all) == 0 || w.closed {
		sources = nil
	}
	for of, running := range w.running {
		if !slices.Contains(sources, of) {
			running.cancel()
			delete(w.running, of)
		}
	}
	for _, of := range sources {
		one := w.running[of]
		if one == nil {
			ctx, cancel := context.WithCancel(context.Background())
			one = &watcher{cancel, make(chan struct{})}
			w.running[of] = one
			w.ended.Go(func() { s.watchOne(ctx, of, sync.OnceFunc(func() { close(one.ready) })) })
		}
		all = append(all, one)
	}
	return all
}

// tell passes a note about a list of a server to those who may see something of it. All servers are nil.
func (s *Service) tell(of *source, methods ...string) {
	t := s.current.Load()
	s.watchers.mu.Lock()
	defer s.watchers.mu.Unlock()
	for x := range s.watchers.all {
		for _, method := range methods {
			if x.concerns(t, of, method) {
				x.mail.put(Note{Method: method})
			}
		}
	}
}

// watchOne watches the lists of a server until ctx ends.
func (s *Service) watchOne(ctx context.Context, of *source, ready func()) {
	heard := newMailbox()
	var listening sync.WaitGroup
	defer listening.Wait()
	listening.Go(func() {
		defer ready()
		again(ctx, s.o.Now, func(began func()) error {
			return of.client.Listen(ctx, &mcp.Listening{
				Lists: true, Notify: func(method, _ string) { heard.put(Note{Method: method}) },
				Agreed: func([]string) { began(); ready() },
			})
		}, ready)
	})
	every := time.NewTicker(watchEvery)
	defer every.Stop()
	rereads := mostRereads
	for {
		told := heard.signal
		if rereads == 0 {
			told = nil
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			rereads = min(rereads+1, mostRereads)
			of.list(ctx, &s.o) // reads them again if they are too old, or their approvals have changed
		case <-told:
			rereads--
			notes := heard.take()
			of.reread(ctx, &s.o)
			for _, n := range notes {
				s.tell(of, n.Method)
			}
		}
	}
}

// again repeats what receives notifications until ctx ends, with a pause after each end. It calls failed if the stream
// does not begin.
func again(ctx context.Context, now func() time.Time, listen func(began func()) error, failed func()) {
	for pause := leastPause; ctx.Err() == nil; {
		begun := time.Time{}
		err := listen(func() { begun = now() })
		failed()
		wait := pause
		switch {
		case errors.Is(err, mcp.ErrNoStream):
			wait = noStreamPause
		case !begun.IsZero() && now().Sub(begun) > mostPause:
			pause = leastPause
		default:
			pause = min(2*pause, mostPause)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// reread reads the lists again, after a running refresh, which may have read them before they changed.
func (s *source) reread(ctx context.Context, o *Options) {
	s.mu.Lock()
	for s.refreshes != nil {
		running := s.refreshes
		s.mu.Unlock()
		select {
		case <-running:
		case <-ctx.Done():
			return
		}
		s.mu.Lock()
	}
	done := make(chan struct{})
	s.refreshes = done
	s.mu.Unlock()
	s.refresh(ctx, o, done, true)
}

// differences returns the methods of the notifications about lists that differ from those in force before.
func (s *source) differences(entries []entry, offered offers) (methods []string) {
	if !slices.EqualFunc(s.entries, entries, func(a, b entry) bool {
		return a.tool.Name == b.tool.Name && a.tool.Digest == b.tool.Digest && a.held == b.held
	}) {
		methods = append(methods, mcp.NoteTools)
	}
	equal := func(kind mcp.Kind) bool {
		return slices.EqualFunc(s.offers[kind], offered[kind], func(a, b mcp.Offer) bool {
			return a.Name == b.Name && bytes.Equal(a.Definition, b.Definition)
		})
	}
	if !equal(mcp.Prompts) {
		methods = append(methods, mcp.NotePrompts)
	}
	if !equal(mcp.Resources) || !equal(mcp.Templates) {
		methods = append(methods, mcp.NoteResources)
	}
	return methods
}
