package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/mcp"
	"weir/internal/rawjson"
)

const (
	// writeFor bounds how long a process may not read its input.
	writeFor = 30 * time.Second
	// askFor is how long a process may take to end when it is asked to, and drainFor how long its last lines are read.
	askFor   = 2 * time.Second
	drainFor = time.Second
	// maxReplies bounds the answers to requests of the server that wait to be written. Further ones are dropped.
	maxReplies = 16
)

// errUnsent means that a process has ended before a message was written to it.
var errUnsent = errors.New("the process has ended")

// process is one life of the command.
type process struct {
	o       *Options
	life    int // from 1; the name of the session
	began   time.Time
	counted atomic.Bool
	in      *os.File
	out     chan []byte // lines to write
	replies chan []byte // likewise, to requests of the server
	over    chan struct{}
	ending  chan struct{} // closed to end the process
	end     func()

	turn  chan struct{} // of initialize
	first []byte        // the response to it; nil before
	once  atomic.Bool   // methodInitialized was sent

	mu        sync.Mutex
	calls     map[string]*waiting // requests in flight by id; nil when the process has ended
	listeners map[string]*waiting // for notifications outside of calls
	streams   int                 // that were opened
	owner     string              // of all calls so far; empty for none
	shared    bool                // there were calls of several owners
}

// start starts a process.
func start(o *Options, life int) (*process, error) {
	p := &process{
		o: o, life: life, began: o.Now(), out: make(chan []byte), replies: make(chan []byte, maxReplies),
		over: make(chan struct{}), ending: make(chan struct{}), turn: make(chan struct{}, 1),
		calls: map[string]*waiting{}, listeners: map[string]*waiting{},
	}
	p.end = sync.OnceFunc(func() { close(p.ending) })
	started := make(chan error)
	go p.live(started)
	return p, <-started
}

// live starts the command and waits for its end, on one thread: with the thread that starts it, it would end.
func (p *process) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := p.o.command()
	outputs, err := p.open(cmd)
	if err == nil {
		err = cmd.Start()
	}
	for _, f := range outputs.others {
		_ = f.Close() // of the process
	}
	started <- err
	if err != nil {
		outputs.close()
		return
	}
	var reading sync.WaitGroup
	reading.Go(func() { p.read(outputs.out) })
	reading.Go(func() { p.log(outputs.err) })
	go p.write()
	exited := make(chan struct{})
	go p.stop(cmd.Process, exited)
	state, err := cmd.Process.Wait()
	close(exited)
	kill(cmd.Process) // its children
	drained := make(chan struct{})
	go func() { reading.Wait(); close(drained) }()
	select {
	case <-drained:
	case <-time.After(drainFor): // a process that left the group has the pipe
	}
	outputs.close()
	<-drained
	p.finish(state, err)
}

// finish ends all requests in flight.
func (p *process) finish(state *os.ProcessState, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.over) // first: who then hears of the end gets a new process
	for _, all := range []map[string]*waiting{p.calls, p.listeners} {
		for _, w := range all {
			close(w.lines)
		}
	}
	p.calls, p.listeners = nil, nil
	p.o.Log.Info("the process of an MCP server ended", "state", fmt.Sprint(state), "err", err)
}

// stop waits until the process is to end, and ends it.
func (p *process) stop(of *os.Process, exited <-chan struct{}) {
	select {
	case <-exited:
		return
	case <-p.ending:
	}
	_ = p.in.Close() // it may have ended
	ask(of)
	select {
	case <-exited:
	case <-time.After(askFor):
		kill(of)
	}
}

// pipes are the ends of the pipes of a process.
type pipes struct {
	in, out, err *os.File
	others       []*os.File // those of the process
}

func (p *pipes) close() {
	for _, f := range []*os.File{p.in, p.out, p.err} {
		if f != nil {
			_ = f.Close() // it may be closed
		}
	}
}

// open opens the pipes of a command.
func (p *process) open(cmd *exec.Cmd) (all pipes, err error) {
	stdin, in, err := os.Pipe()
	if err != nil {
		return all, err
	}
	all.in, all.others, cmd.Stdin, p.in = in, append(all.others, stdin), stdin, in
	for _, to := range []struct {
		ours  **os.File
		child *io.Writer
	}{{&all.out, &cmd.Stdout}, {&all.err, &cmd.Stderr}} {
		ours, child, err := os.Pipe()
		if err != nil {
			return all, err
		}
		*to.ours, *to.child, all.others = ours, child, append(all.others, child)
	}
	return all, nil
}

func (p *process) isOver() bool {
	select {
	case <-p.over:
		return true
	case <-p.ending:
		return true
	default:
		return false
	}
}

// write writes lines until the process ends. A process that does not read is ended.
func (p *process) write() {
	for {
		var line []byte
		select {
		case line = <-p.replies: // first, in the order in which they were asked for
		default:
			select {
			case <-p.over:
				return
			case line = <-p.replies:
			case line = <-p.out:
			}
		}
		_ = p.in.SetWriteDeadline(time.Now().Add(writeFor)) // not everywhere
		if _, err := p.in.Write(append(line, '\n')); err != nil {
			p.end()
			return
		}
	}
}

// send hands a message over to be written.
func (p *process) send(ctx context.Context, line []byte) error {
	select {
	case p.out <- line:
		return nil
	case <-p.over:
		return errUnsent
	case <-p.ending:
		return errUnsent
	case <-ctx.Done():
		return ctx.Err()
	}
}

// request sends a request of the gateway and returns the line of its response.
func (p *process) request(ctx context.Context, m *mcp.Message) ([]byte, error) {
	w, err := p.begin(ctx, m, "")
	if err != nil {
		return nil, err
	}
	defer p.forget(w)
	for {
		if line, last, err := p.next(ctx, w); last || err != nil {
			return line, err
		}
	}
}

// cancel tells the server that nobody waits for a response.
func (p *process) cancel(w *waiting) {
	if w.method == mcp.MethodInitialize || w.method == "" {
		return // the protocol forbids it, or it is no request
	}
	params := append(rawjson.AppendMember(nil, "requestId", []byte(w.id)), '}')
	p.reply(mcp.AppendMessage(nil, nil, methodCancelled, params))
}

// reply hands over a message that may be lost.
func (p *process) reply(line []byte) {
	select {
	case p.replies <- line:
	default:
	}
}

// initialize initializes the session, once for all callers.
func (p *process) initialize(ctx context.Context, m *mcp.Message) ([]byte, error) {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-p.turn }()
	if p.first != nil {
		return withID(p.first, m.ID), nil
	}
	own := *m // no caller answers requests of the server
	own.Params = rawjson.Splice(nil, m.Params, rawjson.Set(m.Params, "capabilities", []byte("{}")))
	line, err := p.request(ctx, &own)
	if answer, wrong := mcp.ParseMessage(line); err == nil && wrong == nil && answer.Result != nil {
		p.first = line
	}
	return line, err
}

// initialized sends the notification that the session is initialized, once.
func (p *process) initialized(ctx context.Context) error {
	if p.once.Swap(true) {
		return nil
	}
	return p.send(ctx, mcp.AppendMessage(nil, nil, methodInitialized, nil))
}
