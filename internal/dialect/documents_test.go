package dialect_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
)

// documentary lists the wire formats in which a request can ask for citations of its documents.
var documentary = []string{"anthropic", "bedrock", "cohere"}

// address is that of all results of searches.
const address = "https://a.example"

// phrase generates a text of the given number of words, in characters of one to four bytes.
func phrase(t *rapid.T, label string, least, most int) string {
	word := rapid.SampledFrom([]string{"a", "rain ", "é", "漢字", "😀", "\n", "\"", ". ", "x😀y", "e\u0301"})
	return strings.Join(rapid.SliceOfN(word, least, most).Draw(t, label), "")
}

// cited holds a document of a conversation, with its client's names for it.
type cited struct {
	kind   llm.PlaceKind
	title  string
	chunks []string // one for a text
	turn   int
}

// citedDocuments generates documents in several messages.
func citedDocuments(kinds ...llm.PlaceKind) *rapid.Generator[[]cited] {
	return rapid.Custom(func(t *rapid.T) (all []cited) {
		turn := 0
		for i := range rapid.IntRange(1, 5).Draw(t, "documents") {
			d := cited{kind: rapid.SampledFrom(kinds).Draw(t, "kind"), title: rapid.SampledFrom([]string{"", "notes", "Größe (1).pdf", "三", "notes"}).Draw(t, "title")}
			most := 1
			if d.kind == llm.PlaceChunks || d.kind == llm.PlaceResult {
				most = 3
			}
			for j := range rapid.IntRange(1, most).Draw(t, "chunks") {
				d.chunks = append(d.chunks, fmt.Sprint(i, ".", j, " ", phrase(t, "chunk", 1, 6)))
			}
			turn += rapid.IntRange(0, 1).Draw(t, "later")
			d.turn = turn
			all = append(all, d)
		}
		return all
	})
}

// source picks a random place in a document of the given number.
func (d *cited) source(t *rapid.T, number int, whole bool) llm.Source {
	s := llm.Source{Title: d.title, Document: number, Quote: d.chunks[0]}
	from := rapid.IntRange(0, len(d.chunks)-1).Draw(t, "from")
	switch d.kind {
	case llm.PlacePages:
		from = rapid.IntRange(1, 9).Draw(t, "page")
		s.Place = llm.Place{Kind: d.kind, From: from, To: from + rapid.IntRange(1, 2).Draw(t, "pages")}
	case llm.PlaceCharacters:
		n := utf8.RuneCountInString(d.chunks[0])
		from = 0
		if !whole {
			from = rapid.IntRange(0, n-1).Draw(t, "character")
		}
		s.Place, s.Quote = llm.Place{Kind: d.kind, From: from, To: n}, string([]rune(d.chunks[0])[from:n])
	default:
		to := from + 1
		if !whole {
			to = rapid.IntRange(from+1, len(d.chunks)).Draw(t, "to")
		}
		s.Place, s.Quote = llm.Place{Kind: d.kind, From: from, To: to}, strings.Join(d.chunks[from:to], "")
	}
	if d.kind == llm.PlaceResult {
		s.URL = address
	}
	return s
}

// numbersOf returns the numbers of documents, as each kind of source counts them.
func numbersOf(all []cited) (list []int) {
	documents, results := 0, 0
	for _, d := range all {
		if d.kind == llm.PlaceResult {
			results++
			list = append(list, results)
		} else {
			documents++
			list = append(list, documents)
		}
	}
	return list
}

// citingAnswer generates an answer that cites documents: by whole documents and chunks if the format has only these.
func citingAnswer(t *rapid.T, all []cited, whole bool) (parts []llm.Part) {
	list := numbersOf(all)
	for range rapid.IntRange(1, 3).Draw(t, "texts") {
		p := llm.Part{Kind: llm.PartText, Text: phrase(t, "text", 1, 9)}
		var at []int
		for i := range p.Text {
			at = append(at, i)
		}
		at = append(at, len(p.Text))
		for range rapid.IntRange(0, 3).Draw(t, "claims") {
			from := rapid.IntRange(0, len(at)-2).Draw(t, "start")
			to := rapid.IntRange(from+1, len(at)-1).Draw(t, "end")
			of := rapid.IntRange(0, len(all)-1).Draw(t, "document")
			p.Cite(llm.Claim{Start: at[from], End: at[to], Source: all[of].source(t, list[of], whole)})
		}
		parts = append(parts, p)
	}
	return parts
}

