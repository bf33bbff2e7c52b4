package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/internal/dialect"
	"weir/internal/llm"
)

// contentType is the default content type of requests.
const contentType = "application/json"

const (
	firstRead     = 4 << 10 // for a reply of unknown length
	maxErrorBody  = 64 << 10
	errorBodyTime = 10 * time.Second // how long to wait for the explanation of an error
)

var (
	errNoPermit = errors.New("a request to a provider has no open hold in the ledger")
	errNoKey    = errors.New("no such credential")
	errNoPath   = errors.New("the wire format has no such operation")
	errTarget   = errors.New("a character that is not allowed in a URL")
	errValue    = errors.New("a character that is not allowed in a header")
)

// Permit is the permission to make one attempt: an open hold in the ledger, which can be used once.
type Permit interface {
	// Use consumes the permission. After an error the attempt must not be made.
	Use() error
}

// Call describes one attempt.
type Call struct {
	// Dialect is a wire format that the provider supports; nil means its usual one.
	Dialect *dialect.Dialect
	Op      llm.Op
	Model   string // the provider's name of the model
	Stream  bool
	// Body is the request in the provider's wire format. It may be read until the response's body is closed or, with
	// Failure.Late, until the late answer has been read.
	Body []byte
	// AttemptID is sent as X-Client-Request-Id, so that the provider's records can be matched with the ledger's.
	AttemptID string
	// ContentType is the content type of Body; empty means JSON.
	ContentType string
	// Header is added to the headers of every request and replaces those of the wire format.
	Header []dialect.Header
	Key    int    // index of the credential, from 0 to Keys()-1
	Hold   Permit // required; consumed before anything is sent
	// KeepLate continues the exchange if its first byte is late: see Failure.Late.
	KeepLate bool
}

// maxAbandoned is the longest whole answer that is read only for its usage, in bytes.
const maxAbandoned = 1 << 20

// Response is a provider's answer with a success status. Body must be closed, which aborts the unread rest at once.
type Response struct {
	Status int
	Header Header
	// Body returns io.EOF or a *Failure at its end. The idle and total timeouts apply while it is read.
	Body io.ReadCloser
	// Streamed is true if Body is a stream of events. It is false if the provider answers a request for a stream with a
	// whole reply.
	Streamed bool

	exchange *exchange
	dialect  *dialect.Dialect
	model    string
	length   int64 // of Body; -1 if unknown
	most     int64 // bytes of a whole reply

	lent   []byte   // memory for a whole reply
	full   [][]byte // full buffers of a whole reply
	before int64    // bytes in full
	buf    []byte   // the rest of the reply
}

// Do makes one attempt. Every error is a *Failure. When ctx is cancelled, the exchange is aborted at once, at any
// stage.
func (p *Provider) Do(ctx context.Context, c Call) (*Response, error) {
	if c.Dialect == nil {
		c.Dialect = p.opts.Dialect
	}
	target, err := p.target(&c)
	if err == nil {
		err = c.Hold.Use()
	}
	if err != nil {
		return nil, p.internal(err)
	}
	x := p.newExchange(ctx, c.Stream)
	x.call = c
	a, f := p.send(x, &x.call, target)
	return x.response(a, f)
}

// response returns the result of an exchange.
func (x *exchange) response(a answer, f *Failure) (*Response, error) {
	if f != nil && f.Late == nil {
		x.abandon()
	}
	if f != nil {
		return nil, f
	}
	r, c := &x.answer, &x.call
	x.body = body{x: x, src: a.body}
	*r = Response{
		Status: a.status, Header: a.header, Body: &x.body,
		exchange: x, dialect: c.Dialect, model: c.Model, length: a.length, most: x.provider.opts.MaxReply,
	}
	if f := r.judge(c.Stream, c.Dialect.For(c.Op)); f != nil {
		_ = r.Body.Close()
		x.unset()
		return nil, f
	}
	return r, nil
}

func (p *Provider) send(x *exchange, c *Call, target string) (answer, *Failure) {
	if f := p.sign(x, c, target); f != nil {
		return answer{}, f
	}
	if p.sockets != nil && c.Stream {
		if a, asked, err := p.sockets.send(x, c, target); asked {
			return a, x.sendFailure(err)
		}
	}
	a, err := p.wire.send(x, c, http.MethodPost, target)
	return a, x.sendFailure(err)
}

