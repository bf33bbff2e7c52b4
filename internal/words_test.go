package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/internal/must"
)

// Upper bounds of prose that reads slowly. Free relatives are counted in 100 words; the others are shares in percent.
// Caddy, pgx, river, litestream, ntfy and miniflux have 0.01 to 0.12 free relatives, and 1 to 9 % of their function
// comments describe a state ("X is …") in place of an action ("X returns …").
const (
	mostRelativesOfCode  = 0.40
	mostRelativesOfTests = 0.40
	mostRelativesOfDocs  = 0.40
	mostStatesOfCode     = 12
	mostStatesOfTests    = 6
	mostShortNames       = 2
	mostWideLines        = 0 // lines of Markdown over mostOfMarkdown characters
	mostOfMarkdown       = 300
)

var (
	state      = regexp.MustCompile(`^\S+ (is|are|has|have|was|were)\b`)
	capitals   = regexp.MustCompile(`[A-Z][a-z0-9]*`)
	codeFences = regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]*`")
)

// relatives has the pronouns that stand for a noun missing in the sentence: without a condition, or after certain
// words.
var relatives = map[string]string{
	"what": "", "whatever": "", "whoever": "", "whomever": "", "whichever": "", "whose": "",
	"which": " of in by for to from with at on after before under over through into beside without that those ",
	"whom":  " of in by for to from with at on after before under over through into beside without ",
	"who":   " of by to for from and or if than those ",
	"that":  " those ",
}

// prose counts the words of a kind of text and the forms in it that read slowly.
type prose struct {
	words, relatives int
	functions        int // with a comment
	states           int // comments of functions that describe a state
	tests            int
	shortNames       int // tests with a name of one word
}

// TestProseReadsPlainly checks the bounds of comments, documents and test names. With -v it prints the figures of make
// words, with WEIR_WORDS=list also each place that counts.
func TestProseReadsPlainly(t *testing.T) {
	t.Parallel()
	var code, tests, docs prose
	wide := 0
	must.Do(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch name := filepath.Base(path); {
		case err != nil || !d.IsDir() && !strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".md"):
			return err
		case d.IsDir() && (strings.HasPrefix(name, ".") && name != ".." || name == "node_modules" || name == "testdata"):
			return filepath.SkipDir
		case strings.HasSuffix(name, "_test.go"):
			tests.addFile(t, path)
		case strings.HasSuffix(name, ".go"):
			code.addFile(t, path)
		case strings.HasSuffix(name, ".md") && name != "CHANGELOG.md":
			text := must.Get(os.ReadFile(path))(t)
			docs.addText(t, path, codeFences.ReplaceAllString(string(text), ""))
			for line := range strings.Lines(string(text)) {
				if len([]rune(line)) > mostOfMarkdown+1 {
					wide++
				}
			}
		}
		return nil
	}))
	checkMost(t, "free relatives in 100 words of comments", 100*ratio(code.relatives, code.words), mostRelativesOfCode)
	checkMost(t, "free relatives in 100 words of tests' comments", 100*ratio(tests.relatives, tests.words), mostRelativesOfTests)
	checkMost(t, "free relatives in 100 words of documents", 100*ratio(docs.relatives, docs.words), mostRelativesOfDocs)
	checkMost(t, "% of function comments that describe a state", 100*ratio(code.states, code.functions), mostStatesOfCode)
	checkMost(t, "% of test comments that describe a state", 100*ratio(tests.states, tests.functions), mostStatesOfTests)
	checkMost(t, "% of tests with a name of one word", 100*ratio(tests.shortNames, tests.tests), mostShortNames)
	checkMost(t, fmt.Sprintf("lines of Markdown over %d characters", mostOfMarkdown), float64(wide), mostWideLines)
}

// addFile adds the comments and tests of a Go file.
func (p *prose) addFile(t *testing.T, path string) {
	set := token.NewFileSet()
	file := must.Get(parser.ParseFile(set, path, nil, parser.SkipObjectResolution|parser.ParseComments))(t)
	for _, group := range file.Comments {
		p.addText(t, set.Position(group.Pos()).String(), group.Text())
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if name, ok := strings.CutPrefix(f.Name.Name, "Test"); ok && strings.HasSuffix(path, "_test.go") && name != "Main" {
			p.tests++
			p.shortNames += listed(t, len(capitals.FindAllString(name, 2)) < 2, path, f.Name.Name)
		}
		if f.Doc != nil {
			p.functions++
			text := f.Doc.Text()
			p.states += listed(t, state.MatchString(text), set.Position(f.Pos()).String(), strings.SplitN(text, "\n", 2)[0])
		}
	}
}

// addText adds the words of a text and its free relatives.
func (p *prose) addText(t *testing.T, place, text string) {
	before, end := "", 0 // the word before, and its end
	for at := 0; at < len(text); at++ {
		from := at
		for at < len(text) && (text[at]|0x20 >= 'a' && text[at]|0x20 <= 'z' || text[at] == '\'') {
			at++
		}
		if at == from {
			continue
		}
		p.words++
		word := strings.ToLower(text[from:at])
		if strings.ContainsAny(text[end:from], ".;:!?,—") {
			before = ""
		}
		after, free := relatives[word]
		if free && (after == "" || before != "" && strings.Contains(after, " "+before+" ") || before == "" && word == "who") {
			p.relatives += listed(t, true, place, strings.ReplaceAll(text[max(0, from-50):min(len(text), at+50)], "\n", " "))
		}
		before, end = word, at
	}
}

// listed returns 1 for a place that counts, and logs it where WEIR_WORDS=list asks for that.
func listed(t *testing.T, counts bool, place, text string) int {
	if !counts {
		return 0
	}
	if os.Getenv("WEIR_WORDS") == "list" {
		t.Log(place + ": " + text)
	}
	return 1
}

func ratio(n, of int) float64 { return float64(n) / float64(max(of, 1)) }

// checkMost prints a figure and fails if it exceeds its bound.
func checkMost(t *testing.T, name string, got, most float64) {
	t.Helper()
	t.Logf("%s: %.2f, at most %.2f", name, got, most)
	if got > most {
		t.Errorf("%s: got %.2f, want at most %.2f (make words lists the places)", name, got, most)
	}
}
