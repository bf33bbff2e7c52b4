package manual

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Paths of the reference of the API, and the start of its titles: a document for each tag is below the page of the API.
const (
	apiPage   = "docs/api.md"
	apiFolder = "docs/api/"
	apiTitle  = "API: "
)

// written is a document that is not a file of the repository.
type written struct {
	file    string
	content string
}

// reference describes an OpenAPI document as Markdown: a page for each of its tags, and the list of all operations.
func reference(document []byte) (pages []written, list string, err error) {
	d := &description{}
	if err := json.Unmarshal(document, d); err != nil {
		return nil, "", fmt.Errorf("OpenAPI document: %w", err)
	}
	var all strings.Builder
	fmt.Fprintf(&all, "\n## All operations\n\n%s\n\nFor programs: "+
		"[the same as an OpenAPI document](/openapi.json).\n", d.Info.Description)
	for _, t := range d.Tags {
		operations := d.operations(t.Name)
		if len(operations) == 0 {
			continue
		}
		file := apiFolder + slug(t.Name) + ".md"
		w := &tagWriter{description: d}
		w.page(&t, operations)
		pages = append(pages, written{file, w.out.String()})
		fmt.Fprintf(&all, "\n### %s\n\n%s\n\n| operation | method and path |\n|---|---|\n", t.Name, t.Description)
		for _, o := range operations {
			fmt.Fprintf(&all, "| [%s](%s#%s) | %s |\n", cell(o.title()), address(file), slug(o.title()), o.places(", "))
		}
	}
	return pages, all.String(), nil
}

// placed is an operation with its places: those of equal operations are joined.
type placed struct {
	*operation
	method string
	paths  []string
}

// operations returns the operations whose first tag has a name, in their order.
func (d *description) operations(tag string) (all []*placed) {
	for _, set := range []members[members[*operation]]{d.Paths, d.Webhooks} {
		for _, path := range set {
			for _, o := range path.Value {
				if len(o.Value.Tags) == 0 || o.Value.Tags[0] != tag {
					continue
				}
				same := slices.IndexFunc(all, func(a *placed) bool {
					return a.method == strings.ToUpper(o.Name) && a.Summary == o.Value.Summary
				})
				if same >= 0 {
					all[same].paths = append(all[same].paths, path.Name)
					continue
				}
				all = append(all, &placed{o.Value, strings.ToUpper(o.Name), []string{path.Name}})
			}
		}
	}
	return all
}

// title returns the heading of the operation.
func (o *placed) title() string { return strings.TrimSuffix(o.Summary, ".") }

// isEvent reports whether the operation is a request of the gateway to a webhook endpoint.
func (o *placed) isEvent() bool { return !strings.HasPrefix(o.paths[0], "/") }

// places returns the paths of the operation with its method.
func (o *placed) places(separator string) string {
	var all []string
	for _, path := range o.paths {
		all = append(all, "`"+strings.TrimPrefix(o.method+" "+path, map[bool]string{true: "POST "}[o.isEvent()])+"`")
	}
	return strings.Join(all, separator)
}

// tagWriter writes the page of a tag.
type tagWriter struct {
	*description
	out     strings.Builder
	objects []string // names of the schemas that the page refers to, in their order
}

func (w *tagWriter) printf(format string, values ...any) { fmt.Fprintf(&w.out, format, values...) }

// page writes the operations, then the schemas that they refer to.
func (w *tagWriter) page(t *tag, operations []*placed) {
	w.printf("# %s%s\n\n%s\n", apiTitle, t.Name, t.Description)
	if t.ExternalDocs.URL != "" {
		w.printf("\nThe vendor's page: <%s>.\n", t.ExternalDocs.URL)
	}
	w.printf("\nThe examples use two variables of the shell: `WEIR_URL`, such as `http://127.0.0.1:8080`, and " +
		"`WEIR_KEY`, an API key.\n")
	for _, o := range operations {
		w.operation(o)
	}
	for i := 0; i < len(w.objects); i++ { // an object may refer to others
		if i == 0 {
			w.printf("\n## Objects\n")
		}
		s := w.Components.Schemas[w.objects[i]]
		w.printf("\n### %s\n\n", w.objects[i])
		if s.Description != "" {
			w.printf("%s\n\n", s.Description)
		}
		if !w.fields(s) {
			w.printf("%s\n", sentence(w.kind(&schema{
				Type: s.Type, Enum: s.Enum, Const: s.Const, AnyOf: s.AnyOf, OneOf: s.OneOf, AllOf: s.AllOf,
				Items: s.Items, Format: s.Format, AdditionalProperties: s.AdditionalProperties,
			}), bounds(s)))
		}
	}
}

func (w *tagWriter) operation(o *placed) {
	w.printf("\n## %s\n\n%s\n\n", o.title(), o.places(", "))
	if o.Description != "" {
		w.printf("%s\n\n", o.Description)
	}
	if o.ExternalDocs.URL != "" {
		w.printf("The vendor's page: <%s>.\n\n", o.ExternalDocs.URL)
	}
	switch {
	case o.isEvent():
	case o.Security != nil && len(*o.Security) == 0:
		w.printf("No key is needed.\n\n")
	case o.Right != "":
		w.printf("A key needs the permission `admin`, a person the right `%s`.\n\n", o.Right)
	}
	w.parameters(o)
	for _, m := range o.RequestBody.Content {
		w.printf("The body is `%s`:\n\n", m.Name)
		if s := m.Value.Schema; !w.fields(w.schema(s)) {
			w.printf("%s\n\n", sentence(w.kind(s)))
		}
	}
	w.example(o)
	w.responses(o)
}

func (w *tagWriter) parameters(o *placed) {
	for i, p := range o.Parameters {
		if i == 0 {
			w.printf("| parameter | type | meaning |\n|---|---|---|\n")
		}
		p = w.parameter(p)
		w.printf("| `%s` | %s, %s | %s |\n", p.Name, w.kind(p.Schema), p.In,
			cell(sentence(required(p.Required && p.In != "path"), p.Description, bounds(p.Schema))))
	}
	if len(o.Parameters) > 0 {
		w.printf("\n")
	}
}

// responses writes a row for each response. Responses with the same meaning share one.
func (w *tagWriter) responses(o *placed) {
	type row struct{ status, meaning, body string }
	var rows []row
	sorted := slices.SortedFunc(slices.Values(o.Responses), func(a, b member[*response]) int {
		return strings.Compare(a.Name, b.Name)
	})
	for _, r := range sorted {
		found := w.response(r.Value)
		var bodies []string
		for _, m := range found.Content {
			bodies = append(bodies, "`"+m.Name+"`: "+w.kind(m.Value.Schema))
		}
		next := row{r.Name, cell(found.Description), strings.Join(bodies, "; ")}
		equal := func(a row) bool { return a.meaning == next.meaning && a.body == next.body }
		if i := slices.IndexFunc(rows, equal); i >= 0 {
			rows[i].status += ", " + r.Name
			continue
		}
		rows = append(rows, next)
	}
	w.printf("| status | meaning | body |\n|---|---|---|\n")
	for _, r := range rows {
		w.printf("| %s | %s | %s |\n", r.status, r.meaning, r.body)
	}
}
