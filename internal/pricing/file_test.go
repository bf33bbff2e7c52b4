package pricing_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
)

// bookOf builds a book with a price file of those entries; it knows the provider "house" in addition to those of the
// data.
func bookOf(t testing.TB, o pricing.Overrides, entries ...string) *pricing.Book {
	t.Helper()
	text := `{"entries": [` + strings.Join(entries, ",\n") + `]}`
	o.Files, o.Known = append(o.Files, pricing.File{Path: "prices.json", Text: []byte(text)}), []string{"house"}
	b, err := pricing.NewBook(o)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return b
}

// TestPriceFile checks the effect of a file on prices: it precedes the data, an earlier entry and an earlier file, and
// the configuration precedes it.
func TestPriceFile(t *testing.T) {
	t.Parallel()
	const source = `"source": "contract", "seen": "2026-11-20"`
	million := llm.Usage{llm.Input: 1_000_000, llm.Output: 1_000_000}
	tests := []struct {
		name, provider, model string
		entries               []string
		at                    string // empty: now
		tier                  string
		want                  string // empty: unpriced
		basis                 llm.Basis
	}{
		{"what it leaves out is the data's", "openai", "gpt-5-mini", []string{`"provider":"openai","models":["gpt-5-mini"],"rates":{"input_mtok":"0.20"}`}, "", "", "2.2", 0},
		{"the model's other names", "openai", "gpt-5-mini-2025-08-07", []string{`"provider":"openai","models":["gpt-5-mini"],"rates":{"input_mtok":"0.20"}`}, "", "", "2.2", 0},
		{"other models", "openai", "gpt-5-nano", []string{`"provider":"openai","models":["gpt-5-mini"],"rates":{"input_mtok":"0.20"}`}, "", "", "0.45", 0},
		{"a later entry", "openai", "gpt-5-mini", []string{
			`"provider":"openai","models":["gpt-5-mini"],"rates":{"input_mtok":"0.20"}`,
			`"provider":"openai","models":{"starts_with":"gpt-5-mini"},"rates":{"input_mtok":"0.30"}`,
		}, "", "", "2.3", 0},
		{"before its day", "openai", "gpt-5-mini", []string{`"provider":"openai","models":["gpt-5-mini"],"since":"2026-12-01","rates":{"input_mtok":"9"}`}, "2026-11-30T23:59:59Z", "", "2.25", 0},
		{"from its day", "openai", "gpt-5-mini", []string{`"provider":"openai","models":["gpt-5-mini"],"since":"2026-12-01","rates":{"input_mtok":"9"}`}, "2026-12-01T00:00:00Z", "", "11", 0},
		{"in its hours", "openai", "gpt-5-mini", []string{`"provider":"openai","models":["gpt-5-mini"],"when":[{"from":"01:00","to":"02:00","days":["mon"]}],"rates":{"input_mtok":"9"}`}, "2026-11-23T01:30:00Z", "", "11", 0},
		{"out of its hours", "openai", "gpt-5-mini", []string{`"provider":"openai","models":["gpt-5-mini"],"when":[{"from":"01:00","to":"02:00","days":["mon"]}],"rates":{"input_mtok":"9"}`}, "2026-11-24T01:30:00Z", "", "2.25", 0},
		{"a tier", "openai", "gpt-5-mini", []string{`"provider":"openai","models":["gpt-5-mini"],"rates":{"output_mtok":{"base":"1","tiers":[{"above":999999,"price":"5"}]}}`}, "", "", "5.25", 0},
		{"a mode anew", "openai", "gpt-5-mini", []string{`"provider":"openai","models":["gpt-5-mini"],"mode":"priority","times":"3"`}, "", "priority", "6.75", 0},
		{"a mode with rates", "openai", "gpt-5-mini", []string{`"provider":"openai","models":["gpt-5-mini"],"mode":"priority","rates":{"input_mtok":"1","output_mtok":"1"}`}, "", "priority", "2", 0},
		{"a new model", "openai", "gpt-99", []string{`"provider":"openai","models":["gpt-99"],"adds":{"starts_with":"gpt-99"},"rates":{"input_mtok":"1","output_mtok":"2"}`}, "", "", "3", 0},
		{"one that is like it", "openai", "gpt-99-large", []string{`"provider":"openai","models":["gpt-99"],"adds":{"starts_with":"gpt-99"},"rates":{"input_mtok":"1","output_mtok":"2"}`}, "", "", "3", llm.BasisFamily},
		{"a new model that is free", "openai", "gpt-99", []string{`"provider":"openai","models":["gpt-99"],"adds":{"equals":"gpt-99"},"free":true`}, "", "", "0", 0},
		{"a new model before its day", "openai", "gpt-99", []string{`"provider":"openai","models":["gpt-99"],"adds":{"equals":"gpt-99"},"since":"2026-12-01","rates":{"input_mtok":"1","output_mtok":"2"}`}, "2026-11-30T23:59:59Z", "", "", 0},
		{"a new model from its day", "openai", "gpt-99", []string{`"provider":"openai","models":["gpt-99"],"adds":{"equals":"gpt-99"},"since":"2026-12-01","rates":{"input_mtok":"1","output_mtok":"2"}`}, "2026-12-01T00:00:00Z", "", "3", 0},
		{"a provider without a list", "house", "Small", []string{`"provider":"house","models":["Small"],"rates":{"input_mtok":"1","output_mtok":"2"}`}, "", "", "3", 0},
		{"another of its models", "house", "large", []string{`"provider":"house","models":["Small"],"rates":{"input_mtok":"1","output_mtok":"2"}`}, "", "", "", 0},
		{"it is of one seller", "gemini", "gemini-2.5-flash", []string{`"provider":"vertex","models":["gemini-2.5-flash"],"rates":{"input_mtok":"1","output_mtok":"2"}`}, "", "", "2.8", 0},
		{"and of that one exactly", "vertex", "gemini-2.5-flash", []string{`"provider":"vertex","models":["gemini-2.5-flash"],"rates":{"input_mtok":"1","output_mtok":"2"}`}, "", "", "3", 0},
		{"of a list that two have", "vertex", "gemini-2.5-flash", []string{`"provider":"google","models":["gemini-2.5-flash"],"rates":{"input_mtok":"1","output_mtok":"2"}`}, "", "", "3", llm.BasisSeller},
		{"the seller's own counts", "vertex", "gemini-2.5-flash", []string{
			`"provider":"vertex","models":["gemini-2.5-flash"],"rates":{"input_mtok":"4","output_mtok":"2"}`,
			`"provider":"google","models":["gemini-2.5-flash"],"rates":{"input_mtok":"1","output_mtok":"2"}`,
		}, "", "", "6", 0},
		{"of whom a list is named", "azure", "gpt-5-mini", []string{`"provider":"openai","models":["gpt-5-mini"],"rates":{"input_mtok":"0.20"}`}, "", "", "2.2", llm.BasisSeller},
		{"a model that the data has for free", "github-copilot", "gpt-4.1", []string{`"provider":"github-copilot","models":["gpt-4.1"],"rates":{"input_mtok":"2","output_mtok":"8"}`}, "", "", "10", 0},
		{"one of them before its day", "github-copilot", "gpt-4.1", []string{`"provider":"github-copilot","models":["gpt-4.1"],"since":"2026-12-01","rates":{"input_mtok":"2","output_mtok":"8"}`}, "2026-11-30T23:59:59Z", "", "0", 0},
		{"a model that the data has without a price", "openrouter", "google/lyria-3-pro-preview", []string{`"provider":"openrouter","models":["google/lyria-3-pro-preview"],"rates":{"input_mtok":"2","output_mtok":"8"}`}, "", "", "10", 0},
		{"prices of the configuration", "house", "priced", []string{`"provider":"house","models":["priced"],"rates":{"input_mtok":"1","output_mtok":"2"}`}, "", "", "14", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			entries := make([]string, 0, len(tt.entries))
			for _, e := range tt.entries {
				entries = append(entries, "{"+e+", "+source+"}")
			}
			b := bookOf(t, pricing.Overrides{Prices: map[string]pricing.PriceOverride{"house/priced": {"input": "7"}}}, entries...)
			at := moment(t, now)
			if tt.at != "" {
				var err error
				if at, err = time.Parse(time.RFC3339, tt.at); err != nil {
					t.Fatal(err)
				}
			}
			p := b.Price(tt.provider, tt.model, at)
			got := ""
			if p.Known() {
				got = p.Cost(&million, tt.tier).String()
			}
			if got != tt.want || p.Basis != tt.basis || p.Unpriced(&million, tt.tier) != 0 != (tt.want == "") {
				t.Errorf("got %q of basis %d by %s, unpriced %v, want %q of basis %d", got, p.Basis, p.Version, p.Unpriced(&million, tt.tier).Names(), tt.want, tt.basis)
			}
			again := bookOf(t, pricing.Overrides{Prices: map[string]pricing.PriceOverride{"house/priced": {"input": "7"}}}, entries...)
			if q := again.Price(tt.provider, tt.model, at); q.Version != p.Version {
				t.Errorf("the same files: got version %s, then %s", p.Version, q.Version)
			}
		})
	}
}

