//go:build unix

package app

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A running gateway listens on a socket in its data directory, which only its own user can access. A gateway that
// takes over connects there, receives the listeners as open files (unix(7), SCM_RIGHTS), and reports when it answers.
// Then the first one stops. Without that report the first one keeps running.
const (
	handoverSocket = "handover.sock"
	handoverReady  = "ready\n"
	handoverWait   = time.Minute // for the other gateway
	// handoverDelay is how long clients with idle connections have to open new ones, which the other gateway accepts.
	handoverDelay = time.Second
	maxHandover   = 4 << 10
	maxListeners  = 2
)

// handover holds the listeners that a gateway takes over from another one, and offers to the next one.
type handover struct {
	from      *net.UnixConn // nil if there is no gateway to take over from
	listeners map[string]net.Listener
	taken     chan struct{} // receives one element when the next gateway answers
}

// Names of listeners.
const (
	mainListener      = "main"
	telemetryListener = "telemetry"
)

func (h *handover) taking() bool { return h.from != nil }

// begin requests the listeners of the gateway on the data directory. If none runs, there is nothing to take over.
func (h *handover) begin(ctx context.Context, o *Options) error {
	h.taken = make(chan struct{}, 1)
	if !o.Takeover {
		return nil
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", filepath.Join(o.Config.Data, handoverSocket))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		o.Log.Info("no gateway runs on this data directory; starting without a takeover", "data", o.Config.Data)
		return nil
	}
	if err != nil {
		return fmt.Errorf("take over: %w", err)
	}
	h.from = c.(*net.UnixConn)
	if h.listeners, err = receiveListeners(h.from); err != nil {
		return errors.Join(fmt.Errorf("take over: %w", err), c.Close())
	}
	return nil
}

func receiveListeners(c *net.UnixConn) (map[string]net.Listener, error) {
	if err := c.SetDeadline(time.Now().Add(handoverWait)); err != nil {
		return nil, err
	}
	text, rights := make([]byte, maxHandover), make([]byte, syscall.CmsgSpace(4*maxListeners))
	n, rightsLen, _, _, err := c.ReadMsgUnix(text, rights)
	if err != nil {
		return nil, err
	}
	var names []string
	if err := json.Unmarshal(text[:n], &names); err != nil {
		return nil, err
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:rightsLen])
	if err != nil {
		return nil, err
	}
	var fds []int
	for i := range messages {
		some, err := syscall.ParseUnixRights(&messages[i])
		if err != nil {
			return nil, err
		}
		fds = append(fds, some...)
	}
	return openListeners(names, fds)
}

func openListeners(names []string, fds []int) (all map[string]net.Listener, err error) {
	all = map[string]net.Listener{}
	for i, fd := range fds {
		syscall.CloseOnExec(fd)
		file := os.NewFile(uintptr(fd), "listener")
		if i < len(names) && err == nil {
			all[names[i]], err = net.FileListener(file)
		}
		err = errors.Join(err, file.Close())
	}
	if err == nil && len(fds) != len(names) {
		err = fmt.Errorf("got %d listeners, want %q", len(fds), names)
	}
	return all, err
}

// listener returns the inherited listener of that name, or nil.
func (h *handover) listener(name string) net.Listener { return h.listeners[name] }

// finish tells the other gateway that this one answers.
func (h *handover) finish() error {
	if h.from == nil {
		return nil
	}
	_, err := h.from.Write([]byte(handoverReady))
	return errors.Join(err, h.from.Close())
}

// abandon gives up the takeover; the other gateway keeps running.
func (h *handover) abandon() {
	if h.from != nil {
		_ = h.from.Close() // it may already be closed by finish
	}
}

// offer passes the listeners to a gateway that requests them, until ctx ends or one has taken over.
func (h *handover) offer(ctx context.Context, o *Options, listeners map[string]net.Listener) {
	path := filepath.Join(o.Config.Data, handoverSocket)
	_ = os.Remove(path) // left by an earlier process, which has released the journal or is being taken over
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", path)
	if err != nil { // such as a path that is too long
		o.Log.Info("no other gateway can take over from this one", "err", err)
		return
	}
	socket := l.(*net.UnixListener)
	socket.SetUnlinkOnClose(false) // the path may belong to the next gateway by then
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	for {
		c, err := socket.AcceptUnix()
		if err != nil {
			_ = os.Remove(path)
			return
		}
		err = give(ctx, c, listeners)
		_ = c.Close() // all its messages have been read
		if err == nil {
			_ = l.Close()
			h.taken <- struct{}{}
			return
		}
		o.Log.Warn("another gateway did not take over", "err", err)
	}
}

// give returns an error unless the other gateway has taken over.
func give(ctx context.Context, c *net.UnixConn, listeners map[string]net.Listener) error {
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if err := c.SetDeadline(time.Now().Add(handoverWait)); err != nil {
		return err
	}
	var names []string
	var fds []int
	var files []*os.File
	defer func() {
		for _, f := range files {
			_ = f.Close() // these are duplicates
		}
	}()
	for name, l := range listeners {
		file, ok := l.(interface{ File() (*os.File, error) })
		if !ok {
			return fmt.Errorf("a %T cannot be passed to another process", l)
		}
		f, err := file.File()
		if err != nil {
			return err
		}
		names, fds, files = append(names, name), append(fds, int(f.Fd())), append(files, f)
	}
	text, err := json.Marshal(names)
	if err != nil {
		return err
	}
	if _, _, err := c.WriteMsgUnix(text, syscall.UnixRights(fds...), nil); err != nil {
		return err
	}
	said, err := bufio.NewReaderSize(c, len(handoverReady)).ReadString('\n')
	if err == nil && said != handoverReady {
		err = fmt.Errorf("the other gateway replied %q", said)
	}
	return err
}
