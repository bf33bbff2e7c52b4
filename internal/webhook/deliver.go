package webhook

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/llm"
	"weir/internal/outbound"
	"weir/internal/seal"
)

const (
	// LeaseFor is how long a delivery is leased to the node that has taken it. It is longer than a try, so that two
	// nodes never try at once.
	LeaseFor = 2 * tryFor
	// slots is the maximum number of concurrent tries of a node. perEndpoint is the maximum at one endpoint if its last
	// try succeeded; otherwise the maximum is one.
	slots       = 512
	perEndpoint = 8

	lookEvery   = 500 * time.Millisecond
	askFor      = 10 * time.Second // per database call
	finishFor   = 5 * time.Second  // for running tries when the gateway stops
	maxOutcomes = 256              // written in one transaction
)

// Waiting is an endpoint with due deliveries.
type Waiting struct {
	Webhook string
	Failing bool // its last try failed
}

// Outbox is the queue of deliveries that nodes take from.
type Outbox interface {
	// WaitingWebhooks returns the endpoints with due deliveries, sorted by id, except disabled endpoints and those
	// whose receiver asked for a pause.
	WaitingWebhooks(ctx context.Context) ([]Waiting, error)
	// TakeDeliveries leases up to n due deliveries of an endpoint for LeaseFor, earliest due first. No other node gets
	// them in that time.
	TakeDeliveries(ctx context.Context, webhook string, n int) ([]Job, error)
	// EndTries stores the results of tries. If another node has taken the delivery since, or it was restarted, only a
	// success is stored.
	EndTries(ctx context.Context, list []Outcome) error
}

// DelivererOptions configures a Deliverer.
type DelivererOptions struct {
	Outbox Outbox
	Ring   *seal.Ring
	// AllowPrivate permits every endpoint to have a private address.
	AllowPrivate bool
	Proxy        outbound.Proxy // nil for none
	// Mail sends a text to an address, within a bound; nil if the installation sends no mail.
	Mail    func(ctx context.Context, to, subject, text string) error
	Roots   *x509.CertPool // nil for the system's
	Version string
	Log     *slog.Logger
}

// Deliverer sends due deliveries. It leases a delivery only for one try, and slow endpoints do not delay others.
type Deliverer struct {
	options DelivererOptions
	sender  *sender

	busy    map[string]int // running tries by endpoint
	running int
	served  string // the endpoint that was served last
	// unsigned maps endpoints whose secrets this node cannot decrypt to the time until which it skips them, so that
	// other nodes can try.
	unsigned map[string]time.Time
	ended    chan Outcome
	unsaid   []Outcome // results that are not stored yet

	delivered, failed atomic.Int64
}

// Stats counts the tries of a deliverer since its start.
type Stats struct{ Delivered, Failed int64 }

// Stats returns the counts of tries.
func (d *Deliverer) Stats() Stats { return Stats{d.delivered.Load(), d.failed.Load()} }

// NewDeliverer returns a deliverer. Run starts the sending.
func NewDeliverer(o DelivererOptions) *Deliverer {
	return &Deliverer{
		options: o, sender: newSender(o.Proxy, o.Roots, o.Version, nil),
		busy: map[string]int{}, unsigned: map[string]time.Time{}, ended: make(chan Outcome, slots),
	}
}

// Run sends due deliveries until ctx ends, and then gives running tries a few seconds.
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

var errStopped = errors.New("the gateway is stopping")

// finish waits for the running tries, and cancels slow ones.
func (d *Deliverer) finish(stop context.CancelCauseFunc) {
	patience := time.AfterFunc(finishFor, func() { stop(errStopped) })
	defer patience.Stop()
	for d.running > 0 {
		d.note(<-d.ended)
	}
	d.write(context.Background())
}

// note records a finished try, and all others that have finished by then.
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
		select { // also record other finished tries
		case o = <-d.ended:
		default:
			return
		}
	}
}

