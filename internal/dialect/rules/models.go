package rules

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"
)

// mostModels bounds the number of models whose rules a set caches, because clients choose the names of models.
const mostModels = 256

// ofModel holds the rules of one model.
type ofModel struct {
	all []*Rule
	own []*Rule // the rules that also apply to clients of the target's own wire format
}

// byModel caches the rules of models. Concurrent writes may lose an entry, which is then computed again.
type byModel struct {
	known atomic.Pointer[map[string]ofModel]
}

// of returns the rules that apply to a model.
func (s Set) of(model string) ofModel {
	if s.models == nil {
		return ofModel{}
	}
	known := s.models.known.Load()
	if known != nil {
		if m, ok := (*known)[model]; ok {
			return m
		}
	}
	m := s.find(model)
	next := map[string]ofModel{}
	if known != nil && len(*known) < mostModels {
		next = maps.Clone(*known)
	}
	next[strings.Clone(model)] = m // the name may share the memory of a whole body
	s.models.known.Store(&next)
	return m
}

// find computes the rules of a model.
func (s Set) find(model string) (m ofModel) {
	for i := range s.rules {
		rule := &s.rules[i]
		if !slices.ContainsFunc(rule.Of, func(o Of) bool { return o.has(model) }) {
			continue
		}
		if m.all = append(m.all, rule); rule.Own {
			m.own = append(m.own, rule)
		}
	}
	return m
}
