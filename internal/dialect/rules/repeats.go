package rules

import (
	"slices"

	"weir/internal/llm"
)

// OneResult requires that each tool call has at most one result.
type OneResult struct {
	Counted bool // the vendor compares the numbers of calls and results, which may have no ids
}

// Broken returns the id of the first repeated result.
func (a OneResult) Broken(r *llm.Request, body []byte) string {
	for i, end := range turns(r.Messages) {
		left := countCalls(&r.Messages[i])
		room := 0
		for _, n := range left {
			room += n
		}
		for j := i + 1; j < end; j++ {
			for k := range r.Messages[j].Parts {
				p := &r.Messages[j].Parts[k]
				if isResult(*p) {
					room--
				}
				if repeats(p, left) || a.Counted && body != nil && room < 0 {
					return quoted(p.Result.CallID)
				}
			}
		}
	}
	return ""
}

// countCalls returns the number of calls of a message for each id.
func countCalls(m *llm.Message) map[string]int {
	counts := map[string]int{}
	for i := range m.Parts {
		if c := m.Parts[i].Call; c != nil {
			counts[c.ID]++
		}
	}
	return counts
}

// repeats reports whether a part is the result of a call that already has its result. left holds the open calls by
// id; repeats decrements it.
func repeats(p *llm.Part, left map[string]int) bool {
	if p.Result == nil {
		return false
	}
	n, called := left[p.Result.CallID]
	if n > 0 {
		left[p.Result.CallID]--
	}
	return called && n == 0
}

// Fit keeps only the first result of a call.
func (OneResult) Fit(f *Fitting) error {
	emptied := map[*llm.Message]bool{}
	for i, end := range turns(f.Messages) {
		left := countCalls(&f.Messages[i])
		for j := i + 1; j < end; j++ {
			m := &f.Messages[j]
			parts := slices.DeleteFunc(slices.Clone(m.Parts), func(p llm.Part) bool { return repeats(&p, left) })
			if len(parts) < len(m.Parts) {
				emptied[m] = len(parts) == 0
				m.Parts = parts
				f.Drop("repeated tool results")
			}
		}
	}
	kept := make([]llm.Message, 0, len(f.Messages))
	for i := range f.Messages {
		if !emptied[&f.Messages[i]] {
			kept = append(kept, f.Messages[i])
		}
	}
	f.Messages, f.parts = kept, map[int]bool{}
	return nil
}

func (OneResult) String() string { return "Each tool call has one result" }