// TestPriceFileVersionAndSource checks that a price of a file has a version of its own, which changes only with the
// price, and the file's source.
func TestPriceFileVersionAndSource(t *testing.T) {
	t.Parallel()
	entry := func(input string) string {
		return fmt.Sprintf(`{"provider":"openai","models":["gpt-5-mini"],"rates":{"input_mtok":%q},"source":"our contract","seen":"2026-11-20"}`, input)
	}
	b, same, other := bookOf(t, pricing.Overrides{}, entry("0.2")), bookOf(t, pricing.Overrides{}, entry("0.20")), bookOf(t, pricing.Overrides{}, entry("0.3"))
	at := moment(t, now)
	v := b.Price("openai", "gpt-5-mini", at).Version
	if !strings.HasPrefix(v, "file/openai/gpt-5-mini#") || same.Price("openai", "gpt-5-mini", at).Version != v || other.Price("openai", "gpt-5-mini", at).Version == v {
		t.Errorf("got versions %s, %s for the same, %s for another price", v, same.Price("openai", "gpt-5-mini", at).Version, other.Price("openai", "gpt-5-mini", at).Version)
	}
	if info, _ := b.Model("openai", "gpt-5-mini"); info.Source != "our contract" || info.Checked != "2026-11-20" {
		t.Errorf("got source %q of %q", info.Source, info.Checked)
	}
	want := []pricing.FileInfo{{Path: "prices.json", Entries: 1, Seen: "2026-11-20"}}
	must.Equal(t, b.Files(), want, "files")
}

