package storetest

import (
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/store"
)

// unseen returns an attempt with an unseen end and a provider that can be queried about it.
func unseen(n int) ledger.Entry {
	e := bounded(n)
	e.ReplyID, e.Ask = "gen-1", true
	return e
}

func taken(t *testing.T, s *store.DB, providers ...string) []ledger.Question {
	t.Helper()
	list := must.Get(s.Corrections.TakeQuestions(t.Context(), providers, 10))(t)
	return list
}

// testQuestions checks that questions are asked only on the day of their journal, at most three times, and only to
// providers that can be queried.
func testQuestions(t *testing.T, f *fixture) {
	f.advance(time.Hour)
	old := unseen(3)
	old.Opened = f.clock().Add(-ledger.QuestionFor)
	apply(t, f, newTape().next(nil, entry(1), unseen(2), old))
	if list := taken(t, f.DB, "openai"); len(list) != 0 {
		t.Errorf("at once: got %+v, want none", list)
	}
	for i, pause := range ledger.QuestionPauses() {
		f.advance(pause)
		if list := taken(t, f.DB, "groq", "xai"); len(list) != 0 {
			t.Errorf("%d: got %+v for other providers", i, list)
		}
		list := taken(t, f.DB, "openai", "groq")
		if len(list) != 1 || list[0] != (ledger.Question{ID: attempt(2).ID, Provider: "openai", ReplyID: "gen-1"}) {
			t.Fatalf("%d: got %+v, want the question about attempt 2", i, list)
		}
		if again := taken(t, f.DB, "openai"); len(again) != 0 {
			t.Errorf("%d: got %+v a second time", i, again)
		}
	}
	f.advance(ledger.QuestionFor)
	if list := taken(t, f.DB, "openai"); len(list) != 0 {
		t.Errorf("in the end: got %+v, want none", list)
	}
	next := unseen(4)
	next.Opened = f.clock()
	apply(t, f, newTape().next(nil, next))
	f.advance(ledger.QuestionFor + time.Second)
	if list := taken(t, f.DB, "openai"); len(list) != 0 {
		t.Errorf("a day later: got %+v, want none", list)
	}
	must.Do(t, f.Corrections.RetainQuestions(t.Context()))
	f.advance(-time.Hour)
	if list := taken(t, f.DB, "openai"); len(list) != 0 {
		t.Errorf("got %+v, want it deleted by retention", list)
	}
}

// testQuestionsAtOnce checks that one of two nodes takes each of many questions.
func testQuestionsAtOnce(t *testing.T, f *fixture) {
	const questions = 50
	var all []ledger.Entry
	for n := range questions {
		all = append(all, unseen(n))
	}
	f.advance(time.Hour)
	apply(t, f, newTape().next(nil, all...))
	f.advance(time.Minute)
	other := f.open(t)
	var mu sync.Mutex
	var nodes sync.WaitGroup
	times := map[ledger.AttemptID]int{}
	for i := range 8 {
		nodes.Go(func() {
			s := []*store.DB{f.DB, other}[i%2]
			for range questions {
				list, err := s.Corrections.TakeQuestions(t.Context(), []string{"openai"}, 4)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				for _, q := range list {
					times[q.ID]++
				}
				mu.Unlock()
			}
		})
	}
	nodes.Wait()
	for id, n := range times {
		if n != 1 {
			t.Errorf("the question about %s was taken %d times", id, n)
		}
	}
	if len(times) != questions {
		t.Errorf("%d of %d questions were taken", len(times), questions)
	}
}

