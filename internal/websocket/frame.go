package websocket

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Bits and kinds of a frame's first byte (RFC 6455, section 5.2).
const (
	final    = 0x80
	reserved = 0x70
	kindBits = 0x0f

	continued = 0
	closing   = 8
	pinging   = 9
	ponging   = 10
)

// The second byte of a frame's head, and what its length can mean.
const (
	maskBit    = 0x80
	lengthBits = 0x7f
	length16   = 126
	length64   = 127
	maxControl = 125 // bytes of a control frame's content
	maxHeadOut = 14  // bytes of a frame's head
)

const (
	// A peer may send freeOverhead bytes that are no content of messages, such as heads of frames and pings, and
	// overheadRate more a second, plus 1/overheadShare of the content. A ping has 6 to 131 bytes, and a frame without
	// content 6: a message in frames of 48 bytes or more is never refused.
	freeOverhead  = 36 << 10
	overheadRate  = 1 << 10
	overheadShare = 8
)

var (
	// errOverhead is the error of a peer that sends too many frames for their content.
	errOverhead = errors.New("websocket: too many control frames, or frames that are too short")
	errUnmasked = errors.New("websocket: a client's frame is not masked, or a server's is")
	errLength   = errors.New("websocket: the length of a frame is negative")
)

// frame is a frame that is being read.
type frame struct {
	kind  byte
	final bool
	left  int64 // bytes of content that were not read yet
	at    int   // of the next byte, for its mask
	mask  [4]byte
}

// readFrame reads the head of the next frame. Only the connection's reader calls it.
func (c *Conn) readFrame() error {
	h := c.head[:2]
	if err := c.full(h); err != nil {
		return err
	}
	first, second := h[0], h[1]
	long, masks := 0, 0
	switch second & lengthBits {
	case length16:
		long = 2
	case length64:
		long = 8
	}
	if second&maskBit != 0 {
		masks = len(c.in.mask)
	}
	if err := c.full(c.head[2 : 2+long+masks]); err != nil {
		return err
	}
	n := uint64(second & lengthBits)
	switch long {
	case 2:
		n = uint64(binary.BigEndian.Uint16(c.head[2:]))
	case 8:
		n = binary.BigEndian.Uint64(c.head[2:])
	}
	c.in.kind, c.in.final, c.in.left, c.in.at = first&kindBits, first&final != 0, int64(n), 0
	copy(c.in.mask[:], c.head[2+long:2+long+masks])
	switch {
	case c.in.left < 0:
		return errLength
	case first&reserved != 0: // compression is declined
		return c.broken("reserved bits are set")
	case (masks != 0) == c.masks:
		return errUnmasked
	}
	return c.spend(2 + long + masks)
}

// full fills p with the next bytes.
func (c *Conn) full(p []byte) error {
	for len(p) > 0 {
		if len(c.data) == 0 {
			if err := c.receive(); err != nil {
				return err
			}
		}
		n := copy(p, c.data)
		p, c.data = p[n:], c.data[n:]
	}
	return nil
}

// content reads some of the frame's content. Large pieces are read without a buffer between.
func (c *Conn) content(p []byte) (n int, err error) {
	p = p[:min(int64(len(p)), c.in.left)]
	switch {
	case len(c.data) == 0 && len(p) >= directRead:
		c.limitWait()
		if n, err = c.wire.Read(p); n > 0 {
			err = nil
		}
		c.unmask(p[:n], p[:n])
	default:
		if len(c.data) == 0 {
			err = c.receive()
		}
		n = min(len(p), len(c.data))
		c.unmask(p[:n], c.data[:n])
		c.data = c.data[n:]
	}
	c.in.left -= int64(n)
	return n, lost(err)
}

// directRead is the least content that is read without a buffer between, in bytes.
const directRead = 4 << 10

