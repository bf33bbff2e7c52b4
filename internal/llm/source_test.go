package llm_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/llm"
)

// TestCiteFindsTheParts checks that a claim on a whole text belongs to the parts that contain it.
func TestCiteFindsTheParts(t *testing.T) {
	t.Parallel()
	s := llm.Source{URL: "https://a.example"}
	claim := func(start, end int) llm.Claim { return llm.Claim{Start: start, End: end, Source: s} }
	for _, tt := range []struct {
		name string
		of   llm.Claim
		want [3][]llm.Claim // of "abc", "", "de"
	}{
		{"within the first", claim(0, 2), [3][]llm.Claim{{claim(0, 2)}}},
		{"all of the first", claim(0, 3), [3][]llm.Claim{{claim(0, 3)}}},
		{"over all", claim(1, 5), [3][]llm.Claim{{claim(1, 3)}, {claim(0, 0)}, {claim(0, 2)}}},
		{"within the last", claim(3, 4), [3][]llm.Claim{nil, nil, {claim(0, 1)}}},
		{"a place behind the first", claim(3, 3), [3][]llm.Claim{{claim(3, 3)}}},
		{"a place at the end", claim(5, 5), [3][]llm.Claim{nil, nil, {claim(2, 2)}}},
		{"a place at the beginning", claim(0, 0), [3][]llm.Claim{{claim(0, 0)}}},
		{"beyond the end", claim(4, 99), [3][]llm.Claim{nil, nil, {claim(1, 2)}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := llm.Message{Parts: []llm.Part{
				{Kind: llm.PartText, Text: "abc"}, {Kind: llm.PartReasoning, Text: "hm"}, {Kind: llm.PartText}, {Kind: llm.PartText, Text: "de"},
			}}
			m.Cite(tt.of)
			got := [3][]llm.Claim{m.Parts[0].Claims(), m.Parts[2].Claims(), m.Parts[3].Claims()}
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("(-got +want)\n%s", diff)
			}
		})
	}
}