// target returns the path and query of the request, or the mistake in the call.
func (p *Provider) target(c *Call) (string, error) {
	if c.Hold == nil {
		return "", errNoPermit
	}
	if err := p.check(c); err != nil {
		return "", err
	}
	o := c.Dialect.For(c.Op)
	if o == nil {
		return "", fmt.Errorf("operation %q: %w", c.Op, errNoPath)
	}
	path := o.Path(c.Model, c.Stream)
	if last := p.last.Load(); last != nil && last.path == path {
		return last.escaped, nil
	}
	if !strings.HasPrefix(path, "/") { // otherwise it could name another host
		return "", fmt.Errorf("operation %q: the path %q does not begin with \"/\"", c.Op, path)
	}
	escaped, err := p.escape(p.prefix + path)
	if err == nil && len(path) <= longestPath {
		p.last.Store(&target{path, escaped})
	}
	return escaped, err
}

// target is a path of a wire format, and the path and query of the request for it. Most providers have few paths.
type target struct{ path, escaped string }

// longestPath is the longest path that is stored, in bytes.
const longestPath = 256

// check checks that the call can be sent.
func (p *Provider) check(c *Call) error {
	if c.Key < 0 || c.Key >= p.Keys() {
		return fmt.Errorf("key %d of %d: %w", c.Key, p.Keys(), errNoKey)
	}
	for _, h := range c.Header {
		if !isFieldValue(h.Value) {
			return fmt.Errorf("header %s: %w", h.Name, errValue)
		}
	}
	if !isFieldValue(c.AttemptID) {
		return fmt.Errorf("attempt %q: %w", c.AttemptID, errValue)
	}
	return nil
}

// escape returns a path and query with the escapes that a request needs.
func (p *Provider) escape(path string) (string, error) {
	if strings.Trim(path, unescaped) == "" {
		return path, nil
	}
	u, err := url.Parse(p.origin + path)
	if err != nil {
		return "", err
	}
	path = u.RequestURI() // leaves the query unchanged
	if !isFieldValue(path) || strings.Contains(path, " ") {
		return "", fmt.Errorf("target %q: %w", path, errTarget)
	}
	return path, nil
}

// unescaped are the characters that need no escape in a path and a query.
const unescaped = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/:?=&"

