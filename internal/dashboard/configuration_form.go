package dashboard

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"weir/internal/llm"
	"weir/internal/managed"
	"weir/internal/people"
	"weir/internal/plan"
)

// configSection describes the form of a section of the configuration.
type configSection struct {
	section, title, noun, about string
	one                         bool // it is a single object without a name
	name                        Field
	members                     []configMember
	more                        string // example of further members
}

// configMember describes a member with its own field.
type configMember struct {
	key   string
	field Field
	list  bool // one item per line
	whole bool // a whole number
}

// configSections lists the sections that have a form here; providers have their own pages.
var configSections = []configSection{
	{
		section: "aliases", title: "Aliases", noun: "an alias", about: "Names of your own for one or more models.",
		name: Field{
			Label: "Name", Hint: "One word without a slash. An asterisk at its end matches the rest of a name.",
		},
		members: []configMember{
			{key: "targets", list: true, field: Field{
				Label: "Targets", Required: true,
				Hint: "Models as provider/model-name, in order. A weight is a number from 0 to 1000, for the " +
					"strategy “weighted”; 0 is for a target that is only asked if the others fail.",
			}},
			{key: "strategy", field: Field{Label: "Strategy", Choices: []Choice{
				{Value: "fallback", Label: "fallback: in this order"},
				{Value: "weighted", Label: "weighted: by the weights"},
				{Value: "latency", Label: "latency: the fastest first"},
			}}},
			{key: "weights", list: true, whole: true, field: Field{
				Label: "Weights", Optional: true,
			}},
			{key: "affinity", field: Field{Label: "Conversations", Choices: []Choice{
				{Label: "conversation: stay with their target and key (default)"},
				{Value: "none", Label: "none: each request chooses anew"},
			}}},
			{key: "served_model", field: Field{Label: "Answers of another model", Choices: []Choice{
				{Label: "flag: price them by that model, mark and report them (default)"},
				{Value: "accept", Label: "accept: only price them by that model"},
				{Value: "refuse", Label: "refuse: try the next target"},
			}}},
			{key: "cache_marks", field: Field{Label: "Marks of prompt caches", Choices: []Choice{
				{Label: "As the provider is configured (default)"},
				{Value: "client", Label: "client: only those of clients"},
				{Value: "add", Label: "add: also where the client sets none"},
			}}},
		},
		more: "on: [overloaded, timeout]",
	},
	{
		section: "prices", title: "Prices", noun: "a price",
		about: "US dollars per million tokens, or per unit of other classes. They replace all prices of a model " +
			"in the " +
			"price data.",
		name: Field{
			Label: "Model", Example: "house/small since 2027-01-31",
			Hint: "As provider/model-name, or provider/* for all of a provider. With “since” and a date after " +
				"it, the price is valid from that UTC day on.",
		},
		members: []configMember{
			{key: "input", field: Field{Label: "Input", Mode: "decimal", Short: true}},
			{key: "output", field: Field{Label: "Output", Mode: "decimal", Short: true}},
			{key: "cache_read", field: Field{Label: "Read from a cache", Mode: "decimal", Short: true, Optional: true}},
		},
		more: `image: "0.04"`,
	},
	{
		section: "models", title: "Models", noun: "a model",
		about: "Properties of models that the model data does not have, or has wrong.",
		name:  Field{Label: "Model", Hint: "As provider/model-name."},
		members: []configMember{
			{key: "context", whole: true, field: Field{Label: "Context window, tokens", Mode: "numeric", Short: true}},
			{key: "max_output", whole: true, field: Field{
				Label: "Largest answer, tokens", Mode: "numeric", Short: true,
			}},
		},
		more: "tools: true",
	},
	{
		section: "limits", title: "Limits", noun: "limits", one: true,
		about: "For all requests together; 0 means no limit. per_key and per_account apply to keys and accounts " +
			"without limits of their own.",
		members: []configMember{
			{key: "rpm", whole: true, field: Field{Label: "Requests per minute", Mode: "numeric", Short: true}},
			{key: "tpm", whole: true, field: Field{Label: "Tokens per minute", Mode: "numeric", Short: true}},
			{key: "concurrency", whole: true, field: Field{Label: "Concurrent requests", Mode: "numeric", Short: true}},
		},
		more: "per_key: {rpm: 60}",
	},
	{
		section: "cors", title: "CORS origins", noun: "origins", one: true,
		about: "Sites with browser programs that may use the client APIs.",
		members: []configMember{{key: "origins", list: true, field: Field{
			Label: "Origins", Lines: 3, Hint: "One per line, such as https://app.example.com. A single * allows all.",
		}}},
	},
	{
		section: "retention", title: "Retention", noun: "retention", one: true,
		about: "How long data is stored, in days such as 90d. Older data are deleted within an hour. Other sums stay.",
		members: []configMember{
			{key: "requests", field: Field{Label: "Requests", Short: true, Example: "90d"}},
			{key: "attribution", field: Field{Label: "End users and tags in sums", Short: true, Example: "400d"}},
			{key: "tags", list: true, field: Field{
				Label: "Tags in sums", Lines: 3,
				Hint: "Names, one per line, at most 20. If empty, the most frequent tags of a day. Deleted days " +
					"have only these tags.",
			}},
			{key: "explanations", field: Field{Label: "Prices behind sums", Short: true, Example: "2557d"}},
			{key: "responses", field: Field{Label: "Stored responses", Short: true, Example: "30d"}},
		},
	},
}

// editPage shows the form of an object.
type editPage struct {
	Title, About, Back string
	Name               *Field     // nil if the name cannot be chosen
	Targets            *Field     // the first of Rows; nil if the object has no targets
	Rows               []aliasRow // of an alias
	Suggested          []string   // names for Rows
	Fields             []Field
	More               *Field
	Version            string
	Problems           []Problem
	Preview            *preview // nil unless requested
}

