package route

import (
	"sync"
	"time"
)

// trafficMinutes is how far back the attempts at a provider are remembered.
const trafficMinutes = 60

// Traffic is what a provider was asked in the last hour, on this node.
type Traffic struct {
	Attempts, Failed int64
	FirstToken       time.Duration // of streams, on average; 0 for unknown
	Parts            []TrafficPart // of five minutes each, the oldest first
}

// TrafficPart is what a provider was asked in a part of the hour.
type TrafficPart struct{ Attempts, Failed int64 }

// traffic counts the attempts at a provider by the minute.
type traffic struct {
	mu      sync.Mutex
	minutes [trafficMinutes]trafficMinute
}

type trafficMinute struct {
	at               int64 // Unix time in minutes
	attempts, failed int64
	first            time.Duration // all of them
	streams          int64
}

// note counts an attempt that has ended. FirstToken is 0 where there was no stream.
func (t *traffic) note(now time.Time, failed bool, firstToken time.Duration) {
	at := now.Unix() / 60
	t.mu.Lock()
	defer t.mu.Unlock()
	m := &t.minutes[at%trafficMinutes]
	if m.at != at {
		*m = trafficMinute{at: at}
	}
	m.attempts++
	if failed {
		m.failed++
	}
	if firstToken > 0 {
		m.first += firstToken
		m.streams++
	}
}

// hour is the last hour.
func (t *traffic) hour(now time.Time) (sum Traffic) {
	const part = 5 // minutes
	at := now.Unix() / 60
	sum.Parts = make([]TrafficPart, trafficMinutes/part)
	var first time.Duration
	var streams int64
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.minutes {
		m := &t.minutes[i]
		ago := at - m.at
		if ago < 0 || ago >= trafficMinutes {
			continue
		}
		p := &sum.Parts[(trafficMinutes-1-ago)/part]
		p.Attempts += m.attempts
		p.Failed += m.failed
		sum.Attempts += m.attempts
		sum.Failed += m.failed
		first += m.first
		streams += m.streams
	}
	if streams > 0 {
		sum.FirstToken = first / time.Duration(streams)
	}
	return sum
}

// trafficOf is the traffic of a provider.
func (h *Health) trafficOf(provider string) *traffic {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.traffic[provider] == nil {
		h.traffic[provider] = &traffic{}
	}
	return h.traffic[provider]
}
