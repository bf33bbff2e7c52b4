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
	errLongHead = fmt.Errorf("a head of more than %d bytes", maxReplyHeader)
	errNotHTTP  = errors.New("not an answer of HTTP/1")
	errField    = errors.New("malformed header")
	errLength   = errors.New("malformed or contradictory Content-Length")
	errTransfer = errors.New("a transfer encoding other than chunked alone")
)

// fields are the lines of a header as they came, without most of a long one. They are searched where one
// is asked for: hardly any ever is.
type fields string

const (
	usualFields = 4 << 10 // bytes of a header that is kept whole
	maxKeptLine = 1 << 10
)

// keptFields are what is kept of a longer header: all that is ever asked for.
var keptFields = []string{"Content-Type", "Content-Encoding", "Retry-After", "Retry-After-Ms"}

// kept is what is kept of a header for as long as its answer lasts.
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
	length    int64 // of the body; -1 where none is declared
	chunked   bool
	closes    bool // "Connection: close"
	keeps     bool // "Connection: keep-alive"
	keepAlive bool // the connection outlives the answer, if its body does not end it
}

// framing says how the body ends (RFC 9112, section 6.3).
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

// isInterim reports whether another head follows for the same request.
// Switching protocols, which was never asked for, is an answer.
func (h *head) isInterim() bool { return h.status < 200 && h.status != 101 }

// readHead reads the head of an answer, passing over interim ones (RFC 9110,
// section 15.2). Rest is what came along behind it, in the memory of buf, which may hold
// the beginning of the head already.
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

// endOfHead is where the empty line ends that ends a head; 0 where it is not
// there yet. No line ends before seen.
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

// mayBeHead tells a server of something else by its first bytes.
func mayBeHead(b []byte) bool {
	n := min(len(b), len(version))
	return string(b[:n]) == version[:n]
}

// parseHead parses a whole head, its empty line included.
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

// parseStatus parses a status line (RFC 9112, section 4) and gives its minor
// version.
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

// parseField takes what decides on the framing from one line of the header
// (RFC 9112, section 5). A line that continues the one before it is refused.
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

// setConnection takes the options that close or keep a connection (RFC 9112,
// section 9.3).
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
