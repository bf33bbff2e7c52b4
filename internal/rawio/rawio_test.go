package rawio_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/rawio"
)

// pair returns the two ends of a TCP connection, the first one as a Socket.
func pair(t *testing.T) (own, peer net.Conn) {
	t.Helper()
	l := must.Get(net.Listen("tcp4", "127.0.0.1:0"))(t)
	defer func() { _ = l.Close() }()
	own = rawio.Socket(must.Get(net.Dial("tcp4", l.Addr().String()))(t))
	peer = must.Get(l.Accept())(t)
	t.Cleanup(func() { _, _ = own.Close(), peer.Close() })
	return own, peer
}

// TestSocketMovesMoreThanItsBuffers checks that both directions wait for the peer, and the end of the data.
func TestSocketMovesMoreThanItsBuffers(t *testing.T) {
	t.Parallel()
	own, peer := pair(t)
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	go func() {
		_, _ = io.Copy(peer, peer) // an echo
		_ = peer.Close()
	}()
	wrote := make(chan error, 1)
	go func() {
		n, err := own.Write(want)
		if err == nil && n != len(want) {
			err = io.ErrShortWrite
		}
		wrote <- errors.Join(err, own.(interface{ CloseWrite() error }).CloseWrite())
	}()
	got, err := io.ReadAll(own)
	if err = errors.Join(err, <-wrote); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes came back, want %d: %v", len(got), len(want), err)
	}
	if n, err := own.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %d, %v, want EOF", n, err)
	}
}

// TestSocketKeepsDeadlines checks that reads and writes that wait end at their deadline, with the bytes written so far.
func TestSocketKeepsDeadlines(t *testing.T) {
	t.Parallel()
	own, _ := pair(t)
	must.Do(t, own.SetDeadline(time.Now().Add(50*time.Millisecond)))
	if _, err := own.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read: %v, want the deadline", err)
	}
	n, err := own.Write(make([]byte, 64<<20))
	if !errors.Is(err, os.ErrDeadlineExceeded) || n == 64<<20 {
		t.Errorf("write: %d, %v, want the deadline", n, err)
	}
}

// TestCloseEndsTransfers checks that closing ends a read that waits, and what a lost peer means.
func TestCloseEndsTransfers(t *testing.T) {
	t.Parallel()
	own, _ := pair(t)
	ended := make(chan error)
	go func() {
		_, err := own.Read(make([]byte, 1))
		ended <- err
	}()
	time.AfterFunc(20*time.Millisecond, func() { _ = own.Close() })
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("read of a closed socket: %v", err)
	}
	own, peer := pair(t)
	must.Do(t, peer.Close())
	var err error
	for range 100 {
		if _, err = own.Write(make([]byte, 1<<20)); err != nil {
			break
		}
	}
	if err == nil {
		t.Error("a peer that is gone receives 100 MB")
	}
}

// TestReadDoesNotWait checks reads of a socket with and without data.
func TestReadDoesNotWait(t *testing.T) {
	t.Parallel()
	own, peer := pair(t)
	raw := rawio.Of(own)
	if raw == nil {
		t.Skip("this system cannot read without waiting")
	}
	var p [8]byte
	now := func() (n int, err error) {
		must.Do(t, raw.Control(func(fd uintptr) { n, err = rawio.Read(fd, p[:]) }))
		return n, err
	}
	if n, err := now(); !errors.Is(err, rawio.ErrNothingNow) {
		t.Errorf("without data: %d, %v", n, err)
	}
	must.Get(peer.Write([]byte("abc")))(t)
	must.Do(t, raw.Read(func(fd uintptr) bool { // waits
		n, err := rawio.Read(fd, p[:])
		return err == nil && string(p[:n]) == "abc"
	}))
	must.Do(t, peer.Close())
	must.Do(t, raw.Read(func(fd uintptr) bool {
		_, err := rawio.Read(fd, p[:])
		return errors.Is(err, io.EOF)
	}))
}