// TestPriceFileMistakes checks that each mistake is found, at its place, with the nearest right word.
func TestPriceFileMistakes(t *testing.T) {
	t.Parallel()
	entry := func(text string) string { return `{"entries":[` + "\n" + text + "]}" }
	const end = `,"source":"x"}`
	tests := []struct{ text, want string }{
		{``, `1:1: the text is not JSON: it ends too early`},
		{`{"entries": [}`, `1:14: the text is not JSON: `},
		{"{\"entries\": []}\n x", `2:2: the text is not JSON: `},
		{"{\"entries\": [\"\xff\"]}", `1:15: the text is not UTF-8`},
		{strings.Repeat("[", 100), `1:22: the text is nested deeper than 20 levels`},
		{`[]`, `1:1: a price file must be an object, { }`},
		{`{}`, "1:1: `entries` is missing: add a list of prices"},
		{`{"entries": []}`, "1:13: `entries` is empty"},
		{`{"entires": []}`, `1:2: unknown name "entires"; did you mean "entries"?`},
		{entry(`{"provider":"house","models":["a"],"rate":{"input_mtok":"1"}` + end), `2:36: unknown name "rate"; did you mean "rates"?`},
		{entry(`{"provider":"house","models":["a"],"rates":{"input_mtok":"1","input_mtok":"2"}` + end), `2:62: "input_mtok" appears twice; write it once`},
		{entry(`{"provider":"house","models":["a"],"rates":{"input_mtokk":"1"}` + end), `2:45: unknown name "input_mtokk"; did you mean "input_mtok"?`},
		{entry(`{"provider":"house","models":["a"],"rates":{"input_mtok":1.5}` + end), "2:58: `input_mtok` must be US dollars as a decimal in quotes, such as \"0.15\""},
		{entry(`{"provider":"house","models":["a"],"rates":{"input_mtok":"1e3"}` + end), "2:58: `input_mtok` must be US dollars"},
		{entry(`{"provider":"house","models":["a"],"rates":{"input_mtok":"-1"}` + end), "2:58: `input_mtok` must be US dollars"},
		{entry(`{"provider":"house","models":["a"],"rates":{"input_mtok":"99999999999999999999"}` + end), "2:58: `input_mtok`: "},
		{entry(`{"provider":"house","models":["a"],"rates":{"input_mtok":{"base":"1"}}` + end), "2:58: `input_mtok` must have `base` and `tiers`"},
		{entry(`{"provider":"house","models":["a"],"rates":{"input_mtok":{"base":"1","tiers":[{"above":5,"price":"1"},{"above":5,"price":"2"}]}}` + end), "2:112: `above` must be a whole number"},
		{entry(`{"provider":"house","models":["a"],"rates":{}` + end), "2:44: `rates` is empty"},
		{entry(`{"provider":"house","models":["a"],"rates":{"input_document_kpages":"1"}` + end), `2:45: unknown name "input_document_kpages"`},
		{entry(`{"provider":"house","models":["a"]` + end), "2:1: an entry must have exactly one of `rates`, `times`, `fills` and `free`, not 0 of them"},
		{entry(`{"provider":"house","models":["a"],"rates":{"input_mtok":"1"}}`), "2:1: `source` is missing in this entry"},
		{entry(`{"provider":"house","models":[],"rates":{"input_mtok":"1"}` + end), "2:30: `models` is empty"},
		{entry(`{"provider":"openai","models":["x"],"adds":{"equals":"y"},"rates":{"input_mtok":"1"}` + end), `2:44: the rule does not match "x"`},
		{entry(`{"provider":"openai","models":["x"],"adds":{"equals":"X"},"rates":{"input_mtok":"1"}` + end), `2:54: names are compared in lower case; write "x"`},
		{entry(`{"provider":"openai","models":["x"],"adds":{"regex":"("},"rates":{"input_mtok":"1"}` + end), `2:53: the regular expression is invalid: `},
		{entry(`{"provider":"openai","models":["x"],"adds":{"begins":"x"},"rates":{"input_mtok":"1"}` + end), `2:45: unknown name "begins"; it is one of equals`},
		{entry(`{"provider":"house","models":["a"],"rates":{"input_mtok":"1"},"since":"2026-13-01"` + end), "2:71: `since` must be a date such as"},
		{entry(`{"provider":"house","models":["a"],"rates":{"input_mtok":"1"},"when":[{"from":"01:00"}]` + end), "2:71: `from` and `to` must both be set"},
		{entry(`{"provider":"house","models":["a"],"rates":{"input_mtok":"1"},"when":[{"from":"25:00","to":"02:00"}]` + end), "2:79: `from` must be a time of day in UTC"},
		{entry(`{"provider":"house","models":["a"],"rates":{"input_mtok":"1"},"when":[{"days":["mond"]}]` + end), `2:80: unknown weekday "mond"; did you mean "mon"?`},
		{entry(`{"provider":"house","models":["a"],"mode":"Priority","times":"2"` + end), `2:43: write the mode as "priority"`},
		{entry(`{"provider":"house","models":["a"],"mode":"standard","times":"2"` + end), `2:43: the mode "standard" is the usual one`},
		{entry(`{"provider":"house","models":["a"],"times":"2"` + end), "2:44: `times` needs `mode`"},
		{entry(`{"provider":"house","models":["a"],"mode":"flex","times":"0.0001"` + end), "2:58: `times` must be a decimal above 0"},
		{entry(`{"provider":"house","models":["a"],"fills":{"image_in":"inputs"}` + end), `2:56: unknown class "inputs"; did you mean "input"?`},
		{entry(`"é",` + "\n" + `{"provider":"house"}`), `2:1: an entry must be an object, { }`},
	}
	for _, tt := range tests {
		_, err := pricing.NewBook(pricing.Overrides{Known: []string{"house"}, Files: []pricing.File{{Path: "p.json", Text: []byte(tt.text)}}})
		problems, ok := errors.AsType[pricing.Problems](err)
		if !ok || !strings.HasPrefix(problems[0].Error(), "p.json:"+tt.want) {
			t.Errorf("%s\ngot  %v\nwant p.json:%s", tt.text, err, tt.want)
		}
	}
}

