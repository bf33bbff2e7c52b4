package toolserver

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"

	"weir/internal/mcp"
	"weir/internal/rawjson"
	"weir/internal/tool"
)

// abilityMark is before the abilities in the id of a session: the gateway remembers no session.
const abilityMark = "."

// asked has the requests of servers that clients have not answered yet. They are in the memory of this gateway.
type asked struct {
	mu  sync.Mutex
	all map[question]chan *mcp.Message
}

// question identifies a request of a server: only the session that was asked can answer it.
type question struct {
	session sessionKey
	id      string // JSON
}

// converse connects a call with its client: notifications and requests of the server go there.
func converse(x *exchange, c *tool.Call) {
	x.stream = newStream(x.w)
	c.Notify = x.stream.notify
	if x.stateless() {
		return
	}
	id := sessionOf(x).id
	if _, able, ok := strings.Cut(id, abilityMark); ok && len(id) <= maxID {
		c.Abilities, c.Client = mcp.KnownAbilities(able), id
		c.Ask = func(ctx context.Context, method string, params []byte) (result, failed []byte, err error) {
			return ask(ctx, x, method, params)
		}
	}
}

// ask sends a request of a server to the client, and waits for the response.
func ask(ctx context.Context, x *exchange, method string, params []byte) (result, failed []byte, err error) {
	id, err := json.Marshal(x.server.o.Ledger.NewID())
	if err != nil {
		return nil, nil, err
	}
	q, answer := question{sessionOf(x), string(id)}, make(chan *mcp.Message, 1)
	x.server.asked.add(q, answer)
	defer x.server.asked.remove(q)
	if err := x.stream.notify(mcp.AppendMessage(nil, id, method, params)); err != nil {
		return nil, nil, err
	}
	select {
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	case m := <-answer:
		return m.Result, m.Error, nil
	}
}

func (a *asked) add(q question, answer chan *mcp.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all = map[question]chan *mcp.Message{}
	}
	a.all[q] = answer
}

func (a *asked) remove(q question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.all, q)
}

// answer passes a response to the request that it answers. Other messages are dropped.
func (a *asked) answer(session sessionKey, m *mcp.Message) {
	if m.Method != "" || m.Result == nil && m.Error == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	q := question{session, string(bytes.TrimSpace(m.ID))}
	if answer := a.all[q]; answer != nil && rawjson.Present(m.ID) {
		delete(a.all, q)
		answer <- m
	}
}
