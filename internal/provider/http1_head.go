package provider

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"weir/internal/h1"
)

const maxReplyHeader = 64 << 10

var (
	errLongHead = fmt.Errorf("the response header exceeds %d bytes", maxReplyHeader)
	errNotHTTP  = errors.New("not an HTTP/1 response")
	errField    = errors.New("malformed header")
	errLength   = errors.New("malformed or contradictory Content-Length")
	errTransfer = errors.New("a transfer encoding other than chunked")
)

// fields are the lines of a header as received; of a long header only a few. They are searched on demand, which is
// rare.
type fields string

const (
	usualFields = 4 << 10 // bytes up to which a header is stored whole
	maxKeptLine = 1 << 10
)

// keptFields are the fields stored of a longer header: all that are ever read.
var keptFields = []string{"Content-Type", "Content-Encoding", "Retry-After", "Retry-After-Ms"}

// kept returns the part of a header that is stored as long as its answer.
func (f fields) kept() fields {
	if len(f) <= usualFields {
		return f
	}
	var few strings.Builder
	for line := range strings.Lines(string(f)) {
		name, _, _ := strings.Cut(line, ":")
		isAsked := slices.ContainsFunc(keptFields, func(k string) bool { return h1.EqualFold(k, name) })
		if isAsked && len(line) <= maxKeptLine && few.Len() < usualFields {
			few.WriteString(line)
		}
	}
	return fields(few.String())
}

// Get implements Header.
func (f *fields) Get(name string) string {
	for line := range strings.Lines(string(*f)) {
		if len(line) > len(name) && line[len(name)] == ':' && h1.EqualFold(line[:len(name)], name) {
			return strings.Trim(line[len(name)+1:], " \t\r\n")
		}
	}
	return ""
}

// All implements Header.
func (f *fields) All() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for line := range strings.Lines(string(*f)) {
			name, value, ok := strings.Cut(line, ":")
			if ok && !yield(name, strings.Trim(value, " \t\r\n")) {
				return
			}
		}
	}
}

// head is the head of an answer.
type head struct {
	status    int
	fields    fields
	length    int64 // of the body; -1 if not declared
	chunked   bool
	closes    bool // "Connection: close"
	keeps     bool // "Connection: keep-alive"
	keepAlive bool // the connection can be reused, unless it ends with the body
}

// framing returns how the body ends (RFC 9112, section 6.3).
func (h *head) framing() h1.Framing {
	switch {
	case h.status < 200, h.status == 204, h.status == 304:
		return h1.Framing{Mode: h1.ByLength}
	case h.chunked:
		return h1.Framing{Mode: h1.ByChunks}
	case h.length < 0:
		return h1.Framing{Mode: h1.ByClose}
	}
	return h1.Framing{Mode: h1.ByLength, Left: h.length}
}

// isInterim reports whether another head follows for the same request. 101 (Switching Protocols) was never requested
// and counts as an answer.
func (h *head) isInterim() bool { return h.status < 200 && h.status != 101 }

// readHead reads the head of an answer and skips interim ones (RFC 9110, section 15.2). buf may hold the beginning of
// the head already. rest holds the bytes received behind the head, in the memory of buf.
func readHead(r io.Reader, buf *[]byte) (h head, rest []byte, err error) {
	b := *buf
	defer func() { *buf = b }()
	for spent, seen := 0, 0; ; {
		if end := endOfHead(b, seen); end > 0 {
			h, err = parseHead(b[:end])
			if err != nil || !h.isInterim() {
				return h, b[end:], err
			}
			spent, seen = spent+end, 0
			b = b[:copy(b, b[end:])]
			continue
		}
		seen = len(b)
		switch {
		case spent+len(b) > maxReplyHeader:
			return h, nil, errLongHead
		case !mayBeHead(b):
			return h, nil, errNotHTTP
		case len(b) == cap(b):
			b = slices.Grow(b, len(b))
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if n == 0 && err != nil {
			return h, nil, err
		}
	}
}

// endOfHead returns the index behind the empty line that ends a head; 0 if it has not arrived. No line ends before
// seen.
func endOfHead(b []byte, seen int) int {
	for i := max(0, seen-2); ; i++ {
		n := bytes.IndexByte(b[i:], '\n')
		if n < 0 {
			return 0
		}
		i += n
		switch next := b[i+1:]; {
		case len(next) > 0 && next[0] == '\n':
			return i + 2
		case len(next) > 1 && next[0] == '\r' && next[1] == '\n':
			return i + 3
		}
	}
}

const version = "HTTP/1."

// mayBeHead reports whether the bytes may begin an HTTP/1 response.
func mayBeHead(b []byte) bool {
	n := min(len(b), len(version))
	return string(b[:n]) == version[:n]
}

// parseHead parses a whole head, including its empty line.
func parseHead(b []byte) (head, error) {
	h := head{length: -1}
	line, lines, _ := strings.Cut(string(b), "\n")
	minor, err := h.parseStatus(strings.TrimSuffix(line, "\r"))
	if err != nil {
		return h, err
	}
	h.fields = fields(lines)
	for line := range strings.Lines(lines) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if line == "" {
			break
		}
		if err := h.parseField(line); err != nil {
			return h, err
		}
	}
	if h.chunked && (h.length >= 0 || minor != '1') {
		return h, errTransfer
	}
	h.keepAlive = !h.closes && (h.keeps || minor == '1')
	return h, nil
}

// parseStatus parses a status line (RFC 9112, section 4) and returns its minor version.
func (h *head) parseStatus(line string) (minor byte, err error) {
	rest, ok := strings.CutPrefix(line, version)
	if !ok || len(rest) < len("1 200") || rest[0] != '0' && rest[0] != '1' || rest[1] != ' ' {
		return 0, errNotHTTP
	}
	code := rest[2:5]
	if code[0] < '1' || strings.Trim(code, "0123456789") != "" || len(rest) > 5 && rest[5] != ' ' {
		return 0, errNotHTTP
	}
	h.status, err = strconv.Atoi(code)
	return rest[0], err
}

// parseField reads the values that determine the framing from one header line (RFC 9112, section 5). It refuses
// continuation lines.
func (h *head) parseField(line string) error {
	colon := strings.IndexByte(line, ':')
	if colon <= 0 || !h1.IsToken(line[:colon]) {
		return errField
	}
	name, value := line[:colon], strings.Trim(line[colon+1:], " \t")
	if !h1.IsText(value) {
		return errField
	}
	switch {
	case h1.EqualFold(name, "Content-Length"):
		return h.setLength(value)
	case h1.EqualFold(name, "Transfer-Encoding"):
		if h.chunked || !h1.EqualFold(value, "chunked") {
			return errTransfer
		}
		h.chunked = true
	case h1.EqualFold(name, "Connection"):
		h.setConnection(value)
	}
	return nil
}

func (h *head) setLength(value string) error {
	n, err := strconv.ParseUint(value, 10, 63)
	if err != nil || h.length >= 0 && h.length != int64(n) {
		return errLength
	}
	h.length = int64(n)
	return nil
}

// setConnection reads the options that close or keep a connection (RFC 9112, section 9.3).
func (h *head) setConnection(value string) {
	for option := range strings.SplitSeq(value, ",") {
		switch option = strings.Trim(option, " \t"); {
		case h1.EqualFold(option, "close"):
			h.closes = true
		case h1.EqualFold(option, "keep-alive"):
			h.keeps = true
		}
	}
}
