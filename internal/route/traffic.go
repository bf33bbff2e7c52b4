package route

import (
	"sync"
	"time"
)

// trafficMinutes is how long the attempts at a provider are stored.
const trafficMinutes = 60

// Traffic describes the attempts at a provider in the last hour, on this node.
type Traffic struct {
	Attempts, Failed int64
	FirstToken       time.Duration // average of streams; 0 if unknown
	Parts            []TrafficPart // of five minutes each, oldest first
}

// TrafficPart describes the attempts at a provider in a part of the hour.
type TrafficPart struct{ Attempts, Failed int64 }

// traffic counts the attempts at a provider by minute.
type traffic struct {
	mu      sync.Mutex
	minutes [trafficMinutes]trafficMinute
}

type trafficMinute struct {
	at               int64 // Unix time in minutes
	attempts, failed int64
	first            time.Duration // sum over the streams
	streams          int64
}

// note counts an ended attempt. FirstToken is 0 if there was no stream.
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

// hour sums up the last hour.
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

// trafficOf returns the traffic of a provider.
func (h *Health) trafficOf(provider string) *traffic {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.traffic[provider] == nil {
		h.traffic[provider] = &traffic{}
	}
	return h.traffic[provider]
}
