package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

// errForgotten means that the server does not know the session, or speaks another revision than before. It ran nothing.
var errForgotten = errors.New("the server does not know the session")

// ErrLong means that an answer is longer than the bound.
var ErrLong = errors.New("it is longer than the bound")

var errNone = errors.New("the stream ended without a result")

// publicReason returns the part of an error that clients may read: none of the server's own words.
func publicReason(err error) string {
	for _, known := range []error{ErrLong, errNone, sse.ErrTooLong} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if syntax := (*rawjson.SyntaxError)(nil); errors.As(err, &syntax) {
		return "it is not JSON: " + syntax.Error()
	}
	return "it does not follow the protocol"
}

const (
	typeJSON   = "application/json"
	typeStream = "text/event-stream"
	maxProblem = 64 << 10 // bytes of an error's body
	streamed   = 4        // all that a server sends with a result, in multiples of the result's bound
)

// send sends a request in a session and returns the result.
func (c *Client) send(ctx context.Context, s *session, r *Request) (json.RawMessage, error) {
	id := c.id()
	response, sent, err := c.post(ctx, s, r, AppendMessage(nil, id, r.Method, c.params(s, r)))
	if rpc, ok := errors.AsType[*RPCError](err); ok { // a person has to do something first
		return nil, rpc
	}
	if err != nil {
		return nil, c.failure(ctx, sent, err)
	}
	defer func() { _ = response.Body.Close() }() // what is left of it is not wanted
	if response.StatusCode != http.StatusOK {
		return nil, c.refusal(ctx, s, response)
	}
	if r.Method == MethodInitialize {
		s.id = response.Header.Get(HeaderSession)
	}
	result, err := c.read(ctx, s, r, id, response)
	if rpc := (*RPCError)(nil); err != nil && !errors.As(err, &rpc) {
		f := c.failure(ctx, true, err)
		f.Status = response.StatusCode
		return nil, f
	}
	return result, err
}

// params returns the params with the members that the revision wants.
func (c *Client) params(s *session, r *Request) []byte {
	var set [][2]string
	if s.stateless() {
		meta := rawjson.Get(r.Params, "_meta")
		set = append(set, [2]string{MetaRevision, strconv.Quote(s.revision)})
		if !rawjson.Present(rawjson.Get(meta, MetaCapabilities)) {
			set = append(set, [2]string{MetaCapabilities, "{}"})
		}
		if !rawjson.Present(rawjson.Get(meta, MetaClient)) {
			set = append(set, [2]string{MetaClient, c.info})
		}
	}
	if r.Trace != "" {
		set = append(set, [2]string{MetaTrace, strconv.Quote(r.Trace)})
	}
	params := r.Params
	if !s.stateless() {
		params = withoutStateless(params)
	}
	if len(set) == 0 {
		return params
	}
	return withMeta(params, set...)
}

// withoutStateless returns params without the members of _meta that only the revisions without sessions have: servers
// with sessions refuse a request of another revision.
func withoutStateless(params []byte) []byte {
	meta := rawjson.Get(params, "_meta")
	if !bytes.Contains(meta, []byte(metaOwn)) {
		return params
	}
	meta = rawjson.Rewrite(meta, func(name string) string {
		if strings.HasPrefix(name, metaOwn) {
			return ""
		}
		return name
	})
	return rawjson.Splice(nil, params, rawjson.Set(params, "_meta", meta))
}

// post sends one message. Sent reports whether the server may have received it.
func (c *Client) post(ctx context.Context, s *session, r *Request, body []byte) (
	_ *http.Response, sent bool, err error,
) {
	return c.open(ctx, s, r, http.MethodPost, body)
}

