package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/outbound"
)

// Options describes a server.
type Options struct {
	Name string // for messages
	URL  string // http or https, except for Through
	// Through carries the requests in place of HTTP; nil for HTTP.
	Through Carrier
	// Headers are sent with each request, such as Authorization.
	Headers map[string]llm.Secret
	// OAuth describes how access tokens are requested.
	OAuth OAuth
	// Tokens gives the access tokens of requests, in place of OAuth; nil for none.
	Tokens TokenSource
	// AllowPrivate permits private and loopback addresses.
	AllowPrivate bool
	Proxy        string // see outbound.ParseProxy
	CAFile       string // see outbound.Certificates
	// Timeout bounds a request and its answer; 0 for one minute.
	Timeout time.Duration
	// MaxAnswer bounds a result in bytes, and a quarter of all that the server sends with it; 0 for 4 MiB.
	MaxAnswer int
	// Version is Weir's.
	Version string
	// Now is the clock of this machine; nil for time.Now.
	Now func() time.Time
}

const (
	defaultTimeout = time.Minute
	defaultAnswer  = 4 << 20
	connectFor     = 10 * time.Second
	maxHeaders     = 64 << 10
	maxConnections = 256
	idleFor        = 30 * time.Second
	maxSessions    = 256
)

var errLate = errors.New("the server did not answer in time")

// Carrier carries requests to a server that is not reached by HTTP.
type Carrier interface {
	http.RoundTripper
	Close()
}

// Client sends requests to one server. It finds out which revision the server speaks, and begins sessions anew that
// the server forgot.
type Client struct {
	o       Options
	through http.RoundTripper
	long    http.RoundTripper // for streams of notifications, which occupy their connections
	streams streams
	tokens  TokenSource // nil without OAuth
	close   func()
	info    string // clientInfo, as JSON
	nextID  atomic.Int64

	mu       sync.Mutex
	era      *session         // of a server without sessions; nil if it has them, or if that is unknown
	slots    map[string]*slot // by Request.Session
	sessions bool             // the server has sessions, as far as is known
}

// Request is one request.
type Request struct {
	Method string
	// Name is the value of Mcp-Name: the name of a tool or prompt, or the URI of a resource; empty for none.
	Name   string
	Params json.RawMessage // an object; nil for none
	// Header has further headers (Mcp-Param-…); nil for none.
	Header http.Header
	// Hold is the right to call once. A request for which IsCall holds is not sent without it.
	Hold *ledger.Hold
	// Session separates the callers that may not share a session of a server.
	Session string
	// Person says whose access the request needs: the ids of a user and of the account in which the user asks, with a
	// blank between; empty for the access of the installation.
	Person string
	// Notify receives each notification that comes before the result; nil to drop them. The text is valid during the
	// call.
	Notify func(text []byte) error
	// Ask answers requests of a server with sessions for which the caller has Abilities; nil to decline them.
	Ask       Ask
	Abilities string // see Abilities
	// Trace is the traceparent of the span; empty to keep that of Params.
	Trace string

	long bool // the answer is a stream of notifications
}

// Failure is an answer that is no answer of the protocol: no connection, an HTTP error, a timeout, or an answer that
// exceeds a bound.
type Failure struct {
	// Sent reports that the server may have received the request.
	Sent bool
	// Late reports that the time ran out, and Gone that the caller no longer wants the answer.
	Late, Gone bool
	Status     int // of HTTP; 0 without an answer
	Err        *llm.Error
}

// Error returns the error's text.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the error for the client.
func (f *Failure) Unwrap() error { return f.Err }

