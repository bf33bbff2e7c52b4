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

	"weir/internal/capacity"
	"weir/internal/llm"
)

const (
	// firstRead is the least size of a buffer for a body of announced length. A stream holds the buffer while it waits.
	firstRead = 1 << 10
	// believeLength is the largest buffer that is allocated because of an announced length.
	believeLength = 64 << 10
	// keepBody is the largest buffer that returns to the pool.
	keepBody = 1 << 20
)

// readBody reads the body into a pooled buffer, within the limit.
//
// Stage 3: read.
func (in *intake) readBody() error {
	if in.message != nil {
		in.Body, in.read = in.message.Body, in.server.now()
		return nil
	}
	if err := checkContentType(in.r.Header.Get("Content-Type"), in.Op.Multipart); err != nil {
		return err
	}
	limit := in.server.maxBody
	if in.r.ContentLength > limit {
		return tooLarge(limit)
	}
	request, err := decoded(in.r, limit)
	if err != nil {
		in.w.Header().Set("Accept-Encoding", acceptedEncodings)
		return err
	}
	if request != in.r {
		defer request.Body.Close() //nolint:errcheck // it was read
	}
	in.pooled = in.server.bodies.Get().(*[]byte)
	buf := (*in.pooled)[:0]
	if want := min(int(request.ContentLength)+1, believeLength); cap(buf) < want {
		buf = make([]byte, 0, max(want, firstRead))
	}
	from := bodyReader{request, &in.held, int(limit)}
	buf, err = from.readAll(buf) // Bounded sets the deadline
	in.Body, *in.pooled = buf, buf
	switch {
	case err == nil:
		in.read = in.server.now()
		return nil
	case errors.Is(err, errTooLarge):
		return tooLarge(limit)
	case errors.Is(err, capacity.ErrRefused):
		return err
	case errors.Is(err, errExpands):
		return llm.Errorf(llm.CodeRequestTooLarge, "The request body is compressed to less than a %dth of its length. "+
			"Send it uncompressed.", mostRatio)
	case errors.Is(err, errEncoding):
		return &llm.Error{Code: llm.CodeInvalidRequest, Err: err, Message: fmt.Sprintf(
			"The request body does not match its Content-Encoding header %.100q. Correct the header or the body.",
			in.r.Header.Get("Content-Encoding"))}
	case errors.Is(err, os.ErrDeadlineExceeded):
		in.w.Header().Set("Connection", "close")
		return &llm.Error{
			Code: llm.CodeInvalidRequest,
			Message: fmt.Sprintf("The request body did not arrive in time. The limit is %s, plus %s for every %d KiB.",
				in.server.timing.BodyRead, bodyStepTime, bodyStep>>10), Err: err,
		}
	}
	return &llm.Error{
		Code: llm.CodeInvalidRequest, Message: "The request body ended early. Send the whole body.", Err: err,
	}
}

// Bounded limits how long a client may take to send the body of any request, and to receive the end of the answer,
// which the server writes when next has returned.
func (s *Server) Bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		here, ok := r.Body.(interface{ IsHere() bool })
		if arrived := ok && here.IsHere(); r.Body != http.NoBody && !arrived {
			body := &timedBody{ReadCloser: r.Body, control: http.NewResponseController(w)}
			body.extend(time.Now().Add(s.timing.BodyRead))
			r.Body = body
		}
		next.ServeHTTP(w, r)
		control := http.NewResponseController(w)
		_ = control.SetWriteDeadline(time.Now().Add(s.timing.Write))
		if r.ProtoMajor == 2 {
			_ = control.SetReadDeadline(noDeadline)
			if r.Context().Err() != nil { // a deadline would keep a stream that the client has reset
				_ = control.SetWriteDeadline(noDeadline)
			}
		}
	})
}

// A body gets bodyStepTime more for every bodyStep bytes received: 32 KiB/s after the initial time.
const (
	bodyStep     = 64 << 10
	bodyStepTime = 2 * time.Second
)

// timedBody is a body with a read deadline that ends when the body has been read.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	until   time.Time
	came    int  // bytes since the last extension
	read    bool // read to its end
}

// Read implements io.Reader and extends the deadline as bytes arrive.
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
	_ = b.control.SetReadDeadline(until) // some readers support no deadline
}

var errTooLarge = errors.New("gateway: body too large")

// bodyReader reads the body of a request. It reserves memory for the bytes that have arrived, so that all bodies
// together stay within their bound; an announced length reserves nothing.
type bodyReader struct {
	r     *http.Request
	held  *capacity.Held
	limit int // bytes
}

// readAll appends the body to buf.
func (b *bodyReader) readAll(buf []byte) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			buf = grown(buf, b.growBy(len(buf)))
		}
		if more := takes(int64(cap(buf))) - b.held.Reserved(); more > 0 {
			if err := b.held.Reserve(more); err != nil {
				return buf, err
			}
		}
		if len(buf) > capacity.LargeBody {
			runtime.Gosched() // a body that arrives without a pause would delay other goroutines
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

// takes returns how many bytes of memory a body of n bytes needs. A large body exists twice, as received and as sent to
// the provider. Smaller buffers are pooled.
func takes(n int64) int64 {
	if n > keepBody {
		return 2 * n
	}
	return n
}

// growBy returns how many bytes to add to the buffer of a body after n bytes: as many again, or, if the client
// announced the length, up to seven times as many but no more than that length. So a body of 32 MiB is copied three
// times while it grows, which moves 5 MiB.
func (b *bodyReader) growBy(n int) int {
	if left := int(b.r.ContentLength) + 1 - n; left > 0 { // one more byte, to read io.EOF
		return min(7*n, left)
	}
	return max(1, min(n, b.limit+1-n))
}

// atOnce is how many bytes are copied at once. A garbage collection stops all goroutines when it begins and ends, and
// waits for a copy that has begun.
const atOnce = 256 << 10

// grown returns a copy of buf with room for n bytes more.
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
		Message: fmt.Sprintf("The request body is larger than the limit of %d bytes. Send a smaller one.", limit),
	}
}

// checkContentType accepts JSON with any parameters and a missing header; if form is set, only multipart/form-data.
func checkContentType(value string, form bool) error {
	if form {
		if media, _, err := mime.ParseMediaType(value); err == nil && media == "multipart/form-data" {
			return nil
		}
		return &llm.Error{
			Code:    llm.CodeUnsupportedMedia,
			Message: fmt.Sprintf("The content type %.100q is not supported: send multipart/form-data.", value),
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
		Message: fmt.Sprintf("The content type %.100q is not supported: send application/json.", value),
	}
}

// release returns the buffer of the body to the pool, unless it has grown too large, and releases the tree. Nothing may
// read the body afterwards: it is overwritten, so that a late reader finds nothing of it.
func (in *intake) release() {
	if in.pooled != nil && cap(*in.pooled) <= keepBody {
		clear(*in.pooled)
		in.server.bodies.Put(in.pooled)
	}
	in.DropTree()
	in.held.ReleaseAll()
	in.pooled, in.Body = nil, nil
}
