package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/internal/llm"
	"weir/internal/mcp"
	"weir/internal/rawjson"
)

// Options describes a server.
type Options struct {
	// Command is the absolute path of a program, and its arguments. No shell reads it.
	Command []string
	// Env is the whole environment of the process, as NAME=value.
	Env []llm.Secret
	// MaxLine bounds a message of the server in bytes; 0 for 4 MiB.
	MaxLine int
	// Log receives what the process writes to its standard error, without the values of Env.
	Log *slog.Logger
	// Now is the clock of this machine; nil for time.Now.
	Now func() time.Time
}

const (
	usualLine = 4 << 20
	// maxCalls bounds the requests that wait for an answer.
	maxCalls = 256
	// discoverFor is how long a server may take to answer the first server/discover, which older ones may ignore.
	discoverFor = 2 * time.Second
	// The first restart is immediate. Further ones wait for a second, then twice as long each time, up to maxRest. A
	// process from whose start steady has passed begins anew with that.
	maxRest = time.Minute
	steady  = time.Minute

	methodListen      = mcp.MethodListen
	methodInitialized = "notifications/initialized"
	methodCancelled   = "notifications/cancelled"
)

var (
	errClosed  = errors.New("the configuration no longer has this command")
	errResting = errors.New("the process ended several times, and is not started again yet")
	errFull    = errors.New("too many requests wait for the process")
)

// Server sends requests to one process, which it starts at the first request and again after it ended. Its methods may
// be called concurrently.
type Server struct {
	o Options

	mu       sync.Mutex
	running  *process // the last one; nil before the first request
	lives    int      // processes that were started
	failures int      // ends of processes that did not live long, one after another
	rest     time.Time
	legacy   bool // the server knows no server/discover
	closed   bool
}

// New returns a server whose process is not started yet.
func New(o Options) *Server {
	if o.MaxLine == 0 {
		o.MaxLine = usualLine
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Server{o: o}
}

// Close ends the process, its children and all requests in flight. It waits for the end.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	p := s.running
	s.mu.Unlock()
	if p != nil {
		p.end()
		<-p.over
	}
}

// RoundTrip sends one message and returns the response to it as an HTTP response. Each life of the process is a
// session.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	switch r.Method {
	case http.MethodGet:
		return s.listen(r)
	case http.MethodPost:
		return s.post(r)
	}
	return respond(r, http.StatusMethodNotAllowed, nil, 0), nil
}

// listen returns the stream of notifications of a session.
func (s *Server) listen(r *http.Request) (*http.Response, error) {
	p, err := s.process(r.Header.Get(mcp.HeaderSession))
	if err != nil {
		return nil, err
	}
	if p == nil {
		return respond(r, http.StatusNotFound, nil, 0), nil
	}
	w, err := p.stream()
	if err != nil {
		return respond(r, http.StatusNotFound, nil, 0), nil //nolint:nilerr // the process has ended
	}
	return streamed(r, p.events(r, w), p.life), nil
}

// post sends one message.
func (s *Server) post(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	if err = errors.Join(err, r.Body.Close()); err != nil {
		return nil, err
	}
	m, err := mcp.ParseMessage(text)
	if err != nil {
		return nil, err
	}
	if m.Method == mcp.MethodDiscover && s.isLegacy() {
		return respond(r, http.StatusNotFound, unknown(&m), 0), nil
	}
	p, err := s.process(r.Header.Get(mcp.HeaderSession))
	if err != nil {
		return nil, err
	}
	if p == nil {
		return respond(r, http.StatusNotFound, nil, 0), nil
	}
	return s.pass(p, r, &m)
}

// pass sends a message to a process, and waits for the response if it is a request.
func (s *Server) pass(p *process, r *http.Request, m *mcp.Message) (*http.Response, error) {
	var line []byte
	var err error
	switch {
	case m.Method == mcp.MethodInitialize:
		line, err = p.initialize(r.Context(), m)
	case m.Method == mcp.MethodDiscover:
		if line, err = s.discover(r.Context(), p, m); line == nil && err == nil {
			return respond(r, http.StatusNotFound, unknown(m), 0), nil
		}
	case m.IsRequest():
		var w *waiting
		if w, err = p.begin(r.Context(), m, owner(r)); err == nil {
			return p.answer(r, w)
		}
	case m.Method == methodInitialized:
		err = p.initialized(r.Context())
	}
	switch {
	case errors.Is(err, errUnsent) && r.Header.Get(mcp.HeaderSession) != "":
		return respond(r, http.StatusNotFound, nil, 0), nil // it ran nothing: the client begins a session anew
	case err != nil:
		return nil, err
	case line == nil:
		return respond(r, http.StatusAccepted, nil, p.life), nil
	}
	return respond(r, http.StatusOK, line, p.life), nil
}

