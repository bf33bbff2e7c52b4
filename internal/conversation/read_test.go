package conversation_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/conversation"
	"weir/internal/llm"
	"weir/internal/must"
)

func TestGetAndDelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.turn(`{"input":"One"}`, answer("resp_1", says("msg_1", "First")))
	w.turn(`{`+previous("resp_1")+`"input":"Two"}`, answer("resp_2", says("msg_2", "Second")))
	w.turn(`{`+previous("resp_2")+`"input":"Three"}`, answer("resp_3", ""))
	other := w.open(ttl) // as another node has it
	got, err := other.Get(ctx, owner("a"), "resp_2", unbounded())
	want := `{"id":"resp_2","object":"response","status":"completed","store":true,"output":[` + says("msg_2", "Second") + `],"previous_response_id":"resp_1"}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	wantError(t, other.Cancel(ctx, owner("a"), "resp_2"), llm.Invalid("", "Cannot cancel a synchronous response."))
	for _, stranger := range []conversation.Owner{owner("b"), {Scope: "key_b", Token: owner("a").Token}} {
		_, err := other.Get(ctx, stranger, "resp_2", unbounded())
		wantError(t, err, gone("resp_2"))
		_, err = other.Delete(ctx, stranger, "resp_2")
		wantError(t, err, gone("resp_2"))
		_, err = other.InputItems(ctx, stranger, "resp_2", conversation.Page{Limit: 1}, unbounded())
		wantError(t, err, gone("resp_2"))
		wantError(t, other.Cancel(ctx, stranger, "resp_2"), gone("resp_2"))
		_, _, err = other.Expand(ctx, stranger, []byte(`{"previous_response_id":"resp_2"}`), nil, unbounded())
		wantError(t, err, lost("resp_2"))
		_, _, err = other.Expand(ctx, stranger, []byte(`{"input":[{"id":"msg_2"}]}`), nil, unbounded())
		wantError(t, err, llm.Invalid("input", "Item with id 'msg_2' not found."))
	}
	if _, err := other.Get(ctx, conversation.Owner{Scope: "key_a", Token: llm.NewSecret("wk_b")}, "resp_2", unbounded()); err == nil {
		t.Error("who has not the API key's token reads its response")
	}

	deleted, err := other.Delete(ctx, owner("a"), "resp_2")
	if want := `{"id":"resp_2","object":"response","deleted":true}`; err != nil || string(deleted) != want {
		t.Errorf("delete: got %s, %v; want %s", deleted, err, want)
	}
	_, err = w.Delete(ctx, owner("a"), "resp_2")
	wantError(t, err, gone("resp_2"))
	_, err = w.Get(ctx, owner("a"), "resp_2", unbounded())
	wantError(t, err, gone("resp_2"))
	for _, id := range []string{"resp_2", "resp_3"} {
		_, _, err = w.Expand(ctx, owner("a"), []byte(`{`+previous(id)+`"input":"x"}`), nil, unbounded())
		wantError(t, err, lost("resp_2"))
	}
	w.expand(`{` + previous("resp_1") + `"input":"x"}`) // the earlier one is in it
}

// TestDatabaseHoldsNoPlainText checks that the database does not reveal stored texts.
func TestDatabaseHoldsNoPlainText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn(`{"input":"a question of zebras"}`, answer("resp_zebra", says("msg_zebra", "an answer of zebras")))
	files, err := filepath.Glob(w.path + "*")
	if err != nil || len(files) < 2 {
		t.Fatalf("files %q, %v", files, err)
	}
	found := false
	for _, f := range files {
		text := must.Get(os.ReadFile(f))(t)
		if bytes.Contains(text, []byte("zebra")) || bytes.Contains(text, []byte("wk_a")) {
			t.Errorf("%s contains a secret text", f)
		}
		found = found || bytes.Contains(text, []byte("key_a")) // the scope is plain text: this proves that the right place was searched
	}
	if !found {
		t.Error("no file contains the row")
	}
}

// list is a list of input items.
type list struct {
	Object  string            `json:"object"`
	Data    []json.RawMessage `json:"data"`
	FirstID string            `json:"first_id"`
	LastID  string            `json:"last_id"`
	HasMore bool              `json:"has_more"`
}

func (w *world) list(id string, p conversation.Page) (l list) {
	w.t.Helper()
	got, err := w.InputItems(w.t.Context(), owner("a"), id, p, unbounded())
	if err != nil {
		w.t.Fatalf("list %s %+v: %v", id, p, err)
	}
	d := json.NewDecoder(bytes.NewReader(got))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil || l.Object != "list" {
		w.t.Fatalf("list %s %+v: %s: %v", id, p, got, err)
	}
	return l
}

func TestInputItems(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn(`{"input":"One"}`, answer("resp_1", says("msg_1", "First")))
	w.turn(`{`+previous("resp_1")+`"input":[{"role":"user","content":"Two"},{"role":"assistant","content":"So"},{"type":"function_call_output","call_id":"c","output":"x"},{"id":"msg_own","role":"system","content":[],"status":null}]}`,
		answer("resp_2", says("msg_2", "Second")))
	all := w.list("resp_2", conversation.Page{Limit: 100, Ascending: true})
	want := []string{
		`{"id":"ID","type":"message","status":"completed","role":"user","content":[{"type":"input_text","text":"One"}]}`,
		says("msg_1", "First"),
		`{"id":"ID","type":"message","status":"completed","role":"user","content":[{"type":"input_text","text":"Two"}]}`,
		`{"id":"ID","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"So","annotations":[],"logprobs":[]}]}`,
		`{"id":"ID","type":"function_call_output","call_id":"c","output":"x"}`,
		`{"id":"msg_own","type":"message","status":"completed","role":"system","content":[]}`,
	}
	var ids []string
	for i, raw := range all.Data {
		var it struct{ ID string }
		if err := json.Unmarshal(raw, &it); err != nil || it.ID == "" {
			t.Fatalf("item %s: %v", raw, err)
		}
		ids = append(ids, it.ID)
		if got := string(raw); i >= len(want) || got != strings.Replace(want[i], `"ID"`, `"`+it.ID+`"`, 1) {
			t.Errorf("item %d: got %s", i, got)
		}
	}
	if len(ids) != len(want) || all.FirstID != ids[0] || all.LastID != ids[5] || all.HasMore || !strings.HasPrefix(ids[0], "msg_") || !strings.HasPrefix(ids[4], "fc_") {
		t.Fatalf("list: got %d items, first %q, last %q, more %v", len(ids), all.FirstID, all.LastID, all.HasMore)
	}

	for _, test := range []struct {
		page conversation.Page
		want []string
		more bool
	}{
		{conversation.Page{Limit: 2}, []string{ids[5], ids[4]}, true},
		{conversation.Page{Limit: 2, After: ids[4]}, []string{ids[3], ids[2]}, true},
		{conversation.Page{Limit: 2, After: ids[2]}, []string{ids[1], ids[0]}, false},
		{conversation.Page{Limit: 2, After: ids[0]}, nil, false},
		{conversation.Page{Limit: 9, After: ids[3], Ascending: true}, []string{ids[4], ids[5]}, false},
	} {
		l := w.list("resp_2", test.page)
		var got []string
		for _, raw := range l.Data {
			var it struct{ ID string }
			_ = json.Unmarshal(raw, &it)
			got = append(got, it.ID)
		}
		if strings.Join(got, " ") != strings.Join(test.want, " ") || l.HasMore != test.more {
			t.Errorf("%+v: got %q, more %v; want %q, %v", test.page, got, l.HasMore, test.want, test.more)
		}
	}
	_, err := w.InputItems(t.Context(), owner("a"), "resp_2", conversation.Page{Limit: 1, After: "msg_2"}, unbounded())
	wantError(t, err, llm.Invalid("after", "Item with id 'msg_2' not found."))

	if got, _ := w.expand(`{"input":[{"type":"item_reference","id":"` + ids[2] + `"}]}`); got != `{"input":[{"role":"user","content":"Two"}]}` {
		t.Errorf("an item by the id that it was listed with: got %s", got)
	}
	must.Get(w.Delete(t.Context(), owner("a"), "resp_1"))(t)
	if l := w.list("resp_2", conversation.Page{Limit: 9}); len(l.Data) != 4 {
		t.Errorf("after the earlier responses are deleted: got %d items, want its own 4", len(l.Data))
	}
}
