package httpserver

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/net/http/httpguts"

	"weir/internal/h1"
)

// heads counts the memory of request heads on all connections, until their requests have ended.
type heads struct{ held atomic.Int64 }

const (
	freeHead = 8 << 10  // bytes of a head that do not count: usual heads are shorter
	headLine = 160      // bytes counted for each line in addition, because it becomes a map entry
	maxHeads = 64 << 20 // bytes of all heads together
	// maxLines is how many lines a head may have, as in Apache and Envoy
	// (https://httpd.apache.org/docs/2.4/mod/core.html#limitrequestfields,
	// https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/core/v3/protocol.proto, max_headers_count).
	maxLines = 100
)

// grow adds n bytes, which may be negative, and reports whether there is room for them.
func (h *heads) grow(n int64) bool {
	if h.held.Add(n) > maxHeads && n > 0 {
		h.held.Add(-n)
		return false
	}
	return true
}

// refusal is an error that the server answers itself, after which it closes the connection.
type refusal struct {
	status int
	reason string
}

func (r *refusal) Error() string { return r.reason }

func malformed(reason string) error { return &refusal{http.StatusBadRequest, reason} }

var (
	errBareLF   = malformed("a header line ends in LF without CR")
	errFolded   = malformed("a folded header")
	errField    = malformed("a malformed header")
	errLine     = malformed("a malformed request line")
	errLength   = malformed("a malformed or second Content-Length")
	errTwoSizes = malformed("both Content-Length and Transfer-Encoding")
	errHost     = malformed("a malformed, second or missing Host")
	errOldChunk = malformed("Transfer-Encoding in HTTP/1.0")
	errCoding   = &refusal{http.StatusNotImplemented, "a transfer coding other than chunked"}
	errVersion  = &refusal{http.StatusHTTPVersionNotSupported, "neither HTTP/1.1 nor HTTP/1.0"}
	errExpect   = &refusal{http.StatusExpectationFailed, "an expectation other than 100-continue"}
	errLines    = &refusal{http.StatusRequestHeaderFieldsTooLarge, fmt.Sprintf("more than %d header lines", maxLines)}
	errHeads    = &refusal{http.StatusServiceUnavailable, "too many request headers at once: try again in a second"}
	errLongHead = &refusal{http.StatusRequestHeaderFieldsTooLarge, "the request header is too long"}
)

// headScan searches the end of a head as it arrives, and examines each byte once.
type headScan struct {
	line  int // start of the current line
	seen  int // number of bytes examined
	lines int
}

// end returns the index behind the empty line that ends the head in b; 0 if it has not arrived. It refuses lines that
// end in LF without CR, because a proxy may see the end of the head elsewhere (RFC 9112, section 11.2).
func (s *headScan) end(b []byte) (int, error) {
	for {
		n := bytes.IndexByte(b[s.seen:], '\n')
		if n < 0 {
			s.seen = len(b)
			return 0, nil
		}
		at := s.seen + n
		if at == s.line || b[at-1] != '\r' {
			return 0, errBareLF
		}
		s.seen = at + 1
		if at == s.line+1 {
			return s.seen, nil
		}
		if s.line, s.lines = s.seen, s.lines+1; s.lines > maxLines {
			return 0, errLines
		}
	}
}

// head is the head of a request while it is parsed.
type head struct {
	text    string // all lines, including the empty one
	lines   int
	length  int64 // declared length; -1 for none
	chunked bool
	coded   bool // there is a Transfer-Encoding
	hosts   int
	closes  bool // "Connection: close"
	keeps   bool // "Connection: keep-alive"
	expects bool // "Expect: 100-continue"
}

// memory is the memory of a connection for the parts of a request and its answer that end with the exchange. Whoever
// keeps one of them longer must copy it.
type memory struct {
	asked, answered http.Header
	values          []string // of asked
	url             url.URL
}

// keptLines is the largest number of header lines whose memory is used again.
const keptLines = 64

// release empties the memory, so that a late reader finds nothing of the exchange in it.
func (m *memory) release() {
	if len(m.asked) > keptLines || len(m.answered) > keptLines || cap(m.values) > keptLines {
		*m = memory{}
		return
	}
	clear(m.asked)
	clear(m.answered)
	clear(m.values[:cap(m.values)])
	m.url = url.URL{}
}

// reserve makes room for a head of that many lines, and for its answer.
func (m *memory) reserve(lines int) {
	if m.asked == nil {
		m.asked, m.answered = make(http.Header, lines), make(http.Header)
	}
	if m.values = m.values[:0]; cap(m.values) < lines {
		m.values = make([]string, 0, lines)
	}
}

