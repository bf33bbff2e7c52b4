package gateway

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"weir/internal/llm"
)

const (
	// firstRead is the room for a body of unknown length.
	firstRead = 4 << 10
	// believeLength is as much room as a client gets for saying that its body
	// is so long.
	believeLength = 64 << 10
	// keepBody is the largest buffer that goes back to the pool.
	keepBody = 1 << 20
	// mostGarbage is how many bytes of larger buffers are let go before they are collected.
	mostGarbage = 64 << 20
)

// readBody reads the body into a pooled buffer, within the bound.
//
// Stage 3: read.
func (c *call) readBody() error {
	if err := checkContentType(c.r.Header.Get("Content-Type"), c.Op.Multipart); err != nil {
		return err
	}
	limit := c.server.maxBody
	if c.r.ContentLength > limit {
		return tooLarge(limit)
	}
	request, err := decoded(c.r, limit)
	if err != nil {
		c.w.Header().Set("Accept-Encoding", acceptedEncodings)
		return err
	}
	if request != c.r {
		defer request.Body.Close() //nolint:errcheck // it was read
	}
	c.pooled = c.server.bodies.Get().(*[]byte)
	buf := (*c.pooled)[:0]
	if want := min(int(request.ContentLength)+1, believeLength); cap(buf) < want {
		buf = make([]byte, 0, max(want, firstRead))
	}
	from := bodyReader{request, &c.held, int(limit)}
	buf, err = from.readAll(buf) // in the time that Bounded gives it
	c.Body, *c.pooled = buf, buf
	switch {
	case err == nil:
		c.measured.read = c.server.now()
		return nil
	case errors.Is(err, errTooLarge):
		return tooLarge(limit)
	case errors.Is(err, errShed):
		return err
	case errors.Is(err, errExpands):
		return llm.Errorf(llm.CodeRequestTooLarge, "The request body is compressed to less than a %dth of its length. "+
			"Send it as it is.", mostRatio)
	case errors.Is(err, errEncoding):
		return &llm.Error{Code: llm.CodeInvalidRequest, Err: err, Message: fmt.Sprintf(
			"The request body is not in the encoding that its Content-Encoding header names: %.100q.", c.r.Header.Get("Content-Encoding"))}
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.w.Header().Set("Connection", "close")
		return &llm.Error{
			Code: llm.CodeInvalidRequest,
			Message: fmt.Sprintf("The request body did not arrive in time: it has %s, and %s more for every %d KiB.",
				c.server.timing.BodyRead, bodyStepTime, bodyStep>>10), Err: err,
		}
	}
	return &llm.Error{Code: llm.CodeInvalidRequest, Message: "The request body broke off before its end.", Err: err}
}

// Bounded gives the body of every request its time, whoever reads it, and a client its time to take
// the end of the answer, which the server writes when next is done.
func (s *Server) Bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.Body != http.NoBody {
			body := &timedBody{ReadCloser: r.Body, control: control}
			body.extend(time.Now().Add(s.timing.BodyRead))
			r.Body = body
		}
		next.ServeHTTP(w, r)
		_ = control.SetWriteDeadline(time.Now().Add(s.timing.Write))
		if r.ProtoMajor == 2 {
			_ = control.SetReadDeadline(noDeadline)
			if r.Context().Err() != nil { // a deadline would keep a stream that its client has reset
				_ = control.SetWriteDeadline(noDeadline)
			}
		}
	})
}

// For every bodyStep bytes that have come a body has bodyStepTime more: 32 KiB a second.
const (
	bodyStep     = 64 << 10
	bodyStepTime = 2 * time.Second
)

// timedBody is a body that has a deadline until its end was read.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	until   time.Time
	came    int  // bytes since it was extended
	read    bool // to its end
}