// TestPriceFileUnknownNames checks that names that the data does not know, perhaps after an update, are warnings: the
// rest of the file counts, and the rates of an unknown id are of exactly that name.
func TestPriceFileUnknownNames(t *testing.T) {
	t.Parallel()
	const end = `,"source":"x"}`
	const rates = `,"rates":{"input_mtok":"1","output_mtok":"2"}` + end
	tests := []struct {
		name, text, want string
		model, cost      string // of OpenAI, of a million tokens of input and output each
	}{
		{
			"a provider", `{"provider":"opnai","models":["a"]` + rates, `2:13: warning: provider "opnai" is unknown; did you mean "openai"?; the entry is ignored`,
			"a", "",
		},
		{
			"an id", `{"provider":"openai","models":["gpt-5-mni"]` + rates,
			`2:32: warning: the price list of openai has no model "gpt-5-mni"; did you mean "gpt-5-mini"?; the price applies to exactly this name; ` + "`adds`" + `, such as {"equals": "gpt-5-mni"}, avoids this warning`,
			"gpt-5-mni", "3",
		},
		{
			"another name of a model", `{"provider":"openai","models":["gpt-5-mini-2025-08-07"]` + rates,
			`2:32: warning: the price list of openai has no model "gpt-5-mini-2025-08-07"; did you mean "gpt-5-mini"?`, "gpt-5-mini-2025-08-07", "3",
		},
		{
			"an id that is free", `{"provider":"openai","models":["gpt-99"],"free":true` + end,
			`2:32: warning: the price list of openai has no model "gpt-99"`, "gpt-99", "0",
		},
		{
			"a mode of an id", `{"provider":"openai","models":["gpt-5-mini-2025-08-07"],"mode":"priority","times":"3"` + end,
			`2:32: warning: the price list of openai has no model "gpt-5-mini-2025-08-07"; did you mean "gpt-5-mini"?; it is ignored`, "gpt-5-mini-2025-08-07", "2.25",
		},
		{
			"free of a known id", `{"provider":"openai","models":["gpt-5-mini"],"free":true` + end,
			`2:32: warning: "gpt-5-mini" is known; to make it free, use rates of "0"; it is ignored`, "gpt-5-mini", "2.25",
		},
	}
	for _, tt := range tests {
		text := `{"entries":[` + "\n" + tt.text + `,{"provider":"house","models":["a"]` + rates + `]}`
		b, err := pricing.NewBook(pricing.Overrides{Known: []string{"house"}, Files: []pricing.File{{Path: "p.json", Text: []byte(text)}}})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if w := b.Warnings(); len(w) != 1 || !strings.HasPrefix(w[0].Error(), "p.json:"+tt.want) {
			t.Errorf("%s\ngot  %v\nwant p.json:%s", tt.name, w, tt.want)
		}
		for model, want := range map[string]string{"openai/" + tt.model: tt.cost, "house/a": "3"} {
			provider, model, _ := strings.Cut(model, "/")
			got := ""
			if p := b.Price(provider, model, moment(t, now)); p.Known() {
				got = p.Cost(&llm.Usage{llm.Input: 1_000_000, llm.Output: 1_000_000}, "").String()
			}
			if got != want {
				t.Errorf("%s: %s/%s: got %q, want %q", tt.name, provider, model, got, want)
			}
		}
	}
}

