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

// head holds the parts of an HTTP/1.1 head (RFC 9112) that load and mock need. They read no more, because their own
// cost reduces the rate that they can reach.
type head struct {
	first   string // first line
	length  int64  // of the body; -1 if unknown
	chunked bool
	retry   bool   // has a Retry-After
	last    bool   // the connection ends after the message
	key     string // of the handshake of a WebSocket
}

// readHead reads a head. No line may be longer than the reader's buffer.
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
	case is("Sec-WebSocket-Key"):
		h.key = value
	}
	return err
}

// status returns the status of an answer; 0 if the first line is invalid.
func (h *head) status() (n int) {
	if text, ok := strings.CutPrefix(h.first, "HTTP/1.1 "); ok && len(text) >= 3 {
		n, _ = strconv.Atoi(text[:3])
	}
	return n
}

// readBody lets read read the body, and leaves the reader behind it.
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

// A piece of the mock's streams is the text t= with the time of its sending, in nanoseconds since 1970. It survives
// every translation between wire formats. Events that repeat a whole text, as at the end of a Responses stream, do not
// count as pieces.
const stampDigits = 19

var stampMark = []byte(`"t=`)

// readPieces calls found with the sending time of each piece.
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