// testAnswerQuestion resolves attempts by providers' answers, once, unless an answer decides nothing.
func testAnswerQuestion(t *testing.T, f *fixture) {
	corrected, foreign := unseen(3), unseen(5)
	foreign.Price.Version = "gone@1"
	f.advance(time.Hour)
	apply(t, f, newTape().next(nil, entry(1), unseen(2), corrected, unseen(4), foreign))
	correct(t, f, 3, -1)
	said := &llm.Reply{
		Usage: llm.Usage{llm.Input: 7, llm.Output: 3000}, Reported: true,
		ProviderCost: new(llm.Money(123456)),
	}
	before := spentInAll(t, f, "acc_a")
	for _, tt := range []struct {
		n      int
		billed bool
		want   bool
	}{
		{1, false, false},
		{2, false, true},
		{2, false, false},
		{3, false, false},
		{4, true, true},
		{5, false, false},
		{6, false, false},
	} {
		resolved, err := f.Corrections.AnswerQuestion(t.Context(), attempt(tt.n).ID, said, tt.billed)
		if err != nil || resolved != tt.want {
			t.Errorf("%d: got %t, %v, want %t", tt.n, resolved, err, tt.want)
		}
	}
	used := said.Usage
	p := price()
	first, second := p.Cost(&used, ""), llm.Money(123456)
	if first <= unseen(2).AtMost {
		t.Fatalf("the cost %s is to be above the bound", first)
	}
	estimate := unseen(2)
	if got, want := spentInAll(t, f, "acc_a"), before-2*estimate.AtMost+first+second; got != want {
		t.Errorf("spent: got %s, want %s", got, want)
	}
	for n, cost := range map[int]llm.Money{2: first, 4: second} {
		d, _, err := f.Reports.Request(t.Context(), "acc_a", attempt(n).ID.Request)
		must.Do(t, err)
		c := d.Parts[0].Corrections[0]
		if d.Cost != cost || d.AtMost != cost || d.Usage != used || c.Kind != ledger.CorrectionResolved ||
			c.By != "system weir" || c.Reason != ledger.ReasonAsked {
			t.Errorf("%d: got a cost of %s, at most %s, usage %v and %+v; want %s and %v", n, d.Cost, d.AtMost, d.Usage,
				c, cost, used)
		}
		if d.Parts[0].ReplyID != "gen-1" {
			t.Errorf("%d: got the reply %q", n, d.Parts[0].ReplyID)
		}
	}
	f.advance(time.Hour)
	if list := taken(t, f.DB, "openai"); len(list) != 0 {
		t.Errorf("answered questions are still there: %+v", list)
	}
	if strings.Contains(f.logged(), "level=ERROR") {
		t.Error(f.logged())
	}
	verifiedBut(t, f, "gone@1")
}

// testProviderTellsMore checks that the provider's own cost is the upper bound of an attempt with a lower computed
// cost until it is resolved, and that its row has the provider's cost.
func testProviderTellsMore(t *testing.T, f *fixture) {
	f.advance(time.Hour)
	apply(t, f, newTape().next(nil, unseen(2), unseen(3)))
	said := llm.Reply{Usage: llm.Usage{llm.Input: 7, llm.Output: 3000}, Reported: true}
	p := price()
	cost := p.Cost(&said.Usage, "")
	more, less := cost+1_000_000, cost-1
	for n, told := range map[int]llm.Money{2: more, 3: less} {
		said.ProviderCost = &told
		if ok, err := f.Corrections.AnswerQuestion(t.Context(), attempt(n).ID, &said, false); err != nil || !ok {
			t.Fatalf("%d: got %t, %v", n, ok, err)
		}
	}
	check := func(n int, most, told llm.Money, unresolved bool) {
		t.Helper()
		d, _, err := f.Reports.Request(t.Context(), "acc_a", attempt(n).ID.Request)
		must.Do(t, err)
		a := &d.Parts[0]
		if d.Cost != cost || d.AtMost != most || a.ProviderCost == nil || *a.ProviderCost != told ||
			a.Unresolved() != unresolved || a.Provenance != ledger.Estimated {
			t.Errorf("%d: got a cost of %s, at most %s, and the provider's %v, unresolved %t; want %s, %s, %s and %t",
				n,
				d.Cost, d.AtMost, a.ProviderCost, a.Unresolved(), cost, most, told, unresolved)
		}
	}
	check(2, more, more, true)
	check(3, cost, less, false)
	if got := spentInAll(t, f, "acc_a"); got != more+cost {
		t.Errorf("spent: got %s, want %s", got, more+cost)
	}
	must.Do(t, f.Corrections.Resolve(t.Context(), audit.Gateway(), attempt(2).ID, cost, false))
	check(2, cost, more, false)
	verified(t, f)
}

// verifiedBut fails the test if the rollups differ from the rows, except for differences because of a missing price.
func verifiedBut(t *testing.T, f *fixture, missing string) {
	t.Helper()
	v := must.Get(f.Ledger.Verify(t.Context(), nil))(t)
	for i := range v.Differences {
		if !strings.Contains(v.Differences[i].What, missing) {
			t.Errorf("verify: %+v", v.Differences[i])
		}
	}
}
