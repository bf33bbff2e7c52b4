package dialect_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"weir/internal/dialect"
	"weir/internal/dialect/compose"
	"weir/internal/dialect/rules"
	"weir/internal/llm"
	"weir/internal/must"
)

// crossingPage has the tables between the marks.
const (
	crossingPage  = "../../docs/client-apis.md"
	crossingBegin = "<!-- crossing:begin -->\n"
	crossingEnd   = "<!-- crossing:end -->\n"
)

// TestCrossingPage compares the tables of docs/client-apis.md with the translations between wire formats; -update
// writes them.
func TestCrossingPage(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	answers := crossingAnswers(t)
	writePlaces(t, &b, answers)
	writeAsked(t, &b)
	writeTold(t, &b, answers)
	b.WriteString("\n")
	page := string(must.Get(os.ReadFile(crossingPage))(t))
	before, rest, begins := strings.Cut(page, crossingBegin)
	inside, behind, ends := strings.Cut(rest, crossingEnd)
	switch {
	case !begins || !ends:
		t.Fatalf("%s has no lines %s and %s", crossingPage, crossingBegin, crossingEnd)
	case *update:
		must.Do(t, os.WriteFile(crossingPage, []byte(before+crossingBegin+b.String()+crossingEnd+behind), 0o644))
	case inside != b.String():
		t.Errorf("%s is not current: run the test with -update. It has\n%swant\n%s", crossingPage, inside, b.String())
	}
}

// writePlaces writes the table of places.
func writePlaces(t *testing.T, b *strings.Builder, answers []crossingAnswer) {
	t.Helper()
	b.WriteString("\n| wire format | wish for a search | search in the answer | sources in the answer |\n|---|---|---|---|\n")
	backticks := regexp.MustCompile("`([^`]+)`")
	for _, p := range crossingPlaces {
		var stands strings.Builder
		writeRequests(t, &stands, p.dialect)
		for _, a := range vendorAnswers() {
			if a.dialect == p.dialect {
				fmt.Fprint(&stands, a.whole, a.stream)
			}
		}
		for i := range answers {
			if answers[i].dialect == p.dialect {
				fmt.Fprint(&stands, answers[i].provider)
			}
			fmt.Fprint(&stands, answers[i].client[p.dialect])
		}
		for _, name := range backticks.FindAllStringSubmatch(p.wish+p.search+p.sources, -1) {
			if !strings.Contains(stands.String(), name[1]) {
				t.Errorf("%s: %q is in no request and no answer", p.title, name[1])
			}
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", p.title, p.wish, p.search, p.sources)
	}
}

// writeRequests writes the members of clients' requests in a wire format, and the members that providers receive for
// them.
func writeRequests(t *testing.T, b *strings.Builder, format string) {
	t.Helper()
	for _, asked := range crossingAsked {
		b.WriteString(asked.by[format])
		for i := range crossingTargets {
			for client, more := range asked.by {
				if target := &crossingTargets[i]; target.dialect == format && client != format {
					out, _, _ := send(t, byName(t, client), more, target)
					b.Write(out)
				}
			}
		}
	}
}

// writeAsked writes the table of requests.
func writeAsked(t *testing.T, b *strings.Builder) {
	t.Helper()
	head, by := "\n| |", "| *by clients of* |"
	for _, asked := range crossingAsked {
		var titles []string
		for _, api := range crossingAPIs {
			if asked.by[api.dialect] != "" {
				titles = append(titles, api.title)
			}
		}
		head += " " + asked.name + " |"
		by += " " + strings.Join(titles, ", ") + " |"
	}
	b.WriteString(head + "\n" + strings.Repeat("|---", len(crossingAsked)+1) + "|\n" + by + "\n")
	for i := range crossingTargets {
		target := &crossingTargets[i]
		fmt.Fprintf(b, "| %s (`%s`) |", target.title, target.model)
		for _, asked := range crossingAsked {
			became := map[string][]string{}
			for _, api := range crossingAPIs {
				if more := asked.by[api.dialect]; more != "" && api.dialect != target.dialect {
					word := becomes(t, byName(t, api.dialect), more, target, asked.sent)
					became[word] = append(became[word], api.title)
				}
			}
			fmt.Fprintf(b, " %s |", inWords(became, "as it came"))
		}
		b.WriteString("\n")
	}
}

// catalogQuirks returns the quirks of a provider of the catalogue.
func catalogQuirks(t *testing.T, provider string) *llm.Quirks {
	t.Helper()
	var entry struct{ Quirks llm.Quirks }
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile("../provider/catalog/"+provider+".json"))(t), &entry))
	return &entry.Quirks
}

// becomes describes the translation of a client's members for a provider.
func becomes(t *testing.T, from *dialect.Dialect, more string, target *crossingTarget, sent string) string {
	t.Helper()
	out, dropped, err := send(t, from, more, target)
	switch {
	case err != nil && llm.AsError(err).Param != "":
		return "400"
	case err != nil:
		t.Fatalf("%s of %s to %s: %v names no field", more, from.Name, target.title, err)
	case regexp.MustCompile(sent).Match(out), len(dropped) == 0 && target.unasked:
		return "yes"
	case len(dropped) == 0:
		t.Errorf("%s of %s to %s: it is neither in %s nor named", more, from.Name, target.title, out)
	}
	return "named"
}

