package route

import (
	"sync"
	"time"

	"weir/internal/llm"
)

const (
	// maxDearer bounds how many targets are remembered that charged more than their price.
	maxDearer = 4096
	// dearerFor is how long the dearest charge of a target is remembered, unless it is met again.
	dearerFor = time.Hour
	// A charge is remembered with a tenth on top, rounded up to a step, in thousandths of the price: each is a version of
	// the price.
	whole, dearerStep, maxTimes = 1000, 250, llm.MostMargin
	// maxRaised bounds up to how many thousandths of its price a target is asked that nobody serves for less.
	maxRaised = 16_000
)

// dearer remembers how much more than their prices targets charged.
type dearer struct {
	mu      sync.RWMutex
	targets map[targetID]dearCharge // at most maxDearer
}

// dearCharge is up to how many thousandths of its price a target charged, and when.
type dearCharge struct {
	times int64
	at    time.Time
}

// Charged takes note of what a target says that it charged for what comes to that much by its price. Nothing follows from
// a charge for what comes to nothing, unless the target is free by its price.
func (t *Table) Charged(provider, model string, told, computed llm.Money, now time.Time) {
	id := targetID{provider, model}
	switch {
	case told <= computed+computed/whole:
	case computed > 0:
		t.health.dearer.note(id, timesOf(told, computed), now)
	case t.isFree(id, now):
		t.health.dearer.note(id, maxTimes, now)
	}
}

// isFree reports whether the tokens of a target cost nothing by its price.
func (t *Table) isFree(id targetID, now time.Time) bool {
	p := t.book.Price(id.provider, id.model, now)
	return p.Rates[llm.Input] == llm.Free && p.Rates[llm.Output] == llm.Free
}

// timesOf is how many thousandths of the computed cost are held for the next attempt after one that was charged so much.
func timesOf(told, computed llm.Money) int64 {
	if told/computed >= maxTimes/whole {
		return maxTimes
	}
	times := int64(told)/int64(computed)*whole + int64(told)%int64(computed)*whole/int64(computed)
	times += times / 10
	return min(maxTimes, (times/dearerStep+1)*dearerStep)
}

func (d *dearer) note(id targetID, times int64, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before, known := d.targets[id]
	if known && before.times > times && now.Sub(before.at) < dearerFor {
		return
	}
	if d.targets == nil {
		d.targets = map[targetID]dearCharge{}
	}
	if !known && len(d.targets) >= maxDearer {
		for other := range d.targets {
			delete(d.targets, other)
			break
		}
	}
	d.targets[id] = dearCharge{times, now}
}

// timesAt is up to how many thousandths of its price the target charged within the last hour; 0 for no more than that.
func (d *dearer) timesAt(id targetID, now time.Time) int64 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if c, ok := d.targets[id]; ok && now.Sub(c.at) < dearerFor {
		return c.times
	}
	return 0
}

// raise has the current target be asked at twice what it may charge so far. It is false where that is too much.
func (p *Plan) raise(now time.Time) bool {
	target := p.Target()
	price := p.table.Price(target, now)
	margin := price.Margin()
	if margin >= maxRaised {
		return false
	}
	target.Margin = min(2*margin, maxRaised)
	return true
}
