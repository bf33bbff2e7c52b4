package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"weir/internal/answercache"
	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/toolloop"
)

// offersTools reports whether the gateway runs tools of MCP servers for the model of the request.
func offersTools(in *intake) bool {
	in.loops = in.server.tools != nil && in.Op.Op == llm.OpChat && toolloop.Offers(in.Body)
	return in.loops
}

// scanTools reads the head of a request that offers tools. Each request of the loop to a model passes through all
// stages, so nothing else is read or reserved here.
func scanTools(in *intake) error {
	turn, err := in.held.Turn(len(in.Body))
	if err != nil {
		return err
	}
	defer turn.End()
	if err := scanHead(in); err != nil {
		return err
	}
	if in.message != nil && in.message.Prepares {
		return llm.Invalid("generate", "A request that offers tools of MCP servers cannot be prepared without asking "+
			"the model. Leave generate out.")
	}
	if in.r.Header.Get("Idempotency-Key") != "" {
		return llm.Invalid("Idempotency-Key", "A request that runs tools of MCP servers cannot be repeated without "+
			"effect. Leave the Idempotency-Key out.")
	}
	_, err = in.own.attribute(&in.Request, in.r.Header, in.principal)
	return err
}

// runTools answers a request that offers tools by a loop of requests to the model and of calls. They are attempts of
// one request, with numbers in turn.
func (q *request) runTools() error {
	in := &q.in
	attempts := 0
	in.commonHeaders(dialect.FieldsIn(in.w.Header()), in.id.text)
	return in.server.tools.Serve(in.r.Context(), in.w, &toolloop.Request{
		Caller: toolloop.Caller{
			Principal: in.principal, Token: in.token, Attribution: in.own.attribution, Request: in.id.UUID,
			Arrived: in.started,
		},
		Dialect: in.Dialect.Name, Body: in.Body, Stream: in.Head.Stream, Reserve: in.held.Reserve,
		Next: func() int {
			attempts++
			return attempts
		},
		Ask: func(ctx context.Context, body []byte) (*toolloop.Answer, error) {
			return q.askInLoop(ctx, body, &attempts)
		},
	})
}

// askInLoop sends a request of the loop through the pipeline, as attempts after the earlier ones.
func (q *request) askInLoop(ctx context.Context, body []byte, attempts *int) (*toolloop.Answer, error) {
	in, s := &q.in, q.in.server
	r := in.r.Clone(ctx)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	for _, name := range []string{"Content-Length", "Content-Encoding", "Accept-Encoding", "Accept"} {
		r.Header.Del(name)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header[answercache.Header] = []string{answercache.Off} // a stored answer calls no tools
	w := &loopAnswer{header: http.Header{}}
	counted := counter{q.x.measured.route, in.r.URL.Path}
	inner := s.newRequest(in.id.UUID, w, r, in.Dialect, in.Op, in.permission, counted)
	inner.in.earlier, inner.in.arrived, inner.in.tally = *attempts, in.arrived, in.tally
	if in.token == "" {
		inner.in.principal = in.principal
	}
	inner.handle()
	*attempts += inner.x.spent.attempts()
	if inner.isUnshared() {
		inner.reset()
		s.requests.Put(inner)
	}
	if w.longer {
		return nil, llm.Errorf(llm.CodeProviderError, "The model's answer has more than %d bytes.", maxLoopAnswer)
	}
	return &toolloop.Answer{Status: w.status, Header: w.header, Body: w.body.Bytes()}, nil
}

// maxLoopAnswer bounds an answer in a loop, in bytes.
const maxLoopAnswer = 16 << 20

// errLonger ends an answer beyond the bound.
var errLonger = errors.New("gateway: the answer in a loop is too long")

// loopAnswer is an answer to a request of a loop.
type loopAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
	longer bool
}

// Header implements http.ResponseWriter.
func (w *loopAnswer) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter. The headers lie in memory that is used again.
func (w *loopAnswer) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	copied := make(http.Header, len(w.header))
	for name, values := range w.header {
		for _, v := range values {
			copied[name] = append(copied[name], string([]byte(v)))
		}
	}
	w.header = copied
}

// Write implements http.ResponseWriter.
func (w *loopAnswer) Write(b []byte) (int, error) {
	if w.WriteHeader(http.StatusOK); w.body.Len()+len(b) > maxLoopAnswer {
		w.longer = true
		return 0, errLonger
	}
	return w.body.Write(b)
}
