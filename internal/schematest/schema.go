// Package schematest checks requests against the schemas that vendors publish. The files in testdata contain them as
// JSON Schema with closed objects; sources documents their origin.
package schematest

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

//go:embed testdata/*.json
var files embed.FS

// Vendors returns the vendors that publish a schema of chat requests, or of embedding requests, by the names of the
// files. XAI, DeepSeek and others publish none.
func Vendors() []string {
	return []string{
		"openai", "responses", "anthropic", "anthropic-betas", "gemini", "bedrock", "cohere", "mistral", "groq",
		"openrouter", "ollama",
		"cerebras", "openai-embed", "gemini-embed", "cohere-embed", "mistral-embed",
	}
}

// Schema is a vendor's published schema of a request.
type Schema struct {
	compiled *jsonschema.Schema
	quick    *quick
}

// Violation is one rule of a schema that a request breaks.
type Violation struct {
	Path string // of the value, with an asterisk for each index
	Rule string // the keyword
	Text string // the error
}

// Kind returns the rule and its place, without the value.
func (v Violation) Kind() string { return v.Path + " " + v.Rule }

func (v Violation) String() string { return v.Path + ": " + v.Rule + ": " + v.Text }

// Load reads the schema of a vendor.
func Load(vendor string) (*Schema, error) {
	text, err := files.ReadFile("testdata/" + vendor + ".json")
	if err != nil {
		return nil, err
	}
	return New(text, "Request")
}

// All returns the schemas of all vendors, read once.
var All = sync.OnceValues(func() (map[string]*Schema, error) {
	all := map[string]*Schema{}
	for _, vendor := range Vendors() {
		s, err := Load(vendor)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", vendor, err)
		}
		all[vendor] = s
	}
	return all, nil
})

const address = "https://weir.test/schema.json"

// New reads definitions, and returns the one of that name.
func New(text []byte, name string) (*Schema, error) {
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(address, tree); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(address + "#/definitions/" + name)
	if err != nil {
		return nil, err
	}
	return &Schema{compiled, newQuick(compiled, map[*jsonschema.Schema]*quick{})}, nil
}

// Violations returns the rules that a request breaks; for a union, those of the intended alternative.
func (s *Schema) Violations(body []byte) []Violation {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return []Violation{{Rule: "JSON", Text: err.Error()}}
	}
	if s.quick.accepts(v) {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if err := s.compiled.Validate(v); errors.As(err, &invalid) {
		return broken(invalid)
	}
	return nil
}

// broken returns the rules at the leaves of an error.
func broken(e *jsonschema.ValidationError) (all []Violation) {
	if _, union := e.ErrorKind.(*kind.AnyOf); union {
		return meant(e)
	}
	if _, name := e.ErrorKind.(*kind.PropertyNames); len(e.Causes) == 0 || name {
		return leaf(e)
	}
	for _, c := range e.Causes {
		all = append(all, broken(c)...)
	}
	return all
}

// leaf returns the rules that one error breaks: one for each missing or additional member.
func leaf(e *jsonschema.ValidationError) (all []Violation) {
	at, rule := place(e.InstanceLocation), strings.Join(e.ErrorKind.KeywordPath(), "/")
	var members []string
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		members, rule = k.Properties, "unknown"
	case *kind.Required:
		members, rule = k.Missing, "missing"
	case *kind.Not:
		rule = "not"
	}
	for _, m := range members {
		all = append(all, Violation{at + "/" + m, rule, "the member " + m})
	}
	if members == nil {
		text, _, _ := strings.Cut(e.Error(), "\n")
		all = append(all, Violation{at, rule, text})
	}
	return all
}

// place returns the path of a value, with one asterisk for all elements of a list, and one place for all of a tool's
// schema.
func place(steps []string) string {
	var p strings.Builder
	for i, s := range steps {
		switch {
		case s != "" && s[0] >= '0' && s[0] <= '9' && json.Valid([]byte(s)):
			s = "*"
		case s == "parameters" && i+2 < len(steps):
			p.WriteString("/parameters/…")
			return p.String()
		}
		p.WriteString("/" + s)
	}
	return p.String()
}

// meant returns the rules that the closest alternative of a union breaks: first the one with the value's kind, tag and
// members, then the one with the fewest errors.
func meant(union *jsonschema.ValidationError) []Violation {
	var best []Violation
	least := -1
	for _, c := range union.Causes {
		found := broken(c)
		if score := distance(found, place(union.InstanceLocation)); least < 0 || score < least {
			best, least = found, score
		}
	}
	if least >= otherKind {
		return []Violation{{place(union.InstanceLocation), "anyOf", "no alternative: " + best[0].String()}}
	}
	return best
}

const otherKind = 1 << 20

// distance returns how far a value is from an alternative at that place.
func distance(found []Violation, at string) int {
	n := 0
	for _, v := range found {
		switch tag := strings.TrimPrefix(v.Path, at); {
		case v.Path == at && (v.Rule == "type" || v.Rule == "const"):
			n += 4 * otherKind
		case (v.Rule == "const" || v.Rule == "enum") && (tag == "/type" || tag == "/role"):
			n += 2 * otherKind
		case v.Path == at && v.Rule == "anyOf":
			n += otherKind
		case v.Rule == "unknown", v.Rule == "missing":
			n += 16
		default:
			n++
		}
	}
	return n
}
