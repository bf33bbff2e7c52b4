package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sort"
	"time"

	"github.com/google/uuid"

	"weir/internal/ledger"
	"weir/internal/llm"
)

// year describes the installation of a seeded database. All data follows from its fields, so that a second run finds
// the data of the first.
type year struct {
	Requests, Rows int64 // in all; the last Rows of them have a row of their own
	Refusals       int64 // counts of refused requests
	Days           int
	Accounts       int
	End            time.Time // midnight behind the last day, UTC
	Until          time.Time // requests with rows, and refused ones, continue up to then at the same rate
}

// One in a hundred accounts is large, one in ten medium, the rest small. Each of an account's busy keys uses each of
// its models every day.
const (
	models      = 30
	largeEvery  = 100
	mediumEvery = 10
	idleKeys    = 200 // of a large account, in addition to the busy ones
	budgetEvery = 4   // one in so many accounts has a monthly budget
	hoursADay   = 2   // hours in which a key uses a model
)

// size describes the accounts of a size.
type size struct {
	models, keys, idle int
	weight             int64 // requests of a key to a model, relative to others
}

func sizeOf(account int) size {
	switch {
	case account%largeEvery == 0:
		return size{models, 4, idleKeys, 8}
	case account%mediumEvery == 0:
		return size{8, 2, 0, 2}
	}
	return size{2, 1, 0, 1}
}

// user is a key that uses a model.
type user struct {
	account, key, model, provider string
	price                         *ledger.PriceRecord
	weight                        int64
}

func accountID(n int) string { return fmt.Sprintf("00000000-0000-7000-8000-%012d", n) }

func keyID(account, n int) string { return fmt.Sprintf("00000000-0000-7000-9%03d-%012d", n, account) }

// prices returns the prices of the models, from $0.10 to $3 a million tokens.
func prices() []ledger.PriceRecord {
	list := make([]ledger.PriceRecord, models)
	for i := range list {
		rate := llm.Rate(i+1) * 100_000 // pico-USD
		list[i] = ledger.PriceRecord{
			Version: modelName(i) + "@1",
			Rates:   llm.Rates{llm.Input: rate, llm.CacheRead: rate / 10, llm.Output: 4 * rate},
		}
	}
	return list
}

func providerOf(model int) string {
	return [...]string{"openai", "anthropic", "gemini", "house"}[model%4]
}

func modelName(model int) string {
	return fmt.Sprintf("%s/model-%02d-2026-05", providerOf(model), model)
}

// users returns all pairs of a key and a model that it uses, by account.
func (s *year) users() []user {
	priced := prices()
	var list []user
	for a := range s.Accounts {
		z := sizeOf(a)
		for m := range z.models {
			at := (a + m) % models
			for k := range z.keys {
				list = append(list, user{
					accountID(a), keyID(a, k), modelName(at), providerOf(at), &priced[at], z.weight,
				})
			}
		}
	}
	return list
}

// rowDays returns on how many of the last days requests have rows.
func (s *year) rowDays() int {
	if s.Rows == 0 {
		return 0
	}
	return int(min(int64(s.Days), max(1, (s.Rows*int64(s.Days)+s.Requests-1)/s.Requests)))
}

// history returns how many days have rollups and no rows.
func (s *year) history() int { return s.Days - s.rowDays() }

func (s *year) first() time.Time { return s.End.AddDate(0, 0, -s.Days) }

// journal returns the identity of the journal for a part of the data. Other flags give another one.
func (s *year) journal(part string) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "weir:bench:%s:%d:%d:%d:%d:%d",
		part, s.Requests, s.Rows, s.Days, s.Accounts, s.End.Unix()))
}

// figures are the additions of some requests to a rollup.
type figures struct{ requests, cost, input, cached, output int64 }

func (f *figures) add(o figures) {
	f.requests += o.requests
	f.cost += o.cost
	f.input += o.input
	f.cached += o.cached
	f.output += o.output
}

// figuresOf returns those of n requests of a user.
func figuresOf(r *rand.Rand, u *user, n int64) figures {
	usage := llm.Usage{
		llm.Input: n * (200 + r.Int64N(1500)), llm.CacheRead: n * r.Int64N(1000), llm.Output: n * (50 + r.Int64N(500)),
	}
	return figures{n, int64(costOf(u, &usage)), usage[llm.Input], usage[llm.CacheRead], usage[llm.Output]}
}

