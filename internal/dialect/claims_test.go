package dialect_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"weir/internal/dialect"
	"weir/internal/dialect/compose"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/sse"
)

// citing lists the wire formats of clients and providers whose answers name sources.
var citing = []string{"openai", "responses", "anthropic", "gemini"}

// pages lists the sources of answers.
var pages = []llm.Source{
	{URL: "https://a.example/1", Title: "One"}, {URL: "https://b.example/2", Title: "Zwei – ü"}, {URL: "https://c.example/3", Title: "三"},
}

// citedParts generates texts with claims at the boundaries of characters of one to four bytes, after a search.
func citedParts() *rapid.Generator[[]llm.Part] {
	word := rapid.SampledFrom([]string{"a", "rain ", "é", "漢字", "😀", "\n", "[1]", "\"", "e\u0301", "x😀y"})
	return rapid.Custom(func(t *rapid.T) (parts []llm.Part) {
		if rapid.Bool().Draw(t, "searched") {
			parts = append(parts, llm.Searched(&llm.Search{Queries: []string{"rain in 東京"}, Results: pages[:1]}, nil))
		}
		for range rapid.IntRange(1, 3).Draw(t, "texts") {
			p := llm.Part{Kind: llm.PartText, Text: strings.Join(rapid.SliceOfN(word, 1, 12).Draw(t, "text"), "")}
			var at []int
			for i := range p.Text {
				at = append(at, i)
			}
			at = append(at, len(p.Text))
			for range rapid.IntRange(0, 4).Draw(t, "claims") {
				from := rapid.IntRange(0, len(at)-2).Draw(t, "start")
				to := rapid.IntRange(from+1, len(at)-1).Draw(t, "end")
				p.Cite(llm.Claim{Start: at[from], End: at[to], Source: rapid.SampledFrom(pages).Draw(t, "page")})
			}
			parts = append(parts, p)
		}
		return parts
	})
}

// supported lists, for each byte of an answer's text, the pages that support it.
func supported(text int, claims []llm.Claim) string {
	by := make([]map[string]bool, text)
	for _, c := range claims {
		for i := c.Start; i < c.End; i++ {
			if by[i] == nil {
				by[i] = map[string]bool{}
			}
			by[i][c.Source.URL+" "+c.Source.Title] = true
		}
	}
	var b strings.Builder
	for i := range by {
		fmt.Fprintln(&b, i, slices.Sorted(maps.Keys(by[i])))
	}
	return b.String()
}

// saidBy returns the text of parts, the claims on it and the queries of the searches.
func saidBy(parts []llm.Part) (text string, claims []llm.Claim, queries []string) {
	for _, p := range parts {
		for _, c := range p.Claims() {
			claims = append(claims, llm.Claim{Start: len(text) + c.Start, End: len(text) + c.End, Source: c.Source})
		}
		if p.Kind == llm.PartText {
			text += p.Text
		}
		if p.Search() != nil {
			queries = append(queries, p.Search().Queries...)
		}
	}
	return text, claims, queries
}

// TestClaimsCrossFormats checks that an answer's claims cover the same bytes of its text in every wire format, in any
// unit of counting, and through each pair of formats.
func TestClaimsCrossFormats(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := citedParts().Draw(t, "parts")
		text, claims, queries := saidBy(parts)
		want := supported(len(text), claims)
		for _, first := range citing {
			for _, second := range citing {
				r := llm.Reply{ID: "id-1", Model: "m", Choices: []llm.Choice{{Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}, Finish: llm.FinishStop}}}
				var body []byte
				for _, name := range []string{first, second} {
					d := registrytest.All().Named(name)
					body = d.EncodeReply(nil, &r)
					got, err := d.DecodeReply(body, &llm.Quirks{})
					if err != nil {
						t.Fatalf("%s: %v in %s", name, err, body)
					}
					r = *got
				}
				gotText, gotClaims, gotQueries := saidBy(r.Choices[0].Message.Parts)
				if gotText != text || supported(len(text), gotClaims) != want {
					t.Fatalf("%s, %s: %s\nthe text %q has\n%swant of %q\n%s", first, second, body, gotText, supported(len(text), gotClaims), text, want)
				}
				if first != "openai" && second != "openai" && !slices.Equal(gotQueries, queries) {
					t.Fatalf("%s, %s: %s\nsearches %q, want %q", first, second, body, gotQueries, queries)
				}
			}
		}
	})
}

