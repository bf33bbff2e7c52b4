package webhook

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/llm"
	"weir/internal/outbound"
	"weir/internal/seal"
)

const (
	// LeaseFor is how long a delivery is a node's that has taken it: longer than a
	// try, so that two nodes never try at once.
	LeaseFor = 2 * tryFor
	// slots is how many tries a node makes at once, and perEndpoint how many of them
	// at one endpoint, where the last one succeeded; else it is one.
	slots       = 512
	perEndpoint = 8

	lookEvery   = 500 * time.Millisecond
	askFor      = 10 * time.Second // of the database
	finishFor   = 5 * time.Second  // for tries under way when the gateway stops
	maxOutcomes = 256              // written in one transaction
)

// Waiting is an endpoint for which deliveries are due.
type Waiting struct {
	Webhook string
	Failing bool // its last try failed
}

// Outbox is the deliveries as nodes take them.
type Outbox interface {
	// WaitingWebhooks are the endpoints for which deliveries are due, in the order of
	// their ids, but for those that are disabled or want to hear nothing for a while.
	WaitingWebhooks(ctx context.Context) ([]Waiting, error)
	// TakeDeliveries takes at most that many due deliveries of an endpoint for
	// LeaseFor, those due first before others. Nobody else gets them meanwhile.
	TakeDeliveries(ctx context.Context, webhook string, n int) ([]Job, error)
	// EndTries writes how tries ended. One whose delivery was taken by another node
	// since, or begun anew, says nothing about that but a success.
	EndTries(ctx context.Context, list []Outcome) error
}

// DelivererOptions is what a Deliverer is made of.
type DelivererOptions struct {
	Outbox Outbox
	Ring   *seal.Ring
	// AllowPrivate lets every endpoint be on a private address.
	AllowPrivate bool
	Proxy        outbound.Proxy // nil for none
	Roots        *x509.CertPool // nil for the system's
	Version      string
	Log          *slog.Logger
}

// Deliverer sends what is due. It holds no delivery for longer than a try, and no
// endpoint waits for another one.
type Deliverer struct {
	options DelivererOptions
	sender  *sender

	busy    map[string]int // tries under way, by endpoint
	running int
	served  string // the endpoint whose turn was last
	// unsigned is until when nothing is taken of endpoints whose secrets this node cannot
	// open: others may.
	unsigned map[string]time.Time
	ended    chan Outcome
	unsaid   []Outcome // outcomes that the database does not know yet

	delivered, failed atomic.Int64
}

// Stats are the tries of a deliverer since its start.
type Stats struct{ Delivered, Failed int64 }

// Stats are how its tries have ended.
func (d *Deliverer) Stats() Stats { return Stats{d.delivered.Load(), d.failed.Load()} }

// NewDeliverer makes a deliverer, which sends nothing before Run.
func NewDeliverer(o DelivererOptions) *Deliverer {
	return &Deliverer{
		options: o, sender: newSender(o.Proxy, o.Roots, o.Version, nil),
		busy: map[string]int{}, unsigned: map[string]time.Time{}, ended: make(chan Outcome, slots),
	}
}

// Run sends what is due until ctx ends, and gives tries under way a few seconds then.
func (d *Deliverer) Run(ctx context.Context) {
	defer d.sender.close()
	sending, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	var tries sync.WaitGroup
	defer tries.Wait()
	defer stop(errStopped)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			d.finish(stop)
			return
		case o := <-d.ended:
			d.note(o)
		case <-timer.C:
			timer.Reset(lookEvery)
		}
		d.write(ctx)
		d.take(ctx, func(j *Job) { tries.Go(func() { d.ended <- d.try(sending, j) }) })
	}
}

var errStopped = errors.New("the gateway stops")

// finish waits for the tries under way, and ends those that take long.
func (d *Deliverer) finish(stop context.CancelCauseFunc) {
	patience := time.AfterFunc(finishFor, func() { stop(errStopped) })
	defer patience.Stop()
	for d.running > 0 {
		d.note(<-d.ended)
	}
	d.write(context.Background())
}

// note takes a try that has ended off the books, and keeps its outcome.
func (d *Deliverer) note(o Outcome) {
	for {
		d.running--
		if d.busy[o.Job.Webhook]--; d.busy[o.Job.Webhook] == 0 {
			delete(d.busy, o.Job.Webhook)
		}
		d.unsaid = append(d.unsaid, o)
		switch {
		case o.Unsigned:
			d.unsigned[o.Job.Webhook] = time.Now().Add(LeaseFor)
		case o.Undone:
		case o.State == Delivered:
			d.delivered.Add(1)
		default:
			d.failed.Add(1)
		}
		select { // what else has ended goes along
		case o = <-d.ended:
		default:
			return
		}
	}
}

// write tells the database how tries ended. What it does not take is told again with
// the next ones; after LeaseFor somebody tries those deliveries again.
func (d *Deliverer) write(ctx context.Context) {
	for len(d.unsaid) > 0 {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askFor)
		some := d.unsaid[:min(len(d.unsaid), maxOutcomes)]
		err := d.options.Outbox.EndTries(ctx, some)
		cancel()
		if err != nil {
			d.options.Log.Error("the results of webhook deliveries could not be written", "deliveries", len(some),
				"err", err)
			d.unsaid = d.unsaid[max(0, len(d.unsaid)-slots):]
			return
		}
		d.unsaid = d.unsaid[len(some):]
	}
}

