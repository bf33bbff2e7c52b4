package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"
)

const (
	// maxResumes bounds how often the stream of one answer is continued.
	maxResumes = 10
	// usualRetry is the pause before a stream is continued if its server does not say, and mostRetry its bound.
	usualRetry = time.Second
	mostRetry  = 30 * time.Second
	// maxEventID bounds the id of an event, in bytes.
	maxEventID = 1 << 10

	headerLastEvent = "Last-Event-ID"
)

// place is how far the stream of an answer was read. A server with sessions may end the stream before the result, to
// free its connection; the client then continues it.
type place struct {
	id      string // of the last event that had one; empty for none
	retry   time.Duration
	resumed int
}

// note notes the id and the pause of an event, as it was received.
func (p *place) note(event []byte) {
	for line := range bytes.Lines(event) {
		name, value, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "id":
			if len(value) <= maxEventID {
				p.id = string(value)
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				p.retry = min(time.Duration(ms)*time.Millisecond, mostRetry)
			}
		}
	}
}

// resume continues the stream of an answer that ended before the result. It returns errNone if that is not possible.
func resume(ctx context.Context, c *Client, s *session, r *Request, p *place) (io.ReadCloser, error) {
	if p.id == "" || s.id == "" || s.stateless() || p.resumed == maxResumes {
		return nil, errNone
	}
	p.resumed++
	pause := time.NewTimer(p.retry)
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-pause.C:
	}
	header := http.Header{headerLastEvent: {p.id}}
	response, _, err := c.open(ctx, s, &Request{Person: r.Person, Header: header}, http.MethodGet, nil)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")) // another kind than a stream is an error
	if response.StatusCode != http.StatusOK || kind != typeStream {
		return nil, errors.Join(errNone, response.Body.Close())
	}
	return response.Body, nil
}
