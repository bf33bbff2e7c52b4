package dashboard

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"weir/internal/llm"
	"weir/internal/managed"
	"weir/internal/people"
)

// newProviderPage shows the form of a new provider.
type newProviderPage struct {
	Back     string
	Name     Field
	Key      Field
	Fields   providerFields
	Failed   bool // whether its test failed; it can be saved anyway
	Problems []Problem
}

// providerFields holds the fields of a provider, except its name and its keys.
type providerFields struct {
	Dialect, BaseURL, Models, More Field
	Private, CacheMarks            Field
}

// formMembers lists the members with their own fields.
func formMembers() []string {
	return []string{"dialect", "base_url", "models", "allow_private", "cache_marks", "api_keys"}
}

// providerFieldsOf returns the fields with a provider's values.
func providerFieldsOf(f *form, is map[string]any, dialects []string) (x providerFields) {
	text := func(key string) string {
		if is[key] == nil {
			return ""
		}
		return fmt.Sprint(is[key])
	}
	choices := []Choice{{Value: "", Label: "Same as the known provider"}}
	for _, name := range dialects {
		choices = append(choices, Choice{Value: name, Label: name, Chosen: name == text("dialect")})
	}
	x.Dialect = f.field(Field{Name: "dialect", Label: "Wire format", Choices: choices})
	x.BaseURL = f.field(Field{
		Name: "base_url", Label: "Base URL", Mode: "url", Max: 2048, Complete: "off", Value: text("base_url"),
		Hint: "With the version of the API. Leave it empty for a known " +
			"provider.", Example: "https://llm.example.com/v1",
	})
	var models []string
	list, _ := is["models"].([]any)
	for _, m := range list {
		models = append(models, fmt.Sprint(m))
	}
	x.Models = f.field(Field{
		Name: "models", Label: "Models", Optional: true, Lines: 4, Value: strings.Join(models, "\n"),
		Hint: "Models to serve, one per line. If empty, all models are served.",
	})
	x.Private = f.field(Field{
		Name: "allow_private", Label: "Private addresses", Kind: "checkbox", Choices: []Choice{{
			Value: "true", Label: "Allow a private address", Chosen: text("allow_private") == "true",
			Note: "An address of this machine, or of the gateway’s own network.",
		}},
	})
	x.CacheMarks = f.field(Field{Name: "cache_marks", Label: "Marks of prompt caches", Choices: []Choice{
		{Label: "client: only those of clients (default)"},
		{Value: "add", Label: "add: also where the client sets none", Chosen: text("cache_marks") == "add"},
	}})
	x.More = f.field(Field{
		Name: "more", Label: "Other settings", Optional: true, Lines: 4, Value: restOf(is, formMembers()),
		Hint: "Further members of a provider in weir.yaml, one per line, such as retries: 1",
	})
	x.More.Value = withoutKeys(x.More.Value)
	return x
}

// withoutKeys removes a typed admin key, because keys are not shown again, like passwords. A sealed key is shown by
// its last characters, and a reference by its name.
func withoutKeys(more string) string {
	lines := strings.Split(more, "\n")
	for i, line := range lines {
		name, value, _ := strings.Cut(line, ":")
		isKey := strings.Trim(name, " \t\"'") == "admin_key"
		if isKey && !strings.Contains(value, "sealed:") && !strings.Contains(value, "${") {
			lines[i] = name + ":"
		}
	}
	return strings.Join(lines, "\n")
}

// restOf returns the other members of an object as YAML: one line per member, with its value in JSON.
func restOf(is map[string]any, without []string) string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(is)) {
		if value, err := json.Marshal(is[key]); err == nil && !slices.Contains(without, key) {
			lines = append(lines, key+": "+string(value))
		}
	}
	return strings.Join(lines, "\n")
}

// readProvider returns the form's provider in YAML. The configuration checks the values.
func readProvider(f *form, keys []string) []byte {
	is := map[string]any{}
	for _, key := range []string{"dialect", "base_url", "cache_marks"} {
		if text := strings.TrimSpace(f.values.Get(key)); text != "" {
			is[key] = text
		}
	}
	if models := strings.Fields(f.values.Get("models")); len(models) > 0 {
		is["models"] = models
	}
	if f.values.Get("allow_private") == "true" {
		is["allow_private"] = true
	}
	if len(keys) > 0 {
		is["api_keys"] = keys
	}
	return yamlWith(is, f.values.Get("more"))
}

// yamlWith returns an object with further lines of YAML.
func yamlWith(is map[string]any, more string) []byte {
	text := restOf(is, nil)
	if more = strings.TrimSpace(strings.ReplaceAll(more, "\r\n", "\n")); more != "" {
		text = strings.TrimPrefix(text+"\n"+more, "\n")
	}
	if text == "" {
		text = "{}"
	}
	return []byte(text)
}

func (h *providerHandlers) showNew(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	p := newProviderPageOf(f, h.installation.Dialects, h.installation.Known)
	return h.site.show(w, r, v, page{name: "provider-new", title: "Add a provider", status: f.status(), data: p})
}

