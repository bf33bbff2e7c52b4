package ledger

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"weir/internal/budget"
	"weir/internal/charge"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/promptcache"
	"weir/internal/worktest"
)

// unpacked decodes a packed form with the texts of an entry that it omits.
func unpacked(packed []byte, of *Entry) (Entry, error) {
	e := Entry{
		Attempt: Attempt{
			ID: of.ID, Account: of.Account, Key: of.Key, Requested: of.Requested, Provider: of.Provider,
			Model: of.Model, Region: of.Region, Price: llm.Price{Version: of.Price.Version},
		},
		Settlement: Settlement{Finish: of.Finish, Tier: of.Tier, Code: of.Code, Status: of.Status, Served: Served{Model: of.Served.Model}},
	}
	if of.Terms != nil {
		e.Terms = &charge.Terms{Price: llm.Price{Version: of.Terms.Price.Version}}
	}
	err := Unpack(packed, &e)
	return e, err
}

// packedEntry returns a settled attempt with all fields that the packed form has.
func packedEntry(id uuid.UUID) Entry {
	e := Entry{Attempt: testAttempt(id, 3), Settlement: Settlement{
		Outcome: OutcomeCut, Provenance: Estimated, Usage: llm.Usage{llm.Input: 5, llm.Milliseconds: 7},
		Cost: 123, Counts: true, Finish: llm.FinishLength, Tier: "flex", Code: llm.CodeProviderError,
		Status: 502, FirstToken: 5 * time.Millisecond, Duration: time.Second, AtMost: 456,
		Margin: -3, MarginUncertain: 9, ChargeUnpriced: new(llm.Classes(0).With(llm.Input)),
		Unpriced: llm.Classes(0).With(llm.ImageOut), ProviderCost: new(llm.Money(7)), Billed: true, ReplyID: "gen-1", Served: Served{Model: "small", Other: true},
		Missed: Missed{promptcache.Miss{Tokens: 1408, Cause: promptcache.Changed, Message: -1}, 77},
		Cached: Cached{Hit: true, Saved: 4200}, Sizes: Sizes{Arguments: 12, Result: 1 << 20},
	}}
	e.Price = llm.Price{Version: e.Price.Version}
	e.Parts = budget.Parts(0).User(budget.KeyPart).Tag(budget.AccountPart, 1)
	e.Terms, e.ChargeHold = &charge.Terms{Markup: 2500, Price: llm.Price{Version: "own"}}, 99
	return e
}

func TestPackedAttemptReadsBack(t *testing.T) {
	t.Parallel()
	far := uuid.Must(uuid.NewV7())
	for i := range 6 {
		far[i] = 0xff // a time that no clock has
	}
	for name, id := range map[string]uuid.UUID{"of version 4": uuid.New(), "of version 7": uuid.Must(uuid.NewV7()), "of the far future": far} {
		e := packedEntry(id)
		packed := AppendPacked(nil, &e.Attempt, &e.Settlement)
		got, err := unpacked(packed, &e)
		must.Do(t, err)
		must.Equal(t, got, e, "settled, id %s", name)
		open := Entry{Attempt: e.Attempt, Settlement: Settlement{Outcome: OutcomeOpen}}
		got, err = unpacked(AppendPacked(nil, &open.Attempt, &open.Settlement), &open)
		must.Do(t, err)
		must.Equal(t, got, open, "open, id %s", name)
	}
}

func TestPackedAttemptKeepsUnknownFields(t *testing.T) {
	t.Parallel()
	e := packedEntry(uuid.New())
	newer := appendField(AppendPacked(nil, &e.Attempt, &e.Settlement), 900, []byte("new"))
	got, err := unpacked(newer, &e)
	must.Do(t, err)
	must.Equal(t, got, e, "with a field of a newer program")
	e.ProviderCost = new(llm.Money(8))
	again := must.Get(Repack(newer, &e.Attempt, &e.Settlement))(t)
	if want := appendField(AppendPacked(nil, &e.Attempt, &e.Settlement), 900, []byte("new")); !slices.Equal(again, want) {
		t.Errorf("packed again: got %q, want %q", again, want)
	}
}

func TestPackedAttemptRefusesDamage(t *testing.T) {
	t.Parallel()
	e := packedEntry(uuid.New())
	packed := AppendPacked(nil, &e.Attempt, &e.Settlement)
	for name, damaged := range map[string][]byte{
		"nothing": nil, "another version": append([]byte{2}, packed[1:]...), "a cut": packed[:len(packed)-1],
		"no opening":                {packedVersion},
		"a settlement that is open": appendField(AppendPacked(nil, &e.Attempt, &Settlement{Outcome: OutcomeOpen}), fieldSettlement, make([]byte, 20)),
		"a long one":                make([]byte, maxPacked+1),
	} {
		if _, err := unpacked(damaged, &e); !errors.Is(err, errPacked) {
			t.Errorf("%s: got %v, want %v", name, err, errPacked)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	e := packedEntry(uuid.UUID{1})
	f.Add(AppendPacked(nil, &e.Attempt, &e.Settlement))
	f.Add(AppendPacked(nil, &e.Attempt, &Settlement{Outcome: OutcomeOpen}))
	f.Fuzz(func(t *testing.T, b []byte) {
		worktest.Check(t, b, func(b []byte) { _, _ = unpacked(b, &e) })
		first, err := unpacked(b, &e)
		if err != nil {
			return
		}
		// Durations beyond 292 years become others, once.
		second, err := unpacked(AppendPacked(nil, &first.Attempt, &first.Settlement), &first)
		must.Do(t, err)
		third, err := unpacked(AppendPacked(nil, &second.Attempt, &second.Settlement), &second)
		if err != nil || !cmp.Equal(third, second, cmpopts.EquateEmpty()) {
			t.Errorf("%+v does not survive: %+v, %v", second, third, err)
		}
	})
}
