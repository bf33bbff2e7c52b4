package route

import (
	"sync"
	"time"

	"weir/internal/llm"
)

const (
	// maxDearer bounds how many targets with charges above their price are stored.
	maxDearer = 4096
	// dearerFor is how long the highest charge of a target is stored, unless it occurs again.
	dearerFor = time.Hour
	// A stored charge is increased by a tenth and rounded up to a step, both in thousandths of the price, because each
	// value is a version of the price.
	whole, dearerStep, maxTimes = 1000, 250, llm.MostMargin
	// maxRaised bounds the price limit of an attempt, in thousandths of the target's price, when it is raised because
	// no endpoint serves the model for less.
	maxRaised = 16_000
)

// dearer stores by how much targets charged more than their prices.
type dearer struct {
	mu      sync.RWMutex
	targets map[targetID]dearCharge // at most maxDearer
}

// dearCharge is a target's charge, in thousandths of its price, with its time.
type dearCharge struct {
	times int64
	at    time.Time
}

// Charged records a provider's own charge, told, for an attempt that costs computed by the target's price. If computed
// is 0, a charge is recorded only for a target that is free by its price.
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

// isFree reports whether the tokens of a target are free by its price.
func (t *Table) isFree(id targetID, now time.Time) bool {
	p := t.book.Price(id.provider, id.model, now)
	return p.Rates[llm.Input] == llm.Free && p.Rates[llm.Output] == llm.Free
}

// timesOf returns how many thousandths of the computed cost to hold for the next attempt after a charge of told.
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

// timesAt returns the target's charge within the last hour, in thousandths of its price; 0 if it never exceeded the
// price.
func (d *dearer) timesAt(id targetID, now time.Time) int64 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if c, ok := d.targets[id]; ok && now.Sub(c.at) < dearerFor {
		return c.times
	}
	return 0
}

// raise doubles the highest price that the current target may charge. It returns false at the maximum.
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
