package audit_test

import (
	"crypto/sha256"
	"encoding/json"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/must"
)

// entry returns one with a value in all its fields.
func entry(seq int64) audit.Entry {
	return audit.Entry{
		Seq: seq, At: time.Date(2026, 11, 21, 12, 0, 0, 1000, time.UTC),
		Actor:  audit.Actor{Kind: audit.User, ID: "u", Name: "ann@example.com", Address: "192.0.2.7", Request: "r"},
		Action: audit.KeyChanged, Object: audit.Object{Kind: "key", ID: "k", Name: "<über>"}, Account: "a",
		Before: json.RawMessage(`{"rpm": 1}`), After: json.RawMessage(`{"rpm":null}`),
	}
}

// chained returns entries that follow each other.
func chained(t *testing.T, n int) []audit.Entry {
	t.Helper()
	list, last := make([]audit.Entry, n), audit.Hash{}
	for i := range list {
		list[i] = entry(int64(i) + 1)
		h := must.Get(list[i].HashAfter(last))(t)
		list[i].Hash, last = h, h
	}
	return list
}

func verify(list []audit.Entry, from audit.Hash) audit.Verification {
	c := audit.NewChain(from)
	for i := range list {
		c.Add(&list[i])
	}
	return c.Verification
}

// TestHashIsStable checks the hash of an entry, because existing logs must always verify. docs/audit.md has the hashed
// text.
func TestHashIsStable(t *testing.T) {
	t.Parallel()
	const before = "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9"
	const text = `["` + before + `",1,1795262400000001,` +
		`{"kind":"user","id":"u","name":"ann@example.com","address":"192.0.2.7","request":"r"},"key.changed",` +
		`{"kind":"key","id":"k","name":"\u003cüber\u003e"},"a","{\"rpm\": 1}","{\"rpm\":null}"]`
	var last audit.Hash
	must.Do(t, last.UnmarshalText([]byte(before)))
	e := entry(1)
	got, err := e.HashAfter(last)
	if want := audit.Hash(sha256.Sum256([]byte(text))); err != nil || got != want {
		t.Errorf("got %s, %v; want %s, of %s", got, err, want, text)
	}
}

func TestChainVerifies(t *testing.T) {
	t.Parallel()
	whole := chained(t, 5)
	want := audit.Verification{Entries: 5, Head: whole[4].Hash, GoesOn: true}
	if got := verify(whole, audit.Hash{}); got != want || !got.Whole() {
		t.Errorf("a whole chain: got %+v, want %+v", got, want)
	}
	if got := verify(nil, audit.Hash{}); got != (audit.Verification{GoesOn: true}) {
		t.Errorf("no chain: got %+v, want nothing broken", got)
	}
	for i := range whole {
		if got := verify(whole, whole[i].Hash); !got.GoesOn {
			t.Errorf("from entry %d: got %+v, want an unbroken rest", i+1, got)
		}
	}
	if got := verify(whole[:3], whole[4].Hash); got.GoesOn || got.Broken != 0 || got.Whole() {
		t.Errorf("a chain that was cut short: got %+v, want that it does not go on", got)
	}
}

// TestChainBreaks changes one thing of the third entry, each time.
func TestChainBreaks(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*audit.Entry){
		"place":       func(e *audit.Entry) { e.Seq++ },
		"time":        func(e *audit.Entry) { e.At = e.At.Add(time.Microsecond) },
		"kind":        func(e *audit.Entry) { e.Actor.Kind = audit.System },
		"actor":       func(e *audit.Entry) { e.Actor.ID = "v" },
		"name":        func(e *audit.Entry) { e.Actor.Name = "eve@example.com" },
		"address":     func(e *audit.Entry) { e.Actor.Address = "" },
		"request":     func(e *audit.Entry) { e.Actor.Request = "s" },
		"action":      func(e *audit.Entry) { e.Action = audit.KeyRevoked },
		"object kind": func(e *audit.Entry) { e.Object.Kind = "account" },
		"object":      func(e *audit.Entry) { e.Object.ID = "l" },
		"object name": func(e *audit.Entry) { e.Object.Name = "uber" },
		"account":     func(e *audit.Entry) { e.Account = "b" },
		"before":      func(e *audit.Entry) { e.Before = json.RawMessage(`{"rpm": 2}`) },
		"no before":   func(e *audit.Entry) { e.Before = nil },
		"after":       func(e *audit.Entry) { e.After = json.RawMessage(`{"rpm":3}`) },
		"hash":        func(e *audit.Entry) { e.Hash[31]++ },
		"shifted":     func(e *audit.Entry) { e.Object.ID, e.Object.Name = "", e.Object.ID },
	} {
		list := chained(t, 5)
		change(&list[2])
		if got := verify(list, audit.Hash{}); got.Broken != list[2].Seq || got.Entries != 2 || got.Whole() {
			t.Errorf("another %s: got %+v, want it broken at 3", name, got)
		}
	}
	for place, want := range map[int]int64{0: 2, 2: 4, 3: 5} {
		list := chained(t, 5)
		if got := verify(append(list[:place], list[place+1:]...), audit.Hash{}); got.Broken != want {
			t.Errorf("without entry %d: got %+v, want it broken at %d", place+1, got, want)
		}
	}
}