// Read is io.Reader's.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch b.came += n; {
	case errors.Is(err, io.EOF) && !b.read:
		b.read = true
		_ = b.control.SetReadDeadline(noDeadline)
	case b.came >= bodyStep && !b.read:
		b.extend(b.until.Add(time.Duration(b.came/bodyStep) * bodyStepTime))
		b.came %= bodyStep
	}
	return n, err
}

func (b *timedBody) extend(until time.Time) {
	b.until = until
	_ = b.control.SetReadDeadline(until) // not every reader has one
}

var errTooLarge = errors.New("gateway: body too large")

// bodyReader reads the body of a request. All bodies together are kept within their bound as they
// arrive: what a client only announces takes nothing.
type bodyReader struct {
	r     *http.Request
	held  *capacity
	limit int // bytes
}

// readAll appends the body to buf.
func (b *bodyReader) readAll(buf []byte) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			buf = grown(buf, b.growBy(len(buf)))
		}
		if more := takes(int64(cap(buf))) - b.held.reserved; more > 0 {
			if err := b.held.reserve(more); err != nil {
				return buf, err
			}
		}
		if len(buf) > largeBody {
			runtime.Gosched() // what comes without a pause would have others wait
		}
		n, err := b.r.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case len(buf) > b.limit:
			return buf, errTooLarge
		case errors.Is(err, io.EOF):
			return buf, nil
		case err != nil:
			return buf, err
		}
	}
}

// takes is how much memory a body of n bytes takes: what is large and goes to a provider is
// there twice, as it came and as it goes. Buffers of what is small are used again.
func takes(n int64) int64 {
	if n > keepBody {
		return 2 * n
	}
	return n
}

// growBy is how many bytes more are made ready for a body of which n have come: as many again,
// or, where its client says how many there are, seven times as many and no more than these. So
// a body of 32 MiB is copied three times while it grows, and moves 5 MiB.
func (b *bodyReader) growBy(n int) int {
	if left := int(b.r.ContentLength) + 1 - n; left > 0 { // one more to meet the end in
		return min(7*n, left)
	}
	return max(1, min(n, b.limit+1-n))
}

// atOnce is how many bytes are copied at once. A collection of garbage begins and ends with all
// goroutines halted, and waits for a copy that has begun.
const atOnce = 256 << 10

// grown is buf with room for n bytes more.
func grown(buf []byte, n int) []byte {
	larger := make([]byte, 0, len(buf)+n)
	for piece := range slices.Chunk(buf, atOnce) {
		larger = append(larger, piece...)
	}
	return larger
}

func tooLarge(limit int64) error {
	return &llm.Error{
		Code:    llm.CodeRequestTooLarge,
		Message: fmt.Sprintf("The request body is larger than %d bytes, the limit here.", limit),
	}
}

// checkContentType takes JSON with any parameters, and no header at all; where
// a form is wanted, nothing else.
func checkContentType(value string, form bool) error {
	if form {
		if media, _, err := mime.ParseMediaType(value); err == nil && media == "multipart/form-data" {
			return nil
		}
		return &llm.Error{
			Code:    llm.CodeUnsupportedMedia,
			Message: fmt.Sprintf("The content type %.100q is not understood: send multipart/form-data.", value),
		}
	}
	if value == "" || value == "application/json" {
		return nil
	}
	media, _, err := mime.ParseMediaType(value)
	if err == nil && media == "application/json" || strings.EqualFold(strings.TrimSpace(value), "application/json") {
		return nil
	}
	return &llm.Error{
		Code:    llm.CodeUnsupportedMedia,
		Message: fmt.Sprintf("The content type %.100q is not understood: send application/json.", value),
	}
}

// releaseBody gives the buffer back, unless it has grown large. Before, it ends the offer of a late answer, which reads the
// body for its digest.
func (c *call) releaseBody() {
	c.upstream.hangUp.give(c, nil)
	if c.pooled != nil && cap(*c.pooled) <= keepBody {
		c.server.bodies.Put(c.pooled)
	}
	c.dropTree()
	c.held.giveBack(c.held.reserved)
	c.pooled, c.Body = nil, nil
}
