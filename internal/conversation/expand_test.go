package conversation_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
)

func TestNothingToExpand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, body := range []string{
		`{"model":"m","input":"Hi"}`,
		` { "input" : [ {"role":"user","content":"Hi"}, 3, "x" ] , "previous_response_id" : null, "conversation": null, "background": false}`,
		`{"model":"m"}`,
		`{"input":[]}`,
		`{"input":[{"role":"user","id":"msg_1","content":"Hi"},{"type":"message","id":"x"}]}`,
	} {
		in := []byte(body)
		out, turn, err := w.Expand(t.Context(), owner("a"), in, nil, reserving(func(int64) error { t.Error("capacity was requested, want none"); return nil }))
		if err != nil || turn == nil || string(out) != body || &out[0] != &in[0] {
			t.Errorf("%s: got %s, %v; want the same bytes", body, out, err)
		}
	}
}

func TestChainExpandsInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn(`{"model":"m","instructions":"Be brief.","input":"One"}`, answer("resp_1", says("msg_1", "First")))
	got := w.turn(`{"model":"m","input":[{"role":"user","content":"Two"}], "previous_response_id":"resp_1","tools": [ ] }`, answer("resp_2", says("msg_2", "Second")))
	want := `{"model":"m","input":[` + asks("One") + `,` + says("msg_1", "First") + `,{"role":"user","content":"Two"}],"tools":[ ]}`
	if got != want {
		t.Errorf("second request: got\n%s\nwant\n%s", got, want)
	}
	got = w.turn(`{"previous_response_id":"resp_2","model":"m"}`, answer("resp_3", ""))
	want = `{"model":"m","input":[` + asks("One") + `,` + says("msg_1", "First") + `,{"role":"user","content":"Two"},` + says("msg_2", "Second") + `]}`
	if got != want {
		t.Errorf("a request without input: got\n%s\nwant\n%s", got, want)
	}
	branch, _ := w.expand(`{"previous_response_id":"resp_1","input":"Otherwise"}`)
	if want := `{"input":[` + asks("One") + `,` + says("msg_1", "First") + `,` + asks("Otherwise") + `]}`; branch != want {
		t.Errorf("another branch: got\n%s\nwant\n%s", branch, want)
	}
}