// proven returns entries of a person with their personal hashes.
func proven(t *testing.T) []audit.Entry {
	t.Helper()
	list, last := make([]audit.Entry, 3), audit.Hash{}
	for i := range list {
		e := entry(int64(i) + 1)
		e.Action, e.Object = audit.UserChanged, audit.Object{Kind: "user", ID: "u", Name: "ann@example.com"}
		e.Prove()
		e.Hash = must.Get(e.HashAfter(last))(t)
		list[i], last = e, e.Hash
	}
	return list
}

// TestProofsLetNamesBeDeleted deletes the words about a person from an entry: the chain still verifies. It breaks if
// these words are changed, before and afterwards, or if a personal hash is changed.
func TestProofsLetNamesBeDeleted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*audit.Entry)
		whole  bool
	}{
		"nothing":             {func(*audit.Entry) {}, true},
		"the actor forgotten": {forgetActor, true},
		"the object forgotten": {func(e *audit.Entry) {
			e.Object.Name, e.Before, e.After, e.Proofs.Object.Salt = "", nil, nil, ""
		}, true},
		"a name":                   {func(e *audit.Entry) { e.Actor.Name = "eve@example.com" }, false},
		"an address":               {func(e *audit.Entry) { e.Actor.Address = "" }, false},
		"what was after":           {func(e *audit.Entry) { e.After = nil }, false},
		"an id":                    {func(e *audit.Entry) { e.Actor.ID = "v" }, false},
		"words without a salt":     {func(e *audit.Entry) { e.Proofs.Actor.Salt = "" }, false},
		"a salt without words":     {func(e *audit.Entry) { e.Actor.Name, e.Actor.Address = "", "" }, false},
		"another salt":             {func(e *audit.Entry) { e.Proofs.Object.Salt = "00" }, false},
		"another proof":            {func(e *audit.Entry) { e.Proofs.Actor.Hash = e.Proofs.Object.Hash }, false},
		"no proof":                 {func(e *audit.Entry) { e.Proofs.Actor = nil }, false},
		"no proofs":                {func(e *audit.Entry) { e.Proofs = nil }, false},
		"forgotten, and told anew": {func(e *audit.Entry) { forgetActor(e); e.Actor.Name = "eve@example.com" }, false},
		"forgotten, another proof": {func(e *audit.Entry) { forgetActor(e); e.Proofs.Actor.Hash = "00" }, false},
	} {
		list := proven(t)
		test.change(&list[1])
		if got := verify(list, audit.Hash{}); got.Whole() != test.whole || !test.whole && got.Broken != 2 {
			t.Errorf("%s: got %+v, want it whole: %v", name, got, test.whole)
		}
	}
}

func forgetActor(e *audit.Entry) {
	e.Actor.Name, e.Actor.Address, e.Proofs.Actor.Salt = "", "", ""
}

func TestActorString(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]audit.Actor{
		"user ann@example.com": entry(1).Actor,
		"key k":                {Kind: audit.Key, ID: "k"},
		"system weir":          audit.Gateway(),
		"nobody":               {Kind: audit.Nobody, Address: "192.0.2.7"},
	} {
		if got := a.String(); got != want {
			t.Errorf("%+v: got %q, want %q", a, got, want)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	want := chained(t, 1)[0]
	text, err := json.Marshal(want)
	must.Do(t, err)
	var got audit.Entry
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	want.Before = json.RawMessage(`{"rpm":1}`) // JSON in JSON has no spaces
	must.Equal(t, got, want, "there and back")
	for _, bad := range []string{"", "xyz", "00"} {
		if err := new(audit.Hash).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("the hash %q: got no error, want one", bad)
		}
	}
}
