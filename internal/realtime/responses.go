package realtime

import "slices"

// responses holds the open responses of a session.
type responses struct {
	waiting []*response          // sent and not begun, in order
	running map[string]*response // by the provider's id
}

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

// end removes a response that has ended; nil if it is not known.
func (o *responses) end(id string) *response {
	r := o.running[id]
	delete(o.running, id)
	return r
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