// asked returns the section and the object of the query.
func (h *configurationHandlers) asked(r *http.Request) (c *configSection, s managed.State, o *managed.Object,
	err error,
) {
	q := r.URL.Query()
	i := slices.IndexFunc(configSections, func(c configSection) bool { return c.section == q.Get("section") })
	if i < 0 {
		return nil, s, nil, llm.Errorf(llm.CodeNotFound, "There is no such page.")
	}
	if s, err = h.admin.Configuration.State(r.Context()); err != nil {
		return nil, s, nil, err
	}
	o = objectOf(s.Objects, q.Get("section"), q.Get("name"))
	if o.Source == managed.FromFile {
		return nil, s, nil, llm.Invalid("", "This can only be changed at its source: "+fromOf(o)+".")
	}
	return &configSections[i], s, o, nil
}

func (h *configurationHandlers) showEdit(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	return h.showPreview(w, r, v, f, nil)
}

// showPreview shows the form of an object, with the preview of its change.
func (h *configurationHandlers) showPreview(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form,
	would *preview,
) error {
	c, s, o, err := h.asked(r)
	if err != nil {
		return err
	}
	p := editPageOf(c, o, f)
	p.Version, p.Preview = strconv.FormatInt(s.Version, 10), would
	if p.Targets != nil {
		p.Suggested = suggestedModels(h.installation)
	}
	return h.site.show(w, r, v, page{name: "configuration-edit", title: p.Title, status: f.status(), data: p})
}

func editPageOf(c *configSection, o *managed.Object, f *form) editPage {
	p := editPage{Title: "Change " + o.Name, About: c.about, Back: configurationPath}
	is := fieldsOf(o.Value)
	switch {
	case c.one:
		p.Title = c.title
	case o.Value == nil:
		p.Title = "Add " + c.noun
		name := c.name
		name.Name, name.Required, name.First, name.Max, name.Complete = "name", true, true, 256, "off"
		name = f.field(name)
		p.Name = &name
	}
	without := []string{}
	for _, m := range c.members {
		without = append(without, m.key)
		if c.section == "aliases" && m.key == "targets" {
			targets := f.field(m.of(is))
			p.Targets, p.Rows = &targets, aliasRows(is, f)
			continue
		}
		if c.section == "aliases" && m.key == "weights" {
			if text := f.wrong["weights"]; text != "" {
				p.Targets.Error = cmp.Or(p.Targets.Error, text)
			}
			continue
		}
		p.Fields = append(p.Fields, f.field(m.of(is)))
	}
	if c.more != "" {
		more := f.field(Field{
			Name: "more", Label: "Other settings", Optional: true, Lines: 4, Value: restOf(is, without),
			Hint: "Further members as in weir.yaml, one per line, such as " + c.more,
		})
		p.More = &more
	}
	p.Problems = f.problems()
	return p
}

// of returns the field with the object's value.
func (m *configMember) of(is map[string]any) Field {
	x := m.field
	x.Name, x.Complete, x.Choices = m.key, "off", slices.Clone(x.Choices)
	if list, ok := is[m.key].([]any); ok {
		lines := make([]string, len(list))
		for i := range list {
			lines[i] = fmt.Sprint(list[i])
		}
		x.Value = strings.Join(lines, "\n")
	} else if is[m.key] != nil {
		x.Value = fmt.Sprint(is[m.key])
	}
	for i := range x.Choices {
		x.Choices[i].Chosen = x.Choices[i].Value == x.Value
	}
	return x
}

// read parses the field of the form; it returns nil if it is empty.
func (m *configMember) read(f *form) any {
	text := strings.TrimSpace(strings.Join(f.values[m.key], "\n"))
	if text == "" {
		return nil
	}
	if !m.list {
		return m.item(text)
	}
	var list []any
	for _, item := range strings.Fields(text) {
		list = append(list, m.item(item))
	}
	return list
}

// item returns a number if the member is one, else the text. The configuration refuses a text that should be a
// number.
func (m *configMember) item(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); m.whole && err == nil {
		return n
	}
	return text
}

func (h *configurationHandlers) edit(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	c, s, o, err := h.asked(r)
	if err != nil {
		return err
	}
	f := sent(r)
	name := o.Name
	if !c.one && o.Value == nil {
		name = strings.Join(strings.Fields(f.values.Get("name")), " ")
		if objectOf(s.Objects, c.section, name).Value != nil {
			f.mistake("name", "This name already exists. Change that object, or choose another name.")
			return h.showEdit(w, r, v, f)
		}
	}
	is := map[string]any{}
	for i := range c.members {
		if value := c.members[i].read(f); value != nil {
			is[c.members[i].key] = value
		}
	}
	put := managed.Ref{Section: c.section, Name: name}
	edit := managed.Edit{Put: &put, Value: yamlWith(is, f.values.Get("more")), After: version(r)}
	var would *preview
	if f.values.Has("preview") {
		would, err = previewOf(r.Context(), h.admin.Plans, plan.Ask{Change: edit})
	} else {
		_, err = h.admin.Configuration.Edit(r.Context(), v.By, edit)
	}
	switch {
	case err == nil && would != nil:
		return h.showPreview(w, r, v, f, would)
	case err == nil:
		return goTo(w, r, configurationPath+"?done=config-saved")
	}
	f.fields = append(slices.Collect(maps.Keys(is)), "name", "more")
	refused := f.refuseObject(err)
	if f.fields = nil; !refused {
		return err
	}
	return h.showEdit(w, r, v, f)
}
