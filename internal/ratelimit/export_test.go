package ratelimit

import (
	"context"
	"strings"
	"time"

	"github.com/valkey-io/valkey-go"
)

// UseServerTime makes the script read the time from two keys instead of the server's clock, with other changes.
func (l *Limiter) UseServerTime(changes ...string) {
	l.Alter(append(changes, "redis.call('TIME')", "redis.call('MGET', 'weir:{limits}:now:s', 'weir:{limits}:now:us')")...)
}

// Alter replaces texts in the script, in pairs.
func (l *Limiter) Alter(changes ...string) {
	text := limitsLua
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			panic("the script does not say " + changes[i])
		}
		text = strings.Replace(text, changes[i], changes[i+1], 1)
	}
	l.remote.lua = valkey.NewLuaScript(text)
}

// Tell sends all waiting reports to Valkey.
func (l *Limiter) Tell() {
	for l.remote != nil && l.remote.outbox.len() > 0 && l.remote.tell(context.Background()) {
		continue
	}
}

// Renew renews the held slots.
func (l *Limiter) Renew() { l.remote.renew(context.Background()) }

// Unsure reports whether this node uses its own memory in addition to Valkey.
func (l *Limiter) Unsure() bool {
	_, unsure := l.remote.breaker.state(l.elapsed())
	return unsure
}

// SweepAt is the greatest number of stored idle windows.
const SweepAt = sweepAt * shardCount

// Elapse returns the time of Limiter's clock.
func (l *Limiter) Elapse() time.Duration { return l.elapsed() }
