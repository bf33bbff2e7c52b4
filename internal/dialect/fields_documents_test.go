package dialect_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"weir/internal/must"
)

// requestSchema is the place of a client API's requests in the OpenAPI description.
type requestSchema struct{ file, name string }

var requestSchemas = map[string]requestSchema{
	"native":    {"../api/openapi/chat.yaml", "ChatRequest"},
	"openai":    {"openai/openapi.yaml", "ChatCompletionRequest"},
	"responses": {"responses/openapi.yaml", "ResponseRequest"},
	"anthropic": {"anthropic/openapi.yaml", "MessageRequest"},
	"gemini":    {"gemini/openapi.yaml", "GenerateContentRequest"},
}

// outsideTable lists the fields that have no row in fields: each request has them, they choose target and stream, Weir
// itself uses them, or no target can get them (deferred, thread).
var outsideTable = map[string][]string{
	"":          {"model", "stream", "fallbacks", "rescue"},
	"native":    {"messages", "responsetype"},
	"openai":    {"stream_options", "deferred"},
	"anthropic": {"max_tokens", "thread"},
	"gemini":    {"contents"},
}

// properties returns the names of the fields that the OpenAPI description has.
func (s requestSchema) properties(t *testing.T) (names []string) {
	t.Helper()
	var document struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	must.Do(t, yaml.Unmarshal(must.Get(os.ReadFile(s.file))(t), &document))
	for name := range document.Components.Schemas[s.name].Properties {
		names = append(names, name)
	}
	if len(names) == 0 {
		t.Fatalf("%s has no properties of %s", s.file, s.name)
	}
	return names
}

// scanned returns the names in the list `fields` of a wire format's Scan.
func scanned(t *testing.T, api string) (names []string) {
	t.Helper()
	source := string(must.Get(os.ReadFile(api + "/scan.go"))(t))
	list := regexp.MustCompile(`(?s)var fields = rawjson\.Names\{(.*?)\}`).FindStringSubmatch(source)
	if list == nil {
		t.Fatalf("%s/scan.go has no list `fields`", api)
	}
	for _, quoted := range regexp.MustCompile(`"(\w+)"`).FindAllStringSubmatch(list[1], -1) {
		names = append(names, quoted[1])
	}
	return names
}

// hasRow reports whether the table has the field or an object with it, or the field needs no row.
func hasRow(api, name string) bool {
	return slices.Contains(outsideTable[""], name) || slices.Contains(outsideTable[api], name) ||
		slices.ContainsFunc(fields[api], func(f field) bool {
			return f.name == name || strings.HasPrefix(f.name, name+".") || strings.Contains(f.value, `"`+name+`":`)
		})
}

// TestTableHasEachFieldOfClientAPIs checks that each field that the OpenAPI description has or that Scan reads is in the
// table of outcomes.
func TestTableHasEachFieldOfClientAPIs(t *testing.T) {
	t.Parallel()
	for _, d := range clientAPIs() {
		schema, ok := requestSchemas[d.Name]
		if !ok {
			t.Errorf("%s is missing in requestSchemas: add its file and its schema", d.Name)
			continue
		}
		names := schema.properties(t)
		if d.Name != "gemini" { // its Scan has no list, because names have two spellings
			names = append(names, scanned(t, d.Name)...)
		}
		for _, name := range names {
			if !hasRow(d.Name, name) {
				t.Errorf("%s: fields has no row of %s: add its outcome to fields_test.go", d.Name, name)
			}
		}
	}
}

// TestNativeFieldsAreDocumented checks that the fields that Scan of Weir's own API reads, and those of the table, are
// the ones of the OpenAPI description.
func TestNativeFieldsAreDocumented(t *testing.T) {
	t.Parallel()
	schema := requestSchemas["native"]
	documented, read := schema.properties(t), scanned(t, "native")
	for _, name := range documented {
		if !slices.Contains(read, name) && name != "fallbacks" && name != "rescue" {
			t.Errorf("native/scan.go does not read %s, which %s describes: add it to `fields`", name, schema.file)
		}
	}
	for _, f := range fields["native"] {
		read = append(read, f.name)
	}
	for _, name := range read {
		if !slices.Contains(documented, name) {
			t.Errorf("%s does not describe %s, which native reads: add it to %s", schema.file, name, schema.name)
		}
	}
}
