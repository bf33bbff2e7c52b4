package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"
)

// framesKind is one measurement of relayed frames.
type framesKind struct {
	name, title string
	length      int // bytes of a message in each direction
	exchanges   int // of one turn, each with a frame in both directions
}

// framesConns is the number of sessions, which exchange at the same time.
const framesConns = 64

func framesKinds() []framesKind {
	return []framesKind{
		{"frames-text", "Frames of 250 bytes, relayed; CPU a frame", 250, 16_000},
		{"frames-sound", "Frames of 6,400 bytes (100 ms of sound), relayed; CPU a frame", 6400, 8000},
	}
}

// framesCommand measures the processor time of a relayed frame of Realtime sessions, next to nginx.
func framesCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench frames", flag.ContinueOnError)
	gateway := fs.String("gateway", "", "`path` of the build to measure (default: the current source)")
	base := fs.String("base", "", "`path` of another build to measure beside it")
	rounds := fs.Int("rounds", 7, "`number` of rounds of each kind")
	asJSON := fs.Bool("json", false, "print JSON")
	dir := fs.String("dir", "", "`directory` for temporary data (default the system's)")
	if err := parse(fs, args, stderr); err != nil {
		return err
	}
	if *rounds < 1 {
		return fmt.Errorf("%w: --rounds must be at least 1", errUsage)
	}
	b := &bench{plan: newPlan(false), gateway: *gateway, progress: stderr}
	f := &framesRun{bench: b, base: *base, rounds: *rounds}
	err := b.all(ctx, *dir, []step{
		{"starting the mock provider", b.startMock},
		{"starting nginx", b.startNginx},
		{"starting the gateways", f.start},
		{"relaying frames in turns", f.all},
	})
	return b.report(stdout, *asJSON, err)
}

type framesRun struct {
	*bench
	base     string // path; empty for none
	rounds   int
	subjects []*subject // nginx first, if there is one
}

func (f *framesRun) start(ctx context.Context) error {
	if f.nginx != nil {
		f.subjects = append(f.subjects, f.nginx)
	}
	for _, of := range []struct{ name, path string }{{onBase, f.base}, {onNew, f.gateway}} {
		if of.path == "" {
			continue
		}
		program, err := f.built(ctx, "frames-"+of.name, of.path)
		if err != nil {
			return err
		}
		_, s, err := f.startVariant(ctx, filepath.Base(program)+"-data", settings{gateway: program})
		if err != nil {
			return err
		}
		s.name = of.name
		f.subjects = append(f.subjects, s)
	}
	return nil
}

// all measures all kinds.
func (f *framesRun) all(ctx context.Context) error {
	for _, k := range framesKinds() {
		if err := f.kind(ctx, &k); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return nil
}

func (f *framesRun) kind(ctx context.Context, k *framesKind) error {
	var all []*talkers
	for _, s := range f.subjects {
		t := &talkers{subject: s, kind: k, watch: watch{pid: s.pid()}}
		defer t.close()
		if err := t.open(); err != nil {
			return fmt.Errorf("%s: %w%s", s.name, err, s.lastWords())
		}
		all = append(all, t)
	}
	for round := range f.rounds {
		for i := range all {
			t := all[(i+round)%len(all)]
			if err := t.turn(ctx); err != nil {
				return fmt.Errorf("%s: %w%s", t.subject.name, err, t.subject.lastWords())
			}
		}
	}
	s := f.findings.section(k.name, k.title, column{figCPU, "µs CPU a frame", 2}, column{figRatio, "of nginx", 3})
	for _, t := range all {
		row := s.row(t.subject.name).put(figCPU, t.cpu...)
		if f.nginx != nil {
			var quotients []float64
			for i := range t.cpu {
				quotients = append(quotients, t.cpu[i]/all[0].cpu[i])
			}
			row.put(figRatio, quotients...)
		}
	}
	return nil
}

// talkers are the sessions with one subject.
type talkers struct {
	subject *subject
	kind    *framesKind
	conns   []*talker
	watch   watch
	cpu     []float64 // by round: µs a relayed frame
}

// talker is one session.
type talker struct {
	conn  net.Conn
	in    *bufio.Reader
	frame []byte
}

// talkLimit bounds a handshake and a turn.
const talkLimit = 30 * time.Second

func (t *talkers) open() error {
	frame := appendFrame(nil, event(askedEvent, t.kind.length), []byte{1, 2, 3, 4})
	for range framesConns {
		conn, err := net.DialTimeout("tcp4", t.subject.target.String(), talkLimit)
		if err != nil {
			return err
		}
		one := &talker{conn, bufio.NewReaderSize(conn, 16<<10), frame}
		t.conns = append(t.conns, one)
		if err := one.begin(t.subject); err != nil {
			return err
		}
	}
	return t.exchange(framesConns)
}

// begin makes the handshake, and waits for the beginning of the session.
func (t *talker) begin(s *subject) error {
	model := wholeModel
	if s.key != "" {
		model = "house/" + model
	}
	_ = t.conn.SetDeadline(time.Now().Add(talkLimit))
	if _, err := fmt.Fprintf(t.conn, "GET %s?model=%s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\n"+
		"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"+
		"Authorization: Bearer %s\r\n\r\n", realtimePath, model, s.target, s.key); err != nil {
		return err
	}
	h, err := readHead(t.in)
	if err != nil {
		return err
	}
	if h.status() != http.StatusSwitchingProtocols {
		return errors.New(h.first)
	}
	_, _, err = skipFrame(t.in)
	return err
}

// turn exchanges frames, and measures the processor time until the subject is quiet.
func (t *talkers) turn(ctx context.Context) error {
	if err := t.watch.mark(); err != nil {
		return err
	}
	if err := t.exchange(t.kind.exchanges); err != nil {
		return err
	}
	if err := t.watch.quiet(ctx); err != nil {
		return err
	}
	t.cpu = append(t.cpu, micros(t.watch.cpu)/float64(2*t.kind.exchanges))
	return nil
}

// exchange sends so many frames, and waits for the answer to each.
func (t *talkers) exchange(n int) error {
	var all sync.WaitGroup
	errs := make([]error, len(t.conns))
	for i, c := range t.conns {
		all.Go(func() {
			_ = c.conn.SetDeadline(time.Now().Add(talkLimit))
			for range n / len(t.conns) {
				if errs[i] = c.ask(t.kind.length); errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// ask sends a frame, and waits for the answer.
func (t *talker) ask(length int) error {
	if _, err := t.conn.Write(t.frame); err != nil {
		return err
	}
	first, got, err := skipFrame(t.in)
	for err == nil && first == pingFrame {
		pong := append([]byte{pongFrame, maskedBit | byte(got), 0, 0, 0, 0}, make([]byte, got)...) // the mask is 0
		if _, err = io.ReadFull(t.in, pong[len(pong)-got:]); err == nil {
			_, err = t.conn.Write(pong)
		}
		if err == nil {
			first, got, err = skipFrame(t.in)
		}
	}
	if err == nil && got != length {
		err = fmt.Errorf("a frame of %d bytes came back as one of %d", length, got)
	}
	return err
}

const maskedBit = 0x80 // of a frame's second byte

func (t *talkers) close() {
	for _, c := range t.conns {
		_ = c.conn.Close()
	}
}