// open sends an HTTP request. Sent reports whether the server may have received it.
func (c *Client) open(ctx context.Context, s *session, r *Request, method string, body []byte) (
	_ *http.Response, sent bool, err error,
) {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent = true }})
	request, err := http.NewRequestWithContext(ctx, method, c.o.URL, bytes.NewReader(body))
	if err != nil {
		return nil, false, err
	}
	h := request.Header
	for name, values := range r.Header {
		h[name] = values
	}
	if body != nil {
		h.Set("Content-Type", typeJSON)
	}
	h.Set("Accept", typeJSON+", "+typeStream)
	h.Set("User-Agent", "Weir/"+c.o.Version)
	if s.revision != "" {
		h.Set(HeaderRevision, s.revision)
	}
	if s.stateless() {
		h.Set(HeaderMethod, r.Method)
		if r.Name != "" {
			h.Set(HeaderName, EncodeHeader(r.Name))
		}
	}
	if s.id != "" {
		h.Set(HeaderSession, s.id)
	}
	if c.o.Through != nil {
		h.Set(HeaderCaller, r.Session)
	}
	for name, value := range c.o.Headers {
		h.Set(name, value.Reveal())
	}
	response, err := c.roundTrip(request, r, body)
	return response, sent, err
}

// roundTrip sends a request, with an access token if the server needs one. It repeats a request whose token the server
// refused once, with a new token: the server has not executed it.
func (c *Client) roundTrip(request *http.Request, r *Request, body []byte) (*http.Response, error) {
	through, person := c.through, r.Person
	if r.long {
		through = c.long
	}
	if c.tokens == nil {
		return through.RoundTrip(request) // follows no redirect
	}
	for again := false; ; again = true {
		token, err := c.tokens.Token(request.Context(), person)
		if err != nil {
			return nil, err
		}
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := through.RoundTrip(request)
		if err == nil && response.StatusCode == http.StatusForbidden {
			challenges := response.Header.Values("WWW-Authenticate")
			if err := c.tokens.Widen(request.Context(), person, challenges); err != nil {
				return nil, errors.Join(err, response.Body.Close())
			}
		}
		if err != nil || response.StatusCode != http.StatusUnauthorized || again {
			return response, err
		}
		_ = response.Body.Close() // it is not read
		c.tokens.Drop(person, token)
		request = request.Clone(request.Context())
		request.Body = io.NopCloser(bytes.NewReader(body))
	}
}

// notify sends a notification.
func (c *Client) notify(ctx context.Context, s *session, person, method string) error {
	return c.deliver(ctx, s, &Request{Method: method, Person: person}, AppendMessage(nil, nil, method, nil))
}

// deliver sends a message without a response.
func (c *Client) deliver(ctx context.Context, s *session, r *Request, text []byte) error {
	response, sent, err := c.post(ctx, s, r, text)
	if err != nil {
		return c.failure(ctx, sent, err)
	}
	_ = response.Body.Close() // it has no body
	if response.StatusCode >= http.StatusMultipleChoices {
		return c.status(response.StatusCode)
	}
	return nil
}

// status returns the failure of an HTTP status.
func (c *Client) status(status int) *Failure {
	e := &llm.Error{Code: llm.CodeProviderError}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Message = fmt.Sprintf("The MCP server %q refuses Weir's credentials (HTTP status %d).", c.o.Name, status)
	case status >= http.StatusMultipleChoices && status < http.StatusBadRequest:
		e.Message = fmt.Sprintf("The MCP server %q redirects, which Weir does not follow (HTTP status %d).", c.o.Name,
			status)
	default:
		e.Message = fmt.Sprintf("The MCP server %q answered with HTTP status %d.", c.o.Name, status)
	}
	return &Failure{Sent: true, Status: status, Err: e}
}

// refusal returns the error of an answer with another status than 200.
func (c *Client) refusal(ctx context.Context, s *session, response *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(response.Body, maxProblem))
	if err != nil {
		return c.failure(ctx, true, err)
	}
	m, err := ParseMessage(text)
	var e *RPCError
	if err == nil && m.Error != nil {
		e = parseError(m.Error)
	}
	if s.isForgotten(response.StatusCode, e) {
		forgotten := errors.Join(errForgotten, c.status(response.StatusCode)) // the second is for a session that is new
		if e != nil {
			return errors.Join(forgotten, e)
		}
		return forgotten
	}
	if e != nil && (response.StatusCode == http.StatusBadRequest || response.StatusCode == http.StatusNotFound) {
		return e
	}
	return c.status(response.StatusCode)
}

