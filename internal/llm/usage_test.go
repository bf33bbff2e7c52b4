package llm_test

import (
	"math"
	"testing"

	"weir/internal/llm"
)

func TestClassNamesRoundTrip(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for c := range llm.Class(llm.NumClasses) {
		name := c.String()
		if got, ok := llm.ParseClass(name); got != c || !ok || seen[name] || name == "" {
			t.Errorf("class %d, %q: got %d, %v, want it back, and a name of its own", c, name, got, ok)
		}
		seen[name] = true
	}
	for _, name := range []string{"", "unknown", "Input", "tokens"} {
		if got, ok := llm.ParseClass(name); ok || got.String() != "unknown" {
			t.Errorf("ParseClass(%q): got %s, %v, want none", name, got, ok)
		}
	}
}

func TestTokenClassesArePartition(t *testing.T) {
	t.Parallel()
	var u llm.Usage
	var in, out, other int64
	for c := range llm.Class(llm.NumClasses) {
		u[c] = 1 << c
		switch {
		case c.IsInput() && c.IsOutput():
			t.Errorf("%s: got input and output, want one at most", c)
		case c.IsInput():
			in += u[c]
		case c.IsOutput():
			out += u[c]
		default:
			other += u[c]
		}
		if got, want := c.IsInput() || c.IsOutput(), int(c) < llm.NumTokens; got != want {
			t.Errorf("%s counts tokens: got %v, want %v", c, got, want)
		}
	}
	if got := u.InputTokens(); got != in {
		t.Errorf("InputTokens: got %b, want %b", got, in)
	}
	if got := u.OutputTokens(); got != out {
		t.Errorf("OutputTokens: got %b, want %b", got, out)
	}
	if got := u.TotalTokens(); got != in+out || other == 0 {
		t.Errorf("TotalTokens: got %b, want %b, without the units %b", got, in+out, other)
	}
}

func TestUsageArithmetic(t *testing.T) {
	t.Parallel()
	u, v := llm.Usage{llm.Input: 3, llm.Searches: 1}, llm.Usage{llm.Input: 4, llm.Output: 5}
	u.Add(&v)
	if want := (llm.Usage{llm.Input: 7, llm.Output: 5, llm.Searches: 1}); u != want {
		t.Errorf("Add: got %v, want %v", u, want)
	}
	if (&llm.Usage{}).IsZero() != true || u.IsZero() {
		t.Error("IsZero: got the opposite")
	}
	huge := llm.Usage{llm.Input: math.MaxInt64, llm.CacheRead: 1, llm.Output: math.MaxInt64}
	if got := huge.InputTokens(); got != math.MaxInt64 {
		t.Errorf("InputTokens of more than an int64 holds: got %d, want %d", got, int64(math.MaxInt64))
	}
	if got := huge.TotalTokens(); got != math.MaxInt64 {
		t.Errorf("TotalTokens of more than an int64 holds: got %d, want %d", got, int64(math.MaxInt64))
	}
	correction := llm.Usage{llm.Input: -5, llm.Output: 2}
	if got := correction.TotalTokens(); got != -3 {
		t.Errorf("TotalTokens of a correction: got %d, want -3", got)
	}
}

func TestPlausibleUsageIsBounded(t *testing.T) {
	t.Parallel()
	tests := []struct {
		u    llm.Usage
		want bool
	}{
		{llm.Usage{}, true},
		{llm.Usage{llm.Input: 1 << 40}, true},
		{llm.Usage{llm.Input: 1<<40 + 1}, false},
		{llm.Usage{llm.Milliseconds: -1}, false},
		{llm.Usage{llm.Output: math.MinInt64}, false},
	}
	for _, tt := range tests {
		if got := tt.u.Plausible(); got != tt.want {
			t.Errorf("%v: got %v, want %v", tt.u, got, tt.want)
		}
	}
}
