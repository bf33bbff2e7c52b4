package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/internal/outbound"
)

const (
	maxAnswer  = 512      // stored bytes of a response body
	maxError   = 500      // stored bytes of an error
	maxRead    = 64 << 10 // bytes read so that the connection can be reused
	maxHeaders = 64 << 10
	idleConns  = 2  // per host
	maxIdle    = 64 // in total
	idleFor    = 30 * time.Second
)

// sender sends the requests.
type sender struct {
	// transports are keyed by the addresses that may be dialled.
	transports map[outbound.Reach]*http.Transport
	agent      string
}

// newSender returns a sender. With a proxy, which belongs to the operator, the proxy decides which addresses are
// reachable. Change modifies the dialer in tests; it may be nil.
func newSender(proxy outbound.Proxy, roots *x509.CertPool, version string, change func(*net.Dialer)) *sender {
	s := &sender{transports: map[outbound.Reach]*http.Transport{}, agent: "Weir-Webhooks/" + version}
	for _, reach := range []outbound.Reach{outbound.Public, outbound.Local, outbound.Anywhere} {
		dialer := &net.Dialer{Timeout: tryFor, Control: reach.Control}
		if proxy != nil {
			dialer.Control = nil
		}
		if change != nil {
			change(dialer)
		}
		s.transports[reach] = &http.Transport{
			DialContext: dialer.DialContext, Proxy: proxy,
			TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: tryFor,
			Protocols: http1(), MaxResponseHeaderBytes: maxHeaders, DisableCompression: true,
			MaxIdleConnsPerHost: idleConns, MaxIdleConns: maxIdle, IdleConnTimeout: idleFor,
		}
	}
	return s
}

// http1 restricts connections to HTTP/1.1, which every receiver supports. For HTTP/2, net/http bounds neither the
// number of idle connections nor the data received between two tries.
func http1() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	return p
}

func (s *sender) close() {
	for _, t := range s.transports {
		t.CloseIdleConnections()
	}
}

// answer is a receiver's response.
type answer struct {
	status     int
	body       string
	retryAfter time.Duration // 0 if absent
}

// send makes one try of a job. Redirects are not followed: RoundTrip never does.
func (s *sender) send(ctx context.Context, j *Job, allowPrivate bool, at time.Time, signature string) (answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, tryFor, errLate)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, j.URL, bytes.NewReader(j.Payload))
	if err != nil {
		return answer{}, err
	}
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "User-Agent": {s.agent},
		"Webhook-Id": {j.Event}, "Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)}, "Webhook-Signature": {
			signature,
		},
	}
	if err := checkHost(r.URL, allowPrivate); err != nil { // a proxy would not check it
		return answer{}, err
	}
	response, err := s.transports[reach(r.URL.Scheme, allowPrivate)].RoundTrip(r)
	if err != nil {
		return answer{}, causeOf(ctx, err)
	}
	defer func() { _ = response.Body.Close() }() // the needed part was read
	a := answer{status: response.StatusCode, retryAfter: retryAfter(response.Header.Get("Retry-After"), at)}
	if a.status == http.StatusSwitchingProtocols {
		return a, nil // the body is the raw connection: reading it would not end with the context
	}
	begun, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err == nil {
		_, err = io.CopyN(io.Discard, response.Body, maxRead)
	}
	a.body = plain(string(begun), maxAnswer)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return a, causeOf(ctx, err)
}

// plain returns foreign text in a form that every database stores: UTF-8 without NUL, of limited length in bytes.
func plain(text string, most int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	return strings.ToValidUTF8(text[:min(len(text), most)], "") // drop a truncated character at the end
}

var errLate = fmt.Errorf("no complete answer within %s", tryFor)

// causeOf returns err or, if there is an error and ctx has ended, the cause of that end.
func causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// retryAfter parses the header of that name: seconds, or a date (RFC 9110, section 10.2.3).
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return time.Duration(max(0, n)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
