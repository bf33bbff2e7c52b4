package promptcache

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// BenchmarkLook looks at a conversation of 100 messages and 200 KB that grows.
func BenchmarkLook(b *testing.B) {
	m, at := NewMemory(), time.Unix(1e9, 0)
	rule, _ := RuleOf("anthropic", "claude-sonnet-5")
	var list []string
	for i := range 100 {
		list = append(list, fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":"%d %s"}]}`, i, strings.Repeat("word ", 400)))
	}
	body := []byte(`{"model":"m","messages":[` + strings.Join(list, ",") + "]}")
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		m.Look(&Sent{Account: "a", Conversation: 1, Target: "p/m", Rule: rule, Body: body, Sent: body, Total: 50_000, Read: 50_000, At: at})
	}
}