// send translates a client's request with these members for a provider, and returns the names of the dropped fields.
func send(t *testing.T, from *dialect.Dialect, more string, target *crossingTarget) (out []byte, dropped []string, err error) {
	t.Helper()
	to := byName(t, target.dialect)
	body := []byte(strings.NewReplacer("MODEL", target.model, "MORE", more).Replace(crossingBodies[from.Name]))
	must.Get(from.Scan(body, httptest.NewRequest(http.MethodPost, "/", nil)))(t)
	tree := must.Get(from.DecodeRequest(body))(t)
	tree.Model = target.model
	tree, unfit, err := rules.For(target.provider, to.Name).Fit(compose.Offered(to.Name, tree), false)
	must.Do(t, err)
	out, dropped, err = to.EncodeRequest(tree, catalogQuirks(t, target.provider))
	return out, slices.AppendSeq(dropped, maps.Keys(unfit)), err
}

// inWords joins the outcomes of several cases; own replaces an empty list.
func inWords(became map[string][]string, own string) string {
	var words []string
	for _, word := range []string{"yes", "whole", "stream", "named", "400", "no"} {
		switch {
		case len(became[word]) > 0 && len(became) == 1:
			return word
		case len(became[word]) > 0:
			words = append(words, word+": "+strings.Join(became[word], ", "))
		}
	}
	if words == nil {
		return own
	}
	return strings.Join(words, "; ")
}

// crossingAnswer holds an answer of testdata/crossing, and its translations by wire format: whole and as a stream.
type crossingAnswer struct {
	dialect, title string
	provider       [2]string
	client         map[string][2]string
}

// crossingAnswers reads the answers. The comment of a file is its title.
func crossingAnswers(t *testing.T) (all []crossingAnswer) {
	t.Helper()
	for _, path := range must.Get(filepath.Glob("testdata/crossing/*.txtar"))(t) {
		g := &golden{path, must.Get(txtar.ParseFile(path))(t)}
		d := g.dialect(t)
		stream := append(g.input("provider.sse"), "\n\n"...)
		said := stream
		if events := g.input("provider.events"); events != nil {
			stream, said = framed(t, d, events), events
		}
		a := crossingAnswer{d.Name, string(bytes.TrimSpace(g.archive.Comment)), [2]string{string(g.input("provider.json")), string(said)}, map[string][2]string{}}
		for _, api := range crossingAPIs {
			to := byName(t, api.dialect)
			reply := must.Get(d.DecodeReply(g.input("provider.json"), &llm.Quirks{}))(t)
			reply.ID = "id-1"
			a.client[to.Name] = [2]string{string(to.EncodeReply(nil, reply)), string(translate(d, to, stream, &llm.Quirks{}))}
		}
		all = append(all, a)
	}
	return all
}

// writeTold writes the table of answers.
func writeTold(t *testing.T, b *strings.Builder, answers []crossingAnswer) {
	t.Helper()
	b.WriteString("\n| told | by |")
	for _, api := range crossingAPIs {
		fmt.Fprintf(b, " to %s |", api.title)
	}
	b.WriteString("\n" + strings.Repeat("|---", len(crossingAPIs)+2) + "|\n")
	for _, told := range crossingTold {
		pattern, got := regexp.MustCompile(told.told), regexp.MustCompile(cmp.Or(told.got, told.told))
		tells := func(a crossingAnswer) bool { return pattern.MatchString(a.provider[0]) }
		tellers := slices.DeleteFunc(slices.Clone(answers), func(a crossingAnswer) bool { return !tells(a) })
		var titles []string
		for i := range tellers {
			titles = append(titles, tellers[i].title)
			if !pattern.MatchString(tellers[i].provider[1]) && told.got == "" {
				t.Errorf("%s: the stream does not have %q, which the whole answer has", tellers[i].title, told.name)
			}
		}
		by := strings.Join(titles, ", ")
		if silent := slices.DeleteFunc(slices.Clone(answers), tells); len(silent) == 1 {
			by = "all but " + silent[0].title
		}
		fmt.Fprintf(b, "| %s | %s |", told.name, by)
		for _, api := range crossingAPIs {
			fmt.Fprintf(b, " %s |", crossed(tellers, api.dialect, got))
		}
		b.WriteString("\n")
	}
}

// crossed lists the answers that clients of another wire format than the provider's receive with a match of pattern.
func crossed(tellers []crossingAnswer, client string, pattern *regexp.Regexp) string {
	became := map[string][]string{}
	for i := range tellers {
		a := &tellers[i]
		if a.dialect == client {
			continue
		}
		whole, stream := pattern.MatchString(a.client[client][0]), pattern.MatchString(a.client[client][1])
		word := map[[2]bool]string{{true, true}: "yes", {true, false}: "whole", {false, true}: "stream"}[[2]bool{whole, stream}]
		if word == "" {
			word = "no"
		}
		became[word] = append(became[word], a.title)
	}
	return inWords(became, "as it came")
}