// owner returns whose call a request is: an account.
func owner(r *http.Request) string {
	first, _, _ := strings.Cut(r.Header.Get(mcp.HeaderCaller), " ")
	return first
}

// discover asks a server for its revisions. It returns nil if the server is older than the method: it does not answer,
// answers with an error, or ends.
func (s *Server) discover(ctx context.Context, p *process, m *mcp.Message) ([]byte, error) {
	within, cancel := context.WithTimeout(ctx, discoverFor)
	defer cancel()
	line, err := p.request(within, m)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if answer, wrong := mcp.ParseMessage(line); err == nil && wrong == nil && answer.Error == nil {
		return line, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.legacy = true
	return nil, nil
}

func (s *Server) isLegacy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.legacy
}

// process returns the process of a session, nil if it has ended; without a session the running process, or a new one.
func (s *Server) process(session string) (*process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.running
	alive := p != nil && !p.isOver()
	switch {
	case s.closed:
		return nil, errClosed
	case session != "" && (!alive || session != strconv.Itoa(p.life)):
		return nil, nil //nolint:nilnil // no process has the session
	case alive:
		return p, nil
	}
	if p != nil && p.counted.CompareAndSwap(false, true) {
		s.note(p)
	}
	if s.o.Now().Before(s.rest) {
		return nil, errResting
	}
	s.lives++
	p, err := start(&s.o, s.lives)
	if err != nil {
		s.failures++
		s.pause()
		s.o.Log.Warn("an MCP server's command cannot be started", "err", err)
		return nil, fmt.Errorf("start the command: %w", err)
	}
	s.running = p
	return p, nil
}

// note counts a process that has ended, before the next one.
func (s *Server) note(p *process) {
	if s.o.Now().Sub(p.began) >= steady {
		s.failures = 0
	}
	s.failures++
	s.pause()
}

// pause sets the time before which no process is started.
func (s *Server) pause() {
	if s.failures < 2 {
		return
	}
	const doublings = 6 // of a second, above maxRest
	s.rest = s.o.Now().Add(min(time.Second<<min(s.failures-2, doublings), maxRest))
}

// respond returns a response with a message, which may be nil.
func respond(r *http.Request, status int, message []byte, life int) *http.Response {
	h := http.Header{}
	if message != nil {
		h.Set("Content-Type", "application/json")
	}
	if life != 0 {
		h.Set(mcp.HeaderSession, strconv.Itoa(life))
	}
	return &http.Response{
		StatusCode: status, Header: h, Body: io.NopCloser(bytes.NewReader(message)), Request: r,
		ContentLength: int64(len(message)),
	}
}

// unknown returns the error of a request with a method that the server does not have.
func unknown(m *mcp.Message) []byte {
	e := mcp.RPCError{Code: mcp.CodeMethod, Message: "the server does not know " + m.Method}
	return mcp.AppendResponse(nil, m.ID, nil, e.JSON())
}

// command returns the command of a new process. Its environment is only what the options name.
func (o *Options) command() *exec.Cmd {
	cmd := exec.Command(o.Command[0], o.Command[1:]...) //nolint:gosec,noctx // the operator's; Close ends it
	cmd.Env, cmd.SysProcAttr = make([]string, len(o.Env)), attributes()
	cmd.Dir = filepath.VolumeName(o.Command[0]) + string(filepath.Separator)
	for i, e := range o.Env {
		cmd.Env[i] = e.Reveal()
	}
	return cmd
}

// sent reports that a request was handed to the process.
func sent(ctx context.Context) {
	if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.WroteHeaders != nil {
		trace.WroteHeaders()
	}
}

// withID returns a response under another id.
func withID(line, id []byte) []byte { return rawjson.Splice(nil, line, rawjson.Set(line, "id", id)) }