// parse sets the fields of the request from the head, except its body.
func (h *head) parse(r *http.Request, m *memory) error {
	h.length = -1
	line, rest, _ := strings.Cut(h.text, "\r\n")
	if err := parseRequestLine(r, line, &m.url); err != nil {
		return err
	}
	m.reserve(h.lines)
	r.Header = m.asked
	for rest != "\r\n" && rest != "" {
		line, rest, _ = strings.Cut(rest, "\r\n")
		name, value, err := parseField(line)
		if err != nil {
			return err
		}
		if err := h.take(r, name, value); err != nil {
			return err
		}
		if name == "Host" || name == "Transfer-Encoding" {
			continue // as in net/http
		}
		if had := r.Header[name]; had != nil {
			r.Header[name] = append(had, value)
			continue
		}
		n := len(m.values)
		m.values = append(m.values, value)
		r.Header[name] = m.values[n : n+1 : n+1]
	}
	return h.judge(r)
}

// parseRequestLine parses the first line (RFC 9112, section 3). A plain path is put into room.
func parseRequestLine(r *http.Request, line string, room *url.URL) (err error) {
	method, rest, ok := strings.Cut(line, " ")
	target, version, more := strings.Cut(rest, " ")
	if !ok || !more || !h1.IsToken(method) || target == "" {
		return errLine
	}
	major, minor, ok := http.ParseHTTPVersion(version)
	switch {
	case !ok:
		return errLine
	case major != 1:
		return errVersion
	case minor > 0: // later minor versions count as HTTP/1.1 (RFC 9110, section 2.5)
		r.ProtoMinor = 1
	}
	r.Method, r.RequestURI, r.Proto, r.ProtoMajor = method, target, version, 1
	if isPlainPath(target) {
		room.Path, r.URL = target, room
		return nil
	}
	if method == http.MethodConnect && target[0] != '/' { // as net/http parses a host without a path
		target = "http://" + target
	}
	if r.URL, err = url.ParseRequestURI(target); err != nil {
		return errLine
	}
	if method == http.MethodConnect {
		r.URL.Scheme = ""
	}
	return nil
}

// isPlainPath reports whether a target is a path that needs no decoding.
func isPlainPath(target string) bool {
	for i := range len(target) {
		c := target[i]
		isPlain := 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || c == '/' || c == '-' ||
			c == '_' || c == '.'
		if !isPlain {
			return false
		}
	}
	return target[0] == '/'
}

// parseField splits a header line (RFC 9112, section 5).
func parseField(line string) (name, value string, err error) {
	if line[0] == ' ' || line[0] == '\t' {
		return "", "", errFolded
	}
	name, value, ok := strings.Cut(line, ":")
	value = strings.Trim(value, " \t")
	if !ok || !h1.IsToken(name) || !h1.IsText(value) {
		return "", "", errField
	}
	return http.CanonicalHeaderKey(name), value, nil
}

// take reads the values that determine the framing and the reuse of the connection from one line.
func (h *head) take(r *http.Request, name, value string) error {
	switch name {
	case "Host":
		if h.hosts++; h.hosts > 1 || !httpguts.ValidHostHeader(value) {
			return errHost
		}
		r.Host = value
	case "Content-Length":
		n, err := strconv.ParseUint(value, 10, 63)
		if err != nil || h.length >= 0 {
			return errLength
		}
		h.length = int64(n)
	case "Transfer-Encoding":
		h.chunked = !h.coded && h1.EqualFold(value, "chunked")
		h.coded = true
	case "Connection":
		h.closes = h.closes || httpguts.HeaderValuesContainsToken([]string{value}, "close")
		h.keeps = h.keeps || httpguts.HeaderValuesContainsToken([]string{value}, "keep-alive")
	case "Expect":
		if !h1.EqualFold(value, "100-continue") {
			return errExpect
		}
		h.expects = r.ProtoMinor > 0
	}
	return nil
}

// judge refuses a head with contradictory lines.
func (h *head) judge(r *http.Request) error {
	switch {
	case h.coded && h.length >= 0:
		return errTwoSizes
	case h.coded && !h.chunked:
		return errCoding
	case h.coded && r.ProtoMinor == 0:
		return errOldChunk
	case h.hosts == 0 && r.ProtoMinor > 0:
		return errHost
	}
	if r.URL.Host != "" { // for a target with a host (RFC 9112, section 3.2.2)
		r.Host = r.URL.Host
	}
	if r.ContentLength = max(0, h.length); h.chunked {
		r.ContentLength, r.TransferEncoding = -1, []string{"chunked"}
	}
	r.Close = h.closes || r.ProtoMinor == 0 && !h.keeps
	return nil
}

// body returns how the body ends.
func (h *head) body() h1.Framing {
	if h.chunked {
		return h1.Framing{Mode: h1.ByChunks}
	}
	return h1.Framing{Mode: h1.ByLength, Left: max(0, h.length)}
}
