package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/opensocket"
	"weir/internal/store"
	"weir/internal/websocket"
)

// testSockets checks that the WebSockets of live nodes are listed as they were reported last, and not those of others,
// and that a person ends one through its node.
func testSockets(t *testing.T, f *fixture) {
	ids := make([]uuid.UUID, 5)
	for i := range ids {
		ids[i] = must.Get(uuid.NewV7())(t)
	}
	state := func(i int, account string, charge llm.Money) websocket.Described {
		return websocket.Described{ID: ids[i], State: websocket.State{
			API: "responses", Account: account, Key: "k", Model: "m", Began: f.clock(), Active: f.clock(),
			Requests: int64(charge), Running: 1, Charge: charge, Uncertain: charge > 5,
		}}
	}
	one, other := must.Get(uuid.NewV7())(t), must.Get(uuid.NewV7())(t)
	report := func(want string, c opensocket.Changes) {
		t.Helper()
		must.Equal(t, fmt.Sprint(must.Get(f.Sockets.ReportSockets(t.Context(), &c))(t)), want, "those that were ended")
	}
	list := func(q store.SocketsQuery) string {
		t.Helper()
		var names []string
		for _, x := range must.Get(f.Sockets.List(t.Context(), q))(t) {
			for i := range ids {
				if ids[i] == x.ID {
					names = append(names, fmt.Sprint(i, x.Account, int64(x.Charge)))
				}
			}
			if x.API != "responses" || x.Key != "k" || x.Model != "m" || x.Running != 1 || x.Uncertain != (x.Charge > 5) || !x.Began.Equal(x.Active) {
				t.Errorf("got %+v", x)
			}
		}
		return strings.Join(names, " ")
	}
	report("[]", opensocket.Changes{Node: one, All: true, Open: []websocket.Described{state(0, "a", 1), state(1, "b", 2)}})
	report("[]", opensocket.Changes{Node: other, Open: []websocket.Described{state(2, "a", 3), state(3, "a", 4)}})
	must.Equal(t, list(store.SocketsQuery{Limit: 9}), "0a1 1b2 2a3 3a4", "all")
	must.Equal(t, list(store.SocketsQuery{Account: "a", Limit: 2}), "0a1 2a3", "the first of an account")
	must.Equal(t, list(store.SocketsQuery{Account: "a", After: ids[2].String(), Limit: 2}), "3a4", "the others of it")
	must.Equal(t, list(store.SocketsQuery{Account: "b", ID: ids[2], Limit: 2}), "", "one of another account")

	for _, foreign := range []uuid.UUID{ids[4], ids[2]} { // of no one, and of another account
		if err := f.Sockets.End(t.Context(), ann(), "b", foreign); !errors.Is(err, store.ErrNoSocket) {
			t.Errorf("end %s: got %v, want ErrNoSocket", foreign, err)
		}
	}
	for range 2 { // once more changes nothing
		must.Do(t, f.Sockets.End(t.Context(), ann(), "a", ids[2]))
	}
	if log := must.Get(f.Audit.Entries(t.Context(), audit.Query{Limit: 2}))(t); len(log) != 1 || log[0].Action != audit.SocketEnded || log[0].Account != "a" {
		t.Errorf("the audit log has %+v, want one end", log)
	}
	report("[]", opensocket.Changes{Node: one})
	report("["+ids[2].String()+"]", opensocket.Changes{Node: other, Open: []websocket.Described{state(2, "a", 9)}})
	// A node that has missed a report reports all again: it has not heard of the end.
	report("["+ids[2].String()+"]", opensocket.Changes{Node: other, All: true, Open: []websocket.Described{state(2, "a", 9), state(3, "a", 4)}})
	report("[]", opensocket.Changes{Node: other, Gone: []uuid.UUID{ids[2], ids[0]}}) // ids[0] is not its own
	must.Equal(t, list(store.SocketsQuery{Limit: 9}), "0a1 1b2 3a4", "after an end")

	f.advance(11 * time.Second)
	must.Equal(t, list(store.SocketsQuery{Limit: 9}), "", "of silent nodes")
	if err := f.Sockets.End(t.Context(), ann(), "", ids[0]); !errors.Is(err, store.ErrNoSocket) {
		t.Errorf("end one of a silent node: got %v, want ErrNoSocket", err)
	}
	report("[]", opensocket.Changes{Node: one, All: true, Open: []websocket.Described{state(4, "b", 7)}}) // it was killed
	must.Equal(t, list(store.SocketsQuery{Limit: 9}), "4b7", "after a node's start")
	f.advance(2 * time.Hour)
	report("[]", opensocket.Changes{Node: one, All: true})
	report("[]", opensocket.Changes{Node: other})
	must.Equal(t, list(store.SocketsQuery{Limit: 9}), "", "after the rows of a node that was silent for long are deleted")
}