// New returns the client of a server. It connects at the first request.
func New(o Options) (*Client, error) {
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxAnswer == 0 {
		o.MaxAnswer = defaultAnswer
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	info, err := json.Marshal(map[string]string{"name": "weir", "title": "Weir", "version": o.Version})
	c := &Client{o: o, info: string(info), slots: map[string]*slot{}}
	if o.Through != nil {
		c.through, c.long, c.close = o.Through, o.Through, o.Through.Close
		return c, err
	}
	return c, errors.Join(err, connect(c))
}

// connect prepares the connections by HTTP.
func connect(c *Client) error {
	o := &c.o
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return fmt.Errorf("url %q: write http:// or https://, a host and a path, without a password", o.URL)
	}
	reach := outbound.Public
	if o.AllowPrivate {
		reach = outbound.Anywhere
	}
	if err := reach.CheckHost(u.Hostname()); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	if t, err := url.Parse(o.OAuth.TokenURL); err != nil {
		return fmt.Errorf("token_url %q: write http:// or https://, a host and a path", o.OAuth.TokenURL)
	} else if err := reach.CheckHost(t.Hostname()); o.OAuth.TokenURL != "" && err != nil {
		return fmt.Errorf("token_url: %w", err)
	}
	through, err := outbound.Transport(o.Proxy, o.CAFile, connectFor)
	if err != nil {
		return err
	}
	if o.Proxy == "" {
		through.DialContext = (&net.Dialer{Timeout: connectFor, Control: reach.Control}).DialContext
	}
	through.Protocols = new(http.Protocols)
	through.Protocols.SetHTTP1(true)
	through.DisableCompression, through.MaxResponseHeaderBytes = true, maxHeaders
	through.MaxConnsPerHost, through.MaxIdleConnsPerHost = maxConnections, maxConnections
	through.IdleConnTimeout = idleFor
	long := through.Clone()
	c.through, c.long, c.tokens = through, long, o.Tokens
	c.close = func() { through.CloseIdleConnections(); long.CloseIdleConnections() }
	if o.OAuth.TokenURL != "" {
		c.tokens = newTokens(o, through)
	}
	return nil
}

// Timeout returns the bound of a request and its answer.
func (c *Client) Timeout() time.Duration { return c.o.Timeout }

// Close closes idle connections, or Through. Requests by HTTP that are in flight end by themselves.
func (c *Client) Close() { c.close() }

// Do sends a request and returns its result. The error is an *RPCError of the server, a *Failure, or of the hold.
func (c *Client) Do(ctx context.Context, r *Request) (json.RawMessage, error) {
	if IsCall(r.Method) {
		if r.Hold == nil {
			return nil, errors.New("mcp: a call needs a hold of the ledger")
		}
		if err := r.Hold.Use(); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.Timeout, errLate)
	defer cancel()
	for again := false; ; again = true {
		s, err := c.session(ctx, r)
		if err != nil {
			return nil, err
		}
		result, err := c.call(ctx, s, r)
		switch {
		case !errors.Is(err, errForgotten):
			return result, err
		case again:
			return nil, c.failure(ctx, true, err)
		}
		c.forget(r, s)
	}
}

// id returns the next id of a request, as JSON.
func (c *Client) id() []byte { return strconv.AppendInt(nil, c.nextID.Add(1), 10) }

// failure returns the failure of a request that the server may have received.
func (c *Client) failure(ctx context.Context, sent bool, err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	f := &Failure{Sent: sent, Err: &llm.Error{Code: llm.CodeProviderError, Err: err}}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errLate) || errors.Is(cause, context.DeadlineExceeded):
		f.Late, f.Err.Code = true, llm.CodeProviderTimeout
		f.Err.Message = fmt.Sprintf("The MCP server %q did not answer within %s.", c.o.Name, c.o.Timeout)
	case cause != nil:
		f.Gone, f.Err.Message = true, "The request was cancelled."
	case !sent:
		f.Err.Code = llm.CodeProviderUnavailable
		f.Err.Message = fmt.Sprintf("The MCP server %q cannot be reached. Try again later, or ask the operator "+
			"to check it with: weir mcp test %s.", c.o.Name, c.o.Name)
	case isLost(err):
		f.Err.Message = fmt.Sprintf("The MCP server %q closed the connection without an answer.", c.o.Name)
	default:
		f.Err.Message = fmt.Sprintf("The MCP server %q sent an invalid answer: %s.", c.o.Name, publicReason(err))
	}
	return f
}

// isLost reports whether an error means that the server, or the network, has ended a connection.
func isLost(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}
