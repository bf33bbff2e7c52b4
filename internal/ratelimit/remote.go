package ratelimit

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/valkey-io/valkey-go"

	"weir/internal/llm"
)

//go:embed limits.lua
var limitsLua string

const (
	defaultTimeout = 50 * time.Millisecond
	// connectWithin bounds a connection with its handshake. No request waits for it.
	connectWithin = time.Second
	// keyPrefix has a hash tag that keeps all keys on one node of a cluster, which scripts require
	// (https://valkey.io/topics/cluster-spec/#hash-tags).
	keyPrefix = "weir:{limits}:"
)

// remote holds the counters on Valkey.
type remote struct {
	options valkey.ClientOption
	timeout time.Duration
	now     func() time.Duration
	lua     *valkey.Lua
	node    string
	members atomic.Uint64
	breaker breaker
	outbox  *outbox
	client  atomic.Pointer[valkey.Client]

	slots sync.Mutex
	held  map[string][]string // keys of sets of slots, by member
}

// CheckURL returns the reason why the URL of Valkey cannot be used, without connecting to it; nil for an empty one.
func CheckURL(url llm.Secret) error {
	if url.IsZero() {
		return nil
	}
	_, err := parseURL(url)
	return err
}

func parseURL(url llm.Secret) (valkey.ClientOption, error) {
	options, err := valkey.ParseURL(url.Reveal())
	if err != nil { // its text may contain the password
		err = errors.New(
			"the URL of Valkey is invalid: use the form redis://[[user]:password@]host[:port][/database]")
	}
	return options, err
}

func newRemote(o *Options, now func() time.Duration) (*remote, error) {
	options, err := parseURL(o.Valkey)
	if err != nil {
		return nil, err
	}
	options.Dialer.Timeout = cmp.Or(options.Dialer.Timeout, connectWithin)
	options.ConnWriteTimeout = cmp.Or(options.ConnWriteTimeout, connectWithin)
	options.DisableRetry, options.DisableCache, options.AlwaysPipelining = true, true, true
	options.PipelineMultiplex = -1 // one connection, so that calls keep their order
	options.ClientName = "weir"
	v := &remote{
		options: options, timeout: cmp.Or(o.Timeout, defaultTimeout), now: now,
		lua: valkey.NewLuaScript(limitsLua), node: uuid.NewString()[:13] + ":",
		breaker: breaker{log: o.Log}, outbox: newOutbox(), held: map[string][]string{},
	}
	if err := v.connect(); err != nil {
		v.breaker.trip(err)
	}
	return v, nil
}

// connect makes the client, which reconnects by itself afterwards.
func (v *remote) connect() error {
	client, err := valkey.NewClient(v.options)
	if err != nil {
		return fmt.Errorf("connect to Valkey: %w", err)
	}
	v.client.Store(&client)
	return nil
}

// close closes the connection. The next probe makes another one.
func (v *remote) close() {
	if client := v.client.Swap(nil); client != nil {
		(*client).Close()
	}
}

var errNotConnected = errors.New("ratelimit: not connected to Valkey")

// answerHead is how many numbers an answer has before those of the levels, and answerLevel how many each level has.
const answerHead, answerLevel = 4, 3

// call runs the script: by its hash, or by its text if the server does not know it, as after a restart.
func (v *remote) call(ctx context.Context, within time.Duration, s *script) ([]int64, error) {
	client := v.client.Load()
	if client == nil {
		return nil, errNotConnected
	}
	// A client that leaves does not mean that Valkey is unavailable.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	answer, err := v.lua.Exec(ctx, *client, s.keys, s.args).AsIntSlice()
	if err == nil && len(answer) < answerHead {
		err = fmt.Errorf("the answer has %d numbers", len(answer))
	}
	if err != nil {
		return nil, fmt.Errorf("call Valkey: %w", err)
	}
	return answer, nil
}

