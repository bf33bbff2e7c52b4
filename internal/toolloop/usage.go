package toolloop

import (
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// usage is the sum of the usage objects of several answers, in any format, and of all costs.
type usage struct {
	object  []byte
	cost    llm.Money
	unknown bool // a cost is unknown
}

// costMember is the member with the cost, which is added up separately.
const costMember = "cost"

// add adds the usage of an answer and its cost by the header X-Weir-Cost-USD.
func (u *usage) add(object []byte, cost string) {
	if rawjson.KindOf(object) == rawjson.Object {
		u.object = sum(u.object, object, 0)
	}
	m, err := llm.ParseMoney(cost)
	if err != nil {
		u.unknown = true
		return
	}
	u.addCost(&m)
}

func (u *usage) addCost(m *llm.Money) {
	if m == nil {
		u.unknown = true
		return
	}
	u.cost += *m
}

// whole returns the usage object; nil if no answer had one.
func (u *usage) whole() []byte {
	if u.object == nil || u.unknown {
		return u.object
	}
	return rawjson.Splice(nil, u.object, rawjson.Set(u.object, costMember, u.cost.AppendText(nil)))
}

// maxNesting bounds the nesting of a usage object, and maxMembers the members of each of its objects, which are
// searched for each other. Of larger ones the last counts.
const maxNesting, maxMembers = 8, 64

// sum adds the numbers of two objects, member by member. Of other members the last one counts.
func sum(a, b []byte, depth int) []byte {
	if depth > maxNesting || isLarge(a) || isLarge(b) {
		return b
	}
	if a == nil {
		a = []byte("{}")
	}
	out := []byte{'{'}
	for m := range rawjson.Members(a) {
		name := m.Name()
		if name == costMember && depth == 0 {
			continue
		}
		value := m.Value
		if other := rawjson.Get(b, name); rawjson.Present(other) {
			value = added(value, other, depth)
		}
		out = rawjson.AppendMember(out, name, value)
	}
	for m := range rawjson.Members(b) {
		name := m.Name()
		if rawjson.Get(a, name) == nil && (name != costMember || depth > 0) {
			out = rawjson.AppendMember(out, name, m.Value)
		}
	}
	return append(out, '}')
}

func isLarge(object []byte) bool {
	n := 0
	for range rawjson.Members(object) {
		if n++; n > maxMembers {
			return true
		}
	}
	return false
}

func added(a, b []byte, depth int) []byte {
	if rawjson.KindOf(a) == rawjson.Object && rawjson.KindOf(b) == rawjson.Object {
		return sum(a, b, depth+1)
	}
	x, isInt := rawjson.AsInt(a)
	y, also := rawjson.AsInt(b)
	if isInt && also {
		return strconv.AppendInt(nil, x+y, 10)
	}
	return b
}