// TestDocumentedPriceFile checks that the example in docs/configuration.md is a valid price file, and that the page
// names every rate.
func TestDocumentedPriceFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/configuration.md")
	must.Do(t, err)
	_, example, _ := strings.Cut(string(text), "```json\n")
	example, _, _ = strings.Cut(example, "```")
	_, err = pricing.NewBook(pricing.Overrides{Known: []string{"house"}, Files: []pricing.File{{Path: "docs", Text: []byte(example)}}})
	if err != nil {
		t.Errorf("the example: %v", err)
	}
	unknown := `{"entries": [{"provider": "house", "models": ["a"], "rates": {"`
	for key := range payers {
		for _, name := range payers[key].keys {
			if !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("the rate %s is not in docs/configuration.md", name)
			}
			_, err := pricing.NewBook(pricing.Overrides{Known: []string{"house"}, Files: []pricing.File{{Path: "p", Text: []byte(unknown + name + `": "1"}, "source": "x"}]}`)}}})
			if err != nil {
				t.Errorf("the rate %s: %v", name, err)
			}
		}
	}
}

// TestPriceFileMistakesAreBounded checks that all mistakes of all files are reported together, in the order of their
// places, up to a bound.
func TestPriceFileMistakesAreBounded(t *testing.T) {
	t.Parallel()
	many := `{"entries":[` + strings.Repeat("1,", 500) + `1]}`
	_, err := pricing.NewBook(pricing.Overrides{Files: []pricing.File{{Path: "a.json", Text: []byte(many)}, {Path: "b.json", Text: []byte(`{"entries":[1,2]}`)}}})
	problems, _ := errors.AsType[pricing.Problems](err)
	if len(problems) != 202 || !strings.Contains(problems[199].Message, "too many") || problems[200].Error() != "b.json:1:13: an entry must be an object, { }" || problems[201].Column != 15 {
		t.Errorf("got %d problems: %v", len(problems), err)
	}
}

