package telemetry

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"weir/internal/ledger"
	"weir/internal/llm"
)

const (
	// MaxTags is the number of tags that can be labels.
	MaxTags = 4
	// MostSeries bounds the combinations of labels that are counted separately; the others are Other. Refusals have a
	// bound of their own of that number.
	MostSeries = 2000
	// Other is the value of labels beyond MostSeries, and of models that are not known.
	Other = "(other)"

	maxLabel = 128 // bytes of a value
)

// Labels selects labels of the counters of attempts, in addition to provider and model, and of refusals.
type Labels struct {
	Account bool // account: its name
	Key     bool // key: its id, and key_label
	// Tags has at most MaxTags tags, with different labels. Refusals do not have them.
	Tags []Tag
}

// Tag is a tag with the name of its label.
type Tag struct{ Name, Label string }

// Caller names who sent a request; empty for an unknown caller.
type Caller struct {
	Account  string // its name
	Key      string // its id
	KeyLabel string
}

// values are the values of labels that are not in every counter; empty for those that are not selected.
type values struct {
	account, key, keyLabel string
	tags                   [MaxTags]string
}

// of returns the values for a caller.
func (l *Labels) of(c *Caller) (v values) {
	if l.Account {
		v.account = label(c.Account)
	}
	if l.Key {
		v.key, v.keyLabel = label(c.Key), label(c.KeyLabel)
	}
	return v
}

func (l *Labels) other() values {
	v := l.of(&Caller{Other, Other, Other})
	for i := range l.Tags {
		v.tags[i] = Other
	}
	return v
}

// label returns a value as it can be a label.
func label(value string) string {
	if len(value) > maxLabel || !utf8.ValidString(value) {
		return Other
	}
	return value
}

// names returns the names of the selected labels.
func (l *Labels) names(tags bool) (all []string) {
	if l.Account {
		all = append(all, "account")
	}
	if l.Key {
		all = append(all, "key", "key_label")
	}
	if tags {
		for _, t := range l.Tags {
			all = append(all, t.Label)
		}
	}
	return all
}

// list returns the values in the order of names.
func (l *Labels) list(v *values, tags bool) (all []string) {
	if l.Account {
		all = append(all, v.account)
	}
	if l.Key {
		all = append(all, v.key, v.keyLabel)
	}
	if tags {
		all = append(all, v.tags[:len(l.Tags)]...)
	}
	return all
}

// place identifies a series of attempts.
type place struct {
	provider, model string
	values
}

func (p *place) clone() place { // the memory of a request is used again
	q := *p
	for _, s := range []*string{&q.provider, &q.model, &q.account, &q.key, &q.keyLabel} {
		*s = strings.Clone(*s)
	}
	for i := range q.tags {
		q.tags[i] = strings.Clone(q.tags[i])
	}
	return q
}

// series counts the attempts with the same labels.
type series struct {
	outcomes [numOutcomes]atomic.Int64
	tokens   [llm.NumTokens]atomic.Int64
	cost     atomic.Int64 // llm.Money
}

// attempts are the counters of attempts, and their collector.
type attempts struct {
	labels              Labels
	ended, tokens, cost *prometheus.Desc

	mu  sync.RWMutex
	all map[place]*series
}

func newAttempts(l Labels) *attempts {
	names := append([]string{"provider", "model"}, l.names(true)...)
	desc := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, slices.Concat(names, more), nil)
	}
	return &attempts{
		labels: l, all: map[place]*series{},
		ended:  desc("weir_upstream_attempts_total", "Attempts at a provider that have ended, by outcome.", "outcome"),
		tokens: desc("weir_tokens_total", "Tokens of all attempts that have ended, by class.", "class"),
		cost: desc("weir_cost_nanousd_total",
			"Cost of all attempts that have ended, in billionths of a US dollar."),
	}
}

// Describe implements prometheus.Collector.
func (a *attempts) Describe(to chan<- *prometheus.Desc) { to <- a.ended; to <- a.tokens; to <- a.cost }

// Collect implements prometheus.Collector.
func (a *attempts) Collect(to chan<- prometheus.Metric) {
	type one struct {
		place
		*series
	}
	a.mu.RLock()
	all := make([]one, 0, len(a.all))
	for p, s := range a.all {
		all = append(all, one{p, s})
	}
	a.mu.RUnlock()
	for i := range all {
		s := all[i].series
		base := append([]string{all[i].provider, all[i].model}, a.labels.list(&all[i].values, true)...)
		tell := func(desc *prometheus.Desc, n int64, more ...string) {
			to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), slices.Concat(base, more)...)
		}
		for o, outcome := range outcomes() {
			tell(a.ended, s.outcomes[o].Load(), string(outcome))
		}
		for c := range s.tokens {
			if n := s.tokens[c].Load(); n > 0 || llm.Class(c) == llm.Input || llm.Class(c) == llm.Output {
				tell(a.tokens, n, llm.Class(c).String())
			}
		}
		tell(a.cost, s.cost.Load())
	}
}

// of returns the counters of an attempt. A model has its own from its first attempt on that the provider did not
// reject: a client may have made up its name.
func (a *attempts) of(e *Ended, s *ledger.Settlement) *series {
	at := e.Attempt
	p := place{at.Provider, label(at.Model), a.labels.of(&e.Caller)}
	for i := range a.labels.Tags {
		value, _ := at.Attribution.Tag(a.labels.Tags[i].Name)
		p.tags[i] = label(value)
	}
	a.mu.RLock()
	found := a.all[p]
	a.mu.RUnlock()
	if found != nil {
		return found
	}
	if s.Outcome == ledger.OutcomeRejected {
		p.model = Other
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all[p] == nil && len(a.all) >= MostSeries {
		p = place{at.Provider, Other, a.labels.other()}
	}
	if a.all[p] == nil {
		a.all[p.clone()] = &series{}
	}
	return a.all[p]
}

func (s *series) add(end *ledger.Settlement, cost *llm.Money) {
	for i, o := range outcomes() {
		if o == end.Outcome {
			s.outcomes[i].Add(1)
		}
	}
	for c := range s.tokens {
		if n := end.Usage[c]; n > 0 {
			s.tokens[c].Add(n)
		}
	}
	if cost != nil && *cost > 0 {
		s.cost.Add(int64(*cost))
	}
}