// isForgotten reports whether a status and an error, which may be nil, mean that the session is to be begun anew. The
// specification has 404 for an unknown session; some servers answer 400 with an error of their own, or with a text.
func (s *session) isForgotten(status int, e *RPCError) bool {
	switch {
	case s.revision == "":
		return false
	case s.stateless():
		return status == http.StatusMethodNotAllowed || e != nil && e.Code == CodeRevision ||
			e == nil && (status == http.StatusNotFound || status == http.StatusBadRequest)
	case status == http.StatusNotFound:
		return true
	}
	const firstOld, lastOld = -32019, -32000
	return status == http.StatusBadRequest &&
		(e == nil || e.Code >= firstOld && e.Code <= lastOld || e.Code <= CodeHeaderMismatch && e.Code >= CodeRevision)
}

// read reads the result from an answer.
func (c *Client) read(ctx context.Context, s *session, r *Request, id []byte, response *http.Response) (
	json.RawMessage, error,
) {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")) // another kind than both is an error
	switch kind {
	case typeJSON:
		text, err := io.ReadAll(io.LimitReader(response.Body, int64(c.o.MaxAnswer)+1))
		if err != nil {
			return nil, err
		}
		if len(text) > c.o.MaxAnswer {
			return nil, ErrLong
		}
		m, err := ParseMessage(text)
		if err != nil {
			return nil, err
		}
		return resultOf(&m, id)
	case typeStream:
		return c.readStream(ctx, s, r, id, response.Body)
	}
	return nil, fmt.Errorf("its type is %q: want %s or %s", kind, typeJSON, typeStream)
}

// resultOf returns the result, or the error, of a response.
func resultOf(m *Message, id []byte) (json.RawMessage, error) {
	switch {
	case !m.IsResponse(id):
		return nil, errors.New("it is no response to the request")
	case m.Error != nil:
		return nil, parseError(m.Error)
	case m.Result == nil:
		return nil, errors.New("it has neither a result nor an error")
	}
	return m.Result, nil
}

// readStream reads the result from a stream of messages.
func (c *Client) readStream(ctx context.Context, s *session, r *Request, id []byte, body io.Reader) (
	json.RawMessage, error,
) {
	bounded := &io.LimitedReader{R: body, N: streamed*int64(c.o.MaxAnswer) + 1}
	events, at := sse.NewReader(bounded, c.o.MaxAnswer), &place{retry: usualRetry}
	for {
		event, err := events.Next()
		if err != nil {
			switch {
			case bounded.N == 0:
				return nil, ErrLong
			case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
				return nil, err
			}
			more, err := resume(ctx, c, s, r, at)
			if err != nil {
				return nil, err
			}
			defer func() { _ = more.Close() }() // what is left of it is not wanted
			bounded.R, events = more, sse.NewReader(bounded, c.o.MaxAnswer)
			continue
		}
		at.note(event.Raw)
		if len(event.Data) == 0 {
			continue
		}
		m, err := ParseMessage(event.Data)
		switch {
		case err != nil:
			return nil, err
		case m.IsRequest():
			err = c.answer(ctx, s, r, &m)
		case m.Method == "":
			result, err := resultOf(&m, id)
			return bytes.Clone(result), err
		case r.Notify != nil:
			err = r.Notify(event.Data)
		}
		if err != nil {
			return nil, err
		}
	}
}

// decline answers a request of the server. Weir answers a ping, and has no other abilities.
func (c *Client) decline(ctx context.Context, s *session, person string, m *Message) error {
	text := AppendResponse(nil, m.ID, []byte("{}"), nil)
	if m.Method != "ping" {
		e := RPCError{Code: CodeMethod, Message: "the gateway does not answer " + m.Method}
		text = AppendResponse(nil, m.ID, nil, e.JSON())
	}
	return c.deliver(ctx, s, &Request{Method: m.Method, Person: person}, text)
}
