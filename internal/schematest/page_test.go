package schematest_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
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

Where a provider does not speak the client's wire format, a request is translated. What cannot be carried is left out and named in
` + "`X-Weir-Dropped`" + `, or refused with 400 before anything is sent, where the answer would mean something else without it.
[Client APIs](client-apis.md#what-cannot-be-translated) says what is carried instead.

The tables are made of %d generated conversations for each client API, with every option at times, as they are sent to each provider
(` + "`go test ./internal/schematest -update`" + `). A row has what becomes of them at any of the models that were tried: an option that only some
models refuse is in it, too. Options that several APIs have are called by one name, as ` + "`X-Weir-Dropped`" + ` does; an error names the
client's own field (` + "`stop_sequences`, `contents[0].parts[1]`" + `). The names in the first row of a table, *all*, are left out in each row of a wire format that is not the client's. A provider
that speaks the client's wire format gets the request as it came, but for what its [rules](providers.md) ask. Those that are not here
and speak Chat Completions take what ` + "`vllm`" + ` takes.
`

// checkPage compares the page with the outcomes of the conversations.
func checkPage(t *testing.T, rows map[string][]row) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, pageHead, usualPairs)
	for _, c := range clients() {
		writeSection(&b, c, rows[c.name])
	}
	if *update {
		must.Do(t, os.WriteFile(page, []byte(b.String()), 0o644))
		return
	}
	if string(must.Get(os.ReadFile(page))(t)) != b.String() {
		t.Errorf("%s is not current: run the test with -update", page)
	}
}

func writeSection(b *strings.Builder, c client, rows []row) {
	everywhere := leftEverywhere(rows)
	path, _, _ := strings.Cut(c.path, "/models/")
	fmt.Fprintf(b, "\n## From %s (`%s`)\n\n", title(c.name), path)
	b.WriteString("| provider | wire format | left out | refused |\n|---|---|---|---|\n")
	if len(everywhere) > 0 {
		fmt.Fprintf(b, "| all | others than the client's | %s | |\n", strings.Join(everywhere, ", "))
	}
	for _, r := range rows {
		left := slices.DeleteFunc(slices.Sorted(maps.Keys(r.left)), func(name string) bool { return slices.Contains(everywhere, name) })
		fmt.Fprintf(b, "| %s | `%s` | %s | %s |\n", r.provider, r.format, strings.Join(left, ", "), strings.Join(slices.Sorted(maps.Keys(r.refused)), "; "))
	}
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

// rowsOf joins the outcomes at the models of each provider.
func rowsOf(routes []*route, outcomes []outcome) (rows []row) {
	for i, r := range routes {
		at := slices.IndexFunc(rows, func(other row) bool { return other.provider == r.target.provider && other.format == r.target.format })
		if at < 0 {
			at = len(rows)
			rows = append(rows, row{r.target.provider, r.target.format, r.isOwn(), map[string]bool{}, map[string]bool{}})
		}
		for name := range outcomes[i].left {
			rows[at].left[name] = true
		}
		for words := range outcomes[i].words {
			rows[at].refused[short(words)] = true
		}
	}
	return rows
}

// short returns a refusal's field and its reason.
func short(words string) string {
	field, message, _ := strings.Cut(words, ": ")
	message, _, _ = strings.Cut(message, ". ")
	message, _, _ = strings.Cut(message, ": ")
	message, _, _ = strings.Cut(message, " to the provider of this model")
	return "`" + field + "` (" + strings.TrimSuffix(message, ".") + ")"
}