// isFieldValue reports whether a text may be sent as a header: it contains no line break and no other control
// character.
func isFieldValue(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// headers sets all headers of the request except those for its destination and the length of its body.
func (x *exchange) headers(c *Call, set func(name, value string)) {
	p := x.provider
	o := c.Dialect.For(c.Op)
	accept := "application/json"
	switch {
	case c.Stream:
		accept = o.Framing.ContentType
	case o.Raw:
		accept = "*/*"
	}
	set("Content-Type", cmp.Or(c.ContentType, contentType))
	set("Accept", accept)
	set("Accept-Encoding", "identity")
	set("User-Agent", p.opts.UserAgent)
	set("X-Client-Request-Id", c.AttemptID)
	for _, h := range c.Dialect.Headers {
		if !slices.ContainsFunc(c.Header, func(own dialect.Header) bool { return own.Name == h.Name }) {
			set(h.Name, h.Value)
		}
	}
	for _, h := range c.Header {
		set(h.Name, h.Value)
	}
	if len(p.credentials) > 0 {
		set(p.header, p.credentials[c.Key].Reveal())
	}
	for _, h := range x.signed {
		set(h.Name, h.Value)
	}
}

// judge returns a failure unless the response is an answer to the request.
func (r *Response) judge(stream bool, o *dialect.Operation) *Failure {
	if r.Status != 200 && r.Status != 201 {
		return r.judgeStatus()
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return r.protocol("content encoding %q, which was not requested", enc)
	}
	contentType := r.Header.Get("Content-Type")
	media, _, _ := strings.Cut(contentType, ";") // parameters have no meaning here
	media = strings.ToLower(strings.TrimSpace(media))
	isJSON := media == "application/json" || strings.HasSuffix(media, "+json")
	switch {
	case contentType == "": // the decoder checks the content
		r.Streamed = stream
		return nil
	case stream && media == o.Framing.ContentType:
		r.Streamed = true
		return nil
	case isJSON, o.Raw && !stream && media != "text/html":
		return nil
	}
	return r.protocol("content type %q", contentType)
}

// judgeStatus reads the provider's explanation of an error status, as far as it arrives in time.
func (r *Response) judgeStatus() *Failure {
	switch {
	case r.Status < 300:
		return r.protocol("status %d, which carries no complete answer", r.Status)
	case r.Status < 400:
		return r.protocol("status %d: redirects are not followed; set base_url to the final address", r.Status)
	}
	r.exchange.endWithin(errorBodyTime)
	text, err := io.ReadAll(io.LimitReader(r.Body, maxErrorBody))
	if f, ok := errors.AsType[*Failure](err); ok && f.Kind == KindCanceled {
		return f
	}
	return r.statusFailure(text)
}

// ReadAll reads the whole reply, up to the provider's bound, and closes Body. It returns a reply that is only an error
// as that error. Every error is a *Failure.
func (r *Response) ReadAll() ([]byte, error) { return r.readAll(false) }

func (r *Response) readAll(abandoned bool) ([]byte, error) {
	defer func() { _ = r.Body.Close() }()
	for {
		if text, whole, err := r.ReadMore(abandoned); whole || err != nil {
			return text, err
		}
	}
}

// A reply is read in buffers that double up to largePiece and are joined at the end, so that it never takes more than
// twice its length. A reply with an announced length up to believedLength is read into one buffer; larger announced
// lengths allocate nothing.
const (
	largePiece     = 1 << 20
	believedLength = 32 << 10
)

// ReadMore reads a piece of a whole reply, and returns the reply when it is whole. Abandoned means that the client has
// left and the reply is read only for its usage: it is then aborted at maxAbandoned. A reply that is only an error is
// returned as that error. Every error is a *Failure.
func (r *Response) ReadMore(abandoned bool) (reply []byte, whole bool, err error) {
	whole, f := r.readPiece(abandoned)
	if f != nil || !whole {
		return nil, false, failed(f)
	}
	if reply = r.text(); isErrorBody(reply) {
		return nil, false, r.statusFailure(reply)
	}
	return reply, true, nil
}

func (r *Response) readPiece(abandoned bool) (whole bool, f *Failure) {
	r.grow()
	n, err := r.Body.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf = r.buf[:len(r.buf)+n]
	switch {
	case r.Came() > r.most:
		return false, r.protocol("a reply of more than %d bytes", r.most)
	case err == io.EOF:
		return true, nil
	case abandoned && max(r.Came(), r.length) > maxAbandoned:
		why := fmt.Errorf("a reply of more than %d bytes after its client has left", maxAbandoned)
		return false, r.exchange.provider.failure(KindCanceled, true, why)
	case err != nil:
		return false, AsFailure(err)
	}
	return false, nil
}

// failed returns a failure as an error; nil for none.
func failed(f *Failure) error {
	if f == nil {
		return nil
	}
	return f
}

// Lend lends memory for a whole reply that is not longer. The reply then uses it.
func (r *Response) Lend(room []byte) { r.lent = room }

// Came returns how many bytes of a whole reply have been read.
func (r *Response) Came() int64 { return r.before + int64(len(r.buf)) }

// grow makes room for more of a whole reply.
func (r *Response) grow() {
	switch {
	case r.buf == nil:
		size := int64(firstRead)
		if r.length > 0 {
			size = min(r.length, believedLength) + 1 // one more byte, to read io.EOF
		}
		if r.buf = r.lent[:0]; int64(cap(r.lent)) < size {
			r.buf = make([]byte, 0, size)
		}
	case len(r.buf) == cap(r.buf):
		r.full, r.before = append(r.full, r.buf), r.Came()
		r.buf = make([]byte, 0, min(2*int64(cap(r.buf)), largePiece))
	}
}

// text returns a reply that has been read to its end.
func (r *Response) text() []byte {
	if r.before == 0 {
		return r.buf
	}
	return slices.Concat(append(r.full, r.buf)...)
}

func (r *Response) protocol(format string, args ...any) *Failure {
	f := r.exchange.provider.failure(KindProtocol, true, fmt.Errorf(format, args...))
	f.Status = r.Status
	return f
}
