package gateway

import (
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/zstd"

	"weir/internal/llm"
)

const (
	acceptedEncodings = "gzip, deflate, zstd"
	// mostWindow is how much memory a zstd body may ask for: what every decoder has to support (RFC 8878, section 3.1.1.1.2).
	mostWindow = 8 << 20
	// mostRatio is how many times its compressed length a body may have, beyond the first freeExpanded bytes. Conversations
	// have up to some 30 times; what has more makes work of nothing.
	mostRatio, freeExpanded = 100, 1 << 20
)

// decoded returns the request with its body as it was before the client compressed it, of unknown length.
func decoded(r *http.Request, limit int64) (*http.Request, error) {
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(r.Header["Content-Encoding"], ",")))
	if encoding == "" || encoding == "identity" {
		return r, nil
	}
	body := &encodedBody{encoding: encoding, source: &countedBody{ReadCloser: r.Body, left: limit}}
	switch encoding {
	case "gzip", "x-gzip":
		body.open = func(src io.Reader) (io.ReadCloser, error) { return gzip.NewReader(src) }
	case "deflate":
		body.open = zlib.NewReader
	case "zstd":
		body.open = openZstd
	default: // one within another, too
		return nil, &llm.Error{Code: llm.CodeUnsupportedMedia, Message: fmt.Sprintf(
			"The content encoding %.100q is not understood: send the body as it is, or with one of %s.", encoding, acceptedEncodings)}
	}
	other := *r
	other.Body, other.ContentLength = body, -1
	return &other, nil
}

func openZstd(src io.Reader) (io.ReadCloser, error) {
	d, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(mostWindow))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}

// errEncoding is a body that is not in the encoding that its header names.
var errEncoding = errors.New("gateway: the body is not encoded as it says")

var errTrailing = errors.New("something follows its end")

// errExpands is a body that is compressed more than any conversation is.
var errExpands = errors.New("gateway: the body expands beyond its bound")

// encodedBody decodes a body as it is read.
type encodedBody struct {
	encoding string
	source   *countedBody
	open     func(src io.Reader) (io.ReadCloser, error)
	plain    io.ReadCloser // nil until the first byte is wanted
	out      int64         // bytes that came out of it
}

// Read is io.Reader's.
func (b *encodedBody) Read(p []byte) (int, error) {
	if b.plain == nil {
		plain, err := b.open(b.source)
		if err != nil {
			return 0, b.failure(err)
		}
		b.plain = plain
	}
	n, err := b.plain.Read(p)
	b.out += int64(n)
	switch {
	case b.out > freeExpanded+mostRatio*b.source.came:
		return n, errExpands
	case errors.Is(err, io.EOF):
		return n, b.end()
	case err != nil:
		err = b.failure(err)
	}
	return n, err
}

// end reads the body to its end, behind which its connection goes on.
func (b *encodedBody) end() error {
	more, _ := io.Copy(io.Discard, b.source)
	if more > 0 || b.source.err != nil {
		return b.failure(errTrailing)
	}
	return io.EOF
}

// failure tells what is wrong with the bytes from a failure to read them.
func (b *encodedBody) failure(err error) error {
	if b.source.err != nil {
		return b.source.err
	}
	return fmt.Errorf("%w (%s): %w", errEncoding, b.encoding, err)
}

// Close closes the decoder. The body itself is its server's to close.
func (b *encodedBody) Close() error {
	if b.plain == nil {
		return nil
	}
	return b.plain.Close()
}

// countedBody is a body of so many bytes at most, and how reading it failed: encodings can take any number of bytes to say
// nothing.
type countedBody struct {
	io.ReadCloser
	left int64
	came int64
	err  error // nil for its end
}

// Read is io.Reader's.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.came += int64(n)
	if b.left -= int64(n); b.left < 0 {
		err = errTooLarge
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}
