package httpserver

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/h1"
)

const (
	// mostPending is how many bytes of an answer are buffered without a flush.
	mostPending = 16 << 10
	// keepOutput is the largest buffer that is reused.
	keepOutput = 64 << 10
	// sniffed is how many bytes of an answer are used to detect its content type, if the handler sets none.
	sniffed = 512
)

// response is an http.ResponseWriter for HTTP/1.1. It supports no trailers and no informational answers but that to a
// change of the protocol, because no handler uses them.
type response struct {
	client   *client1
	exchange *exchange
	header   http.Header
	status   int // 0 before WriteHeader
	length   int64
	written  int64
	out      *buffer // the head, until it is sent; nil if there is nothing to write
	pending  *buffer // buffered part of the body
	sent     bool    // the head was sent
	chunked  bool
	typed    bool // the handler set the content type
	dated    bool
	// switching is set after WriteHeader with 101: see Hijack.
	switching bool
	err       error
}

// Header implements http.ResponseWriter.
func (w *response) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(status int) {
	if status < 100 || status > 999 { // a bug in the handler, as in net/http
		panic(fmt.Sprintf("invalid status %d", status))
	}
	if w.status != 0 || status < 200 {
		w.switching = status == http.StatusSwitchingProtocols
		return
	}
	if w.status = status; w.out == nil {
		w.BeginFields()
	}
	out := w.out.b
	if status != http.StatusOK {
		line := strconv.AppendInt([]byte("HTTP/1.1 "), int64(status), 10)
		line = append(append(append(line, ' '), http.StatusText(status)...), "\r\n"...)
		out = slices.Replace(out, 0, len(okLine), line...)
	}
	var room [24]string
	names := room[:0]
	for name := range w.header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		out = w.appendLines(out, name, w.header[name])
	}
	w.out.b = out
}

// okLine is the first line of most answers.
const okLine = "HTTP/1.1 200 OK\r\n"

// BeginFields forgets the fields of AddField. It has no effect after WriteHeader.
func (w *response) BeginFields() {
	if w.sent || w.status != 0 && w.out != nil {
		return
	}
	if w.out == nil {
		w.out = w.client.server.output()
	}
	w.out.b, w.length = append(w.out.b[:0], okLine...), -1
}

// AddField writes a field of the head at once, in addition to those of the map. It has no effect after WriteHeader.
func (w *response) AddField(name, value string) {
	if w.status == 0 && w.out != nil {
		w.out.b = w.appendLines(w.out.b, name, []string{value})
	}
}

// AddNumber is AddField for a number.
func (w *response) AddNumber(name string, n int64) {
	switch {
	case w.status != 0 || w.out == nil:
	case name == "Content-Length":
		w.length = n
	default:
		w.out.b = strconv.AppendInt(append(append(w.out.b, name...), ": "...), n, 10)
		w.out.b = append(w.out.b, "\r\n"...)
	}
}

// HasField reports whether a field was written at once, in any case.
func (w *response) HasField(name string) bool {
	if w.out == nil {
		return false
	}
	for line := range bytes.SplitSeq(w.out.b, []byte("\r\n")) {
		if len(line) > len(name) && line[len(name)] == ':' && h1.EqualFold(string(line[:len(name)]), name) {
			return true
		}
	}
	return false
}

// appendLines appends the header lines of a name, except those that are decided when the head is sent.
func (w *response) appendLines(out []byte, name string, values []string) []byte {
	switch name {
	case "Connection":
		for _, v := range values {
			w.client.last = w.client.last || h1.EqualFold(v, "close")
			if h1.EqualFold(v, "upgrade") { // required with an Upgrade header, which is for the next hop only
				out = append(out, "Connection: Upgrade\r\n"...)
			}
		}
		return out
	case "Transfer-Encoding":
		return out
	case "Content-Length":
		if n, err := strconv.ParseInt(strings.Join(values, ","), 10, 63); err == nil && n >= 0 {
			w.length = n
		}
		return out
	case "Content-Type", "Content-Encoding":
		w.typed = true
	case "Date":
		w.dated = true
	}
	if !h1.IsToken(name) {
		return out
	}
	for _, v := range values {
		out = append(append(append(out, name...), ": "...), v...)
		if !h1.IsText(v) {
			sanitize(out[len(out)-len(v):])
		}
		out = append(out, "\r\n"...)
	}
	return out
}

// sanitize replaces control characters, which could end a line, by spaces.
func sanitize(value []byte) {
	for i, c := range value {
		if c < ' ' && c != '\t' || c == 0x7f {
			value[i] = ' '
		}
	}
}

// hasBody reports whether answers of the status have a body (RFC 9110, section 6.4.1).
func hasBody(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// Write implements io.Writer.
func (w *response) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	switch {
	case w.err != nil:
		return 0, w.err
	case !hasBody(w.status):
		return 0, http.ErrBodyNotAllowed
	case w.length >= 0 && w.written+int64(len(p)) > w.length:
		return 0, http.ErrContentLength
	}
	w.written += int64(len(p))
	switch {
	case w.isHead():
		if !w.sent && w.pending == nil { // for detecting the content type
			w.pending = w.client.server.output()
			w.pending.b = append(w.pending.b, p[:min(len(p), sniffed)]...)
		}
		return len(p), nil
	case w.written == w.length, len(w.waiting())+len(p) > mostPending: // the end, or enough data
		w.emit(p, false)
	default:
		if w.pending == nil {
			w.pending = w.client.server.output()
		}
		w.pending.b = append(w.pending.b, p...)
	}
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

func (w *response) isHead() bool { return w.exchange.request.Method == http.MethodHead }

// FlushError sends the buffered data.
func (w *response) FlushError() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if !w.sent || w.pending != nil {
		w.emit(nil, false)
	}
	return w.err
}

