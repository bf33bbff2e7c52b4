package schematest_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/internal/must"
)

var update = flag.Bool("update", false, "write the page about what is left out and refused")

const page = "../../docs/translation.md"

// row holds the outcomes of requests of one client API at one provider in one of its wire formats.
type row struct {
	provider, format string
	own              bool
	left, refused    map[string]bool
}

const pageHead = `# What is left out and what is refused

This page lists the fields that a provider does not get, and the requests that it does not get. Weir translates a request if the
provider does not speak the client's wire format. A field without a counterpart is left out, and named in ` + "`X-Weir-Dropped`" + `. If
the answer would mean something else without it, the request is refused with 400 before anything is sent.
[Client APIs](client-apis.md#what-cannot-be-translated) lists the fields that are carried.

- An entry is a provider in one of its wire formats. It also has the fields that only some of the provider's models refuse.
- A field that several APIs have goes by one name, as in ` + "`X-Weir-Dropped`" + `. An error names the client's own field
  (` + "`stop_sequences`, `contents[0].parts[1]`" + `).
- The entry *all* has the fields that are left out in every entry of a wire format that is not the client's. They are not repeated there.
- A provider that speaks the client's wire format gets the request unchanged, except for the fields that its [rules](providers.md)
  remove.
- Providers that have no entry and speak Chat Completions get the same as ` + "`vllm`" + `.

` + "`make docs`" + ` writes the lists from the conversations in ` + "`internal/schematest/testdata/page`" + `, and adds to these any generated
conversation that shows a field or a refusal that is missing.
`

// checkPage compares the page with the outcomes of the conversations.
func checkPage(t *testing.T, rows map[string][]row) {
	t.Helper()
	var b strings.Builder
	b.WriteString(pageHead)
	for _, c := range clients() {
		writeSection(&b, c, rows[c.name])
	}
	if *update {
		must.Do(t, os.WriteFile(page, []byte(b.String()), 0o644))
		return
	}
	if string(must.Get(os.ReadFile(page))(t)) != b.String() {
		t.Errorf("%s is not current: run `make docs`", page)
	}
}

func writeSection(b *strings.Builder, c client, rows []row) {
	everywhere := leftEverywhere(rows)
	path, _, _ := strings.Cut(c.path, "/models/")
	fmt.Fprintf(b, "\n## From %s (`%s`)\n\n", title(c.name), path)
	if len(everywhere) > 0 {
		b.WriteString("- **all**, in wire formats other than the client's\n")
		writeItem(b, "left out", strings.Join(everywhere, ", "))
	}
	for _, r := range rows {
		left := slices.DeleteFunc(slices.Sorted(maps.Keys(r.left)), func(name string) bool { return slices.Contains(everywhere, name) })
		fmt.Fprintf(b, "- **%s**, `%s`\n", r.provider, r.format)
		writeItem(b, "left out", strings.Join(left, ", "))
		writeItem(b, "refused", strings.Join(slices.Sorted(maps.Keys(r.refused)), "; "))
	}
}

// writeItem writes an item of a list, in lines of about 150 bytes; nothing for an empty text.
func writeItem(b *strings.Builder, label, text string) {
	if text == "" {
		return
	}
	line := "  - " + label + ":"
	for word := range strings.SplitSeq(text, " ") {
		if len(line)+len(word) >= 150 {
			b.WriteString(line + "\n")
			line = "   "
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}

func title(name string) string {
	return map[string]string{
		"openai": "Chat Completions", "responses": "Responses", "anthropic": "Messages", "gemini": "generateContent", "native": "Weir's own API",
	}[name]
}

// leftEverywhere returns the names that are dropped at all providers with translated requests.
func leftEverywhere(rows []row) (names []string) {
	counts := map[string]int{}
	translated := 0
	for _, r := range rows {
		if r.own {
			continue
		}
		translated++
		for name := range r.left {
			counts[name]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if counts[name] == translated {
			names = append(names, name)
		}
	}
	return names
}

// rows returns the page's rows in the order of the targets.
func (e *examples) rows() (rows []row) {
	for _, r := range e.routes {
		same := func(other row) bool { return other.provider == r.target.provider && other.format == r.target.format }
		if !slices.ContainsFunc(rows, same) {
			rows = append(rows, row{r.target.provider, r.target.format, r.isOwn(), map[string]bool{}, map[string]bool{}})
		}
	}
	for one := range e.shown {
		for _, r := range rows {
			switch {
			case r.provider != one.provider || r.format != one.format:
			case one.isRefusal:
				r.refused[one.name] = true
			default:
				r.left[one.name] = true
			}
		}
	}
	return rows
}

var namedID = regexp.MustCompile(`the id "[^"]*"`)

// short returns a refusal's field and its reason, without the id of a tool call.
func short(words string) string {
	words = namedID.ReplaceAllString(words, "the id")
	field, message, _ := strings.Cut(words, ": ")
	message, _, _ = strings.Cut(message, ". ")
	message, _, _ = strings.Cut(message, ": ")
	message, _, _ = strings.Cut(message, " to the provider of this model")
	return "`" + field + "` (" + strings.TrimSuffix(message, ".") + ")"
}
