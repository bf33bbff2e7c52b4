package contract_test

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestReferenceShowsEveryOperation checks that the pages of the API's reference show each operation of the document
// once, and that the bodies of their examples are valid.
func TestReferenceShowsEveryOperation(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML("http://127.0.0.1:1")})
	_, c := h.Document()
	shown := map[string]int{}
	var examples []string
	list := h.Do(harness.Ask{Path: "/docs/api", Key: harness.NoKey}).Body
	pages := map[string]bool{}
	for _, m := range regexp.MustCompile(`href="(/docs/api/[a-z-]+)`).FindAllStringSubmatch(list, -1) {
		if pages[m[1]] {
			continue
		}
		pages[m[1]] = true
		page := html.UnescapeString(h.Do(harness.Ask{Path: m[1], Key: harness.NoKey}).Body)
		for _, places := range regexp.MustCompile(`</h2>\n<p><code>[A-Z]+ /.*?</p>`).FindAllString(page, -1) {
			for _, o := range regexp.MustCompile(`<code>([^<]*)</code>`).FindAllStringSubmatch(places, -1) {
				shown[o[1]]++
			}
		}
		examples = append(examples, regexp.MustCompile(`(?s)>curl.*?</code></pre>`).FindAllString(page, -1)...)
	}
	bodies := map[string]string{} // by method and path in capitals
	for _, e := range examples {
		m := regexp.MustCompile(`(?s)curl (?:-X (\w+) )?"\$WEIR_URL([^"]*)".*application/json" \\\n  -d '(.*)'`).FindStringSubmatch(e)
		if m != nil {
			bodies[strings.ToUpper(m[1]+m[2])] = strings.ReplaceAll(m[3], `'\''`, "'")
		}
	}
	checked := 0
	for path, item := range c.Tree["paths"].(map[string]any) {
		for method := range item.(map[string]any) {
			if place := strings.ToUpper(method) + " " + path; shown[place] != 1 {
				t.Errorf("%s: got it %d times, want once", place, shown[place])
			}
			capitals := strings.ToUpper(strings.TrimPrefix(method, "post") + strings.NewReplacer("{", "", "}", "").Replace(path))
			body, has := bodies[capitals]
			if !has {
				continue
			}
			_, at := c.Walk("paths", path, method, "requestBody", "content", "application/json", "schema")
			if err := c.Violation(harness.Pointer(at...), body); err != nil {
				t.Errorf("%s: the example %s: %v", capitals, body, err)
			}
			checked++
		}
	}
	if checked < 30 || len(pages) < 10 {
		t.Errorf("got %d examples with bodies on %d pages, want more", checked, len(pages))
	}
}
