package promptcache

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/internal/worktest"
)

// sentOf returns a request of a conversation with so many messages.
func sentOf(account string, conversation uint64, messages int, at time.Time) *Sent {
	rule, _ := RuleOf("openai", "m")
	text := strings.Repeat(fmt.Sprint(`{"role":"user","content":"`, conversation, `"},`), messages)
	return &Sent{
		Account: account, Conversation: conversation, Target: "p/m", Rule: rule, Total: 2000,
		Body: []byte(`{"messages":[` + strings.TrimSuffix(text, ",") + "]}"), At: at,
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m, at := NewMemory(), time.Unix(1e9, 0)
	for i := range uint64(3000) {
		m.Look(sentOf(fmt.Sprint("account ", i%20), 1+i, 1000, at))
		if m.size > mostSize {
			t.Fatalf("after %d conversations: size %d, want at most %d", i, m.size, mostSize)
		}
	}
	m = NewMemory()
	m.Look(sentOf("small", 1, 3, at))
	for i := range uint64(1000) {
		m.Look(sentOf("large", 2+i, 1000, at))
	}
	if got := m.accounts["large"].size; got > mostOfOne || m.accounts["small"] == nil {
		t.Errorf("a large account has size %d, want at most %d; another is remembered: %v, want true", got, mostOfOne,
			m.accounts["small"] != nil)
	}
	m.Look(sentOf("late", 1, 3, at.Add(keep+time.Second)))
	if len(m.talks) != 1 || len(m.accounts) != 1 || m.used.Len() != 1 {
		t.Errorf("after an hour %d conversations are remembered, want 1", len(m.talks))
	}
	sum := 0
	for _, talk := range m.talks {
		sum += talk.size
	}
	if sum != m.size {
		t.Errorf("size %d, want %d", m.size, sum)
	}
}

func TestConversationHasBoundedBranchesAndEnds(t *testing.T) {
	t.Parallel()
	m, at := NewMemory(), time.Unix(1e9, 0)
	for i := range uint64(200) {
		s := sentOf("a", 1+i%20, 3, at)
		s.Conversation = 1
		s.Target = fmt.Sprint("p/", i)
		m.Look(s)
	}
	talk := m.talks[talkID{"a", 1}]
	size := sizeOfTalk
	for _, b := range talk.branches {
		size += len(b.sections) + sizeOfEnd*len(b.ends)
	}
	if len(talk.branches) != mostBranches || talk.size != size || m.size != size {
		t.Errorf("%d branches, sizes %d and %d; want %d, %d", len(talk.branches), talk.size, m.size, mostBranches, size)
	}
	for i := range 200 {
		s := sentOf("b", 1, 3, at)
		s.Target = fmt.Sprint("p/", i)
		m.Look(s)
	}
	if n := len(m.talks[talkID{"b", 1}].branches[0].ends); n != mostEnds {
		t.Errorf("%d ends, want %d", n, mostEnds)
	}
}

// TestUnrelatedPromptsTakeBoundedWork compares a prompt with a conversation that has as many ends as it may have, none
// of them related: all accounts wait for that.
func TestUnrelatedPromptsTakeBoundedWork(t *testing.T) {
	m, at := NewMemory(), time.Unix(1e9, 0)
	sent := func(branch, messages int) *Sent {
		s := sentOf("a", uint64(branch), messages, at)
		s.Conversation = 1
		return s
	}
	for branch := range mostBranches {
		for i := range mostEnds {
			m.Look(sent(1+branch, 100+i))
		}
	}
	other := sent(1+mostBranches, 1000)
	sections := sectionsOf(m.seed, other.Body)
	talk := m.talks[talkID{"a", 1}]
	var miss Miss
	if n := testing.AllocsPerRun(1, func() { miss = talk.miss(other, sections) }); n > mostBranches*mostEnds/2 {
		t.Errorf("%v allocations, as if each end were compared anew", n)
	}
	if miss != (Miss{}) {
		t.Errorf("got %+v, want no miss", miss)
	}
}

func TestHashesAreKeyed(t *testing.T) {
	t.Parallel()
	body := sentOf("a", 1, 1, time.Time{}).Body
	one, other := sectionsOf(NewMemory().seed, body), sectionsOf(NewMemory().seed, body)
	if one[0].hash == other[0].hash {
		t.Error("two memories have the same hash of a text")
	}
}

func TestMarksDoNotChangeSections(t *testing.T) {
	t.Parallel()
	seed := NewMemory().seed
	const mark = `,"cache_control":{"type":"ephemeral"}`
	for _, tt := range []struct {
		name, a, b string
		want       bool
	}{
		{
			"on a text", `{"messages":[{"role":"user","content":"a"}]}`,
			`{"messages":[{"role":"user","content":[{"type":"text","text":"a"` + mark + `}]}]}`, true,
		},
		{
			"on a tool", `{"tools":[{"name":"t"}],"messages":[{"role":"user","content":"a"}]}`,
			`{"tools":[{"name":"t"` + mark + `}],"messages":[{"role":"user","content":"a"}]}`, true,
		},
		{
			"on a tool's result", `{"messages":[{"role":"user","content":[{"type":"tool_result","content":"a"}]}]}`,
			`{"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"a"` + mark +
				`}]` + mark + `}]}]}`, true,
		},
		{
			"as a block", `{"system":[{"text":"a"}],"messages":[]}`,
			`{"system":[{"text":"a"},{"cachePoint":{"type":"default"}}],"messages":[]}`, true,
		},
		{
			"on tools in a configuration", `{"toolConfig":{"tools":[{"toolSpec":{}}]}}`,
			`{"toolConfig":{"tools":[{"toolSpec":{}},{"cachePoint":{"type":"default"}}]}}`, true,
		},
		{
			"another text", `{"messages":[{"role":"user","content":"a"}]}`, `{"messages":[{"role":"user","content":"b"}]}`,
			false,
		},
		{
			"another role", `{"messages":[{"role":"user","content":"a"}]}`,
			`{"messages":[{"role":"assistant","content":"a"}]}`, false,
		},
	} {
		a, b := sectionsOf(seed, []byte(tt.a)), sectionsOf(seed, []byte(tt.b))
		if got := commonSections(a, b) == len(a) && len(a) == len(b) && len(a) > 0; got != tt.want {
			t.Errorf("%s: the same: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// FuzzSections checks that any body is read in linear time.
func FuzzSections(f *testing.F) {
	f.Add([]byte(`{"tools":[{"cache_control":1}],"messages":[{"role":"user","content":[{"text":"a"},{"a":{"cache_control":1}}]}]}`))
	f.Add([]byte(`{"messages":[` + strings.Repeat(`{"content":[`, 50) + strings.Repeat(`]}`, 50) + `]}`))
	f.Add([]byte(`{"system":{"parts":[{"text":1}]},"input":"a","contents":[[[["cachePoint"]]]]}`))
	seed := NewMemory().seed
	f.Fuzz(func(t *testing.T, body []byte) {
		worktest.Check(t, body, func(body []byte) { sectionsOf(seed, body) })
	})
}