func costOf(u *user, usage *llm.Usage) llm.Money {
	p := llm.Price{Version: u.price.Version, Rates: u.price.Rates}
	return p.Cost(usage, "")
}

// dayRequests returns how many requests each user makes on a past day.
func (s *year) dayRequests(r *rand.Rand, users []user, day int) []int64 {
	all := s.Requests - s.Rows
	days := int64(s.history())
	quota := all*int64(day+1)/days - all*int64(day)/days
	weights, total := make([]int64, len(users)), int64(0)
	for i := range users {
		weights[i] = users[i].weight * (50 + r.Int64N(101)) // a day has half to one and a half times the mean
		total += weights[i]
	}
	before, given := int64(0), int64(0)
	for i, w := range weights {
		before += w
		upTo := int64(float64(quota) * float64(before) / float64(total))
		if i == len(weights)-1 {
			upTo = quota
		}
		weights[i], given = upTo-given, upTo
	}
	return weights
}

// picker draws users by their weight.
type picker struct {
	users []user
	upTo  []int64
}

func newPicker(users []user) *picker {
	p := &picker{users: users, upTo: make([]int64, len(users))}
	sum := int64(0)
	for i := range users {
		sum += users[i].weight
		p.upTo[i] = sum
	}
	return p
}

func (p *picker) pick(r *rand.Rand) *user {
	n := r.Int64N(p.upTo[len(p.upTo)-1])
	lo, hi := 0, len(p.upTo)-1
	for lo < hi {
		if middle := (lo + hi) / 2; n < p.upTo[middle] {
			hi = middle
		} else {
			lo = middle + 1
		}
	}
	return &p.users[lo]
}

// entry returns the n-th settled attempt among those with rows.
func (s *year) entry(r *rand.Rand, p *picker, n int64) ledger.Entry {
	u := p.pick(r)
	at := s.arrival(n)
	usage := llm.Usage{llm.Input: 200 + r.Int64N(1500), llm.CacheRead: r.Int64N(1000), llm.Output: 50 + r.Int64N(500)}
	bound := llm.Usage{llm.Input: 2000, llm.Output: 4096}
	return ledger.Entry{
		Attempt: ledger.Attempt{
			ID:      ledger.AttemptID{Request: requestID(at, r), N: 1},
			Account: u.account, Key: u.key, Requested: u.model,
			Provider: u.provider, Model: u.model[len(u.provider)+1:],
			Attribution: attributionOf(n),
			Opened:      at, Arrived: at, Stream: n%3 != 0, Price: llm.Price{Version: u.price.Version}, Bound: bound,
			Hold: costOf(u, &bound),
		},
		Settlement: ledger.Settlement{
			Outcome: ledger.OutcomeOK, Provenance: ledger.Exact, Counts: true, Finish: llm.FinishStop, Status: 200,
			Usage: usage, Cost: costOf(u, &usage),
			FirstToken: time.Duration(100+r.IntN(900)) * time.Millisecond,
			Duration:   time.Duration(1+r.IntN(20)) * time.Second,
		},
	}
}

// arrival returns when the n-th request with a row arrives.
func (s *year) arrival(n int64) time.Time {
	span := time.Duration(s.rowDays()) * 24 * time.Hour
	return s.End.Add(-span + time.Duration(float64(span)*float64(n)/float64(s.Rows))).Truncate(time.Microsecond)
}

// rowsUntil returns how many requests have rows, those behind the last day included.
func (s *year) rowsUntil() int64 {
	more := sort.Search(int(mostLater/time.Microsecond), func(i int) bool {
		return !s.arrival(s.Rows + int64(i)).Before(s.Until)
	})
	return s.Rows + int64(more)
}

// attributionOf returns the attribution of a request to one of 300 end users and one of 10 teams.
func attributionOf(n int64) llm.Attribution {
	return llm.Attribution{
		User: fmt.Sprintf("user-%03d", n%300), Tags: []llm.Tag{{Name: "team", Value: fmt.Sprintf("team-%d", n%10)}},
	}
}

// requestID returns a UUID of version 7 with that time.
func requestID(at time.Time, r *rand.Rand) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[:], uint64(at.UnixMilli())<<16|0x7000|r.Uint64N(1<<12))
	binary.BigEndian.PutUint64(id[8:], 1<<63|r.Uint64()>>2)
	return id
}
