package compose_test

import (
	"fmt"
	"slices"
	"testing"

	"weir/internal/dialect/compose"
	"weir/internal/llm"
)

// TestAllowedDomainsAreLinear checks that blocked domains are removed from the searched ones in linear time: comparing
// 200,000 of each with each other took minutes.
func TestAllowedDomainsAreLinear(t *testing.T) {
	t.Parallel()
	const many = 200_000
	s := &llm.WebSearch{Allowed: []string{"kept.example"}}
	for i := range many {
		s.Allowed = append(s.Allowed, fmt.Sprintf("a%06d.example", i))
		s.Blocked = append(s.Blocked, fmt.Sprintf("a%06d.example", many-i-1))
	}
	if got, want := compose.Allowed(s), []string{"kept.example"}; !slices.Equal(got, want) {
		t.Errorf("%d domains to search, want %q", len(got), want)
	}
}