// take begins tries of what is due, as far as there is room.
func (d *Deliverer) take(ctx context.Context, begin func(*Job)) {
	if ctx.Err() != nil || d.running >= slots {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	waiting, err := d.options.Outbox.WaitingWebhooks(ctx)
	if err != nil {
		d.fail(ctx, err)
		return
	}
	now := time.Now()
	maps.DeleteFunc(d.unsigned, func(_ string, until time.Time) bool { return now.After(until) })
	for _, w := range d.inTurn(waiting) {
		if _, unsigned := d.unsigned[w.Webhook]; unsigned {
			continue
		}
		most := perEndpoint
		if w.Failing {
			most = 1
		}
		n := min(most-d.busy[w.Webhook], slots-d.running)
		if n <= 0 {
			continue
		}
		d.served = w.Webhook // even if in vain: the others come first then
		jobs, err := d.options.Outbox.TakeDeliveries(ctx, w.Webhook, n)
		if err != nil {
			d.fail(ctx, err)
			return
		}
		for i := range jobs {
			d.running++
			d.busy[w.Webhook]++
			begin(&jobs[i])
		}
	}
}

// inTurn puts those first who come after the one that was served last: many that are
// slow keep nobody waiting for more than a round.
func (d *Deliverer) inTurn(waiting []Waiting) []Waiting {
	i := slices.IndexFunc(waiting, func(w Waiting) bool { return w.Webhook > d.served })
	if i < 0 {
		return waiting
	}
	return slices.Concat(waiting[i:], waiting[:i])
}

func (d *Deliverer) fail(ctx context.Context, err error) {
	d.options.Log.DebugContext(ctx, "webhooks that are due could not be read", "err", err)
}

// try makes one try of a delivery. Its time is that of the job: receivers refuse what
// is minutes off, as the clock of a single node may be.
func (d *Deliverer) try(ctx context.Context, j *Job) Outcome {
	o := Outcome{Job: j, Try: Try{N: j.Take, At: j.At}}
	signature, err := d.sign(j, j.At)
	if err != nil {
		o.Undone, o.Unsigned, o.After = true, true, lookEvery
		d.options.Log.Error("a webhook could not be signed", "webhook", j.Webhook, "err", err)
		return o
	}
	begun := time.Now()
	a, err := d.sender.send(ctx, j, j.AllowPrivate || d.options.AllowPrivate, j.At, signature)
	o.Try.Took, o.Try.Status, o.Try.Answer = time.Since(begun), a.status, a.body
	o.judge(j, &a, err)
	return o
}

// sign signs a try with the secrets of its endpoint.
func (d *Deliverer) sign(j *Job, at time.Time) (string, error) {
	var secrets []llm.Secret
	for _, sealed := range j.Secrets {
		text, err := d.options.Ring.Open(sealed, SecretOf(j.Webhook))
		if err != nil {
			return "", err
		}
		secrets = append(secrets, llm.NewSecret(string(text)))
	}
	return Signature(j.Event, at, j.Payload, secrets...)
}

// judge says what a try comes to.
func (o *Outcome) judge(j *Job, a *answer, err error) {
	switch {
	case errors.Is(err, errStopped):
		o.Undone = true
		return
	case a.status >= 200 && a.status < 300: // whatever became of its body
		o.State = Delivered
		return
	case a.status == 410:
		o.State, o.Gone, o.Try.Error = Failed, true, "the receiver answered 410: it wants no more events"
		return
	}
	o.Try.Error = plain(describe(a, err), maxError) // a receiver's certificate may have a say in it
	if a.status == 429 || a.status == 503 || a.status == 502 || a.status == 504 {
		o.Rest = min(a.retryAfter, longestRest)
	}
	after, again := pause(j.Failed+1, j.Age, a.retryAfter)
	if !again {
		o.State = Failed
		return
	}
	o.State, o.After = Pending, after
}

// noHost is said of a host that is not there and of one that may not be dialled: else
// whoever may have an endpoint could ask which names there are inside.
const noHost = "the host could not be found, or is at an address that is not permitted: a private, local or metadata " +
	"one, or a public one without https"

// describe says for people why a try failed. What a name resolves to within the
// gateway's network, and the gateway's own address, are not for everybody who may have
// an endpoint.
func describe(a *answer, err error) string {
	switch {
	case err == nil && a.status >= 300 && a.status < 400:
		return "the receiver answered with a redirect, which is not followed: give the address that it leads to"
	case err == nil:
		return "the receiver did not answer with 2xx"
	case outbound.Refused(err):
		return noHost
	}
	op, ok := errors.AsType[*net.OpError](err)
	if ok && op.Op == "proxyconnect" {
		return "the proxy that deliveries go through could not be reached"
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return noHost
	}
	if ok {
		return op.Op + ": " + op.Err.Error() // without the addresses
	}
	return err.Error()
}