func newProviderPageOf(f *form, dialects, known []string) newProviderPage {
	p := newProviderPage{Back: providersPath, Failed: f.bad()}
	p.Name = f.field(Field{
		Name: "name", Label: "Name", Required: true, First: true, Max: 64, Complete: "off",
		Hint: "The text before the slash of its models. A known provider needs only a key: " +
			strings.Join(known, ", ") + ".",
	})
	p.Key = f.field(Field{
		Name: "key", Label: "API key", Kind: "password", Complete: "off", Max: 4096,
		Hint: "The key itself, which is stored encrypted, or a reference such as ${NAME} or ${file:/path}.",
	})
	p.Fields = providerFieldsOf(f, nil, dialects)
	p.Problems = f.problems()
	return p
}

// create tests and adds a provider; it skips the test if requested.
func (h *providerHandlers) create(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	f := sent(r)
	name := strings.TrimSpace(f.values.Get("name"))
	s, err := h.admin.Configuration.State(r.Context())
	if err != nil {
		return err
	}
	if objectOf(s.Objects, "providers", name).Value != nil {
		f.mistake("name", "A provider of that name already exists. Choose another name.")
		return h.showNew(w, r, v, f)
	}
	value := readProvider(f, linesOf(strings.TrimSpace(f.values.Get("key"))))
	if f.values.Get("do") != "untested" {
		found, err := h.admin.Configuration.Test(r.Context(), v.By, managed.Trial{Name: name, Value: value})
		if err != nil {
			return h.refuse(w, r, v, f, err, h.showNew)
		}
		if found.Problem != "" {
			f.general = append(f.general, found.Problem)
			return h.showNew(w, r, v, f)
		}
	}
	put := managed.Ref{Section: "providers", Name: name}
	if _, err := h.admin.Configuration.Edit(r.Context(), v.By, managed.Edit{
		Put: &put, Value: value, After: &s.Version,
	}); err != nil {
		return h.refuse(w, r, v, f, err, h.showNew)
	}
	return goTo(w, r, providerPath(name)+"?done=provider-saved")
}

// refuse shows the form again with its mistakes, or returns an error that the form does not show.
func (h *providerHandlers) refuse(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form, err error,
	show formServe,
) error {
	f.fields = append(formMembers(), "name", "key")
	refused := f.refuseObject(err)
	f.fields = nil
	if !refused {
		return err
	}
	return show(w, r, v, f)
}

// version returns the version that the page was built from; nil if it is not given.
func version(r *http.Request) *int64 {
	seq, err := strconv.ParseInt(r.PostFormValue("version"), 10, 64)
	if err != nil {
		return nil
	}
	return &seq
}

// edit changes a managed provider, and redirects to its page.
func (h *providerHandlers) edit(w http.ResponseWriter, r *http.Request, v *people.Visit,
	change func(f *form, o *managed.Object) (value []byte, err error),
) error {
	f := sent(r)
	_, _, o, err := h.one(r)
	if err != nil {
		return err
	}
	if o.Source != managed.FromManaged {
		return llm.Invalid("", "This provider can only be changed at its source: "+fromOf(o)+".")
	}
	value, err := change(f, o)
	if err == nil {
		put := managed.Ref{Section: "providers", Name: o.Name}
		_, err = h.admin.Configuration.Edit(r.Context(), v.By, managed.Edit{Put: &put, Value: value, After: version(r)})
	}
	if err != nil {
		return h.refuse(w, r, v, f, err, h.show)
	}
	return goTo(w, r, providerPath(o.Name)+"?done=provider-saved")
}

func (h *providerHandlers) change(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	return h.edit(w, r, v, func(f *form, o *managed.Object) ([]byte, error) {
		return readProvider(f, keyTexts(o.Value)), nil
	})
}

// setModels sets the provider's models to those that its test found.
func (h *providerHandlers) setModels(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	return h.edit(w, r, v, func(f *form, o *managed.Object) ([]byte, error) {
		is := maps.Clone(fieldsOf(o.Value))
		is["models"] = strings.Fields(f.values.Get("models"))
		return yamlWith(is, ""), nil
	})
}

// withKeys returns a provider with other keys.
func withKeys(o *managed.Object, keys []string) []byte {
	is := maps.Clone(fieldsOf(o.Value))
	is["api_keys"] = keys
	return yamlWith(is, "")
}

func (h *providerHandlers) addKey(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	return h.edit(w, r, v, func(f *form, o *managed.Object) ([]byte, error) {
		key := strings.TrimSpace(f.values.Get("key"))
		if key == "" {
			return nil, llm.Invalid("key", "The key is empty. Enter one.")
		}
		return withKeys(o, append(keyTexts(o.Value), key)), nil
	})
}

func (h *providerHandlers) removeKey(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	return h.edit(w, r, v, func(f *form, o *managed.Object) ([]byte, error) {
		keys := keyTexts(o.Value)
		i, err := strconv.Atoi(r.PathValue("n"))
		if err != nil || i < 0 || i >= len(keys) || keys[i] != f.values.Get("once") {
			return nil, llm.Invalid("", "The keys were changed meanwhile. Reload the page.")
		}
		return withKeys(o, slices.Delete(keys, i, i+1)), nil
	})
}

func (h *providerHandlers) remove(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	gone := []managed.Ref{{Section: "providers", Name: r.PathValue("provider")}}
	if _, err := h.admin.Configuration.Edit(r.Context(), v.By, managed.Edit{Remove: gone}); err != nil {
		return h.refuse(w, r, v, sent(r), err, h.show)
	}
	return goTo(w, r, providersPath+"?done=provider-removed")
}
