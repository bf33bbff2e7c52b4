package toolloop

import (
	"bytes"
	"context"
	"net/http"
	"strconv"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// conversation is a request in the format of a client API, and its answer so far.
type conversation interface {
	// body returns the next request to the model. The last one offers no tools of servers.
	body(last bool) []byte
	// read adds a model's answer, and returns the calls of servers' tools in it, and whether the client runs others.
	read(answer []byte) (calls []*call, clients bool, err error)
	// add adds the results of calls for the model and for the client.
	add(calls []*call)
	// whole returns the answer. Failed is the error that ended the loop; nil for none.
	whole(u *usage, failed *llm.Error) []byte
	// events returns the events of all that was added since the last call, and with the answer those up to the end.
	events(answer []byte) []byte
}

// Offers reports whether the body of a request offers tools of configured servers, in a tool of the type mcp with a
// label and without an address. A server with an address is left to the provider.
func Offers(body []byte) bool {
	// Texts have few underscores, and so the search compares little.
	if !bytes.Contains(body, []byte(`_label"`)) && !bytes.Contains(body, []byte(`_toolset"`)) {
		return false
	}
	servers := serversIn(body)
	for _, tool := range rawjson.Elements(rawjson.Get(body, "tools")) {
		if _, ours := ourToolset(servers, tool); ours || isOurs(tool) {
			return true
		}
	}
	return false
}

func isOurs(tool []byte) bool {
	for _, address := range []string{"server_url", "connector_id", "tunnel_id"} {
		if rawjson.Present(rawjson.Get(tool, address)) {
			return false
		}
	}
	return rawjson.Text(rawjson.Get(tool, "type")) == "mcp" && rawjson.Present(rawjson.Get(tool, "server_label"))
}

// Serve answers a request that offers tools. The error is for the client, if nothing was written.
func (l *Loop) Serve(ctx context.Context, w http.ResponseWriter, q *Request) error {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	r := &run{loop: l, ctx: ctx, request: q, functions: map[string]*function{}, most: maxCalls}
	var talk conversation
	var err error
	switch q.Dialect {
	case "responses":
		talk, err = r.newResponses()
	case "openai":
		talk, err = r.newChat()
	case "anthropic":
		talk, err = r.newMessages()
	default:
		err = llm.Invalid("tools", "At this API the gateway runs no tools of MCP servers. Use the Responses API, "+
			"Chat Completions or the Messages API, or call them at /mcp.")
	}
	if err != nil {
		return err
	}
	return r.answer(w, talk)
}

// answer runs the loop, and writes its answer.
func (r *run) answer(w http.ResponseWriter, talk conversation) error {
	if r.request.Stream {
		r.stream = stream{w: w, silent: keepAlive}
	}
	if r.broken != nil {
		return r.end(w, nil, talk, r.broken)
	}
	for round := 1; ; round++ {
		last := round == maxRounds || r.made >= r.most
		goes, answer, err := r.round(talk, last)
		switch {
		case err != nil && round == 1 && !r.stream.begun && r.ran == 0:
			return err
		case answer != nil && answer.Status != http.StatusOK:
			answer.write(w)
			return nil
		case err != nil:
			return r.end(w, nil, talk, err)
		case !goes || last:
			return r.end(w, answer, talk, nil)
		}
		r.stream.write(talk.events(nil))
	}
}

// costHeader is the header with the cost of a whole answer, which has capitals of its own.
const costHeader = "X-Weir-Cost-USD"

// costIn returns the cost in the headers of a whole answer; empty if it is unknown.
func costIn(h http.Header) string {
	for name, values := range h {
		if name == costHeader && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

// round asks the model once, and makes the calls of its answer. It returns the model's refusal if the client has to get
// nothing else.
func (r *run) round(talk conversation, last bool) (goes bool, answer *Answer, err error) {
	r.stream.await(func() {
		if last {
			r.most = r.made // a model may call a tool that it was not offered
		}
		if answer, err = r.request.Ask(r.ctx, talk.body(last)); err == nil && answer.Status == http.StatusOK {
			if err = r.grow(len(answer.Body)); err == nil {
				goes, err = r.turn(answer, talk)
			}
		}
	})
	if err == nil && answer.Status != http.StatusOK {
		if r.stream.begun || r.asked || r.ran > 0 {
			return false, nil, refused(answer)
		}
		return false, answer, nil
	}
	r.asked = true
	return goes, answer, err
}

// turn reads an answer and makes its calls. It reports whether the model is asked again.
func (r *run) turn(answer *Answer, talk conversation) (goes bool, err error) {
	r.usage.add(rawjson.Get(answer.Body, "usage"), costIn(answer.Header))
	calls, clients, err := talk.read(answer.Body)
	if err != nil {
		return false, err
	}
	asks := false
	var made []*call
	for _, c := range calls {
		if !c.of.approved {
			asks = true
			continue
		}
		if err := r.execute(c); err != nil {
			talk.add(made)
			return false, err
		}
		made = append(made, c)
	}
	talk.add(calls)
	return len(calls) > 0 && !asks && !clients, nil
}

// refused returns the error of an answer, in the words of its client API.
func refused(a *Answer) error {
	e := &llm.Error{Code: llm.CodeProviderError, Message: rawjson.Text(rawjson.Get(a.Body, "error", "message"))}
	quota := rawjson.Text(rawjson.Get(a.Body, "error", "code")) == "insufficient_quota" // OpenAI's word for a budget
	switch {
	case quota, a.Status == http.StatusPaymentRequired:
		e.Code = llm.CodeBudgetExceeded
	case a.Status == http.StatusTooManyRequests:
		e.Code = llm.CodeRateLimited
	case a.Status == http.StatusServiceUnavailable:
		e.Code = llm.CodeProviderUnavailable
	}
	return e
}

// write passes an answer on.
func (a *Answer) write(w http.ResponseWriter) {
	h := w.Header()
	for name, values := range a.Header {
		h[name] = values
	}
	w.WriteHeader(a.Status)
	dialect.WriteBody(w, a.Body, writeWithin)
}

// end writes the answer of the loop, or its end as events. It returns a failure that the format cannot express beside
// an answer, if nothing was written.
func (r *run) end(w http.ResponseWriter, answer *Answer, talk conversation, failure error) error {
	var failed *llm.Error
	if failure != nil {
		failed = llm.AsError(failure)
	}
	body := talk.whole(&r.usage, failed)
	switch {
	case body == nil && !r.stream.begun:
		return failure
	case body == nil:
		r.stream.write(failedEvent(r.request.Dialect, failed))
		return nil
	case r.stream.begun:
		r.stream.write(talk.events(body))
		return nil
	}
	h := w.Header()
	if answer != nil {
		for name, values := range answer.Header {
			h[name] = values
		}
	}
	delete(h, "Content-Length")
	delete(h, costHeader) // a stream has it in its usage
	if r.stream.w != nil {
		r.stream.write(talk.events(body))
		return nil
	}
	if !r.usage.unknown {
		h[costHeader] = []string{r.usage.cost.String()}
	}
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(http.StatusOK)
	dialect.WriteBody(w, body, writeWithin)
	return nil
}

// failedEvent returns the event of an error in a stream.
func failedEvent(format string, e *llm.Error) []byte {
	if format == "anthropic" {
		b := []byte("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":")
		return append(rawjson.AppendString(b, e.Message), "}}\n\n"...)
	}
	b := []byte(`data: {"error":{"type":"server_error","param":null,"code":null,"message":`)
	return append(rawjson.AppendString(b, e.Message), "}}\n\ndata: [DONE]\n\n"...)
}
