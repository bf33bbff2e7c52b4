package store

import (
	"cmp"
	"slices"
	"strings"

	"weir/internal/llm"
	"weir/internal/refusal"
)

const (
	hoursOfDay = 24
	// mostRefusedCells bounds the memory in which the groups of a day are added up without a map.
	mostRefusedCells = 1 << 18
	// mostRefusedGroups bounds the groups of a report.
	mostRefusedGroups = 1 << 17
)

// refusedColumn returns the column of a group; false for a time.
func refusedColumn(g refusal.Group) (column int, ok bool) {
	switch g {
	case refusal.ByAccount:
		return refusedAccount, true
	case refusal.ByKey:
		return refusedKey, true
	case refusal.ByModel:
		return refusedModel, true
	case refusal.ByReason:
		return refusedReason, true
	}
	return 0, false
}

// refusedGroups adds up refusals by the groups of a query, which must not be times.
type refusedGroups struct {
	by      []int // columns
	only    [refusedColumns]string
	numbers [refusedColumns]map[string]uint32 // of all texts so far
	texts   [refusedColumns][]string
	sums    map[refusedCell]int64
	global  [refusedColumns][]uint32 // the numbers of the texts of the current day
	cells   []int64                  // its sums
}

// refusedCell has the numbers of a group's texts.
type refusedCell [refusedHour]uint32

func newRefusedGroups(q *refusal.Query) *refusedGroups {
	g := &refusedGroups{sums: map[refusedCell]int64{}}
	g.only[refusedKey], g.only[refusedModel], g.only[refusedReason] = q.Key, q.Model, string(q.Reason)
	for _, by := range q.By {
		if c, ok := refusedColumn(by); ok {
			g.by = append(g.by, c)
		}
	}
	return g
}

// number returns the number of a text.
func (g *refusedGroups) number(column int, text string) uint32 {
	n, there := g.numbers[column][text]
	if !there {
		if g.numbers[column] == nil {
			g.numbers[column] = map[string]uint32{}
		}
		n = uint32(len(g.texts[column])) //nolint:gosec // mostRefusedCounts bounds the texts of a day
		text = strings.Clone(text)       // it may be a substring of all counts of a day
		g.numbers[column][text], g.texts[column] = n, append(g.texts[column], text)
	}
	return n
}

// addSum adds the sum of a group.
func (g *refusedGroups) addSum(s *refusal.Sum) {
	var cell refusedCell
	for _, c := range g.by {
		cell[c] = g.number(c, valuesOf(s)[c])
	}
	g.sums[cell] += s.N
}

// addDay adds the packed refusals of a day from an hour until another.
func (g *refusedGroups) addDay(packed []byte, from, until int) error {
	p, err := unpackRefusals(packed)
	if err != nil {
		return err
	}
	isIn := g.filter(p, from, until)
	for _, c := range g.by {
		g.global[c] = g.global[c][:0]
		for _, text := range p.texts[c] {
			g.global[c] = append(g.global[c], g.number(c, text))
		}
	}
	size := 1
	for _, c := range g.by {
		size = min(size*max(1, len(p.texts[c])), mostRefusedCells+1)
	}
	if size > mostRefusedCells {
		return g.addEach(p, isIn)
	}
	g.cells = append(g.cells[:0], make([]int64, size)...)
	for p.next() {
		if !isIn() {
			continue
		}
		at := 0
		for _, c := range g.by {
			at = at*len(p.texts[c]) + p.of[c]
		}
		g.cells[at] += p.n
	}
	for at, n := range g.cells {
		if n == 0 {
			continue
		}
		for _, c := range slices.Backward(g.by) {
			p.of[c], at = at%len(p.texts[c]), at/len(p.texts[c])
		}
		g.add(p, n)
	}
	return cmp.Or(p.failed(), g.full())
}

// addEach adds counts of so many groups that their product is too large.
func (g *refusedGroups) addEach(p *packedRefusals, isIn func() bool) error {
	for p.next() {
		if isIn() {
			g.add(p, p.n)
		}
		if err := g.full(); err != nil {
			return err
		}
	}
	return p.failed()
}

func (g *refusedGroups) full() error {
	if len(g.sums) > mostRefusedGroups {
		return errEnough
	}
	return nil
}

// add adds refusals to the group of the current texts.
func (g *refusedGroups) add(p *packedRefusals, n int64) {
	var cell refusedCell
	for _, c := range g.by {
		cell[c] = g.global[c][p.of[c]]
	}
	g.sums[cell] += n
}

// filter returns a function that reports whether the current count is requested.
func (g *refusedGroups) filter(p *packedRefusals, from, until int) func() bool {
	var in [refusedColumns][]bool
	var filtered []int
	for c, texts := range p.texts {
		all := true
		in[c] = make([]bool, len(texts))
		for i, text := range texts {
			in[c][i] = g.only[c] == "" || text == g.only[c]
			if c == refusedHour && until-from < hoursOfDay {
				in[c][i] = text >= hourText2(from) && text < hourText2(until)
			}
			all = all && in[c][i]
		}
		if !all {
			filtered = append(filtered, c)
		}
	}
	return func() bool {
		for _, c := range filtered {
			if !in[c][p.of[c]] {
				return false
			}
		}
		return true
	}
}

func (g *refusedGroups) total() (n int64) {
	for _, sum := range g.sums {
		n += sum
	}
	return n
}

// largest returns the largest groups.
func (g *refusedGroups) largest(most int) []refusal.Sum {
	list := make([]refusal.Sum, 0, len(g.sums))
	for cell, n := range g.sums {
		s := refusal.Sum{N: n}
		for _, c := range g.by {
			switch text := g.texts[c][cell[c]]; c {
			case refusedAccount:
				s.Account = text
			case refusedKey:
				s.Key = text
			case refusedModel:
				s.Model = text
			case refusedReason:
				s.Reason = llm.Code(text)
			}
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b refusal.Sum) int {
		order := cmp.Compare(b.N, a.N)
		for i := 0; i < len(g.by) && order == 0; i++ {
			order = strings.Compare(valuesOf(&a)[g.by[i]], valuesOf(&b)[g.by[i]])
		}
		return order
	})
	return list[:min(most, len(list))]
}

// valuesOf returns the values of the columns before the hour.
func valuesOf(s *refusal.Sum) [refusedHour]string {
	return [...]string{s.Account, s.Key, s.Model, string(s.Reason)}
}
