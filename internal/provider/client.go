package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"weir/internal/llm"
)

const (
	maxErrorBody  = 64 << 10
	errorBodyTime = 10 * time.Second // how long an error's explanation is waited for
)

var (
	errNoPermit = errors.New("a request to a provider has no open hold of the ledger")
	errNoKey    = errors.New("no such credential")
	errNoPath   = errors.New("the wire format has no such operation")
)

// Permit is leave to make one attempt: an opened hold of the ledger, usable
// once.
type Permit interface {
	// Use takes the leave. An error means that the attempt must not be made.
	Use() error
}

// Call is one attempt.
type Call struct {
	Op     llm.Op
	Model  string // the provider's name of the model
	Stream bool
	// Body is the request in the provider's wire format. It may still be read
	// after Do has returned, so it is never to be changed or used again.
	Body []byte
	// AttemptID goes along as X-Client-Request-Id, so that a provider's own
	// records can be joined with the ledger's.
	AttemptID string
	Key       int    // which credential, from 0 to Keys()-1
	Hold      Permit // required; consumed before anything is sent
}

// Response is a provider's answer of a status of success. Body must be closed,
// which aborts what is unfinished of it at once.
type Response struct {
	Status int
	Header http.Header
	// Body gives io.EOF or a *Failure at its end. Idle and total timers are in
	// force while it is read.
	Body io.ReadCloser
	// Streamed is whether Body is a stream of events. A provider that answers
	// a stream's request with a whole reply leaves it false.
	Streamed bool

	exchange *exchange
	model    string
	length   int64 // of Body; -1 for unknown
}

// Do makes one attempt. Every error is a *Failure. When ctx is cancelled the
// exchange is aborted at once, at any point of it.
func (p *Provider) Do(ctx context.Context, c Call) (*Response, error) {
	x := p.newExchange(ctx)
	req, err := p.request(x.ctx, &c)
	if err == nil {
		err = c.Hold.Use()
	}
	if err != nil {
		x.finish()
		return nil, p.internal(err)
	}
	res, err := p.transport.RoundTrip(req)
	if err != nil {
		f := x.failure(err, false)
		x.finish()
		return nil, f
	}
	x.http2 = res.ProtoMajor == 2
	r := &Response{
		Status: res.StatusCode, Header: res.Header, Body: &body{x: x, src: res.Body},
		exchange: x, model: c.Model, length: res.ContentLength,
	}
	if f := r.judge(c.Stream); f != nil {
		_ = r.Body.Close()
		return nil, f
	}
	return r, nil
}

// request builds the request. Its body is of a type that the Transport knows
// to be in memory: with any other, headers leave in a write of their own.
func (p *Provider) request(ctx context.Context, c *Call) (*http.Request, error) {
	if c.Hold == nil {
		return nil, errNoPermit
	}
	if c.Key < 0 || c.Key >= p.Keys() {
		return nil, fmt.Errorf("key %d of %d: %w", c.Key, p.Keys(), errNoKey)
	}
	path := p.opts.Dialect.Path(c.Op, c.Model, c.Stream)
	if !strings.HasPrefix(path, "/") { // else it could name another host
		return nil, fmt.Errorf("operation %q: %w", c.Op, errNoPath)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+path, bytes.NewReader(c.Body))
	if err != nil {
		return nil, err
	}
	p.setHeaders(req.Header, c)
	return req, nil
}

func (p *Provider) setHeaders(h http.Header, c *Call) {
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json")
	if c.Stream {
		h.Set("Accept", "text/event-stream")
	}
	h.Set("Accept-Encoding", "identity")
	h.Set("User-Agent", p.opts.UserAgent)
	h.Set("X-Client-Request-Id", c.AttemptID)
	if len(p.opts.APIKeys) > 0 {
		p.opts.Auth.set(h, p.opts.APIKeys[c.Key])
	}
}

// judge tells an answer to the request from everything else that may come.
func (r *Response) judge(stream bool) *Failure {
	if r.Status < 200 || r.Status >= 300 {
		return r.judgeStatus()
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return r.protocol("content encoding %q, which was not asked for", enc)
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	isJSON := media == "application/json" || strings.HasSuffix(media, "+json")
	switch {
	case r.Header.Get("Content-Type") == "": // the decoder judges what comes
		r.Streamed = stream
		return nil
	case err == nil && stream && media == "text/event-stream":
		r.Streamed = true
		return nil
	case err == nil && stream && isJSON:
		return r.hold()
	case err == nil && !stream && isJSON:
		return nil
	}
	return r.protocol("content type %q", r.Header.Get("Content-Type"))
}

// judgeStatus reads what the provider says about its error, as far as it comes
// in good time.
func (r *Response) judgeStatus() *Failure {
	if r.Status < 400 {
		return r.protocol("status %d; a redirect is never followed, so base_url must name the final address", r.Status)
	}
	r.exchange.endWithin(errorBodyTime)
	text, err := io.ReadAll(io.LimitReader(r.Body, maxErrorBody))
	if f, ok := errors.AsType[*Failure](err); ok && f.Kind == KindCanceled {
		return f
	}
	return r.exchange.provider.statusFailure(r.Status, r.Header, text, r.model)
}

// hold reads the whole reply, so that it can be judged, and keeps it as Body.
func (r *Response) hold() *Failure {
	text, f := r.readAll()
	if f != nil {
		return f
	}
	_ = r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(text))
	return nil
}

// ReadAll reads the whole reply, up to the provider's bound, and closes Body.
// A reply that is nothing but an error is that error. Every error is a
// *Failure.
func (r *Response) ReadAll() ([]byte, error) {
	defer func() { _ = r.Body.Close() }()
	text, f := r.readAll()
	if f != nil {
		return nil, f
	}
	return text, nil
}

func (r *Response) readAll() ([]byte, *Failure) {
	bound := r.exchange.provider.opts.MaxReply
	var buf bytes.Buffer
	if r.length > 0 && r.length <= bound {
		buf.Grow(int(r.length) + bytes.MinRead) // room to meet the end in
	}
	n, err := buf.ReadFrom(io.LimitReader(r.Body, bound+1))
	switch {
	case err != nil:
		return nil, AsFailure(err)
	case n > bound:
		return nil, r.protocol("a reply of more than %d bytes", bound)
	case isErrorBody(buf.Bytes()):
		return nil, r.exchange.provider.statusFailure(r.Status, r.Header, buf.Bytes(), r.model)
	}
	return buf.Bytes(), nil
}

func (r *Response) protocol(format string, args ...any) *Failure {
	f := r.exchange.provider.failure(KindProtocol, true, fmt.Errorf(format, args...))
	f.Status = r.Status
	return f
}