// toldOf prints the source of a claim, without the provider's names of documents.
func toldOf(s *llm.Source) string {
	return fmt.Sprintf("%d %v %q %q %s", s.Document, s.Place, s.Title, s.Quote, s.URL)
}

// upheld lists, for each byte of a text, the places of documents that uphold it.
func upheld(text int, claims []llm.Claim) string {
	by := make([]map[string]bool, text)
	for _, c := range claims {
		for i := c.Start; i < c.End; i++ {
			if by[i] == nil {
				by[i] = map[string]bool{}
			}
			by[i][toldOf(&c.Source)] = true
		}
	}
	var b strings.Builder
	for i := range by {
		fmt.Fprintln(&b, i, slices.Sorted(maps.Keys(by[i])))
	}
	return b.String()
}

// calledOf returns the client's names of the documents.
func calledOf(all []cited) *llm.Called {
	m := llm.Message{}
	for i := range all {
		m.Parts = append(m.Parts, all[i].part())
	}
	return &llm.Called{Documents: llm.DocumentsOf([]llm.Message{m})}
}

func (d *cited) part() llm.Part {
	media := &llm.Media{Name: d.title, MIME: "text/plain", Document: &llm.Document{Cited: true}}
	switch d.kind {
	case llm.PlacePages:
		media.MIME = "application/pdf"
	case llm.PlaceChunks:
		media.Document.Chunks = d.chunks
	case llm.PlaceResult:
		media.Document.Chunks, media.Document.Source = d.chunks, address
	}
	return llm.Part{Kind: llm.PartDocument, Media: media}
}

// TestDocumentClaimsCrossFormats checks that an answer's claims on the client's documents and their places stay the
// same through each pair of formats with such citations.
func TestDocumentClaimsCrossFormats(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for _, first := range documentary {
			for _, second := range documentary {
				kinds := []llm.PlaceKind{llm.PlaceCharacters, llm.PlaceChunks, llm.PlaceResult, llm.PlacePages}
				whole := first == "cohere" || second == "cohere"
				if whole {
					kinds = kinds[:3] // it accepts only texts
				}
				all := citedDocuments(kinds...).Draw(t, "documents")
				parts := citingAnswer(t, all, whole)
				text, claims, _ := saidBy(parts)
				r := llm.Reply{ID: "id-1", Model: "m", Called: calledOf(all), Choices: []llm.Choice{{Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}, Finish: llm.FinishStop}}}
				var body []byte
				for _, name := range []string{first, second} {
					d := registrytest.All().Named(name)
					body = d.EncodeReply(nil, &r)
					got, err := d.DecodeReply(body, &llm.Quirks{})
					if err != nil {
						t.Fatalf("%s: %v in %s", name, err, body)
					}
					got.ID, got.Called = r.ID, r.Called
					r = *got
				}
				gotText, gotClaims, _ := saidBy(r.Choices[0].Message.Parts)
				for i := range gotClaims {
					gotClaims[i].Source = r.Called.Known(&gotClaims[i].Source)
				}
				if want, got := upheld(len(text), claims), upheld(len(gotText), gotClaims); gotText != text || got != want {
					t.Fatalf("%s, %s: %s\nthe text %q has\n%swant of %q\n%s", first, second, body, gotText, got, text, want)
				}
			}
		}
	})
}

// TestDocumentClaimsCrossStreams checks the same of streams. Where a citation covers a whole block, it includes the
// text before the claim.
func TestDocumentClaimsCrossStreams(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for _, name := range documentary {
			kinds := []llm.PlaceKind{llm.PlaceCharacters, llm.PlaceChunks, llm.PlaceResult, llm.PlacePages}
			if name == "cohere" {
				kinds = kinds[:3]
			}
			all := citedDocuments(kinds...).Draw(t, "documents")
			parts := citingAnswer(t, all, name == "cohere")
			text, claims, _ := saidBy(parts)
			d := registrytest.All().Named(name)
			stream := citedStream(d, text, claims, nil)
			gotText, gotClaims, _ := readClaims(t, d, stream)
			ends := func(claims []llm.Claim) string {
				all := map[string]bool{}
				for _, c := range claims {
					start := c.Start
					if name != "cohere" { // only Cohere reports it
						start = 0
					}
					all[fmt.Sprint(start, " ", c.End, " ", toldOf(&c.Source))] = true
				}
				return strings.Join(slices.Sorted(maps.Keys(all)), "\n")
			}
			if got, want := ends(gotClaims), ends(claims); gotText != text || got != want {
				t.Fatalf("%s: of %q\n%s\nwant of %q\n%s", name, gotText, got, text, want)
			}
			if name != "cohere" {
				continue
			}
			enc := d.NewEncoder(llm.Meta{ID: "id-1", Model: "m"}) // as Google sends sources, after all of the text
			late := enc.Append(nil, &llm.Event{Kind: llm.EventText, Text: text})
			for i := range claims {
				late = enc.Append(late, &llm.Event{Kind: llm.EventClaim, Claim: &claims[i]})
			}
			_, gotClaims, _ = readClaims(t, d, enc.Finish(late, &llm.Final{Finish: []llm.FinishReason{llm.FinishStop}}))
			if got, want := ends(gotClaims), ends(claims); got != want {
				t.Fatalf("behind the text:\n%s\nwant\n%s", got, want)
			}
		}
	})
}