// lost returns the error of a connection that ended inside a frame.
func lost(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// unmask copies content, without its mask.
func (c *Conn) unmask(dst, src []byte) {
	if c.masks || c.in.mask == [4]byte{} {
		copy(dst, src)
	} else {
		xor(dst, src, c.in.mask, c.in.at)
	}
	c.in.at += len(src)
}

// xor copies bytes under a mask, of which at bytes are used already.
func xor(dst, src []byte, mask [4]byte, at int) {
	var block [256]byte // of repeated masks, because long ones are combined fastest
	for i := range mask {
		block[i] = mask[(at+i)&3]
	}
	for n := 4; n < len(block) && n < len(src); n *= 2 {
		copy(block[n:], block[:n])
	}
	for len(src) > 0 {
		n := subtle.XORBytes(dst, src[:min(len(src), len(block))], block[:])
		dst, src = dst[n:], src[n:]
	}
}

// spend counts bytes that are no content, and returns an error if the peer has sent too many. Content counts below
// zero.
func (c *Conn) spend(n int) error {
	if c.overhead = max(0, c.overhead+n); c.overhead <= freeOverhead {
		return nil
	}
	now := time.Now()
	c.overhead = max(0, c.overhead-int(now.Sub(c.since)*overheadRate/time.Second))
	if c.since = now; c.overhead > freeOverhead {
		return errOverhead
	}
	return nil
}

// control reads and answers a control frame.
func (c *Conn) control() error {
	if c.in.left > maxControl || !c.in.final {
		return c.broken("a control frame is too long, or in pieces")
	}
	p := c.head[:c.in.left]
	for at := 0; at < len(p); {
		n, err := c.content(p[at:])
		if err != nil {
			return err
		}
		at += n
	}
	if err := c.spend(len(p)); err != nil {
		return err
	}
	switch c.in.kind {
	case pinging:
		if !c.answersPing() {
			return nil
		}
		if err := c.write(ponging, p); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil // after a close frame, whose answer is still to come
	case ponging:
		c.ponged(p)
		return nil
	}
	return c.closed(p)
}

// closed answers a close frame, and returns its code as an error.
func (c *Conn) closed(p []byte) error {
	e := &closeError{code: noCode}
	if len(p) > 0 {
		if len(p) >= 2 {
			e.code, e.reason = Code(binary.BigEndian.Uint16(p)), strings.ToValidUTF8(string(p[2:]), "")
		}
		if !e.code.valid() {
			return c.broken("the code of a close frame is invalid")
		}
	}
	_ = c.write(closing, p[:min(len(p), 2)])
	c.Abort()
	return e
}

// broken tells the peer that it has broken the protocol, and returns that as an error.
func (c *Conn) broken(why string) error {
	c.refuse(protocolError, why)
	return fmt.Errorf("websocket: protocol error: %s", why)
}

// refuse sends a close frame. It then discards what the peer still sends, because a connection that is closed before
// may lose the frame.
func (c *Conn) refuse(code Code, why string) {
	if c.goodbye(code, why) == nil {
		c.discard()
	}
	c.Abort()
}

// discard reads until the peer answers a close frame or ends the connection, at most the bytes of a message, and not
// beyond the deadline that goodbye has set.
func (c *Conn) discard() {
	for n := int64(0); n < c.bounds.Message; {
		if c.in.left > 0 {
			if len(c.data) == 0 && c.receive() != nil {
				return
			}
			skip := min(c.in.left, int64(len(c.data)))
			c.data, c.in.left, n = c.data[skip:], c.in.left-skip, n+skip
			continue
		}
		if c.readFrame() != nil || c.in.kind == closing {
			return
		}
	}
}

// appendHead appends the head of a frame to the peer, and returns the mask.
func (c *Conn) appendHead(dst []byte, kind byte, n int) (head []byte, mask [4]byte) {
	bit := byte(0)
	if c.masks {
		bit = maskBit
	}
	dst = append(dst, final|kind)
	switch {
	case n <= maxControl:
		dst = append(dst, bit|byte(n))
	case n < 1<<16:
		dst = binary.BigEndian.AppendUint16(append(dst, bit|length16), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, bit|length64), uint64(n))
	}
	if c.masks {
		_, _ = rand.Read(mask[:]) // never fails
		dst = append(dst, mask[:]...)
	}
	return dst, mask
}