// TestClaimsCrossStreams checks the same of streams, where a claim follows its text. Where a citation covers a whole
// block, it includes the text before the claim.
func TestClaimsCrossStreams(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := citedParts().Draw(t, "parts")
		text, claims, queries := saidBy(parts)
		for _, name := range citing {
			d := registrytest.All().Named(name)
			stream := citedStream(d, text, claims, queries)
			gotText, gotClaims, gotQueries := readClaims(t, d, stream)
			if gotText != text {
				t.Fatalf("%s: text %q, want %q, of %s", name, gotText, text, stream)
			}
			want := supported(len(text), claims)
			got := supported(len(text), gotClaims)
			if name == "anthropic" {
				want, got = ends(claims), ends(gotClaims)
			}
			if got != want {
				t.Fatalf("%s: of %s\n%swant of %q\n%s", name, stream, got, text, want)
			}
			if name != "openai" && !slices.Equal(gotQueries, queries) {
				t.Fatalf("%s: searches %q, want %q, of %s", name, gotQueries, queries, stream)
			}
		}
	})
}

// ends lists the ends of each page's claims.
func ends(claims []llm.Claim) string {
	all := map[string]bool{}
	for _, c := range claims {
		all[fmt.Sprintf("%06d %s", c.End, c.Source.URL)] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), "\n")
}

// citedStream encodes an answer character by character, with each claim after its last character.
func citedStream(d *dialect.Dialect, text string, claims []llm.Claim, queries []string) (out []byte) {
	enc := d.NewEncoder(llm.Meta{ID: "id-1", Model: "m"})
	for _, q := range queries {
		out = enc.Append(out, &llm.Event{Kind: llm.EventSearch, Search: &llm.Search{Queries: []string{q}}})
	}
	for at := 0; at < len(text); {
		_, n := utf8.DecodeRuneInString(text[at:])
		out = enc.Append(out, &llm.Event{Kind: llm.EventText, Text: text[at : at+n]})
		at += n
		for _, c := range claims {
			if c.End == at {
				out = enc.Append(out, &llm.Event{Kind: llm.EventClaim, Claim: &c})
			}
		}
	}
	return enc.Finish(out, &llm.Final{Finish: []llm.FinishReason{llm.FinishStop}})
}

// readClaims reads the text of a stream, its claims and the queries of its searches.
func readClaims(t *rapid.T, d *dialect.Dialect, stream []byte) (text string, claims []llm.Claim, queries []string) {
	t.Helper()
	dec, frames := d.NewDecoder(&llm.Quirks{}), d.Framing.NewReader(bytes.NewReader(stream), 1<<20)
	for {
		f, err := frames.Next()
		if errors.Is(err, io.EOF) {
			return text, claims, queries
		}
		if err != nil {
			t.Fatalf("%v in %s", err, stream)
		}
		events, err := dec.Decode(nil, f)
		if err != nil {
			t.Fatalf("%v in %s", err, stream)
		}
		for _, ev := range events {
			switch ev.Kind {
			case llm.EventText:
				text += ev.Text
			case llm.EventClaim:
				claims = append(claims, *ev.Claim)
			case llm.EventSearch:
				queries = append(queries, ev.Search.Queries...)
			}
		}
	}
}

// TestSourcesStayWithTheirVendor checks that no reference to another vendor's sources in an answer is sent to a
// provider again, neither in the client's own format nor in another, while the answer's text is.
func TestSourcesStayWithTheirVendor(t *testing.T) {
	t.Parallel()
	const id = "0197a0b0-0000-7000-8000-000000000000"
	parts := []llm.Part{
		llm.Searched(&llm.Search{Queries: []string{"rain"}, Results: pages}, nil),
		{Kind: llm.PartText, Text: "It rains. "},
		{Kind: llm.PartText, Text: "Much."},
		llm.Searched(&llm.Search{Queries: []string{"empty"}}, nil),
	}
	parts[1].Cite(llm.Claim{Start: 0, End: 2, Source: pages[0]}, llm.Claim{Start: 3, End: 8, Source: llm.Source{Title: "a.pdf", Quote: "rain", Document: 1}})
	for _, name := range citing {
		client := registrytest.All().Named(name)
		r := llm.Reply{ID: client.IDPrefix + id, Model: "m", Choices: []llm.Choice{{Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}}}}
		var reply map[string]any
		if err := json.Unmarshal(client.EncodeReply(nil, &r), &reply); err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(takeBack[name].body(takeBack[name].whole(reply), nil))
		if err != nil {
			t.Fatal(err)
		}
		for _, provider := range providers() {
			t.Run(name+" to "+provider.Name, func(t *testing.T) {
				sent := upstream(t, client, provider, body)
				for _, mark := range []string{"weir1", "ws_" + id} {
					if strings.Contains(string(sent), mark) {
						t.Errorf("%s sends %q: %s", provider.Name, mark, sent)
					}
				}
				if !strings.Contains(string(sent), "Much.") {
					t.Errorf("the text is lost: %s", sent)
				}
			})
		}
	}
}