// asksForCitations builds a conversation at /v1/messages, with an answer before each user message except the first.
func asksForCitations(all []cited) []byte {
	type object = map[string]any
	on := object{"enabled": true}
	var messages []any
	for turn := range all[len(all)-1].turn + 1 {
		if turn > 0 {
			messages = append(messages, object{"role": "assistant", "content": "So it is."})
		}
		content := []any{}
		for _, d := range all {
			if d.turn != turn {
				continue
			}
			var chunks []any
			for _, c := range d.chunks {
				chunks = append(chunks, object{"type": "text", "text": c})
			}
			b := object{"type": "document", "citations": on}
			if d.title != "" {
				b["title"] = d.title
			}
			switch d.kind {
			case llm.PlaceCharacters:
				b["source"] = object{"type": "text", "media_type": "text/plain", "data": d.chunks[0]}
			case llm.PlacePages:
				b["source"] = object{"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
			case llm.PlaceChunks:
				b["source"] = object{"type": "content", "content": chunks}
			case llm.PlaceResult:
				b = object{"type": "search_result", "source": address, "title": d.title, "content": chunks, "citations": on}
			}
			content = append(content, b)
		}
		messages = append(messages, object{"role": "user", "content": append(content, object{"type": "text", "text": "And?"})})
	}
	body, err := json.Marshal(object{"model": "m", "max_tokens": 9, "messages": messages})
	if err != nil {
		panic(err)
	}
	return body
}

// TestDocumentsAreCitedAsTheirClientCountsThem has a provider cite each document of a conversation as received, and
// checks that the client gets citations of its own documents: the number over all messages, the title and the place.
func TestDocumentsAreCitedAsTheirClientCountsThem(t *testing.T) {
	t.Parallel()
	client := registrytest.All().Named("anthropic")
	rapid.Check(t, func(t *rapid.T) {
		for name, cites := range map[string]func(t *rapid.T, sent []byte) (reply string, quotes []string){"bedrock": citesByBedrock, "cohere": citesByCohere} {
			kinds := []llm.PlaceKind{llm.PlaceCharacters, llm.PlaceChunks, llm.PlaceResult, llm.PlacePages}
			if name == "cohere" {
				kinds = kinds[:3]
			}
			all := citedDocuments(kinds...).Draw(t, "documents")
			tree, err := client.DecodeRequest(asksForCitations(all))
			if err != nil {
				t.Fatal(err)
			}
			provider := registrytest.All().Named(name)
			tree.Model = models[name]
			sent, dropped, err := provider.EncodeRequest(compose.Offered(name, tree), nil)
			if err != nil || slices.Contains(dropped, "citations") {
				t.Fatalf("%s: %v, without %q: %s", name, err, dropped, sent)
			}
			body, quotes := cites(t, sent)
			reply, err := provider.DecodeReply([]byte(body), &llm.Quirks{})
			if err != nil {
				t.Fatalf("%v in %s", err, body)
			}
			reply.Called = &llm.Called{Documents: llm.DocumentsOf(tree.Messages)}
			back := client.EncodeReply(nil, reply)
			want := wantCitations(all, quotes)
			if got := citationsOf(t, back); !slices.Equal(got, want) {
				t.Fatalf("%s got %s\nand answered %s\nthe client got\n%s\nwant\n%s", name, sent, body, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	})
}

// wantCitations returns the citations of all chunks that a provider quoted, in their order, as the vendor writes them.
func wantCitations(all []cited, quotes []string) (want []string) {
	list := numbersOf(all)
	for _, q := range quotes {
		for i, d := range all {
			for j, chunk := range d.chunks {
				if d.kind == llm.PlacePages { // only the provider reads pages
					chunk = fmt.Sprint("page ", list[i]-1)
				}
				if chunk != q {
					continue
				}
				title := "null"
				if d.title != "" {
					title = d.title
				}
				switch d.kind {
				case llm.PlaceCharacters:
					want = append(want, fmt.Sprintf("char_location %d %s 0-%d %q", list[i]-1, title, utf8.RuneCountInString(chunk), q))
				case llm.PlacePages:
					want = append(want, fmt.Sprintf("page_location %d %s 1-2 %q", list[i]-1, title, q))
				case llm.PlaceChunks:
					want = append(want, fmt.Sprintf("content_block_location %d %s %d-%d %q", list[i]-1, title, j, j+1, q))
				case llm.PlaceResult:
					want = append(want, fmt.Sprintf("search_result_location %d %s %d-%d %q", list[i]-1, title, j, j+1, q))
				}
			}
		}
	}
	slices.Sort(want)
	return want
}

// citationsOf returns the citations of an answer at /v1/messages, and checks that they have places and no marks.
func citationsOf(t *rapid.T, body []byte) (got []string) {
	var r struct {
		Content []struct{ Citations []map[string]any }
	}
	if err := json.Unmarshal(body, &r); err != nil || strings.Contains(string(body), "weir1") {
		t.Fatalf("%v: %s", err, body)
	}
	for _, b := range r.Content {
		for _, c := range b.Citations {
			kind := c["type"].(string)
			names := map[string][4]string{
				"char_location":          {"document_index", "document_title", "start_char_index", "end_char_index"},
				"page_location":          {"document_index", "document_title", "start_page_number", "end_page_number"},
				"content_block_location": {"document_index", "document_title", "start_block_index", "end_block_index"},
				"search_result_location": {"search_result_index", "title", "start_block_index", "end_block_index"},
			}[kind]
			title, is := c[names[1]].(string)
			if !is {
				title = "null"
			}
			got = append(got, fmt.Sprintf("%s %v %s %v-%v %q", kind, c[names[0]], title, c[names[2]], c[names[3]], c["cited_text"]))
		}
	}
	slices.Sort(got)
	return got
}

// citesByBedrock writes an answer of Converse that cites each chunk of each received document, in Claude's numbering.
func citesByBedrock(t *rapid.T, sent []byte) (reply string, quotes []string) {
	var r struct {
		Messages []struct {
			Content []struct {
				Document *struct {
					Name, Format string
					Source       struct {
						Bytes   []byte
						Content []struct{ Text string }
					}
					Citations struct{ Enabled bool }
				}
				SearchResult *struct {
					Title, Source string
					Content       []struct{ Text string }
					Citations     struct{ Enabled bool }
				}
			}
		}
	}
	if err := json.Unmarshal(sent, &r); err != nil {
		t.Fatalf("%v in %s", err, sent)
	}
	var citations []string
	cite := func(title, quote, where, number string, n, from, to int) {
		text, _ := json.Marshal(quote)
		citations = append(citations, fmt.Sprintf(`{"title":%q,"sourceContent":[{"text":%s}],"location":{%q:{%q:%d,"start":%d,"end":%d}}}`, title, text, where, number, n, from, to))
		quotes = append(quotes, quote)
	}
	documents, results := 0, 0
	for _, m := range r.Messages {
		for _, b := range m.Content {
			switch {
			case b.Document != nil:
				d := b.Document
				if !d.Citations.Enabled {
					t.Fatalf("a document is not to be cited: %s", sent)
				}
				for i, c := range d.Source.Content {
					cite(d.Name, c.Text, "documentChunk", "documentIndex", documents, i, i+1)
				}
				if d.Format == "txt" && d.Source.Content == nil {
					text := string(d.Source.Bytes)
					cite(d.Name, text, "documentChar", "documentIndex", documents, 0, utf8.RuneCountInString(text))
				} else if d.Format == "pdf" {
					cite(d.Name, fmt.Sprint("page ", documents), "documentPage", "documentIndex", documents, 1, 2)
				}
				documents++
			case b.SearchResult != nil:
				for i, c := range b.SearchResult.Content {
					cite(b.SearchResult.Title, c.Text, "searchResultLocation", "searchResultIndex", results, i, i+1)
				}
				results++
			}
		}
	}
	return `{"output":{"message":{"role":"assistant","content":[{"citationsContent":{"content":[{"text":"So."}],"citations":[` +
		strings.Join(citations, ",") + `]}}]}},"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}`, quotes
}

// citesByCohere writes an answer of Cohere's that cites each received document.
func citesByCohere(t *rapid.T, sent []byte) (reply string, quotes []string) {
	var r struct {
		Documents []struct {
			ID   string
			Data map[string]string
		}
	}
	if err := json.Unmarshal(sent, &r); err != nil {
		t.Fatalf("%v in %s", err, sent)
	}
	var citations []string
	for _, d := range r.Documents {
		quotes = append(quotes, d.Data["text"])
		d.Data["id"] = d.ID
		data, _ := json.Marshal(d.Data)
		citations = append(citations, fmt.Sprintf(`{"start":0,"end":2,"text":"So","sources":[{"type":"document","id":%q,"document":%s}],"type":"TEXT_CONTENT"}`, d.ID, data))
	}
	return `{"id":"c","message":{"role":"assistant","content":[{"type":"text","text":"So."}],"citations":[` +
		strings.Join(citations, ",") + `]},"finish_reason":"COMPLETE","usage":{"billed_units":{"input_tokens":1,"output_tokens":1}}}`, quotes
}

// TestImagesOfCitedDocumentsKeepChunksCounted checks that an empty chunk replaces an image in a document, and the image
// follows the document, so that the numbers of later chunks are the client's.
func TestImagesOfCitedDocumentsKeepChunksCounted(t *testing.T) {
	t.Parallel()
	body := `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","title":"t","citations":{"enabled":true},"source":{"type":"content","content":[` +
		`{"type":"text","text":"first"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0K"}},{"type":"text","text":"third"}]}},{"type":"text","text":"And?"}]}]}`
	for name, want := range map[string]string{
		"bedrock": `"source":{"content":[{"text":"first"},{"text":"[An image, which follows this document.]"},{"text":"third"}]}}},{"image":{"format":"png","source":{"bytes":"iVBORw0K"}}},{"text":"And?"}]`,
		"cohere":  `{"id":"doc:0:2","data":{"text":"third","title":"t"}}`,
	} {
		tree, err := registrytest.All().Named("anthropic").DecodeRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		tree.Model = models[name]
		sent, dropped, err := registrytest.All().Named(name).EncodeRequest(tree, nil)
		if err != nil || !strings.Contains(string(sent), want) || !strings.Contains(string(sent), "iVBORw0K") {
			t.Errorf("%s: %v, without %q: %s, want %s", name, err, dropped, sent, want)
		}
	}
}

// TestBedrockAsksAnthropicForCitations checks that a request for citations at Converse reaches Anthropic, where all
// documents must be cited or none.
func TestBedrockAsksAnthropicForCitations(t *testing.T) {
	t.Parallel()
	const body = `{"messages":[{"role":"user","content":[{"document":{"format":"txt","name":"facts","context":"of 1999","source":{"bytes":"UmFpbi4="},"citations":{"enabled":true}}},` +
		`{"document":{"name":"parts","source":{"content":[{"text":"a"},{"text":"b"}]}}},{"searchResult":{"source":"https://a.example","title":"found","content":[{"text":"c"}],"citations":{"enabled":true}}},{"text":"And?"}]}]FORMAT}`
	for format, want := range map[string]string{
		"": `[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"Rain."},"title":"facts","context":"of 1999","citations":{"enabled":true}},` +
			`{"type":"document","source":{"type":"content","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},"title":"parts","citations":{"enabled":true}},` +
			`{"type":"search_result","source":"https://a.example","title":"found","content":[{"type":"text","text":"c"}],"citations":{"enabled":true}},{"type":"text","text":"And?"}]`,
		`,"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":"{\"type\":\"object\",\"additionalProperties\":false}","name":"n"}}}}`: `[{"type":"text","text":"of 1999"},{"type":"document","source":{"type":"text","media_type":"text/plain","data":"Rain."},"title":"facts"},` +
			`{"type":"text","text":"parts"},{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"text","text":"found\nhttps://a.example"},{"type":"text","text":"c"},{"type":"text","text":"And?"}]`,
	} {
		tree, err := registrytest.All().Named("bedrock").DecodeRequest([]byte(strings.Replace(body, "FORMAT", format, 1)))
		if err != nil {
			t.Fatal(err)
		}
		tree.Model = models["anthropic"]
		sent, dropped, err := registrytest.All().Named("anthropic").EncodeRequest(tree, nil)
		if err != nil || !strings.Contains(string(sent), `"content":`+want) {
			t.Errorf("%v: %s, want %s", err, sent, want)
		}
		if got := slices.Contains(dropped, "citations"); got != (format != "") {
			t.Errorf("with %q the wish is left out: %t, of %q", format, got, dropped)
		}
	}
}
