package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http/httputil"
	"strconv"
	"strings"
)

// head is what load and mock need of the head of a message of HTTP/1.1 (RFC 9112). They read no more, for what they cost
// is lost to the rate that they reach.
type head struct {
	first   string // line
	length  int64  // of the body; -1 for none
	chunked bool
	retry   bool // it says when to try again
	last    bool // the connection ends with it
}

// readHead reads a head, of which no line is longer than the reader's buffer.
func readHead(in *bufio.Reader) (*head, error) {
	h := &head{length: -1}
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if h.first == "" {
			h.first = string(line)
			continue
		}
		if len(line) == 0 {
			return h, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		if err := h.field(name, string(bytes.TrimSpace(value))); err != nil {
			return nil, err
		}
	}
}

func (h *head) field(name []byte, value string) (err error) {
	is := func(other string) bool { return len(name) == len(other) && strings.EqualFold(string(name), other) }
	switch {
	case is("Content-Length"):
		if h.length, err = strconv.ParseInt(value, 10, 64); err == nil && h.length < 0 {
			err = errors.New("a Content-Length is below zero")
		}
	case is("Transfer-Encoding"):
		h.chunked = value == "chunked"
	case is("Connection"):
		h.last = strings.EqualFold(value, "close")
	case is("Retry-After"):
		h.retry = true
	}
	return err
}

// status is that of an answer; 0 where it is none.
func (h *head) status() (n int) {
	if text, ok := strings.CutPrefix(h.first, "HTTP/1.1 "); ok && len(text) >= 3 {
		n, _ = strconv.Atoi(text[:3])
	}
	return n
}

// readBody has the body read, and leaves the reader behind it.
func (h *head) readBody(in *bufio.Reader, read func(io.Reader) error) error {
	if !h.chunked {
		if h.length < 0 {
			return errors.New("the answer has neither Content-Length nor chunks")
		}
		return read(io.LimitReader(in, h.length))
	}
	if err := read(httputil.NewChunkedReader(in)); err != nil {
		return err
	}
	end, err := in.ReadSlice('\n') // httputil leaves the empty line
	if err == nil && len(bytes.TrimSpace(end)) > 0 {
		err = fmt.Errorf("%q follows the last chunk", end)
	}
	return err
}

// A piece of the mock's streams is the text t= and the time of its sending, in nanoseconds since 1970. It survives every
// translation between dialects. What repeats a whole text, as the ends of a stream of responses do, is no piece.
const stampDigits = 19

var stampMark = []byte(`"t=`)

// readPieces calls found with the time at which each piece was sent.
func readPieces(body io.Reader, found func(sent int64)) error {
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		_, stamp, _ := bytes.Cut(lines.Bytes(), stampMark)
		if len(stamp) < stampDigits || !bytes.HasPrefix(stamp[stampDigits:], []byte(` "`)) {
			continue
		}
		if at, err := strconv.ParseInt(string(stamp[:stampDigits]), 10, 64); err == nil {
			found(at)
		}
	}
	return lines.Err()
}