// upstream returns a client's request as a provider receives it: unchanged in the same wire format, otherwise
// translated.
func upstream(t *testing.T, client, provider *dialect.Dialect, body []byte) []byte {
	t.Helper()
	h, err := client.Scan(body, httptest.NewRequest(http.MethodPost, "/", nil))
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if client.Name == provider.Name {
		return provider.Splice(nil, body, &h, llm.Splice{Model: "m"}, nil)
	}
	tree, err := client.DecodeRequest(body)
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	sent, _, err := provider.EncodeRequest(compose.Offered(provider.Name, tree), nil)
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return sent
}

// TestSourcesOfHostileProvidersAreBounded checks that the retained sources of a stream and the written sources of an
// answer are bounded for any number of them.
func TestSourcesOfHostileProvidersAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 8<<10)
	d := registrytest.All().Named("anthropic")
	dec := d.NewDecoder(&llm.Quirks{})
	for i := range 4000 {
		kind, member := "content_block_delta", `"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"https://a.example","title":"t","cited_text":"`+long+`"}}`
		if i == 0 {
			kind, member = "content_block_start", `"content_block":{"type":"text","text":""}`
		}
		if _, err := dec.Decode(nil, sse.Event{Name: []byte(kind), Data: []byte(`{"type":"` + kind + `","index":0,` + member + `}`)}); err != nil {
			t.Fatal(err)
		}
	}
	if kept := dec.(dialect.Sized).Size(); kept == 0 || kept > 4<<20 {
		t.Errorf("%d bytes of sources are retained, want some, and at most 4 MiB", kept)
	}
	text := strings.Repeat("a", 4000)
	p := llm.Part{Kind: llm.PartText, Text: text}
	size := len(text)
	for i := range 2000 { // one within the other
		c := llm.Claim{Start: i, End: len(text) - i, Source: llm.Source{URL: "https://a.example", Quote: long[:1000]}}
		p.Cite(c)
		size += c.Source.Size() + 128
	}
	for _, name := range citing {
		r := llm.Reply{ID: "id-1", Model: "m", Choices: []llm.Choice{{Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{p}}}}}
		if body := registrytest.All().Named(name).EncodeReply(nil, &r); len(body) > 4*size {
			t.Errorf("%s: %d bytes are written of %d", name, len(body), size)
		}
	}
}

// TestFoundFilesAreNoPages checks that a file found by a search, which has no address, is not reported as a page of a
// web search: the AI SDK would treat it as a source.
func TestFoundFilesAreNoPages(t *testing.T) {
	t.Parallel()
	found := llm.Search{Queries: []string{"rain"}, Results: []llm.Source{{File: "file-77", Title: "rain.pdf"}, pages[0], {Title: "snow.pdf"}}}
	for _, name := range citing {
		d := registrytest.All().Named(name)
		r := llm.Reply{ID: "id-1", Model: "m", Choices: []llm.Choice{{Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Searched(&found, nil)}}}}}
		enc := d.NewEncoder(llm.Meta{ID: "id-1", Model: "m"})
		stream := enc.Finish(enc.Append(nil, &llm.Event{Kind: llm.EventSearch, Search: &found}), &llm.Final{Finish: []llm.FinishReason{llm.FinishStop}})
		for _, out := range []string{string(d.EncodeReply(nil, &r)), string(stream)} {
			listed := strings.Contains(out, pages[0].URL)
			if strings.Contains(out, `"url":""`) || listed != (name == "responses" || name == "anthropic") {
				t.Errorf("%s: a page without an address, or not the one with one: %s", name, out)
			}
		}
	}
}
