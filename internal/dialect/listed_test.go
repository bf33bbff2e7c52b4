package dialect_test

import (
	"strings"
	"testing"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/sse"
)

// TestListedSourcesAreOfTheirMarkers checks that listed sources belong to their markers in the text, whole and in
// pieces of each length, and that sources without a marker belong to the whole text.
func TestListedSourcesAreOfTheirMarkers(t *testing.T) {
	t.Parallel()
	const text = `Wien ist größer[2] als Graz[1][2]. [x] [0] [99] a[3`
	const list = `"search_results":[{"title":"A","url":"https://a.example"},{"title":"B","url":"https://b.example"},{"title":"C","url":"https://c.example"}]`
	want := map[string][]string{"https://a.example": {"[1]"}, "https://b.example": {"[2]", "[2]"}, "https://c.example": {""}}
	check := func(t *testing.T, claims []llm.Claim) {
		t.Helper()
		got := map[string][]string{}
		for _, c := range claims {
			got[c.Source.URL] = append(got[c.Source.URL], text[c.Start:c.End])
		}
		for url, places := range want {
			if strings.Join(got[url], "|") != strings.Join(places, "|") || len(got) != len(want) {
				t.Errorf("%s is of %q, want %q; all: %q", url, got[url], places, got)
			}
		}
	}
	d := registrytest.All().Named("openai")
	reply, err := d.DecodeReply([]byte(`{"id":"a","model":"sonar",`+list+`,"choices":[{"index":0,"message":{"role":"assistant","content":"`+text+`"},"finish_reason":"stop"}]}`), &llm.Quirks{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, reply.Choices[0].Message.Parts[0].Claims())
	for length := 1; length <= len(text); length++ {
		dec := d.NewDecoder(&llm.Quirks{})
		var claims []llm.Claim
		frame := func(choice string) {
			events, err := dec.Decode(nil, sse.Event{Data: []byte(`{"id":"a","model":"sonar",` + list + `,"choices":[{"index":0,` + choice + `}]}`)})
			if err != nil {
				t.Fatal(err)
			}
			for _, ev := range events {
				if ev.Kind == llm.EventClaim {
					claims = append(claims, *ev.Claim)
				}
			}
		}
		runes := []rune(text)
		for at := 0; at < len(runes); at += length {
			frame(`"delta":{"content":"` + string(runes[at:min(at+length, len(runes))]) + `"}`)
		}
		frame(`"delta":{},"finish_reason":"stop"`)
		check(t, claims)
	}
}