// write stores the results of tries. Results that it cannot store are retried with the next ones; after LeaseFor
// another node repeats those deliveries.
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

// take starts tries of due deliveries while slots are free.
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
		d.served = w.Webhook // also if that fails, so that the other endpoints come first next time
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

// inTurn rotates the list so that it starts after the endpoint that was served last. So slow endpoints delay others by
// at most one round.
func (d *Deliverer) inTurn(waiting []Waiting) []Waiting {
	i := slices.IndexFunc(waiting, func(w Waiting) bool { return w.Webhook > d.served })
	if i < 0 {
		return waiting
	}
	return slices.Concat(waiting[i:], waiting[:i])
}

func (d *Deliverer) fail(ctx context.Context, err error) {
	d.options.Log.DebugContext(ctx, "due webhook deliveries could not be read", "err", err)
}

// try makes one try of a delivery. Its timestamp is the job's, by the shared clock, because receivers refuse timestamps
// that are minutes off, as a single node's clock may be.
func (d *Deliverer) try(ctx context.Context, j *Job) Outcome {
	o := Outcome{Job: j, Try: Try{N: j.Take, At: j.At}}
	body, err := j.Format.Body(j.Payload)
	if err != nil {
		o.Undone, o.After = true, LeaseFor
		d.options.Log.Error("a webhook could not be written", "webhook", j.Webhook, "err", err)
		return o
	}
	sent := *j
	sent.Payload = body
	signature, err := d.sign(&sent, j.At)
	if err != nil {
		o.Undone, o.Unsigned, o.After = true, true, lookEvery
		d.options.Log.Error("a webhook could not be signed", "webhook", j.Webhook, "err", err)
		return o
	}
	begun := time.Now()
	var a answer
	if j.Format == Mail {
		a, err = d.mail(ctx, j)
	} else {
		a, err = d.sender.send(ctx, &sent, j.AllowPrivate || d.options.AllowPrivate, j.At, signature)
	}
	o.Try.Took, o.Try.Status, o.Try.Answer = time.Since(begun), a.status, a.body
	o.judge(j, &a, err)
	return o
}

// mail sends the event of a job as a mail. The answer has a status as if the mail server had answered by HTTP.
func (d *Deliverer) mail(ctx context.Context, j *Job) (answer, error) {
	if d.options.Mail == nil {
		return answer{}, errNoMail
	}
	title, text, err := Sentences(j.Payload)
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, tryFor, errLate)
	defer cancel()
	if err := d.options.Mail(ctx, strings.TrimPrefix(j.URL, mailScheme), title, text+"\n"); err != nil {
		return answer{}, causeOf(ctx, err)
	}
	return answer{status: http.StatusAccepted}, nil
}

var errNoMail = errors.New("this installation sends no mail: set smtp in weir.yaml")

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

// judge sets the result of a try and the time of the next one.
func (o *Outcome) judge(j *Job, a *answer, err error) {
	switch {
	case errors.Is(err, errStopped):
		o.Undone = true
		return
	case a.status >= 200 && a.status < 300: // even if reading the body failed
		o.State = Delivered
		return
	case a.status == 410:
		o.State, o.Gone, o.Try.Error = Failed, true, "the receiver answered 410 Gone, so no further events are sent"
		return
	}
	o.Try.Error = plain(describe(a, err), maxError) // the error may contain text from the receiver's certificate
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

// noHost is the error for an unknown host and for a forbidden address. One text covers both, so that people with an
// endpoint cannot probe for internal names.
const noHost = "the host could not be found, or its address is not permitted: it is private, local or a metadata " +
	"address, or public without https"

// describe returns the reason of a failed try for people. It reveals neither internal addresses nor the gateway's own
// address, because people with an endpoint need not know them.
func describe(a *answer, err error) string {
	switch {
	case err == nil && a.status >= 300 && a.status < 400:
		return "the receiver answered with a redirect, which is not followed: set the URL to the redirect's target"
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
