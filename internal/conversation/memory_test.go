package conversation_test

import (
	"strconv"
	"strings"
	"testing"

	"weir/internal/conversation"
	"weir/internal/must"
)

// connection is a client's connection with a memory of most bytes.
type connection struct {
	w      *world
	memory *conversation.Memory
	taken  int64
}

func (w *world) connection(most int64) *connection {
	c := &connection{w: w}
	c.memory = conversation.NewMemory(most, func(n int64) bool {
		c.taken += n
		return true
	}, func(n int64) { c.taken -= n })
	return c
}

// turn runs a request with its answer on the connection, and returns the provider's request.
func (c *connection) turn(request, response string) (string, error) {
	body, turn, err := c.w.Expand(c.w.t.Context(), owner("a"), []byte(request), c.memory, unbounded())
	if err == nil {
		must.Do(c.w.t, c.w.Keep(c.w.t.Context(), owner("a"), turn, []byte(response)))
	}
	return string(body), err
}

// TestConnectionContinuesUnstoredResponses checks that a request continues from the unstored responses of its own
// connection, and that no other connection does.
func TestConnectionContinuesUnstoredResponses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn(`{"input":"Zero"}`, answer("resp_0", says("msg_0", "Nought"))) // stored
	c := w.connection(1 << 20)
	must.Get(c.turn(`{"store":false,`+previous("resp_0")+`"input":"One"}`, answer("resp_1", says("msg_1", "First"))))(t)
	must.Get(c.turn(`{"store":false,`+previous("resp_1")+`"input":"Two"}`, answer("resp_2", says("msg_2", "Second"))))(t)
	third := `{"store":false,` + previous("resp_2") + `"input":"Three"}`
	got := must.Get(c.turn(third, answer("resp_3", "")))(t)
	want := `{"store":false,"input":[` + asks("Zero") + `,` + says("msg_0", "Nought") + `,` + asks("One") + `,` + says("msg_1", "First") + `,` +
		asks("Two") + `,` + says("msg_2", "Second") + `,` + asks("Three") + `]}`
	if got != want {
		t.Errorf("third request: got\n%s\nwant\n%s", got, want)
	}
	_, err := w.connection(1<<20).turn(third, "")
	wantError(t, err, lost("resp_2"))
	_, _, err = w.Expand(t.Context(), owner("a"), []byte(third), nil, unbounded())
	wantError(t, err, lost("resp_2"))
}

// TestFullMemoryForgetsOldConversations checks that a memory stays within its bound and forgets first what was
// continued longest ago.
func TestFullMemoryForgetsOldConversations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connection(10_000)
	long := strings.Repeat("x", 1_000)
	first := func() error {
		_, err := c.turn(`{"store":false,`+previous("resp_first")+`"input":"x"}`, answer("", ""))
		return err
	}
	must.Get(c.turn(`{"store":false,"input":"`+long+`"}`, answer("resp_first", "")))(t)
	for i := range 30 {
		must.Get(c.turn(`{"store":false,"input":"`+long+`"}`, answer("resp_"+strconv.Itoa(i), "")))(t)
		if c.taken > 10_000 || c.taken < 1_000 {
			t.Fatalf("after %d responses: got %d bytes, want at most 10000", i, c.taken)
		}
		if i < 20 {
			must.Do(t, first()) // continued all the time
		}
	}
	_, err := c.turn(`{"store":false,`+previous("resp_5")+`"input":"x"}`, "")
	wantError(t, err, lost("resp_5"))
	wantError(t, first(), lost("resp_first"))
	must.Get(c.turn(`{"store":false,`+previous("resp_29")+`"input":"x"}`, answer("", "")))(t)
	must.Get(c.turn(`{"store":false,"input":"`+strings.Repeat(long, 20)+`"}`, answer("resp_long", "")))(t)
	_, err = c.turn(`{"store":false,`+previous("resp_long")+`"input":"x"}`, "")
	wantError(t, err, lost("resp_long"))
	if c.memory.Forget(); c.taken != 0 {
		t.Errorf("an emptied memory holds %d bytes", c.taken)
	}
}

// TestMemoryCountsItems checks that an input of many small items counts as the memory that it takes.
func TestMemoryCountsItems(t *testing.T) {
	t.Parallel()
	const items, least = 10_000, 40
	c := newWorld(t).connection(1 << 30)
	input := strings.Repeat("{},", items-1) + "{}"
	must.Get(c.turn(`{"store":false,"input":[`+input+`]}`, answer("resp_1", "")))(t)
	if text := int64(items * len(`{"id":"","item":{}},`)); c.taken < text+items*least {
		t.Errorf("%d items count as %d bytes, want at least %d", items, c.taken, text+items*least)
	}
}
