package websocket

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"weir/internal/worktest"
)

// script is a connection whose peer sends given bytes, in pieces, and nothing more.
type script struct {
	net.Conn
	in   []byte
	most int // bytes of a piece
	out  bytes.Buffer
	by   time.Time // the deadline of writes
}

func (s *script) Receive() ([]byte, error) {
	n := min(s.most, len(s.in))
	if n == 0 {
		return nil, io.EOF
	}
	piece := s.in[:n]
	s.in = s.in[n:]
	return piece, nil
}

func (s *script) Read(p []byte) (int, error) {
	n := copy(p[:min(len(p), s.most)], s.in)
	s.in = s.in[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (s *script) Send(head, content []byte, _ [4]byte) error {
	s.out.Write(head)
	s.out.Write(content)
	return nil
}

func (s *script) Close() error                    { return nil }
func (s *script) SetReadDeadline(time.Time) error { return nil }

func (s *script) SetWriteDeadline(t time.Time) error {
	s.by = t
	return nil
}

// received returns the messages that a server reads from those bytes, and the error that ends them.
func received(in []byte, most int) (all [][]byte, err error) {
	c := newConn(&script{in: in, most: most}, false, Bounds{Message: 1 << 16, Read: time.Hour, Write: time.Hour}, "", nil)
	for {
		kind, got, err := c.Receive(nil)
		if err != nil {
			return all, err
		}
		all = append(all, append([]byte{byte(kind)}, got...))
	}
}

// FuzzFrames checks that frames are read the same in any pieces, within bounds, and that no message exceeds its bound.
func FuzzFrames(f *testing.F) {
	masked := func(first byte, content string) []byte {
		b := append([]byte{first, 0x80 | byte(len(content)), 1, 2, 3, 4}, content...)
		xor(b[6:], b[6:], [4]byte{1, 2, 3, 4}, 0)
		return b
	}
	f.Add(masked(0x81, "hello"))
	f.Add(append(append(masked(0x01, "hel"), masked(0x89, "ping")...), masked(0x80, "lo")...))
	f.Add(append(masked(0x88, "\x03\xe8bye"), masked(0x81, "late")...))
	f.Add([]byte{0x82, 0xfe, 0, 3, 1, 2, 3, 4, 5, 6, 7})
	f.Add([]byte{0x82, 0xff, 0, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6, 7})
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, wholeErr := received(in, len(in)+1)
		for _, most := range []int{1, 5} {
			pieces, err := received(in, most)
			if len(pieces) != len(whole) || err.Error() != wholeErr.Error() {
				t.Fatalf("in pieces of %d: got %d messages and %v, want %d and %v", most, len(pieces), err, len(whole), wholeErr)
			}
			for i := range whole {
				if !bytes.Equal(pieces[i], whole[i]) || len(whole[i]) > 1+1<<16 {
					t.Fatalf("message %d in pieces of %d: got %.100q, want %.100q", i, most, pieces[i], whole[i])
				}
			}
		}
		worktest.Check(t, in, func(in []byte) { _, _ = received(in, 1<<10) })
	})
}

// TestIdleConnectionHasNoDeadline checks that no deadline of a message remains: TLS itself writes when it reads a peer's
// new key, and a write that is too late breaks it.
func TestIdleConnectionHasNoDeadline(t *testing.T) {
	t.Parallel()
	w := &script{}
	c := newConn(w, false, Bounds{Message: 1 << 10, Read: time.Hour, Write: time.Hour}, "", nil)
	for range 2 {
		if err := c.Send(Text, []byte("x")); err != nil || !w.by.IsZero() {
			t.Errorf("after a message: got the deadline %v and %v, want none", w.by, err)
		}
	}
}

// TestMaskIsSameInPieces compares the mask of long pieces with that of single bytes.
func TestMaskIsSameInPieces(t *testing.T) {
	t.Parallel()
	mask, plain := [4]byte{9, 8, 7, 6}, make([]byte, 1000)
	for i := range plain {
		plain[i] = byte(i)
	}
	for at := range 5 {
		for _, n := range []int{0, 1, 3, 255, 256, 257, 1000} {
			got := make([]byte, n)
			xor(got, plain[:n], mask, at)
			for i := range got {
				if want := plain[i] ^ mask[(at+i)%4]; got[i] != want {
					t.Fatalf("byte %d of %d after %d: got %d, want %d", i, n, at, got[i], want)
				}
			}
		}
	}
}