func TestItemReference(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	call := `{"id":"fc_1","type":"function_call","status":"completed","call_id":"c1","name":"f","arguments":"{}"}`
	w.turn(`{"input":[{"id":"msg_u","role":"user","content":"One"}]}`, answer("resp_1", says("msg_1", "First")+","+call))
	got := w.turn(`{"model":"m","input":[{"type":"item_reference","id":"msg_1"},{"role":"user","content":"x"},{"id":"fc_1"},{"type":null,"id":"msg_u"}]}`, answer("resp_2", ""))
	want := `{"model":"m","input":[` + says("msg_1", "First") + `,{"role":"user","content":"x"},` + call + `,{"id":"msg_u","role":"user","content":"One"}]}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	must.Get(w.Delete(t.Context(), owner("a"), "resp_1"))(t)
	if got, _ := w.expand(`{"input":[{"id":"msg_1"}]}`); got != `{"input":[`+says("msg_1", "First")+`]}` {
		t.Errorf("the expansion of a later response: got %s", got)
	}
	must.Get(w.Delete(t.Context(), owner("a"), "resp_2"))(t)
	for body, param := range map[string]string{
		`{"input":[{"id":"msg_1"}]}`:                                    "input",
		`{"input":["x",{"type":"item_reference","id":3}]}`:              "input[1].id",
		`{"input":[{"type":"item_reference"}]}`:                         "input[0].id",
		`{"input":[{"type":"item_reference","id":"msg_of_nobody"}]}`:    "input",
		`{"input":[{"id":"msg_1","type":"item_reference","role":"x"}]}`: "input",
	} {
		_, _, err := w.Expand(t.Context(), owner("a"), []byte(body), nil, unbounded())
		if e := llm.AsError(err); err == nil || e.Code != llm.CodeInvalidRequest || e.Param != param {
			t.Errorf("%s: got %v, want a mistake in %s", body, err, param)
		}
	}
	_, _, err := w.Expand(t.Context(), owner("a"), []byte(`{"input":[{"id":"msg_1"}]}`), nil, unbounded())
	wantError(t, err, llm.Invalid("input", "Item with id 'msg_1' not found."))
}

// TestOwnItems checks that a response's items that the gateway created are found by their ids, and so are a provider's
// with such ids.
func TestOwnItems(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const a, b = "01a21206-7864-7232-908b-8c0a70d053c7", "01a21206-7864-7232-908b-8c0a70d053c8"
	said := says("msg_"+a+"_0", "First")
	w.turn(`{"input":"One"}`, answer("resp_"+a, said))
	for item, want := range map[string]string{
		"msg_" + a + "_0": said, "msg_" + a + "_i0": asks("One"),
	} {
		if got, _ := w.expand(`{"input":[{"id":"` + item + `"}]}`); got != `{"input":[`+want+`]}` {
			t.Errorf("%s: got %s, want %s", item, got, want)
		}
	}
	w.turn(`{"input":[{"id":"msg_`+a+`_0"}]}`, answer("resp_"+b, says("msg_"+b+"_0", "Second")))
	w.turn(`{"input":"Two"}`, answer("resp_1", says("msg_"+b+"_7", "Third"))) // a provider's, which has such an id
	must.Get(w.Delete(t.Context(), owner("a"), "resp_"+a))(t)
	if got, _ := w.expand(`{"input":[{"id":"msg_` + a + `_0"}]}`); got != `{"input":[`+said+`]}` {
		t.Errorf("the expansion of a later response: got %s", got)
	}
	must.Get(w.Delete(t.Context(), owner("a"), "resp_"+b))(t)
	if got, _ := w.expand(`{"input":[{"id":"msg_` + b + `_7"}]}`); got != `{"input":[`+says("msg_"+b+"_7", "Third")+`]}` {
		t.Errorf("an id of another response: got %s", got)
	}
	for _, item := range []string{"msg_" + a + "_0", "msg_" + b + "_0"} {
		_, _, err := w.Expand(t.Context(), owner("a"), []byte(`{"input":[{"id":"`+item+`"}]}`), nil, unbounded())
		wantError(t, err, llm.Invalid("input", "Item with id '"+item+"' not found."))
	}
}

// TestAmbiguousItemsAreRefused refuses items that another parser may read as references: it would find them by the
// gateway's own key, whoever owns them.
func TestAmbiguousItemsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for body, param := range map[string]string{
		`{"input":[{"type":"message","type":"item_reference","id":"msg_1"}]}`:                     "input[0].type",
		`{"input":["x",{"role":"user","content":"x","Type":"item_reference","id":"msg_1"}]}`:      "input[1].type",
		`{"input":[{"type":"item_reference","id":"msg_1","id":"msg_2"}]}`:                         "input[0].id",
		`{"input":[{"id":"msg_1","role":"user","role":null}]}`:                                    "input[0].role",
		`{"input":[{"role":"user","content":"x","type":"message","t\u0079pe":"item_reference"}]}`: "input[0].type",
	} {
		_, _, err := w.Expand(t.Context(), owner("a"), []byte(body), nil, unbounded())
		if e := llm.AsError(err); err == nil || e.Code != llm.CodeInvalidRequest || e.Param != param {
			t.Errorf("%s: got %v, want a mistake in %s", body, err, param)
		}
	}
}

// TestItemsAreBounded bounds the ids of an input that the gateway remembers and looks up.
func TestItemsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn(`{"input":"One"}`, answer("resp_1", says("msg_1", "First")))
	const reference = `{"id":"msg_1"}`
	for _, tt := range []struct {
		item string
		n    int
		ok   bool
	}{
		{"0", 1 << 16, true},
		{"0", 1<<16 + 1, false},
		{reference, 4096, true},
		{reference, 4097, false},
	} {
		body := `{"input":[` + strings.Repeat(tt.item+",", tt.n-1) + tt.item + `]}`
		_, _, err := w.Expand(t.Context(), owner("a"), []byte(body), nil, unbounded())
		if e := llm.AsError(err); (err == nil) != tt.ok || err != nil && e.Param != "input" {
			t.Errorf("%d of %s: got %v, want it accepted: %v", tt.n, tt.item, err, tt.ok)
		}
	}
}

func TestMistakesNameTheirField(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn(`{"input":"One"}`, answer("resp_1", says("msg_1", "First")))
	for body, param := range map[string]string{
		`{"input":"x","background":true}`:                              "background",
		`{"input":"x","background":1}`:                                 "background",
		`{"input":"x","conversation":"conv_1"}`:                        "conversation",
		`{"input":"x","conversation":{"id":"conv_1"}}`:                 "conversation",
		`{"input":"x","store":"no"}`:                                   "store",
		`{"input":"x","previous_response_id":7}`:                       "previous_response_id",
		`{"input":"x","previous_response_id":""}`:                      "previous_response_id",
		`{"input":7,"previous_response_id":"resp_1"}`:                  "input",
		`{"input":{"role":"user"},"previous_response_id":"resp_1"}`:    "input",
		`{"input":"x","previous_response_id":"resp_of_somebody_else"}`: "previous_response_id",
	} {
		_, _, err := w.Expand(t.Context(), owner("a"), []byte(body), nil, unbounded())
		if e := llm.AsError(err); err == nil || e.Code != llm.CodeInvalidRequest || e.Param != param || e.Message == "" {
			t.Errorf("%s: got %v, want a mistake in %s", body, err, param)
		}
	}
	long := strings.Repeat("x", 1<<20)
	_, _, err := w.Expand(t.Context(), owner("a"), []byte(`{"previous_response_id":"`+long+`"}`), nil, unbounded())
	if e := llm.AsError(err); len(e.Message) > 1<<10 || e.Word != "previous_response_not_found" {
		t.Errorf("a long id: %d bytes of message, %q", len(e.Message), e.Word)
	}
}

// TestCapacityIsReservedBeforeReading checks that the capacity for a conversation is reserved before it is used, for
// the body and for the stored texts, and released except for the body's.
func TestCapacityIsReservedBeforeReading(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn(`{"input":"`+strings.Repeat("x", 1000)+`"}`, answer("resp_1", says("msg_1", "First")))
	body, _ := w.expand(`{"previous_response_id":"resp_1"}`)
	full := errors.New("full")
	for refused := range 3 {
		var asked []int64
		held := int64(0)
		_, _, err := w.Expand(t.Context(), owner("a"), []byte(`{"previous_response_id":"resp_1"}`), nil, reserving(func(n int64) error {
			if n > 0 {
				asked = append(asked, n)
			}
			if n > 0 && len(asked) == refused+1 {
				return full
			}
			held += n
			return nil
		}))
		want, above := int64(0), int64(0)
		switch refused {
		case 1:
			want = asked[0]
		case 2:
			want, above = int64(len(body)), 100
		}
		if errors.Is(err, full) != (refused < 2) || held < want || held > want+above {
			t.Errorf("%v, with %d bytes held of those asked for: %d; want %d held", err, held, asked, want)
		}
		if refused > 0 && (asked[0] < int64(len(body)) || asked[1] < 2000) {
			t.Errorf("requested %d, the body has %d bytes", asked, len(body))
		}
	}
}

// TestLimitsOfLongConversations checks conversations with more responses, or more bytes, than can be continued.
func TestLimitsOfLongConversations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const tooLong = "The conversation is longer than 1000 responses or 64 MiB. Begin a new one, with what matters of this one as its input."
	id := ""
	for range 3 {
		next := "resp_large" + id
		w.turn(`{`+previous(id)+`"input":"`+strings.Repeat("x", 22<<20)+`"}`, answer(next, ""))
		id = next
	}
	_, _, err := w.Expand(t.Context(), owner("a"), []byte(`{`+previous(id)+`"input":"More"}`), nil, unbounded())
	wantError(t, err, llm.Invalid("previous_response_id", tooLong))

	_, turn := w.expand(`{"input":"` + strings.Repeat("x", 65<<20) + `"}`)
	if err := w.Keep(t.Context(), owner("a"), turn, []byte(answer("resp_huge", ""))); err == nil {
		t.Error("a response of 65 MiB was stored")
	}
}

// previous returns the member of a request that continues a response.
func previous(id string) string {
	if id == "" {
		return ""
	}
	return `"previous_response_id":"` + id + `",`
}

func TestManyTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// A circular conversation, as may occur with a provider whose ids repeat.
	w.turn(`{"input":"One"}`, answer("resp_1", says("msg_1", "First")))
	w.turn(`{`+previous("resp_1")+`"input":"Two"}`, answer("resp_2", says("msg_2", "Second")))
	w.turn(`{`+previous("resp_2")+`"input":"Three"}`, answer("resp_1", says("msg_3", "Third")))
	_, _, err := w.Expand(t.Context(), owner("a"), []byte(`{`+previous("resp_1")+`"input":"More"}`), nil, unbounded())
	if e := llm.AsError(err); e.Param != "previous_response_id" || !strings.Contains(e.Message, "longer than 1000 responses") {
		t.Errorf("got %v, want a conversation that is too long", err)
	}
}

func TestStoreFalse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn(`{"input":"One"}`, answer("resp_1", says("msg_1", "First")))
	got := w.turn(`{"input":"Two","store":false,"previous_response_id":"resp_1"}`, answer("resp_2", says("msg_2", "Second")))
	if want := `{"input":[` + asks("One") + `,` + says("msg_1", "First") + `,` + asks("Two") + `],"store":false}`; got != want {
		t.Errorf("a request that is not stored continues a stored one: got %s, want %s", got, want)
	}
	_, _, err := w.Expand(t.Context(), owner("a"), []byte(`{`+previous("resp_2")+`"input":"x"}`), nil, unbounded())
	wantError(t, err, lost("resp_2"))
	_, err = w.Get(t.Context(), owner("a"), "resp_2", unbounded())
	wantError(t, err, gone("resp_2"))
	_, _, err = w.Expand(t.Context(), owner("a"), []byte(`{"input":[{"id":"msg_2"}]}`), nil, unbounded())
	wantError(t, err, llm.Invalid("input", "Item with id 'msg_2' not found."))
}

// TestServiceWithoutStorage uses a service that stores no responses.
func TestServiceWithoutStorage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Service = w.open(0)
	w.turn(`{"input":"One","store":true}`, answer("resp_1", says("msg_1", "First")))
	_, err := w.Get(t.Context(), owner("a"), "resp_1", unbounded())
	wantError(t, err, gone("resp_1"))
}

func TestExpiryRemovesResponses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn(`{"input":"One"}`, answer("resp_1", says("msg_1", "First")))
	w.advance(ttl - time.Second)
	w.turn(`{`+previous("resp_1")+`"input":"Two"}`, answer("resp_2", says("msg_2", "Second")))
	w.advance(time.Second)
	_, err := w.Get(t.Context(), owner("a"), "resp_1", unbounded())
	wantError(t, err, gone("resp_1"))
	if _, err := w.Get(t.Context(), owner("a"), "resp_2", unbounded()); err != nil {
		t.Errorf("the younger one: %v", err)
	}
	_, _, err = w.Expand(t.Context(), owner("a"), []byte(`{`+previous("resp_2")+`"input":"x"}`), nil, unbounded())
	wantError(t, err, lost("resp_1"))
}