// name assigns a name to the slots of a reservation, if it takes any.
func (v *remote) name(r *Reservation) {
	for i := range r.len() {
		if r.level(i).own.Concurrency > 0 {
			r.member = v.node + strconv.FormatUint(v.members.Add(1), 36)
			return
		}
	}
}

// reserve takes the request from all levels, or nothing.
func (v *remote) reserve(ctx context.Context, r *Reservation) (no refusal, err error) {
	s := script{keys: make([]string, 0, 2*r.len()), args: make([]string, 0, answerHead+4*r.len())}
	carried := v.outbox.take(maxCarried, &s)
	levels := v.write(r, &s)
	answer, err := v.call(ctx, v.timeout, &s)
	if err == nil && len(answer) < answerHead+answerLevel*len(levels) {
		err = fmt.Errorf("call Valkey: the answer has %d numbers", len(answer))
	}
	if err != nil {
		v.outbox.dropped.Add(int64(carried))
		return no, err
	}
	for i, l := range levels {
		n := answer[answerHead+answerLevel*i:]
		reset := n[2] * int64(time.Microsecond)
		l.used = usage{requests: n[0], tokens: n[1], resetRequests: reset, resetTokens: reset}
	}
	if who := answer[0]; who > 0 && int(who) <= len(levels) {
		return refusal{levels[who-1], limited(answer[1]), time.Duration(answer[2]) * time.Microsecond}, nil
	}
	r.at = answer[3]
	return no, nil
}

// write appends the operation r for the limited levels, and returns these levels.
func (v *remote) write(r *Reservation, s *script) []*level {
	levels := make([]*level, 0, r.len())
	for i := range r.len() {
		if l := r.level(i); l.limited() {
			levels = append(levels, l)
		}
	}
	s.args = append(s.args, "r", r.member, strconv.Itoa(len(levels)))
	for _, l := range levels {
		s.keys = append(s.keys, l.subject.windowKey(), l.subject.slotsKey())
		for _, n := range []int64{l.limits.RPM, l.limits.TPM, l.limits.Concurrency, l.asked} {
			s.args = append(s.args, strconv.FormatInt(n, 10))
		}
	}
	return levels
}

func (s *subject) windowKey() string { return keyPrefix + "w:" + rankNames[s.rank] + s.id }
func (s *subject) slotsKey() string  { return keyPrefix + "c:" + rankNames[s.rank] + s.id }

// rankNames are parts of the keys.
var rankNames = [...]string{
	ofKey: "key:", ofAccount: "account:", ofInstallation: "all",
	freeOfKey: "free:key:", freeOfAccount: "free:account:",
}

// settle sends the result of a request to Valkey, in the background.
func (v *remote) settle(r *Reservation, tokens int64) {
	for i := range r.len() {
		if l := r.level(i); r.at != 0 && l.own.TPM > 0 && tokens != l.asked {
			v.outbox.put(change{
				key: l.subject.windowKey(), second: r.at, refund: max(0, l.asked-tokens),
				excess: max(0, tokens-l.asked),
			})
		}
	}
	v.free(r)
}

// free releases the slots. A call without an answer may have taken them too.
func (v *remote) free(r *Reservation) {
	if r.member == "" {
		return
	}
	v.slots.Lock()
	delete(v.held, r.member)
	v.slots.Unlock()
	for _, key := range slotsKeys(r) {
		v.outbox.put(change{key: key, member: r.member})
	}
}

// slotsKeys returns the keys of the sets that have a slot of the request.
func slotsKeys(r *Reservation) []string {
	keys := make([]string, 0, numRanks)
	for i := range r.len() {
		if l := r.level(i); l.own.Concurrency > 0 {
			keys = append(keys, l.subject.slotsKey())
		}
	}
	return keys
}

// hold records the slots of an admitted request, which this node must renew until the request ends.
func (v *remote) hold(r *Reservation) {
	if r.member == "" {
		return
	}
	keys := slotsKeys(r)
	v.slots.Lock()
	v.held[r.member] = keys
	v.slots.Unlock()
}
