package rules

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"
)

// mostModels bounds of how many models a set remembers its rules: clients name models.
const mostModels = 256

// ofModel holds the rules of one model.
type ofModel struct {
	all []*Rule
	own []*Rule // those that hold for clients of the target's own wire format, too
}

// byModel remembers the rules of models. What is lost where two write at once is found again.
type byModel struct {
	known atomic.Pointer[map[string]ofModel]
}

// of returns the rules that hold for a model.
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
	next[strings.Clone(model)] = m // the name may be a part of a whole body
	s.models.known.Store(&next)
	return m
}

// find looks for the rules of a model.
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