func FuzzPriceFile(f *testing.F) {
	f.Add([]byte(`{"about":"x","entries":[{"provider":"house","models":["a"],"rates":{"input_mtok":{"base":"1","tiers":[{"above":5,"price":"2"}]}},"when":[{"from":"22:00","to":"02:00","days":["mon"],"except":["2026-01-01"]}],"source":"x"}]}`))
	f.Add([]byte(`{"entries":[{"provider":"openai","models":{"or":[{"regex":"^gpt"}]},"mode":"flex","times":"0.5","source":"x"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := pricing.NewBook(pricing.Overrides{Known: []string{"house"}, Files: []pricing.File{{Path: "p", Text: text}}})
		if err == nil {
			b.Price("house", "a", time.Unix(1_790_000_000, 0))
			return
		}
		problems, ok := errors.AsType[pricing.Problems](err)
		if !ok || len(problems) == 0 || problems[0].Line < 1 || problems[0].Column < 1 {
			t.Errorf("%q: got %v, want problems with places", text, err)
		}
	})
}

// TestPriceFileOfASeller checks that a file's price of a seller precedes the data's entry for all models of the
// seller's list.
func TestPriceFileOfASeller(t *testing.T) {
	t.Parallel()
	b := bookOf(t, pricing.Overrides{}, `{"provider":"gemini","models":["gemini-3.5-flash"],"rates":{"web_searches_kcount":"7"},"source":"contract"}`)
	p := b.Price("gemini", "gemini-3.5-flash", moment(t, now))
	if got := p.Cost(&llm.Usage{llm.Searches: 1000}, "").String(); got != "7" {
		t.Errorf("a thousand searches: got %s, want 7", got)
	}
}
