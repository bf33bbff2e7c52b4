// Package framing refuses requests of which a proxy in front of the gateway may see the end
// elsewhere. Such a proxy lets its client put a second request into the first, which then counts
// for whoever comes next on that connection (RFC 9112, section 11.2). net/http takes much that
// others read in another way: a length beside chunks, lines that end in LF alone, folded lines. It
// tells handlers of none of it.
package framing

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
)

// heads counts what heads of requests take on all connections together, until their requests are
// over.
type heads struct{ held atomic.Int64 }

const (
	freeHead = 8 << 10  // bytes of a head that are not counted: usual ones are shorter
	headLine = 160      // bytes that a line counts for beyond its own: it becomes an entry of a map
	maxHeads = 64 << 20 // bytes that all may take
	// maxLines is how many lines a head may have: as Apache takes, and Envoy
	// (https://httpd.apache.org/docs/2.4/mod/core.html#limitrequestfields,
	// https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/core/v3/protocol.proto, max_headers_count).
	maxLines = 100
)

// grow counts n bytes more, or fewer, and reports whether there is room for them.
func (h *heads) grow(n int64) bool {
	if h.held.Add(n) > maxHeads && n > 0 {
		h.held.Add(-n)
		return false
	}
	return true
}

type strictConn struct {
	net.Conn // below, or TLS over it
	below    *connection
	framing  framing
	heads    *heads
	counted  atomic.Int64 // bytes of heads
	refused  error        // nil for none
}

// Read is net.Conn's. Its error makes net/http answer 400 and close the connection.
func (c *strictConn) Read(p []byte) (int, error) {
	if c.refused != nil { // net/http may go on behind an error
		return 0, c.refused
	}
	n, err := c.Conn.Read(p)
	if c.refused = c.framing.take(p[:n]); c.refused != nil {
		return 0, c.refused
	}
	if more := c.framing.head - freeHead - c.counted.Load(); n > 0 && more > 0 {
		if !c.heads.grow(more) {
			c.refused = errHeads
			return 0, errHeads
		}
		c.counted.Add(more)
	}
	return n, err
}

// release says that the request is over whose head was counted.
func (c *strictConn) release() { c.heads.grow(-c.counted.Swap(0)) }

// Close is net.Conn's.
func (c *strictConn) Close() error {
	c.release()
	return c.Conn.Close()
}

var (
	errBareLF   = errors.New("a line of the head ends in LF alone")
	errFolded   = errors.New("a folded header")
	errLength   = errors.New("a malformed or second Content-Length")
	errTwoSizes = errors.New("a length beside chunks")
	errLines    = fmt.Errorf("a head of more than %d lines", maxLines)
	errPreface  = errors.New("HTTP/2, on which the client has not agreed")
	errHeads    = errors.New("more heads than the gateway takes")
)

// maxFramingLine is how much is kept of a line: more than any Content-Length has that counts.
const maxFramingLine = 64

// framing follows the requests of one connection, in whatever pieces their bytes come.
type framing struct {
	line    []byte // the beginning of the line under way
	longer  bool   // than line
	last    byte   // of the line under way
	head    int64  // what the head under way takes, in bytes
	lines   int    // of it
	inHead  bool   // behind the request line
	chunked bool
	length  int64 // declared; -1 for none
	body    int64 // bytes that are still to come of it
	passed  bool  // nothing is looked at any more: the connection is closed behind chunks
}

func newFraming() framing { return framing{length: -1} }

func (f *framing) take(p []byte) error {
	for len(p) > 0 && !f.passed {
		if f.body > 0 {
			n := min(f.body, int64(len(p)))
			f.body, p = f.body-n, p[n:]
			continue
		}
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			f.head += int64(len(p))
			f.keep(p)
			return nil
		}
		f.head += int64(end) + headLine
		f.keep(p[:end])
		p = p[end+1:]
		if err := f.endLine(); err != nil {
			return err
		}
	}
	return nil
}

func (f *framing) keep(p []byte) {
	if len(p) == 0 {
		return
	}
	f.last = p[len(p)-1]
	room := min(maxFramingLine-len(f.line), len(p))
	f.line, f.longer = append(f.line, p[:room]...), f.longer || room < len(p)
}

func (f *framing) endLine() error {
	if f.last != '\r' {
		return errBareLF
	}
	line, longer := strings.TrimSuffix(string(f.line), "\r"), f.longer
	f.line, f.longer, f.last = f.line[:0], false, 0
	if line != "" {
		f.lines++
	}
	switch {
	case f.lines > maxLines:
		return errLines
	case line == "" && f.inHead:
		return f.endHead()
	case line == "": // before the request line (RFC 9112, section 2.2)
	case !f.inHead && line == "PRI * HTTP/2.0": // over TLS net/http would take it (RFC 9113, section 3.4)
		return errPreface
	case !f.inHead:
		f.inHead = true
	case line[0] == ' ' || line[0] == '\t':
		return errFolded
	default:
		return f.field(line, longer)
	}
	return nil
}

// field takes what decides on the framing from a line; net/http judges the rest.
func (f *framing) field(line string, longer bool) error {
	name, value, _ := strings.Cut(line, ":")
	switch {
	case strings.EqualFold(name, "Transfer-Encoding"):
		f.chunked = true
	case strings.EqualFold(name, "Content-Length"):
		n, err := strconv.ParseUint(strings.Trim(value, " \t"), 10, 63)
		if err != nil || longer || f.length >= 0 {
			return errLength
		}
		f.length = int64(n)
	}
	return nil
}

func (f *framing) endHead() error {
	if f.chunked && f.length >= 0 {
		return errTwoSizes
	}
	f.passed, f.body, f.head, f.lines = f.chunked, max(f.length, 0), 0, 0
	f.inHead, f.length = false, -1
	return nil
}
