package realtime

import "slices"

// responses holds the open responses of a session.
type responses struct {
	waiting []*response          // sent and not begun, in order
	running map[string]*response // by the provider's id
	unasked int                  // responses so far that the provider began by itself
	done    []string             // ids of the last ones that have ended, at most mostDone
}

const (
	// mostUnasked bounds the responses of a session that the provider begins by itself: each is a row.
	mostUnasked = 16
	// mostDone is how many ended responses are remembered, so that a second end of one is not taken for another one.
	mostDone = 64
)

// open returns the number of open responses.
func (o *responses) open() int { return len(o.waiting) + len(o.running) }

// answers reports whether a response of the conversation is open.
func (o *responses) answers() bool {
	if slices.ContainsFunc(o.waiting, func(r *response) bool { return !r.apart }) {
		return true
	}
	for _, r := range o.running {
		if !r.apart {
			return true
		}
	}
	return false
}

// next removes the response that was sent first; nil if none waits.
func (o *responses) next() *response {
	if len(o.waiting) == 0 {
		return nil
	}
	r := o.waiting[0]
	o.waiting = o.waiting[1:]
	return r
}

// run adds a response that has begun, under the provider's id, even if the provider uses that twice.
func (o *responses) run(id string, r *response) {
	for o.running[id] != nil {
		id += "+"
	}
	o.running[id] = r
}

// end removes a response that has ended. If its beginning was not seen, it is the one that was sent first; nil if none
// waits. Again reports that it has ended before.
func (o *responses) end(id string) (r *response, again bool) {
	r = o.running[id]
	delete(o.running, id)
	if r == nil && slices.Contains(o.done, id) {
		return nil, true
	}
	if o.done = append(o.done, id); len(o.done) > mostDone {
		o.done = slices.Delete(o.done, 0, 1)
	}
	if r == nil {
		if r = o.next(); r != nil {
			r.unseenBegin = true
		}
	}
	return r, false
}

// refuse removes the response of an event that the provider has refused; nil if there is none.
func (o *responses) refuse(event string) *response {
	i := slices.IndexFunc(o.waiting, func(r *response) bool { return r.event == event })
	if i < 0 || event == "" {
		return nil
	}
	r := o.waiting[i]
	o.waiting = slices.Delete(o.waiting, i, i+1)
	return r
}

// rest removes all.
func (o *responses) rest() []*response {
	all := o.waiting
	for _, r := range o.running {
		all = append(all, r)
	}
	o.waiting, o.running = nil, nil
	return all
}