// Flush implements http.Flusher.
func (w *response) Flush() { _ = w.FlushError() }

// SetReadDeadline is for http.ResponseController. The deadline may expire up to a quarter of a second late.
func (w *response) SetReadDeadline(t time.Time) error {
	if errors.Is(w.err, errOver) {
		return errOver
	}
	w.client.below.read.setAt(t)
	return nil
}

// SetWriteDeadline is for http.ResponseController. The deadline may expire up to a quarter of a second late.
func (w *response) SetWriteDeadline(t time.Time) error {
	if errors.Is(w.err, errOver) {
		return errOver
	}
	w.client.below.written.setAt(t)
	return nil
}

// finish sends the rest of the answer.
func (w *response) finish() {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.err == nil && (!w.sent || w.pending != nil || w.chunked) {
		w.emit(nil, true)
	}
	if w.length >= 0 && w.written < w.length && !w.isHead() && hasBody(w.status) {
		w.client.last = true // the client waits for the missing bytes
	}
	w.drop()
	w.err = errOver
}

var errOver = errors.New("httpserver: the request has ended")

// drop returns the buffers to the pool.
func (w *response) drop() {
	w.client.server.keep(w.out)
	w.client.server.keep(w.pending)
	w.out, w.pending = nil, nil
}

// waiting returns the buffered part of the body.
func (w *response) waiting() []byte {
	if w.pending == nil {
		return nil
	}
	return w.pending.b
}

// emit sends the head unless it was sent, the buffered data, then p, and the end of the body if this is the last call.
func (w *response) emit(p []byte, last bool) {
	if w.err != nil {
		return
	}
	pending := w.waiting()
	n := len(pending) + len(p)
	if w.out == nil {
		w.out = w.client.server.output()
	}
	out := w.out.b
	if !w.sent {
		w.sent = true
		out = w.endHead(out, pending, p, last)
	}
	if w.isHead() {
		n, p, pending, w.chunked = 0, nil, nil, false
	}
	tail := ""
	if w.chunked && n > 0 {
		out = append(strconv.AppendInt(out, int64(n), 16), "\r\n"...)
		tail = "\r\n"
	}
	if w.chunked && last {
		tail += "0\r\n\r\n"
	}
	if out = append(out, pending...); len(p) <= mostPending {
		out = append(append(out, p...), tail...)
		_, w.err = w.client.wire.Write(out)
	} else {
		w.err = w.client.writeAll(out, p, tail)
	}
	if w.out.b = out; w.err != nil {
		w.client.last, w.client.lost = true, true
	}
	w.drop()
}

// writeAll writes data that is too long to be copied.
func (c *client1) writeAll(head, p []byte, tail string) error {
	all := net.Buffers{head, p, []byte(tail)}
	if c.tls == nil { // in a single system call
		_, err := all.WriteTo(c.below.Conn)
		return err
	}
	_, err := all.WriteTo(c.wire)
	return err
}

// endHead appends the header lines that are decided when the head is sent, for a body that begins with pending and p.
func (w *response) endHead(out, pending, p []byte, last bool) []byte {
	c, r := w.client, w.exchange.request
	body := hasBody(w.status)
	if body && !w.typed && len(pending)+len(p) > 0 {
		begin := append(pending[:len(pending):len(pending)], p[:min(len(p), sniffed)]...)
		out = append(append(append(out, "Content-Type: "...), http.DetectContentType(begin)...), "\r\n"...)
	}
	if body && w.length < 0 && last && (!w.isHead() || w.written > 0) { // otherwise the length is unknown
		w.length = w.written
	}
	if w.length >= 0 && (body || w.isHead() && w.status != http.StatusNoContent) {
		out = append(strconv.AppendInt(append(out, "Content-Length: "...), w.length, 10), "\r\n"...)
	}
	if !w.exchange.body.drain() {
		c.last, c.unread = true, true
	}
	s := c.server
	c.last = c.last || r.Close || s.retiring.Load() || s.stopping.Load() || s.isCrowded()
	switch {
	case !body || w.length >= 0 || w.isHead():
	case r.ProtoMinor == 0: // the body ends with the connection
		c.last = true
	default:
		w.chunked = true
		out = append(out, "Transfer-Encoding: chunked\r\n"...)
	}
	if !w.dated {
		out = append(c.server.appendDate(append(out, "Date: "...)), "\r\n"...)
	}
	switch {
	case c.last:
		out = append(out, "Connection: close\r\n"...)
	case r.ProtoMinor == 0:
		out = append(out, "Connection: keep-alive\r\n"...)
	}
	return append(out, "\r\n"...)
}
