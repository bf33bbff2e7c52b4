package main

import (
	"bytes"
	"errors"
	"fmt"
)

const maxHead = 32 << 10

var errFollowed = errors.New("bytes follow the answer")

// reply reads HTTP/1.1 answers (RFC 9112) off a connection as their bytes come.
// It keeps nothing but an unfinished head or line, so it costs next to nothing.
type reply struct {
	// body is given the content of the answer, in order; nil for nobody.
	body func(p []byte)

	status int
	// retryAfter is whether the head says when to try again.
	retryAfter bool

	state   replyState
	carry   []byte // the unfinished head or line
	left    int64  // bytes of content, or of the chunk, yet to come
	chunked bool
}

type replyState uint8

const (
	inHead replyState = iota
	inContent
	inChunkSize
	inChunk
	inChunkEnd
	inTrailer
)

var (
	headEnd = []byte("\r\n\r\n")
	lineEnd = []byte("\r\n")
)

// feed takes what was read. done tells that the answer is complete; what
// follows it, on a connection without pipelining, is an error.
func (r *reply) feed(p []byte) (done bool, err error) {
	for len(p) > 0 {
		if done {
			return true, errFollowed
		}
		if p, done, err = r.step(p); err != nil {
			return false, err
		}
	}
	return done, nil
}

func (r *reply) step(p []byte) (rest []byte, done bool, err error) {
	switch r.state {
	case inContent, inChunk:
		return r.content(p)
	case inHead:
		head, rest, err := r.until(p, headEnd)
		if head == nil || err != nil {
			return nil, false, err
		}
		done, err := r.begin(head)
		return rest, done, err
	default:
		line, rest, err := r.until(p, lineEnd)
		if line == nil || err != nil {
			return nil, false, err
		}
		done, err := r.line(line)
		return rest, done, err
	}
}

// until gives what stands before the mark, from earlier reads and p; nil when
// the mark has not come.
func (r *reply) until(p, mark []byte) (text, rest []byte, err error) {
	if len(r.carry) == 0 {
		if i := bytes.Index(p, mark); i >= 0 {
			return p[:i], p[i+len(mark):], nil
		}
		r.carry = append(r.carry, p...)
		return nil, nil, r.bounded()
	}
	known := len(r.carry)
	r.carry = append(r.carry, p...)
	i := bytes.Index(r.carry, mark)
	if i < 0 {
		return nil, nil, r.bounded()
	}
	text = r.carry[:i:i]
	r.carry = r.carry[:0]
	return text, p[i+len(mark)-known:], nil
}

func (r *reply) bounded() error {
	if len(r.carry) > maxHead {
		return fmt.Errorf("a head or line is over %d bytes", maxHead)
	}
	return nil
}

// begin reads the head. An answer that has neither length nor chunks would end
// with its connection, which a keep-alive load cannot use.
func (r *reply) begin(head []byte) (done bool, err error) {
	first, fields, _ := bytes.Cut(head, lineEnd)
	if len(first) < 12 || !bytes.HasPrefix(first, []byte("HTTP/1.1 ")) {
		return false, fmt.Errorf("not an HTTP/1.1 answer: %.60q", first)
	}
	r.status, r.left, r.chunked, r.retryAfter = int(digits(first[9:12])), -1, false, false
	for len(fields) > 0 {
		var field []byte
		field, fields, _ = bytes.Cut(fields, lineEnd)
		r.field(field)
	}
	switch {
	case r.chunked:
		r.state = inChunkSize
	case r.left > 0:
		r.state = inContent
	case r.left == 0:
		return true, nil
	default:
		return false, errors.New("the answer has neither Content-Length nor chunks")
	}
	return false, nil
}

func (r *reply) field(field []byte) {
	name, value, _ := bytes.Cut(field, []byte(":"))
	value = bytes.TrimSpace(value)
	switch {
	case len(name) == len("Content-Length") && bytes.EqualFold(name, []byte("Content-Length")):
		r.left = digits(value)
	case len(name) == len("Transfer-Encoding") && bytes.EqualFold(name, []byte("Transfer-Encoding")):
		r.chunked = bytes.EqualFold(value, []byte("chunked"))
	case len(name) == len("Retry-After") && bytes.EqualFold(name, []byte("Retry-After")):
		r.retryAfter = digits(value) > 0
	}
}

func (r *reply) content(p []byte) (rest []byte, done bool, err error) {
	n := min(int64(len(p)), r.left)
	if r.body != nil {
		r.body(p[:n])
	}
	r.left -= n
	if r.left == 0 {
		done = r.state == inContent
		r.state = inChunkEnd
		if done {
			r.state = inHead
		}
	}
	return p[n:], done, nil
}

// line reads a line between chunks.
func (r *reply) line(line []byte) (done bool, err error) {
	switch r.state {
	case inChunkEnd:
		if len(line) > 0 {
			return false, errors.New("a chunk is longer than its size")
		}
		r.state = inChunkSize
	case inChunkSize:
		if r.left = hexDigits(line); r.left < 0 {
			return false, fmt.Errorf("a chunk's size is no number: %.20q", line)
		}
		r.state = inChunk
		if r.left == 0 {
			r.state = inTrailer
		}
	case inTrailer:
		if len(line) == 0 {
			r.state = inHead
			return true, nil
		}
	}
	return false, nil
}

const maxLength = 1 << 40

// digits is the number that b holds, -1 for none or one over a terabyte.
func digits(b []byte) int64 {
	n := int64(0)
	for _, c := range b {
		if c < '0' || c > '9' || n > maxLength {
			return -1
		}
		n = n*10 + int64(c-'0')
	}
	if len(b) == 0 {
		return -1
	}
	return n
}

// hexDigits is the size at the start of a chunk's line, -1 for none.
func hexDigits(line []byte) int64 {
	n, i := int64(0), 0
	for ; i < len(line); i++ {
		c := line[i] | 0x20
		switch {
		case line[i] >= '0' && line[i] <= '9':
			n = n<<4 | int64(line[i]-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | int64(c-'a'+10)
		case line[i] == ';' && i > 0:
			return n
		default:
			return -1
		}
		if n > maxLength {
			return -1
		}
	}
	if i == 0 {
		return -1
	}
	return n
}
