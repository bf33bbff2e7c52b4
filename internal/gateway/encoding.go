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
	// mostWindow is the most memory that a zstd body may require. Every decoder must support it (RFC 8878, section
	// 3.1.1.1.2).
	mostWindow = 8 << 20
	// mostRatio bounds the ratio of a body's length to its compressed length, beyond the first freeExpanded bytes. The
	// ratio of conversations is at most about 30; a higher one creates work out of nothing.
	mostRatio, freeExpanded = 100, 1 << 20
)

// decoded returns the request with its body decompressed and of unknown length.
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
	default: // also several encodings, one inside another
		return nil, &llm.Error{Code: llm.CodeUnsupportedMedia, Message: fmt.Sprintf(
			"The content encoding %.100q is not supported: send the body uncompressed, or with one of %s.",
			encoding, acceptedEncodings)}
	}
	other := *r
	other.Body, other.ContentLength = body, -1
	return &other, nil
}

func openZstd(src io.Reader) (io.ReadCloser, error) {
	d, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(mostWindow))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}

// errEncoding means that a body does not match its Content-Encoding.
var errEncoding = errors.New("gateway: the body does not match its Content-Encoding")

var errTrailing = errors.New("data follows the end of the compressed body")

// errExpands means that a body is compressed more than any conversation.
var errExpands = errors.New("gateway: the body expands beyond its bound")

// encodedBody decompresses a body as it is read.
type encodedBody struct {
	encoding string
	source   *countedBody
	open     func(src io.Reader) (io.ReadCloser, error)
	plain    io.ReadCloser // nil until the first read
	out      int64         // bytes decompressed
}

// Read implements io.Reader.
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

// end reads the compressed body to its end, so that its connection can be used again.
func (b *encodedBody) end() error {
	more, _ := io.Copy(io.Discard, b.source)
	if more > 0 || b.source.err != nil {
		return b.failure(errTrailing)
	}
	return io.EOF
}

// failure returns a failure to read the body unchanged, and wraps any other as an error of the encoding.
func (b *encodedBody) failure(err error) error {
	if b.source.err != nil {
		return b.source.err
	}
	return fmt.Errorf("%w (%s): %w", errEncoding, b.encoding, err)
}

// Close closes the decoder. The server closes the body itself.
func (b *encodedBody) Close() error {
	if b.plain == nil {
		return nil
	}
	return b.plain.Close()
}

// countedBody limits how many compressed bytes may be read, because encodings can use any number of bytes to encode
// nothing. It stores the error of the last read.
type countedBody struct {
	io.ReadCloser
	left int64
	came int64
	err  error // nil at the end of the body
}

// Read implements io.Reader.
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
